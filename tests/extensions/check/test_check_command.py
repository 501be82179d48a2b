"""`tmt check`: everything is built, and one batch is overfitted."""

import re
from pathlib import Path

import pytest
from support.command_line import Tmt, contents, settings


@pytest.mark.slow
def test_check_overfits_a_batch_and_writes_nothing(data: str, tmt: Tmt, workplace: Path) -> None:
    wider = settings(model__width="64", model__feed_forward_width="64", training__batch_tokens="64")
    outcome = tmt("check", "--data", data, *wider)
    assert outcome.code == 0
    assert contents(workplace) == {}
    assert re.fullmatch(r"learning    one batch of \d+ pairs overfitted in \d+ steps", outcome.lines[-1])
    for name in ("device", "corpus", "vocabulary", "batches", "parameters", "shapes", "fits", "time"):
        assert re.search(rf"^{name} ", outcome.out, re.MULTILINE)


@pytest.mark.slow
def test_check_fails_if_the_batch_is_not_learned(data: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.extensions.check.sanity_check.MOST_STEPS", 10)
    outcome = tmt("check", "--data", data, *settings())
    assert outcome.code == 3
    error = r"tmt: error: training: after 10 steps only \d+\.\d % of one batch are right; try a larger model.width"
    assert re.fullmatch(error, outcome.err.splitlines()[-1])


def test_check_says_what_is_mixed_in(trained: str, workplace: Path, tmt: Tmt) -> None:
    (workplace / "own.tsv").write_text("Der Ärger wächst.\tThe trouble grows.\nDer Hund bellt.\tThe dog barks.\n" * 8)
    outcome = tmt("check", "--from", trained, "--data", "own.tsv")
    assert outcome.code == 0, outcome.err
    assert "tmt: mixing in the parent's data " in outcome.err
