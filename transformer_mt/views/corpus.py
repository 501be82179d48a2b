"""The content of a corpus, for `tmt data`: counts, lengths, cleaning results, random pairs."""

import random
from collections.abc import Iterator
from dataclasses import asdict
from statistics import fmean, median

from transformer_mt.corpus.cleaning import PROBLEMS, describe
from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.text.terminal import JsonObject
from transformer_mt.text.words import words

SIDES = ("source", "target")
_COUNTED = 100_000  # pairs; larger splits are sampled to count their words


def corpus_statistics(corpus: Corpus, *, sample: int, seed: int) -> JsonObject:
    """Counts, lengths in words and punctuation marks, cleaning results, and `sample` random pairs of each split.

    These are the keys of `tmt data --json`. In large splits, lengths come from a random sample of
    `counted` pairs.
    """
    splits = {}
    for name, pairs in corpus.splits.items():
        counted = pairs
        if len(pairs) > _COUNTED:
            counted = [pairs[index] for index in sorted(random.Random(seed).sample(range(len(pairs)), _COUNTED))]
        chosen = random.Random(seed).sample(range(len(pairs)), min(sample, len(pairs)))
        splits[name] = {
            "pairs": len(pairs),
            "cleaning": asdict(corpus.reports[name]),
            "counted": len(counted),
            **{side: _lengths([words(getattr(pair, side)) for pair in counted]) for side in SIDES},
            "samples": [asdict(pairs[index]) for index in chosen],
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


def statistics_lines(corpus: Corpus, statistics: JsonObject) -> Iterator[str]:
    """Yield `corpus_statistics` as lines of text."""
    links = "with word links" if corpus.has_links else "without word links"
    yield f"corpus {corpus.name}, {' → '.join(corpus.languages)}, {links}"
    for name, split in statistics["splits"].items():
        yield ""
        yield f"{name}: {split['pairs']} pairs"
        report = corpus.reports[name]
        for problem in filter(report.found.get, PROBLEMS):
            done = "left out" if problem in report.removed else "kept"
            yield f"  {done}: {report.found[problem]} {describe(problem, corpus.config)} ({problem})"
            for example in report.examples.get(problem, ()):
                yield f"    pair {example.number}: {example.source} | {example.target}"
        if split["counted"] != split["pairs"]:
            yield f"  in a random sample of {split['counted']}:"
        for side in SIDES:
            lengths = split[side]
            yield (
                f"  {side}: {lengths['mean']:.1f} words on average, median {lengths['median']:g}, "
                f"longest {lengths['longest']}, {lengths['different']} different"
            )
        for sample in split["samples"]:
            yield from (f"  | {sample[side]}" for side in SIDES)
            if sample["links"] is not None:
                source, target = (words(sample[side]) for side in SIDES)
                yield f"  | {' '.join(f'{source[i]}–{target[j]}' for i, j in sample['links'])}"
