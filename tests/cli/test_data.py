import json
from pathlib import Path

from support.command_line import PAIRS, Tmt

SIZES = ("--set", "data.builtin.train=40", "--set", "data.builtin.validation=11", "--set", "data.builtin.test=7")


def test_json_counts_and_samples_with_links(tmt: Tmt) -> None:
    outcome = tmt("data", *SIZES, "--sample", "5", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out)["languages"] == ["de", "en"]
    found = json.loads(outcome.out)
    assert (found["corpus"], found["links"]) == ("builtin", True)
    assert {name: found["splits"][name]["pairs"] for name in ("train", "validation", "test")} == {
        "train": 40,
        "validation": 11,
        "test": 7,
    }
    for split in found["splits"].values():
        assert len(split["samples"]) == min(5, split["pairs"])
        assert all(sample["links"] for sample in split["samples"])
        assert split.keys() == {"pairs", "cleaning", "counted", "source", "target", "samples"}


def test_lines_show_the_pairs_and_their_links(tmt: Tmt) -> None:
    lines = tmt("data", *SIZES, "--sample", "2").lines
    assert lines[0] == "corpus builtin, de → en, with word links"
    train = lines.index("train: 40 pairs")
    source, target, links = [line for line in lines[train:] if line.startswith("  | ")][:3]
    assert all(line.startswith("  | ") for line in (source, target, links))
    for link in links.removeprefix("  | ").split():
        german, _, english = link.partition("–")
        assert german in source
        assert english in target


def test_the_seed_chooses_the_samples(tmt: Tmt) -> None:
    def drawn(seed: str) -> str:
        return tmt("data", *SIZES, "--seed", seed).out

    assert drawn("3") == drawn("3")
    assert drawn("3") != drawn("4")


def test_no_samples_where_none_are_wanted(data: str, tmt: Tmt) -> None:
    assert not [line for line in tmt("data", "--data", data, "--sample", "0").lines if line.startswith("  |")]


def test_a_folder_has_no_links_and_cleaning_is_counted(tmt: Tmt) -> None:
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


def test_what_a_corpus_says_cannot_command_the_terminal(tmt: Tmt) -> None:
    Path("mine").mkdir()
    Path("mine/train.jsonl").write_text(json.dumps({"de": "\u202eab\u200f", "en": "x\u2066y"}) + "\n")
    for options in ([], ["--json"]):
        out = tmt("data", "--data", "mine", *options).out
        assert not {"\u202e", "\u200f", "\u2066"} & set(out)
