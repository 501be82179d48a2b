"""The table of `scripts/languages.py`: each text with its words, tokens and sentences."""

import sys

import languages
import pytest
from languages import Example, examples, find, learned

TOKENIZER, EXAMPLES = learned(), [*examples()]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_finds_words_tokens_and_sentences(example: Example) -> None:
    found = find(example, TOKENIZER)
    assert found.words == example.words
    assert found.fits(example)


def test_some_tokens_cover_several_characters() -> None:
    pieces = sum(find(example, TOKENIZER).pieces for example in EXAMPLES)
    assert pieces < 0.95 * sum(len(example.text.replace(" ", "")) for example in EXAMPLES)


def test_the_table_has_a_line_per_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["languages.py"])
    assert languages.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(EXAMPLES) >= 26
    assert not any("WRONG" in line for line in lines)
