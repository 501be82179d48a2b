from pathlib import Path

import pytest
from support.command_line import Tmt

SENTENCE = "Der Hund schläft im Haus."
FOUND = "The hound is sleeping in the building."


@pytest.fixture(autouse=True)
def glossary(workplace: Path) -> None:
    Path("terms.tsv").write_text('HUND\thound\n"Haus"\t"building"\n')


@pytest.fixture
def translate(tmt: Tmt) -> Tmt:
    return lambda *arguments: tmt("translate", "--model", "ready", "--glossary", "terms.tsv", *arguments)


@pytest.mark.parametrize("options", [(), ("--n-best", "2"), ("--trace",)])
def test_translations_have_the_terms(options: tuple[str, ...], translate: Tmt) -> None:
    outcome = translate(*options, SENTENCE)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[0].endswith(FOUND)


def test_json_lists_the_terms(translate: Tmt, tmt: Tmt) -> None:
    found = translate("--json", f"{SENTENCE} {SENTENCE}", "Ja.").records
    terms = [
        {"source": "HUND", "target": "hound", "placed": True},
        {"source": "Haus", "target": "building", "placed": True},
    ]
    assert [one["terms"] for one in found] == [terms * 2, []]
    assert found[0]["sentences"][1]["translation"] == FOUND
    assert "terms" not in tmt("translate", "--model", "ready", "--json", "Ja.").json


def test_terms_without_a_place_are_noted(translate: Tmt) -> None:
    outcome = translate("--prefix", "The dog", "--json", SENTENCE, "Ja.")
    assert "tmt: sentence 1: no place found for the terms: HUND → hound\n" in outcome.err
    assert [term["placed"] for term in outcome.records[0]["terms"]] == [False, True]


def test_a_glossary_without_effect_is_noted(translate: Tmt) -> None:
    said = "tmt: terms.tsv: none of its terms occurs in the input\n"
    assert translate("Ja.", "Nein.").err.endswith(said)
    assert said not in translate("Ja.", SENTENCE).err


def test_guessed_heads_are_noted(own_run: Path, tmt: Tmt) -> None:
    (own_run / "alignment.json").unlink()
    outcome = tmt("translate", "--model", str(own_run), "--glossary", "terms.tsv", SENTENCE)
    assert "averaging all heads" in outcome.err
