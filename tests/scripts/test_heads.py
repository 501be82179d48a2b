"""Experiments with attention heads: each runs on a tiny run and says what it should."""

from pathlib import Path

import pytest
from grammar.trees import Node, ParsedPair
from heads.__main__ import faithful, prune, relations
from heads.relations import Case, cases
from support.command_line import settings, write_corpus

from transformer_mt import Translator
from transformer_mt.cli.main import run
from transformer_mt.ground.errors import InputError
from transformer_mt.runs.directory import Run

# „Ich sehe den Hund, der bellt." and "I see the barking dog."; no punctuation here.
READ = (
    Node("PRON", "nsubj", 1),
    Node("VERB", "root", -1),
    Node("DET", "det", 3),
    Node("NOUN", "obj", 1),
    Node("PRON", "nsubj", 5, antecedent=3),
    Node("VERB", "acl:relcl", 3),
)
WRITTEN = (
    Node("PRON", "nsubj", 1),
    Node("VERB", "root", -1),
    Node("DET", "det", 4),
    Node("ADJ", "amod", 4),
    Node("NOUN", "obj", 1),
)
LINKED = ((0, 0), (1, 1), (2, 2), (3, 4), (4, 3), (5, 3))
PAIR = ParsedPair("Ich sehe den Hund der bellt", "I see the barking dog", LINKED, structure=(READ, WRITTEN))


@pytest.mark.slow
def test_every_experiment_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = tmp_path / "data", tmp_path / "run"
    write_corpus(data)
    assert run(["train", "--data", str(data), "--run-dir", str(model), *settings()]) == 0
    capsys.readouterr()
    faithful(model, data=str(data), sentences=2)
    assert {"weights", "shuffled"} <= {line.split()[0] for line in capsys.readouterr().out.splitlines()[7:]}
    relations(model, sentences=30)
    assert "nsubj → its " in capsys.readouterr().out
    for importance in ("unnormalised", "gradient", "exact", "bleu"):
        prune(model, 3, tmp_path / importance, importance=importance, data=str(data), sentences=3)
        title, off = capsys.readouterr().out.splitlines()[:2]
        assert title == f"{tmp_path / importance}: a run without 3 of 6 heads"
        assert ", ".join(Run(tmp_path / importance).config().model.attention.head_mask) == off.removeprefix("off: ")
    assert Translator.load(tmp_path / "exact").translate(["Der Hund schläft."])
    with pytest.raises(InputError, match=r"^prune: 6 of 6 heads cannot be removed; keep one"):
        prune(model, 6, tmp_path / "none", data=str(data))


def test_cases_of_each_stack() -> None:
    def found(stack: str, relation: str) -> set[tuple[str, int, int, int]]:
        return {(one.kind[1], *one[1:]) for one in cases(PAIR, stack) if one.kind[0] == relation}

    assert found("encoder", "det") == {("head", 2, 3, 1), ("dependent", 3, 2, -1)}
    assert found("encoder", "antecedent") == {("head", 4, 3, -1), ("dependent", 3, 4, 1)}
    assert len(list(cases(PAIR, "encoder"))) == 12
    assert found("decoder", "det") == {("dependent", 4, 2, -2)}  # no later words
    assert Case(("obj", "head"), 4, 1, -2) in list(cases(PAIR, "cross"))
    # „der" is linked with the word that „bellt" is linked with.
    assert found("cross", "nsubj") == {("head", 0, 1, 1), ("dependent", 1, 0, -1)}
