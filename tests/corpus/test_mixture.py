"""Corpora mixed into another: their own cleaning rules, and held-out texts."""

from pathlib import Path
from typing import Any

import pytest
from support.data_files import texts, tsv, write

from transformer_mt.config.sections import DataConfig
from transformer_mt.config.toml import load_config
from transformer_mt.corpus.builtin import builtin_corpus
from transformer_mt.corpus.load_corpus import load_corpus, load_mixture, resolved
from transformer_mt.ground.errors import InputError

PAIRS = [(f"der {number}. Hund", f"dog {number}") for number in range(41)]


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """A corpus with a validation and a test split."""
    (tmp_path / "main").mkdir()
    for split, pairs in (("train", PAIRS), ("valid", PAIRS[3:5]), ("test", PAIRS[5:6])):
        write(tmp_path / f"main/{split}.tsv", tsv(pairs))
    return tmp_path / "main"


def mixed(corpus: Path | str, *mixture: dict[str, object], **changes: object) -> list[tuple[Any, ...]]:
    """The training pairs of each mixed corpus, and its notes."""
    named = {f"n{number}": one | {"corpus": str(one["corpus"])} for number, one in enumerate(mixture)}
    config = DataConfig.model_validate({"corpus": str(corpus), "mixture": named} | changes, strict=False)
    found = load_corpus(config)
    return [(texts(one, "train"), *one.notes) for one, _ in load_mixture(resolved(config, found), found)]


def test_loads_a_mixture_in_the_direction_of_the_main_corpus(tmp_path: Path, main: Path) -> None:
    other = write(tmp_path / "other.de-en.tsv", tsv(PAIRS[:3]))
    light, usual = f'data.mixture.light={{corpus="{other}", weight=0.5}}', f"data.mixture.a.corpus={other}"
    config = load_config(None, [f"data.corpus={main}", light, usual, "data.train_split=test"]).data
    config = config.model_copy(update={"source_language": "en", "target_language": "de"})
    loaded = load_mixture(config, load_corpus(config))
    assert [one.weight for _, one in loaded] == [0.5, 1.0]
    first, _ = loaded[0]
    assert texts(first, "train") == [(target, source) for source, target in PAIRS[:3]]
    assert list(first.splits) == ["train"]  # it loses no validation split


def test_each_corpus_has_its_own_rules_and_columns(tmp_path: Path, main: Path) -> None:
    long = write(tmp_path / "long.de-en.tsv", tsv([("a b c", "d"), ("a", "b")]))
    turned = write(tmp_path / "turned.csv", b"one,two\ndog,Hund\ncat,cat\n")
    options = {"source_column": "two", "target_column": "one", "remove": ["copy"]}
    found = mixed(main, {"corpus": long, "max_words": 2}, {"corpus": long}, {"corpus": turned} | options, max_words=5)
    assert [pairs for pairs, *_ in found] == [[("a", "b")], [("a b c", "d"), ("a", "b")], [("Hund", "dog")]]
    assert found[0][-1] == f"mixture: 1 of 2 pairs of {long}; left out: 1 over 2 words"
    assert found[1][-1] == f"mixture: 2 of 2 pairs of {long}; left out: none"


def test_an_error_in_a_mixed_corpus_names_its_key(main: Path) -> None:
    with pytest.raises(InputError, match=r"^data\.mixture\.n1: nowhere: no such file or folder; "):
        mixed(main, {"corpus": main}, {"corpus": "nowhere"})


def test_removes_pairs_with_a_held_out_side(tmp_path: Path, main: Path) -> None:
    pairs = [*PAIRS[:2], PAIRS[3], (PAIRS[4][0], "new"), ("neu", PAIRS[5][1]), ("neu", "new")]
    other = write(tmp_path / "other.de-en.tsv", tsv(pairs))
    for number in (1, 2):  # the second time from the cache
        ((found, *_, said), (whole, *_)) = mixed(main, {"corpus": other, "remove": ["overlap"]}, {"corpus": other})
        assert (number, found, whole) == (number, [*PAIRS[:2], ("neu", "new")], pairs)
        assert said.endswith("; left out: 3 also in another split")
    write(main / "test.tsv", tsv(PAIRS[:1]))
    ((found, *_),) = mixed(main, {"corpus": other, "remove": ["overlap"]})
    assert found == [PAIRS[1], *pairs[4:]]


def test_notes_a_file_that_does_not_name_its_languages(tmp_path: Path, main: Path) -> None:
    for name, count in (("silent.tsv", 1), ("named.de-en.tsv", 0)):
        path = write(tmp_path / name, tsv(PAIRS))
        ((_, *notes),) = mixed(main, {"corpus": path})
        remark = f"{path} does not name its languages: assuming de → en; give its columns or files in this order"
        assert notes.count(remark) == count


def test_a_mixed_corpus_in_other_languages_is_refused_with_its_own_keys(tmp_path: Path, main: Path) -> None:
    other = write(tmp_path / "x.tsv", tsv([("They are not there.", "Elle est dans une de ses maisons.")]))
    problem = "this looks like English → French, not German → English; rename its files or columns"
    keys = r"data\.mixture\.n0\.source_language=en and data\.mixture\.n0\.target_language=fr"
    with pytest.raises(InputError, match=rf"^data\.mixture\.n0: {other}: {problem}, or set {keys}$"):
        mixed(main, {"corpus": other})


def test_mixes_in_the_builtin_corpus_without_held_out_pairs(tmp_path: Path) -> None:
    first, second = builtin_corpus(train=2, validation=1, test=1)["train"]
    (tmp_path / "own").mkdir()
    write(tmp_path / "own/train.de-en.tsv", tsv([("neu", "new")]))
    write(tmp_path / "own/valid.de-en.tsv", tsv([("x", first.target)]))
    ((found, *_),) = mixed(tmp_path / "own", {"corpus": "builtin", "remove": ["overlap"]}, builtin={"train": 2})
    assert found == [(second.source, second.target)]
