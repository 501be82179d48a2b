"""Words, tokens and sentences in many languages: a table of texts and their analysis by tmt.

    python scripts/languages.py [--model RUN]

The examples and the expected words are in languages.toml. Tokens come from the run's vocabulary, or from one
learned from the examples. Exit code 1 if a text isn't found as expected.
"""

import argparse
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.runs.directory import find_run
from transformer_mt.text.normalize import normalize
from transformer_mt.text.sentences import split_sentences
from transformer_mt.text.words import words
from transformer_mt.tokenizer.prepared import Preparer
from transformer_mt.tokenizer.tokenizer import Tokenizer


class Example(NamedTuple):
    """A text as typed and as read, in a language, with its words and the number of its sentences."""

    name: str
    code: str
    typed: str
    text: str
    words: list[str]
    sentences: int


class Found(NamedTuple):
    """The result for an example; `mapped` counts the tokens that belong to a word."""

    text: str
    words: list[str]
    pieces: int
    mapped: int
    sentences: list[str]

    def fits(self, example: Example) -> bool:
        """Whether the result is as expected."""
        return (self.text, self.words, self.mapped, len(self.sentences)) == (
            example.text, example.words, self.pieces, example.sentences,
        )  # fmt: skip


def examples() -> Iterator[Example]:
    """The examples in languages.toml."""
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items():
        typed, expected = entry.get("typed", entry["text"]), normalize(entry["words"]).split()
        yield Example(name, entry["code"], typed, normalize(entry["text"]), expected, entry["sentences"])


def find(example: Example, tokenizer: Tokenizer) -> Found:
    """The result of tmt for an example."""
    sentence = Preparer(tokenizer).sentence(example.typed)
    owners = sentence.words_of_piece
    mapped = sum(bool(of_piece) for of_piece in owners)
    return Found(sentence.text, words(sentence.text), len(owners), mapped, split_sentences(sentence.text, example.code))


def learned() -> Tokenizer:
    """A tokenizer trained on the examples, with tokens of several characters."""
    return Tokenizer.train(
        [example.text for example in examples()] * 9, TokenizerConfig(kind="bpe", vocabulary_size=1_500)
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="take the vocabulary of this run")
    model = parser.parse_args().model
    tokenizer = find_run(model).tokenizer() if model else learned()
    row, bad = "{:<28} {:<5} {:>8} {:>5} {:>6} {:>6} {:>9}  {}", 0
    print(row.format("text", "code", "expected", "found", "pieces", "mapped", "sentences", ""))
    for example in examples():
        found = find(example, tokenizer)
        bad += not (is_right := found.fits(example))
        sentences = f"{len(found.sentences)} of {example.sentences}"
        counts = len(example.words), len(found.words), found.pieces, found.mapped, sentences
        print(row.format(example.name, example.code, *counts, "" if is_right else f"WRONG: {' '.join(found.words)}"))
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
