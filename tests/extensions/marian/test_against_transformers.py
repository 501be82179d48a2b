"""Imported models against transformers' own: logits, attentions, tokens and translations."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from support.marian import CODES, processor, random_tensors, sentencepiece_model, settings, vocabulary, write_marian
from support.small_training import PAIRS
from torch import Tensor

from transformer_mt.extensions.marian.import_marian import import_marian
from transformer_mt.links.recording import record_attention
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD
from transformer_mt.translation.translator import Translator

pytestmark = pytest.mark.interop

# Layers, width, heads and hidden width, all different.
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {},
    "relu": {"activation_function": "relu", "encoder_layers": 1, "decoder_layers": 3},
    "odd": {"activation_function": "gelu", "d_model": 21, "encoder_attention_heads": 3, "decoder_attention_heads": 3},
    "opus": {
        "activation_function": "swish", "d_model": 512, "encoder_layers": 6, "decoder_layers": 6,
        "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048,
        "max_position_embeddings": 512,
    },
}  # fmt: skip
TEXTS = [pair.source for pair in PAIRS[:10]]


@pytest.fixture(autouse=True)
def installed() -> None:
    """Skip these tests without the package; it is too slow to import at the top."""
    pytest.importorskip("transformers")


def open_theirs(folder: Path) -> tuple[Any, Any]:
    from transformers import MarianMTModel, MarianTokenizer

    with warnings.catch_warnings(action="ignore"):
        model = MarianMTModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
        return model, MarianTokenizer.from_pretrained(folder)


def both(folder: Path, **changes: Any) -> tuple[Any, Any, Run, Tensor]:
    """Their model and tokenizer, our run, and their id of each of our tokens."""
    # Weights of about the usual size, so that rounding is of the usual size too.
    tensors = random_tensors(settings(**changes), scale=settings(**changes)["d_model"] ** -0.5)
    write_marian(folder / "marian", tensors, **changes)
    run = import_marian(folder / "marian", folder / "run")
    ids, tokens = vocabulary(), run.tokenizer().pieces(range(run.tokenizer().size))
    return *open_theirs(folder / "marian"), run, torch.tensor([ids["<pad>" if t == "<s>" else t] for t in tokens])


@pytest.mark.parametrize("name", SIZES)
def test_logits_and_attentions_are_equal(tmp_path: Path, name: str) -> None:
    theirs, _, run, ids = both(tmp_path, **SIZES[name])
    source, target = torch.randint(EOS, len(ids), (3, 17)), torch.randint(EOS, len(ids), (3, 13))
    source[1, 12:], target[:, 0] = PAD, BOS
    ours, real = run.network(), source != PAD
    with torch.no_grad(), record_attention(ours) as recorded:
        logits = ours(source, target)
    with torch.no_grad():
        expected = theirs(
            input_ids=ids[source], attention_mask=real.long(), decoder_input_ids=ids[target], output_attentions=True
        )
    gaps = {"logits": (logits[..., 1:] - expected.logits[..., ids[1:]]).abs().max().item()}
    attentions = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    for stack, key in attentions.items():
        seen = real[:, None, :, None] if stack == "encoder" else torch.tensor(True)
        pairs = zip(recorded[stack], expected[key], strict=True)
        gaps[stack] = max(((a - b).abs() * seen).max().item() for a, b in pairs)
    print(name, gaps)
    assert max(gaps.values()) < 1e-5


@pytest.mark.parametrize("text", [
    *TEXTS, "", "½ ﬁ ｄｅｒ 北京, der!", f"{CODES[0]} der Hund", f"{CODES[1]}der Hund",
    ">>xyz<< der", "der >>fra<< Hund",
    "„der“ »Hund« – ‚das‘ … der,Hund .", "der  Hund", "Das Haus sieht (die Katze)",
])  # fmt: skip
def test_tokens_and_texts_are_equal(tmp_path: Path, text: str) -> None:
    _, theirs, run, ids = both(tmp_path)
    ours = run.tokenizer()
    assert ids[[*ours.encode(text), EOS]].tolist() == theirs(text).input_ids
    assert ids[[*ours.target.encode(text), EOS]].tolist() == theirs(text_target=text).input_ids
    for tokenizer in (ours, ours.target):
        read = tokenizer.encode(text)
        assert ours.decode(read) == theirs.decode(ids[read], skip_special_tokens=True)


def test_marian_tokenizer_does_not_normalise_punctuation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a `normalize` after Moses, with the package sacremoses, but calls it nowhere. So neither do we."""
    _, theirs, _, _ = both(tmp_path)
    assert theirs.normalize("»der« Hund") == '"der" Hund'
    calls: list[str] = []
    monkeypatch.setattr(theirs, "punc_normalizer", lambda text: calls.append(text) or text)
    theirs(["»der« Hund"], text_target=["the »dog«"])
    assert not calls


@pytest.mark.parametrize("width", [35, 50])
def test_greedy_translations_are_equal(tmp_path: Path, width: int) -> None:
    theirs, tokenizer, run, _ = trained(tmp_path, d_model=width, dropout=0.0, encoder_ffn_dim=64, decoder_ffn_dim=64)
    longest = 40
    # Like Marian itself, we never generate <unk>; transformers would.
    banned = [[tokenizer.pad_token_id], [tokenizer.unk_token_id]]
    expected = []
    for text in TEXTS:
        options = {"num_beams": 1, "max_length": longest, "forced_eos_token_id": 0, "bad_words_ids": banned}
        (found,) = theirs.generate(**tokenizer([text], return_tensors="pt"), **options)
        expected.append(tokenizer.decode(found, skip_special_tokens=True))
    translator = Translator.load(run.path, device="cpu")
    search = translator.search.model_copy(update={"beam": 1, "max_length": longest - 1})  # theirs counts the start
    assert [best.text for [best] in translator.translate(TEXTS, search)] == expected
    assert len({*expected}) > 5


def trained(folder: Path, **changes: Any) -> tuple[Any, Any, Run, Tensor]:
    """As `both`, after a little training, so that translations differ and end."""
    theirs, tokenizer, _, ids = both(folder / "first", **changes)
    batch = tokenizer(
        [pair.source for pair in PAIRS], text_target=[pair.target for pair in PAIRS], return_tensors="pt", padding=True
    )
    batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
    optimizer = torch.optim.Adam(theirs.parameters(), lr=3e-3)
    for _ in range(100):
        optimizer.zero_grad()
        theirs(**batch).loss.backward()
        optimizer.step()
    with warnings.catch_warnings(action="ignore"):
        theirs.save_pretrained(folder / "saved")
        tokenizer.save_pretrained(folder / "saved")
    return theirs.eval(), tokenizer, import_marian(folder / "saved", folder / "run"), ids


def test_models_of_the_test_have_two_different_sides() -> None:
    sides = [processor(sentencepiece_model(side, size)) for side, size in (("source", 60), ("target", 50))]
    assert sides[0].Encode("the dog", out_type=str) != sides[1].Encode("the dog", out_type=str)
