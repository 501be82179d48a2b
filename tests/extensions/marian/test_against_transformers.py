"""Imported models against transformers' own: logits, tokens and texts."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from support.marian import CODES, random_tensors, settings, vocabulary, write_marian
from support.small_training import PAIRS
from torch import Tensor

from transformer_mt.extensions.marian.import_marian import import_marian
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD

pytestmark = pytest.mark.interop

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


@pytest.mark.parametrize("changes", [{"activation_function": "gelu"}, {"d_model": 480, "encoder_layers": 6}])
def test_logits_are_equal_also_after_saving_again(tmp_path: Path, changes: dict[str, Any]) -> None:
    theirs, tokenizer, run, ids = both(tmp_path, **changes)
    source, target = torch.randint(EOS, len(ids), (3, 17)), torch.randint(EOS, len(ids), (3, 13))
    source[1, 12:], target[:, 0] = PAD, BOS
    real = (source != PAD).long()
    with torch.no_grad():
        expected = theirs(input_ids=ids[source], attention_mask=real, decoder_input_ids=ids[target]).logits
    with warnings.catch_warnings(action="ignore"):
        theirs.save_pretrained(tmp_path / "saved")
        tokenizer.save_pretrained(tmp_path / "saved")
    for one in (run, import_marian(tmp_path / "saved", tmp_path / "again")):
        with torch.no_grad():
            found = one.network()(source, target)
        torch.testing.assert_close(found[..., 1:], expected[..., ids[1:]], rtol=0.0, atol=1e-5)


def test_tokens_and_texts_are_equal(tmp_path: Path) -> None:
    _, theirs, run, ids = both(tmp_path)
    ours = run.tokenizer()
    for text in (
        *TEXTS, "", "½ ﬁ ｄｅｒ 北京, der!", f"{CODES[0]} der Hund", f"{CODES[1]}der Hund", ">>xyz<< der",
        "der >>fra<< Hund", "„der“ »Hund« – ‚das‘ … der,Hund .", "der  Hund", "Das Haus sieht (die Katze)",
    ):  # fmt: skip
        assert ids[[*ours.encode(text), EOS]].tolist() == theirs(text).input_ids
        assert ids[[*ours.target.encode(text), EOS]].tolist() == theirs(text_target=text).input_ids
        for read in (ours.encode(text), ours.target.encode(text)):
            assert ours.decode(read) == theirs.decode(ids[read], skip_special_tokens=True)
