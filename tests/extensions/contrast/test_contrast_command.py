"""`tmt contrast`: why this word, and not another?"""

from collections.abc import Callable

import pytest
from support.command_line import Tmt

SOURCE = "Der Hund schläft."
TARGET = "The dog sleeps."
PAIR = (SOURCE, "--target", TARGET)


def test_two_words_are_contrasted(on_run: Tmt) -> None:
    asked = ("contrast", *PAIR, "--word", "dog", "--not", "cat")
    outcome = on_run(*asked)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:3] == [SOURCE, TARGET, ""]
    found = on_run(*asked, "--json").json
    assert outcome.lines[3] == f"Why {found['token']} and not {found['other_token']}?"
    assert " ".join(found["in_words"].split()) in " ".join(outcome.out.split())
    assert (
        [line.split()[0] for line in outcome.lines[6:11]]
        == found["from_source"]["words"]
        == [*SOURCE[:-1].split(), ".", "</s>"]
    )
    assert [found[key] for key in ("word", "other", "prefix", "never_seen")] == ["dog", "cat", "The", []]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--not", "cat"), "--word: missing"),
        (("--word", "dog", "--not", "dog"), "--not: 'dog' is what the translation says; give another word"),
        (("--word", "Hund", "--not", "cat"), "--word: 'Hund' is not in the translation; "),
    ],
)
def test_usage_errors(options: tuple[str, ...], message: str, on_run: Tmt) -> None:
    assert on_run("contrast", *PAIR, *options).mistake.startswith(message)


def test_works_without_attention(recurrent: Callable[[str], str], tmt: Tmt) -> None:
    outcome = tmt("contrast", "--model", recurrent("none"), *PAIR, "--word", "2", "--not", "cat")
    assert (outcome.code, outcome.lines[5].split()) == (0, ["source", "gradient", "erasure"])
