import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import make_ready
import pytest
import typer
from make_ready import PublishedRun, make, references, rows
from support.small_training import opened, write_corpus

from transformer_mt.config.toml import load_config, parse_written_config
from transformer_mt.corpus.builtin import SPLITS
from transformer_mt.ground.errors import InputError
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import CONFIG, Run
from transformer_mt.runs.words import WORDS, unpack_words


def mixed(folder: Path) -> Path:
    """A run with pairs of its own as Tatoeba."""
    corpus = write_corpus(folder / "own")
    opened(folder / "run", f"data.mixture.tatoeba.corpus={corpus}", "data.mixture.tatoeba.weight=0.5")
    return folder / "run"


def test_the_published_configuration_names_the_recipes_data(tmp_path: Path) -> None:
    run = mixed(tmp_path)
    own, published = (kind(run).small_files() for kind in (Run, PublishedRun))
    config = parse_written_config(published.pop(CONFIG), place=CONFIG)
    before = parse_written_config(own.pop(CONFIG), place=CONFIG)
    assert published.pop(WORDS) != own.pop(WORDS)
    assert published == own
    recipe = load_config("ready", ["data.mixture.tatoeba.weight=0.5"])
    assert config.data.mixture == recipe.data.mixture != before.data.mixture
    assert config.model_copy(update={"data": before.data}) == before


def test_the_published_words_are_common(tmp_path: Path) -> None:
    run = mixed(tmp_path)
    words, published = Run(run).words(), unpack_words(PublishedRun(run).small_files()[WORDS], path=run)
    assert words
    assert published.source == Counter({word: count for word, count in words.source.items() if count > 1})
    assert set(published.target.values()) == set(words.target.values()) - {1}
    assert (published.complete, published.longest) == (False, words.longest)


def test_trains_both_directions_and_then_one_in_two_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[object, ...], list[str]]] = []
    monkeypatch.setattr(make_ready, "_tmt", lambda *words, settings: calls.append((words, settings)))
    for name in ("ready-both", "ready-one"):
        (tmp_path / name).mkdir()
    make_ready.train(tmp_path / "ready", None, ["model.width=64"])
    (_, mixed), (words, settings), (last_words, last_settings) = calls
    both, one, last = load_config("ready", mixed), load_config(None, settings), load_config(None, last_settings)
    assert words[:2] == ("--from", tmp_path / "ready-both")
    assert last_words[:2] == ("--from", words[-1]) == ("--from", tmp_path / "ready-one")
    assert last_words[-1] == tmp_path / "ready"
    assert both.model.width == one.model.width == last.model.width == 64
    steps = [config.training.steps for config in (both, one, last)]
    assert steps == [make_ready.BOTH, make_ready.ONE, make_ready.LAST]
    assert sum(steps) == load_config("ready").training.steps
    assert one.schedule.learning_rate > last.schedule.learning_rate
    directions = {name: (one.source_language, one.target_language) for name, one in both.data.mixture.items()}
    assert directions == {"tatoeba": ("", ""), "back": ("en", "de"), "reverse": ("en", "de")}
    forth, back = both.data.mixture["tatoeba"], both.data.mixture["back"]
    assert (back.source_column, back.target_column) == (forth.target_column, forth.source_column)
    assert one.data.mixture == {"tatoeba": forth}


def test_the_table_counts_exact_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"de": "Er kostet 5 €.", "en": ["It costs €5.", "It is €5."]})
    (tmp_path / "test.references.jsonl").write_text(f"{line}\n", "utf-8")
    assert references(tmp_path)[0].translations == ("It costs €5.", "It is €5.")

    def scored(translator: object, pairs: list[make_ready.SentencePair]) -> SimpleNamespace:
        texts = [pair.target.replace("@", "") for pair in pairs]  # spoils addresses and accounts
        return SimpleNamespace(bleu=1.0, bleu_lowercase=2.0, chrf=3.0, exact=0.5, aer=None, translations=texts)

    monkeypatch.setattr(make_ready, "evaluate", scored)
    head, *lines, kept = "\n".join(rows(None, {tmp_path.name: references(tmp_path)})).splitlines()  # type: ignore[arg-type]
    assert [line.split("`")[1] for line in lines if "`" in line] == [*SPLITS[2:], tmp_path.name]
    assert head.count("|") == lines[1].count("|")
    assert lines[-2].endswith("| 1 | 1.00 | 2.00 | 3.00 | 50.00 | – |")
    all_strings, exact = (int(part.replace(",", "")) for part in (kept.split()[1], kept.split()[7]))
    assert 0.8 * all_strings < exact < all_strings


def test_files_are_checked_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_ready, "train", lambda *_: pytest.fail("trains"))
    with pytest.raises(InputError, match=r"test\.references\.jsonl: no such file; check --tatoeba"):
        references(tmp_path)
    with pytest.raises(InputError, match=r"nowhere/model\.zip: its folder does not exist; make it"):
        make(tmp_path / "run", None, [], tests={}, output=tmp_path / "nowhere/model.zip")


@pytest.mark.parametrize("most", [12_000_000, 99])
def test_a_large_model_does_not_replace_the_old_one(tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mixed(tmp_path)
    session = opened(run, "training.steps=1", f"data.mixture.tatoeba.corpus={tmp_path / 'own'}", overwrite=True)
    list(session.train())
    (output := tmp_path / "model.zip").write_bytes(b"old")
    monkeypatch.setattr(make_ready, "train", lambda *_: None)
    monkeypatch.setattr(make_ready, "rows", lambda *_: ["| table |"])
    monkeypatch.setattr(make_ready, "evaluate", lambda *_: SimpleNamespace(bleu=1.0))
    monkeypatch.setattr(make_ready, "MOST_BYTES", most)
    is_good = make(run, None, [], tests={}, output=output)
    assert is_good == (most > 99)
    assert (output.read_bytes() == b"old") == (not is_good)
    if is_good:
        assert Run.open(output).pack.read("README.md", limit=10**5).endswith(b"| table |\n")  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_failed_training_ends_with_its_exit_code() -> None:
    with pytest.raises(typer.Exit) as end:
        make_ready._tmt("nowhere.toml", settings=[])
    assert end.value.exit_code == 2


@pytest.mark.slow
def test_a_signal_stops_the_training_which_saves(tmp_path: Path) -> None:
    small = ("model.width=16", "tokenizer.vocabulary_size=300", "data.builtin.train=300", "training.steps=300")
    texts = [tmp_path / "own.de", tmp_path / "own.en"]
    for path in texts:
        path.write_text("".join(f"{number} {path.suffix}\n" for number in range(90)), "utf-8")
    options = ["--run", str(tmp_path / "ready"), "--texts", ",".join(map(str, texts))]
    options += [part for setting in small for part in ("--set", setting)]
    command = [sys.executable, make_ready.__file__, *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
    assert process.stderr
    with process.stderr:
        assert any(line.startswith("tmt: step ") for line in process.stderr)
        process.send_signal(signal.SIGTERM)
        assert "tmt: stopped at step" in process.stderr.read()
    assert process.wait() == 143
    assert newest_progress(Run(tmp_path / "ready-both")).step >= 1
