import re
from pathlib import Path

from support.command_line import PAIRS, VIEWS_PAGE, Tmt

from transformer_mt.runs.directory import Run

SOURCE, TARGET = PAIRS[0]
GIVEN = (SOURCE, "--target", TARGET)
PHARAOH = re.compile(r"(\d+-\d+( \d+-\d+)*)?")


def test_prints_links_then_numbered_sentences(on_run: Tmt) -> None:
    outcome = on_run("align", *GIVEN)
    assert (outcome.code, outcome.err) == (0, "")
    links, source, target = outcome.lines
    assert PHARAOH.fullmatch(links)
    assert source == "0 Der  1 Hund  2 schläft  3 ."
    words = re.findall(r"(\d) (\S+?)(?: \(([\d,]+)\))?(?:  |$)", target)
    assert [word for _, word, _ in words] == ["The", "dog", "sleeps", "."]
    printed = {f"{i}-{j}" for j, _, of in words for i in filter(None, of.split(","))}
    assert printed == set(links.split())


def test_json_names_the_heads(trained: str, on_run: Tmt) -> None:
    record = on_run("align", *GIVEN, "--json").json
    assert record["pharaoh"] == on_run("align", *GIVEN).lines[0]
    assert all(key in VIEWS_PAGE for key in record)
    assert (record["source"], record["target"], record["never_seen"]) == (SOURCE, TARGET, [])
    stored = Run(Path(trained)).alignment()
    assert (record["heads"], record["chosen_by"]) == (list(map(str, stored.heads)), "guess")
    assert {f"{i}-{j}" for i, j in record["links"]} == set(record["pharaoh"].split())


def test_files_print_one_line_per_pair(on_run: Tmt) -> None:
    Path("a.de").write_text(f"{SOURCE}\n\n{PAIRS[5][0]}\n")
    Path("a.en").write_text(f"{TARGET}\n\n{PAIRS[5][1]}\n")
    files = ("--input", "a.de", "--target-file", "a.en")
    first, empty, last = on_run("align", *files).lines
    assert empty == ""
    for pair, line in ((PAIRS[0], first), (PAIRS[5], last)):
        assert on_run("align", pair[0], "--target", pair[1]).lines[0] == line
    records = on_run("align", *files, "--json").records
    assert [record["pharaoh"] for record in records] == [first, "", last]
    Path("a.en").write_text(f"{TARGET}\n")
    short = on_run("align", *files).err
    assert short.endswith("a.en: ends after line 1, the other file is longer; give as many of both\n")


def test_layer_and_head_choose_heads(on_run: Tmt) -> None:
    record = on_run("align", *GIVEN, "--json", "--layer", "1", "--head", "2").json
    assert (record["heads"], record["chosen_by"]) == (["cross.1.2"], "given")
    assert on_run("align", *GIVEN, "--json", "--layer", "1").json["heads"] == ["cross.1.1", "cross.1.2"]
