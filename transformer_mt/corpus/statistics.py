"""The content of a corpus as plain data and as lines of text: `tmt data`."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from statistics import fmean, median
from typing import Any

from transformer_mt.corpus.cleaning import PROBLEMS, CleaningReport, SplitReport
from transformer_mt.corpus.load import Corpus
from transformer_mt.corpus.pairs import SentencePair, Tree, words
from transformer_mt.corpus.stream import StreamedPairs

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
        report = corpus.report.splits.get(name)
        splits[name] = {
            "pairs": None if isinstance(pairs, StreamedPairs) else len(pairs),
            "cleaning": None if report is None else asdict(report),
            "counted": len(counted),
            "source": _side(pair.source for pair in counted),
            "target": _side(pair.target for pair in counted),
            "samples": [_sample(pairs[index]) for index in chosen],
        }
    rules = corpus.report.rules
    return {
        "corpus": corpus.name,
        "languages": list(corpus.languages),
        "links": corpus.has_links,
        "max_words": rules.max_words,
        "max_ratio": rules.max_ratio,
        "splits": splits,
    }


def statistics_lines(found: dict[str, Any], report: CleaningReport, *, structure: bool) -> Iterator[str]:
    """The result of `corpus_statistics` as lines of text; `report` is the corpus's own.

    With `structure`, the samples are shown with the trees that are known of them.
    """
    links = "with word links" if found["links"] else "without word links"
    yield f"corpus {found['corpus']}, {' → '.join(found['languages'])}, {links}"
    for name, split in found["splits"].items():
        yield ""
        yield f"{name}: {'a stream' if split['pairs'] is None else str(split['pairs']) + ' pairs'}"
        if name in report.splits:
            yield from _cleaning_lines(report.splits[name], report)
        if split["counted"] != split["pairs"]:
            yield f"  of {split['counted']} of them:"
        for side in ("source", "target"):
            numbers = split[side]
            yield (
                f"  {side}: {numbers['mean']:.1f} words on average, median {numbers['median']:g}, "
                f"longest {numbers['longest']}, {numbers['different']} different"
            )
        for sample in split["samples"]:
            yield f"  | {sample['source']}"
            yield f"  | {sample['target']}"
            if sample["links"] is not None:
                source, target = words(sample["source"]), words(sample["target"])
                yield f"  | {' '.join(f'{source[i]}–{target[j]}' for i, j in sample['links'])}"
            if structure and sample["structure"] is not None:
                for side in ("source", "target"):
                    yield "  |"
                    yield from (f"  |   {line}" for line in _tree_lines(sample["structure"][side]))
                yield ""


def _cleaning_lines(split: SplitReport, report: CleaningReport) -> Iterator[str]:
    """One line for each problem, with what was done about it, and examples below."""
    for problem in PROBLEMS:
        if count := split.found[problem]:
            done = "left out" if problem in split.removed else "kept"
            yield f"  {done}: {count} {report.rules.describe(problem)} ({problem})"
            for example in split.examples.get(problem, ()):
                yield f"    pair {example.number}: {example.source} | {example.target}"


def _tree_lines(nodes: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Every word with its number, part of speech, relation and head, as aligned columns; numbers are from 1."""
    numbers = len(str(len(nodes)))
    widths = [max(len(node[key]) for node in nodes) for key in ("word", "part_of_speech", "relation")]
    for number, node in enumerate(nodes, start=1):
        head = node["head"] + 1
        columns = [node["word"], node["part_of_speech"], node["relation"]]
        aligned = "  ".join(text.ljust(width) for text, width in zip(columns, widths, strict=True))
        line = f"{number:>{numbers}} {aligned}  {head:>{numbers}} {nodes[head - 1]['word'] if head else ''}".rstrip()
        yield line if node["antecedent"] is None else f"{line}, antecedent {node['antecedent'] + 1}"


def _side(sentences: Iterable[str]) -> dict[str, float]:
    split = [words(sentence) for sentence in sentences]
    lengths = [len(sentence) for sentence in split]
    return {
        "mean": round(fmean(lengths), 2),
        "median": median(lengths),
        "longest": max(lengths),
        "different": len({word for sentence in split for word in sentence}),
    }


def _sample(pair: SentencePair) -> dict[str, Any]:
    names = ("source", "target", "links", "references", "source_references")
    trees = pair.structure and {
        "source": _nodes(pair.source, pair.structure[0]),
        "target": _nodes(pair.target, pair.structure[1]),
    }
    return {name: getattr(pair, name) for name in names} | {"structure": trees}


def _nodes(text: str, tree: Tree) -> list[dict[str, Any]]:
    return [{"word": word} | node._asdict() for word, node in zip(words(text), tree, strict=True)]
