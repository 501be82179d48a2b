import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hostile_text import HOSTILE_TEXTS
from support.small_training import TEXTS, VALIDATION, opened
from support.tiny import sentences, tiny_config, varied_model
from support.variants import VARIANTS, Variant, supported

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.config.toml import load_config
from transformer_mt.extensions.export.export_formats import formats
from transformer_mt.extensions.export.export_run import PARITY, export_run, require_possible
from transformer_mt.extensions.export.parity import DECOMPOSED, STRANGE
from transformer_mt.extensions.export.supported import PLAIN
from transformer_mt.extensions.transformers import transformers_tokenizer
from transformer_mt.extensions.transformers.transformers_tokenizer import tokenizer_files
from transformer_mt.extensions.transformers.transformers_weights import (
    generation_config,
    model_config,
    weights,
)
from transformer_mt.ground.errors import MachineError
from transformer_mt.models.seq2seq import evaluating
from transformer_mt.models.transformer import Transformer
from transformer_mt.runs.directory import Run
from transformer_mt.text.normalize import normalize
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, UNK
from transformer_mt.tokenizer.tokenizer import Tokenizer

VOCABULARY = 17
TO = "transformers"
TYINGS = ("all", "target", "none")
TOGETHER: list[Variant] = [
    ("model.residual=post_norm", "model.feed_forward=gelu", "model.attention.score=dot"),
    ("model.attention.head_mask=['cross.1.2', 'encoder.2.1', 'decoder.1.3']",),
    *((f"model.tied={tied}", f"model.residual={order}") for tied in TYINGS for order in ("pre_norm", "post_norm")),
]


@pytest.mark.parametrize("variant", [(), *TOGETHER], ids=" ".join)
def test_stored_tensors_are_those_that_the_class_does_not_tie(variant: Variant) -> None:
    config = tiny_config(*variant)
    found = weights(transformer(*variant), config)
    half = config.width // 2  # positions are sines before cosines
    assert found["model.encoder.embed_positions.weight"][0].tolist() == [0.0] * half + [1.0] * half
    settings = model_config(config, vocabulary_size=VOCABULARY)
    tables = {name for name in found if "embed_tokens" in name or name in ("lm_head.weight", "model.shared.weight")}
    if settings["tie_word_embeddings"] and settings.get("share_encoder_decoder_embeddings", True):
        assert tables == {"model.shared.weight"}
    else:
        assert {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"} <= tables
        assert ("lm_head.weight" in tables) == (not settings["tie_word_embeddings"])


def test_a_head_that_is_off_adds_nothing_to_the_output() -> None:
    variant = ("model.attention.head_mask=['cross.1.2']",)
    model = transformer(*variant)
    found = weights(model, tiny_config(*variant))["model.decoder.layers.0.encoder_attn.out_proj.weight"]
    width = model.decoder[0].cross_attention.score.sizes.value_width  # type: ignore[union-attr]
    assert [column.any().item() for column in found.split(width, dim=1)][:3] == [True, False, True]


def transformer(*overrides: str) -> Transformer:
    model = varied_model(*overrides, vocabulary=VOCABULARY)
    assert isinstance(model, Transformer)
    return model


@pytest.mark.interop
@pytest.mark.parametrize("variant", [*supported(VARIANTS, PLAIN), *TOGETHER], ids=" ".join)
def test_logits_match_transformers(variant: Variant, tmp_path: Path) -> None:
    """Check it twice: saving again recomputes Marian's positions."""
    package = pytest.importorskip("transformers")
    config, model = tiny_config(*variant), transformer(*variant)
    table = model_config(config, vocabulary_size=VOCABULARY)
    (tmp_path / "config.json").write_text(json.dumps(table))
    safetensors.torch.save_file(weights(model, config), tmp_path / "model.safetensors", {"format": "pt"})
    source, target = (sentences(*lengths, vocabulary=VOCABULARY) for lengths in ((2, 7, 5, 3), (3, 5, 2, 7)))
    with evaluating(model):
        ours = model(source, target)
    theirs, found = package.AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(found.values())
    theirs.save_pretrained(tmp_path / "again")
    for one in (theirs, package.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "again")):
        mask = (source != PAD).long()
        with torch.inference_mode():
            logits = one.eval()(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits
        real = target != PAD
        torch.testing.assert_close(logits[real], ours[real], atol=2e-5, rtol=1e-5)


@pytest.fixture(scope="module", params=["unigram", "unigram with <", "bpe", "bpe with <", "bpe tags"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, Any]:
    """A tokenizer of ours, and transformers' copy of it."""
    package = pytest.importorskip("transformers")
    kind, _, more = request.param.partition(" ")
    texts = [*TEXTS, *(map(normalize, HOSTILE_TEXTS) if more == "with <" else ())]
    whole = {"Hund": 0.1, "house": 0.1, "the": 0.2}
    tags = ["<2en>", "<2fr>"] if more == "tags" else []
    own = Tokenizer.train(texts, TokenizerConfig(kind=kind, vocabulary_size=500), whole=whole, tags=tags)
    own = own.toward("fr") if tags else own
    folder = tmp_path_factory.mktemp("tokenizer")
    for name, content in tokenizer_files(own, max_length=64).items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    return own, package.AutoTokenizer.from_pretrained(folder)


def spellings() -> Iterator[str]:
    """Texts that a tokenizer could mistake for symbols, and invisible characters in their places."""
    yield from (
        "",
        "<2fr> <2en>",
        STRANGE,
        DECOMPOSED,
        "a <s> b <0x41> </s> <pad>",
        "x ▁ y▁",
        "<unk>",
        "\t a\n\x1f b \x07c",
    )
    yield from ("👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3 a\u200db a\ufe0f", "क\u094d\u200dष नमस\u094dत\u0947")
    yield from ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 a\u200cb", "\u0e44\u0e17\u0e22\u200b\u0e01 a\u200bb")


@pytest.mark.interop
def test_tokens_of_odd_texts_match(both: tuple[Tokenizer, Any]) -> None:
    own, theirs = both
    for text in (*spellings(), *(text for text in HOSTILE_TEXTS if text != "\ud800")):
        expected = own.encode(normalize(text))
        assert theirs(text)["input_ids"] == [*expected, EOS]
        assert theirs.decode(expected, skip_special_tokens=True) == own.decode(expected)


@pytest.mark.interop
@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters(codec="utf-8", exclude_categories=("Mn", "Mc", "Me", "Cf", "Cs")), max_size=40))
def test_tokens_of_any_text_match(text: str, both: tuple[Tokenizer, Any]) -> None:
    own, theirs = both
    assert theirs(text)["input_ids"] == [*own.encode(normalize(text)), EOS]


@pytest.mark.interop
def test_export_loads_without_tmt_and_translates_alike(tmp_path: Path) -> None:
    package = pytest.importorskip("transformers")
    list(opened(tmp_path / "run", "training.steps=8").train())
    run = Run.open(tmp_path / "run")
    require_possible(tmp_path / "out", to=TO, quantization=None, overwrite=False)
    parity = export_run(run, tmp_path / "out", VALIDATION, to=TO)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*formats()[TO].files, PARITY}
    assert parity.read_differently == ()
    assert parity.same == parity.sentences
    card = (tmp_path / "out/README.md").read_text("utf-8")
    assert "language: [de, en]" in card
    theirs = package.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    assert theirs.generation_config.length_penalty == run.config().search.length_penalty / 2


@pytest.mark.interop
@pytest.mark.parametrize(
    ("part", "other"), [("_normalizers", lambda: [{"type": "Lowercase"}]), ("_DECODERS", [{"type": "Fuse"}])]
)
def test_other_tokens_or_texts_stop_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, other: Any
) -> None:
    pytest.importorskip("transformers")
    list(opened(tmp_path / "run", "training.steps=8").train())
    monkeypatch.setattr(transformers_tokenizer, part, other)
    with pytest.raises(MachineError, match=r"out: not written, because \d+ of \d+ texts have other tokens"):
        export_run(Run.open(tmp_path / "run"), tmp_path / "out", VALIDATION, to=TO)
    assert not (tmp_path / "out").exists()


def test_generation_has_our_limits_and_symbols() -> None:
    config = load_config(None, ["search.max_length=40", "model.max_length=31", "search.beam=3"])
    found = generation_config(config)
    assert (found["max_length"], found["num_beams"], found["suppress_tokens"]) == (31, 3, [PAD, UNK, BOS])
    assert (found["decoder_start_token_id"], found["eos_token_id"], found["forced_eos_token_id"]) == (BOS, EOS, None)
