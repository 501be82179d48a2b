"""The content of a corpus as plain data and as lines of text: `tmt data`."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import fmean, median
from typing import Any

from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.clean_corpus import StreamedPairs
from transformer_mt.corpus.cleaning import PROBLEMS, describe
from transformer_mt.corpus.load import Corpus
from transformer_mt.corpus.pairs import SentencePair, words

SIDES = ("source", "target")
_COUNTED = 100_000  # pairs; of a larger split, the words of a random part of this size are counted


def corpus_statistics(corpus: Corpus, *, sample: int, seed: int) -> dict[str, Any]:
    """Counts, lengths in words and punctuation marks, what cleaning found, and `sample` random pairs of each split.

    The keys are those of `tmt data --json`: `corpus`, `languages`, `links`, `max_words`, `max_ratio` and `splits`, with
    `pairs` (null where they are streamed), `cleaning` (`read`, `kept`, `found` by problem, `removed`, `examples`),
    `source` and `target` (`mean`, `median`, `longest`, `different` words), and `samples`. The words of many pairs are
    counted in a part of them that is drawn at random, `counted`. A sample has `source`, `target`, `links`,
    `references`, `source_references` and `structure`, which is null or has for `source` and `target` a node for each
    word: `word`, `part_of_speech`, `relation`, `head` (from 0; -1 for the root) and `antecedent`.
    """
    splits = {}
    for name, pairs in corpus.splits.items():
        chosen = random.Random(seed).sample(range(len(pairs)), min(sample, len(pairs)))
        counted: Sequence[SentencePair] = pairs
        if len(pairs) > _COUNTED:
            counted = [pairs[index] for index in sorted(random.Random(seed).sample(range(len(pairs)), _COUNTED))]
        report = corpus.reports.get(name)
        splits[name] = {
            "pairs": None if isinstance(pairs, StreamedPairs) else len(pairs),
            "cleaning": None if report is None else asdict(report),
            "counted": len(counted),
            **{side: _lengths([words(getattr(pair, side)) for pair in counted]) for side in SIDES},
            "samples": [_sample(pairs[index]) for index in chosen],
        }
    return {
        "corpus": corpus.name,
        "languages": list(corpus.languages),
        "links": corpus.has_links,
        "max_words": corpus.config.max_words,
        "max_ratio": corpus.config.max_ratio,
        "splits": splits,
    }


def _lengths(sentences: list[list[str]]) -> dict[str, float]:
    lengths = list(map(len, sentences))
    different = {word for sentence in sentences for word in sentence}
    mean = round(fmean(lengths), 2)
    return {"mean": mean, "median": median(lengths), "longest": max(lengths), "different": len(different)}


def _sample(pair: SentencePair) -> dict[str, Any]:
    names = (*SIDES, "links", "references", "source_references")
    sample: dict[str, Any] = {name: getattr(pair, name) for name in names}
    sample["structure"] = pair.structure and {
        side: [{"word": word} | node._asdict() for word, node in zip(words(sample[side]), tree, strict=True)]
        for side, tree in zip(SIDES, pair.structure, strict=True)
    }
    return sample


def statistics_lines(statistics: dict[str, Any], config: DataConfig, *, structure: bool) -> Iterator[str]:
    """The result of `corpus_statistics` as lines of text; `config` is the corpus's own.

    With `structure`, the samples are shown with the trees that are known of them.
    """
    links = "with word links" if statistics["links"] else "without word links"
    yield f"corpus {statistics['corpus']}, {' → '.join(statistics['languages'])}, {links}"
    for name, split in statistics["splits"].items():
        yield ""
        yield f"{name}: {'a stream' if split['pairs'] is None else str(split['pairs']) + ' pairs'}"
        cleaning = split["cleaning"] or {"found": {}}
        for problem in filter(cleaning["found"].get, PROBLEMS):
            done = "left out" if problem in cleaning["removed"] else "kept"
            yield f"  {done}: {cleaning['found'][problem]} {describe(problem, config)} ({problem})"
            for example in cleaning["examples"].get(problem, ()):
                yield f"    pair {example['number']}: {example['source']} | {example['target']}"
        if split["counted"] != split["pairs"]:
            yield f"  of {split['counted']} of them:"
        for side in SIDES:
            lengths = split[side]
            yield (
                f"  {side}: {lengths['mean']:.1f} words on average, median {lengths['median']:g}, "
                f"longest {lengths['longest']}, {lengths['different']} different"
            )
        for sample in split["samples"]:
            yield from _sample_lines(sample, structure=structure)


def _sample_lines(sample: dict[str, Any], *, structure: bool) -> Iterator[str]:
    yield from (f"  | {sample[side]}" for side in SIDES)
    if sample["links"] is not None:
        source, target = (words(sample[side]) for side in SIDES)
        yield f"  | {' '.join(f'{source[i]}–{target[j]}' for i, j in sample['links'])}"
    if structure and sample["structure"] is not None:
        for side in SIDES:
            yield "  |"
            yield from (f"  |   {line}" for line in _tree_lines(sample["structure"][side]))
        yield ""


def _tree_lines(nodes: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Every word with its number, part of speech, relation and head, as aligned columns; numbers are from 1."""
    digits, keys = len(str(len(nodes))), ("word", "part_of_speech", "relation")
    widths = [max(len(node[key]) for node in nodes) for key in keys]
    for number, node in enumerate(nodes, start=1):
        texts = "  ".join(node[key].ljust(width) for key, width in zip(keys, widths, strict=True))
        head = node["head"] + 1
        line = f"{number:>{digits}} {texts}  {head:>{digits}} {nodes[head - 1]['word'] if head else ''}".rstrip()
        yield line if node["antecedent"] is None else f"{line}, antecedent {node['antecedent'] + 1}"
