import json
from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt

from transformer_mt.corpus.builtin import FIXED

SIZES = ("--set", "data.builtin.train=40", "--set", "data.builtin.validation=11", "--set", "data.builtin.test=7")


def test_json(tmt: Tmt) -> None:
    found = tmt("data", *SIZES, "--sample", "5", "--json").json
    assert (found["corpus"], found["languages"], found["links"]) == ("builtin", ["de", "en"], True)
    counts = {name: split["pairs"] for name, split in found["splits"].items()}
    assert (counts["train"], counts["validation"], counts["test"]) == (40, 11, 7)
    for name, split in found["splits"].items():
        assert len(split["samples"]) == min(5, split["pairs"])
        assert all(sample["links"] for sample in split["samples"]) == (name not in FIXED)
        assert split.keys() == {"pairs", "cleaning", "counted", "source", "target", "samples"}
    assert any(sample["references"] for split in found["splits"].values() for sample in split["samples"])


def test_samples_show_links(tmt: Tmt) -> None:
    lines = tmt("data", *SIZES, "--sample", "2").lines
    assert lines[0] == "corpus builtin, de → en, with word links"
    train = lines.index("train: 40 pairs")
    source, target, links = [line for line in lines[train:] if line.startswith("  | ")][:3]
    for link in links.removeprefix("  | ").split():
        german, _, english = link.partition("–")
        assert german in source
        assert english in target


def test_seed_chooses_samples(tmt: Tmt) -> None:
    drawn = [tmt("data", *SIZES, "--seed", seed) for seed in ("3", "3", "4")]
    assert drawn[0] == drawn[1] != drawn[2]


def test_sample_0_prints_none(data: str, tmt: Tmt) -> None:
    assert "  |" not in tmt("data", "--data", data, "--sample", "0").out


def test_folder_without_links_reports_cleaning(tmt: Tmt) -> None:
    Path("mine").mkdir()
    rows = [*PAIRS[:2], ("", "nothing"), ("a b c d e f", "g")]
    lines = "".join(json.dumps({"de": de, "en": en}) + "\n" for de, en in rows)
    Path("mine/train.jsonl").write_text(lines)
    outcome = tmt("data", "--data", "mine", "--set", "data.max_words=5")
    assert outcome.lines[0].endswith("/mine, de → en, without word links")
    assert outcome.lines[2:7] == [
        "train: 1 pairs",
        "  left out: 1 with an empty side (empty)",
        "    pair 3:  | nothing",
        "  left out: 1 over 5 words (long)",
        "    pair 4: a b c d e f | g",
    ]
    assert "validation: 1 pairs" in outcome.lines
    assert f"  | {PAIRS[0][0]}" in outcome.lines


def test_counts_words_in_a_sample_of_a_large_split(monkeypatch: pytest.MonkeyPatch, tmt: Tmt) -> None:
    monkeypatch.setattr("transformer_mt.views.corpus._COUNTED", 39)
    assert "  in a random sample of 39:" in tmt("data", *SIZES).lines
