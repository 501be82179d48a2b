"""What a corpus holds, as plain data and as lines of text."""

import random
from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import Any

from transformer_mt.corpus.load import Corpus
from transformer_mt.corpus.pairs import SentencePair, words


def corpus_statistics(corpus: Corpus, *, sample: int, seed: int) -> dict[str, Any]:
    """Counts, lengths in words and punctuation marks, what cleaning left out, and `sample` random pairs of each split.

    The keys are those of `tmt data --json`: `corpus`, `links`, `max_words`, and `splits` with `pairs`, `empty`,
    `too_long`, `source` and `target` (`mean`, `median`, `longest`, `different` words), and `samples`.
    """
    splits = {}
    for name, pairs in corpus.splits.items():
        cleaned = corpus.report.splits[name]
        chosen = random.Random(seed).sample(range(len(pairs)), min(sample, len(pairs)))
        splits[name] = {
            "pairs": len(pairs),
            "empty": cleaned.empty,
            "too_long": cleaned.too_long,
            "source": _side([pair.source for pair in pairs]),
            "target": _side([pair.target for pair in pairs]),
            "samples": [_sample(pairs[index]) for index in chosen],
        }
    return {"corpus": corpus.name, "links": corpus.has_links, "max_words": corpus.report.max_words, "splits": splits}


def statistics_lines(found: dict[str, Any]) -> Iterator[str]:
    """What `corpus_statistics` found, as lines of text."""
    links = "with word links" if found["links"] else "without word links"
    yield f"corpus {found['corpus']}, {links}"
    for name, split in found["splits"].items():
        yield ""
        removed = f"left out: {split['empty']} with an empty side, {split['too_long']} over {found['max_words']} words"
        yield f"{name}: {split['pairs']} pairs ({removed})"
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


def _side(sentences: Sequence[str]) -> dict[str, float]:
    split = [words(sentence) for sentence in sentences]
    lengths = [len(sentence) for sentence in split]
    return {
        "mean": round(fmean(lengths), 2),
        "median": median(lengths),
        "longest": max(lengths),
        "different": len({word for sentence in split for word in sentence}),
    }


def _sample(pair: SentencePair) -> dict[str, Any]:
    links = None if pair.links is None else [list(link) for link in pair.links]
    return {"source": pair.source, "target": pair.target, "links": links}
