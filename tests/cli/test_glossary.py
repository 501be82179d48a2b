from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt

SOURCES = [source for source, _ in PAIRS]
WORD = SOURCES[0].split()[1]


@pytest.fixture
def glossary(on_run: Tmt) -> tuple[str, str]:
    Path("terms.tsv").write_text(f"{WORD.upper()}\told house\nnever\tread\n")
    return "--glossary", "terms.tsv"


def test_translations_contain_the_terms(glossary: tuple[str, str], on_run: Tmt) -> None:
    plain = on_run("translate", SOURCES[0], "Ja").lines
    for options in ((), ("--beam", "1"), ("--n-best", "2"), ("--alternatives",), ("--trace",)):
        outcome = on_run("translate", *glossary, *options, SOURCES[0], "Ja")
        assert outcome.code == 0
        assert "old house" in outcome.lines[0]
        if not options:
            assert outcome.lines[1] == plain[1]


def test_json_lists_the_terms(glossary: tuple[str, str], on_run: Tmt) -> None:
    found = on_run("translate", "--json", *glossary, f"{SOURCES[0]} {SOURCES[0]}", "Ja").records
    term = {"source": WORD.upper(), "target": "old house"}
    assert [one["terms"] for one in found] == [[term, term], []]
    assert "terms" not in on_run("translate", "--json", "Ja").json


def test_a_glossary_without_effect_is_noted(glossary: tuple[str, str], on_run: Tmt) -> None:
    said = "tmt: terms.tsv: none of its terms occurs in the input\n"
    assert on_run("translate", *glossary, "Ja", "Nein").err.endswith(said)
    assert said not in on_run("translate", *glossary, "Ja", SOURCES[0]).err
    Path("terms.tsv").write_text(f'"{WORD}"\t"old house"\n')
    assert "old house" in on_run("translate", *glossary, SOURCES[0]).out


def test_line_whose_terms_are_too_long_is_empty(on_run: Tmt) -> None:
    Path("terms.tsv").write_text(f"{WORD}\t{'a ' * 400}\n")
    outcome = on_run("translate", "--glossary", "terms.tsv", SOURCES[0], "Ja")
    assert (outcome.code, outcome.lines[0], bool(outcome.lines[1])) == (2, "", True)
    assert "tmt: sentence 1: needs " in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sample",), "--glossary: sampling may leave out its terms; leave out one of them"),
        (
            ("--engine", "ctranslate2"),
            "--glossary: ctranslate2 does not have it; leave out --glossary or --engine",
        ),
    ],
)
def test_glossary_is_refused(options: tuple[str, ...], message: str, glossary: tuple[str, str], on_run: Tmt) -> None:
    assert on_run("translate", *glossary, *options, SOURCES[0]).mistake == message


def test_missing_glossary_is_a_one_line_error(on_run: Tmt) -> None:
    message = "missing: no such file; write a source term, a tab and a target term on each line"
    assert on_run("translate", "--glossary", "missing", SOURCES[0]).mistake == message
