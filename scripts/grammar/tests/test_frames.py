"""The rows of frames.toml and uses.toml."""

from random import Random
from typing import Any

import pytest

from grammar import frames
from grammar.frames import FRAMES, USES, framed
from grammar.lexicon import lexicon, table
from grammar.notation import Reader
from grammar.realise import realise
from grammar.sampler import Sampler

_WORDS = "now habit past planned modal command question negated zu joined time infinitive help und"
BARRED = frozenset(_WORDS.split()) | {"often", "done", "offer", "try", "news", "must", "wish", "fun", "forget", "was"}
_USES = table("uses")


_GROUPS = table("frames")["frames"]


@pytest.mark.parametrize("group", _GROUPS, ids=[group["say"][0] for group in _GROUPS])
def test_frames_of_a_group_can_be_read_whatever_is_chosen(group: dict[str, Any]) -> None:
    sampler = Sampler(Random(1), lambda verb, noun: True)
    for subject in group.get("subject", ["ich"]):
        Reader(sampler.of_kind).nominal(subject)
    rows = [row for row in FRAMES if row["group"] == group]
    assert len(rows) >= len(group["say"])
    for row in rows:
        assert row["bars"] <= BARRED
        for place in range(max(map(len, row["say"]))):
            text = "; ".join(options[place % len(options)] for options in row["say"])
            node = Reader(sampler.of_kind).clause(f"er; {text}")
            assert lexicon().verbs[node.verb.key] is node.verb


def test_each_alternative_of_a_verb_phrase_is_a_row() -> None:
    group = next(group for group in _GROUPS if " / " in group["say"][0])
    first = group["say"][0]
    alternatives = max((item.split(" / ") for item in first.split("; ")), key=len)
    said = [option for row in FRAMES if row["group"] == group for item in row["say"] for option in item]
    assert set(alternatives) <= set(said)


def test_uses_name_tables_that_there_are() -> None:
    tables = {name for row in _USES["aspects"].values() for name in row}
    tables |= {name for use in _USES["use"] for name in use.get("when", [])}
    assert tables <= set(_USES["when"])
    assert {use.get("subject", "told") for use in _USES["use"]} <= set(_USES["subjects"])
    assert {word for use in _USES["use"] for word in use.get("bars", "").split()} <= BARRED
    assert {name for use in _USES["use"] for name in use.get("never", "").split()} <= set(_USES["when"])
    assert {word for row in _USES["when"].values() for word in row["bars"].split()} <= BARRED


def test_lists_are_of_words_that_frames_have() -> None:
    texts = [option for row in FRAMES for item in row["say"] for option in item]
    said = {row["verb"].key for row in FRAMES} | {word for text in texts for word in text.split()}
    for row in _USES["list"]:
        assert {word.strip() for word in row["of"].split(",")} <= said


@pytest.mark.parametrize("place", USES, ids=[use["example"] for use in USES.values()])
def test_use_says_frames_without_the_bars(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_WEIGHTS", {place: 1})
    sampler = Sampler(Random(3), lambda verb, noun: True)
    said = set()
    for _ in range(40):
        sampler.new_sentence()
        said.add(realise(framed(sampler)).source)
    assert len(said) >= 20
    ends = {"question": "?", "command": "!"}.get(USES[place].get("form", ""), "")
    assert not ends or all(text.endswith(ends) for text in said)
    assert not any(text.startswith("Sie ") and " Sie " in text for text in said)
