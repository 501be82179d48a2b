"""Models with tags: exports and packs start sources with the tag of their language, and only these."""

from pathlib import Path

import pytest
from support.small_training import TRAIN, VALIDATION
from support.small_training import train as trained
from support.tagged import back, both

from transformer_mt import Translator
from transformer_mt.extensions.export.export_run import export_run
from transformer_mt.extensions.pack.pack_run import pack_run
from transformer_mt.runs.directory import Run
from transformer_mt.training.session import open_training as session

pytestmark = pytest.mark.slow


def test_a_packed_run_translates_without_the_tag(tmp_path: Path) -> None:
    trained(session(back(tmp_path / "data"), tmp_path / "run"))
    (tmp_path / "packed.zip").write_bytes(pack_run(Run.open(tmp_path / "run"), precision="float32"))
    found = [Translator.load(path, device="cpu") for path in (tmp_path / "run", tmp_path / "packed.zip")]
    sources = [TRAIN[0].source, f"<#bt> {TRAIN[0].source}"]
    first, second = ([ranked[0].tokens for ranked in one.translate(sources)] for one in found)
    assert first == second
    tag = found[1].model.tokenizer.tags["<#bt>"]
    prepared = found[1].model.prepare.lines(sources, split=False)
    assert not any(tag in line.sentences[0].ids for line in prepared)


def test_exports_write_the_tag_before_sources_only(tmp_path: Path) -> None:
    package = pytest.importorskip("transformers")
    trained(session(both(tmp_path / "data"), tmp_path / "run"))
    for to in ("ctranslate2", "transformers"):
        export_run(Run.open(tmp_path / "run"), tmp_path / to, VALIDATION, to=to)
    script = (tmp_path / "ctranslate2/translate.py").read_text("utf-8")
    assert "[['<2en>'] + read]" in script
    assert "> 95:" in script  # with the tag and the end symbol, 97
    card = (tmp_path / "transformers/README.md").read_text("utf-8")
    assert "leave out `<2en>` in labels" in card
    names = {"tokenizer": package.AutoTokenizer.from_pretrained(tmp_path / "transformers"), "targets": ["A dog.", ""]}
    exec(card.split("```python\n")[2].split("```")[0], names)
    found = [names["tokenizer"].convert_ids_to_tokens(label) for label in names["labels"]]
    assert [label[-1] for label in found] == ["</s>", "</s>"]
    assert "<2en>" not in found[0]
    assert found[1] == ["</s>"]
