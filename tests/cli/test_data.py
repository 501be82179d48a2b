import json
from pathlib import Path

import pytest
from support.command_line import PAIRS, Tmt

from transformer_mt.corpus.load_corpus import Corpus
from transformer_mt.corpus.pairs import SentencePair

SIZES = ("--set", "data.builtin.train=40", "--set", "data.builtin.validation=11", "--set", "data.builtin.test=7")


def test_json(tmt: Tmt) -> None:
    found = tmt("data", *SIZES, "--sample", "5", "--json").json
    assert (found["corpus"], found["languages"], found["links"]) == ("builtin", ["de", "en"], True)
    counts = {name: split["pairs"] for name, split in found["splits"].items()}
    assert (counts["train"], counts["validation"], counts["test"]) == (40, 11, 7)
    for name, split in found["splits"].items():
        assert len(split["samples"]) == min(5, split["pairs"])
        assert all(sample["links"] for sample in split["samples"]) == (name != "test_everyday")  # has no word links
        assert split.keys() == {"pairs", "cleaning", "counted", "source", "target", "samples"}


def test_samples_show_links(tmt: Tmt) -> None:
    lines = tmt("data", *SIZES, "--sample", "2").lines
    assert lines[0] == "corpus builtin, de → en, with word links"
    train = lines.index("train: 40 pairs")
    source, target, links = [line for line in lines[train:] if line.startswith("  | ")][:3]
    assert all(line.startswith("  | ") for line in (source, target, links))
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


def test_escapes_corpus_text(tmt: Tmt) -> None:
    Path("mine").mkdir()
    Path("mine/train.jsonl").write_text(json.dumps({"de": "\u202eab\u200f", "en": "x\u2066y"}) + "\n")
    for options in ([], ["--json"]):
        out = tmt("data", "--data", "mine", *options).out
        assert not {"\u202e", "\u200f", "\u2066"} & set(out)


def test_counts_words_in_a_sample_of_a_large_split(monkeypatch: pytest.MonkeyPatch, tmt: Tmt) -> None:
    monkeypatch.setattr("transformer_mt.views.corpus._COUNTED", 39)
    assert "  in a random sample of 39:" in tmt("data", *SIZES).lines


PAIR = SentencePair(
    "Der Bahnhofsvorsteher, dem ich vertraue, kommt an.",
    "He arrives.",
    None,
    ("He is arriving.",),
    ("Er kommt an.",),
)


def test_json_has_all_references(tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_pairs({"train": [PAIR], "test_everyday": [("Ja.", "Yes.")]})
    monkeypatch.setattr("transformer_mt.corpus.load_corpus.load_corpus", lambda *_, **__: corpus)
    splits = tmt("data", "--json").json["splits"]
    [found], [plain] = splits["train"]["samples"], splits["test_everyday"]["samples"]
    assert (found["references"], found["source_references"]) == (["He is arriving."], ["Er kommt an."])
    assert (plain["references"], plain["source_references"]) == ([], [])
