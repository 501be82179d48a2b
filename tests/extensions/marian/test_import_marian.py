"""Marian models in transformers' format become runs that compute the same."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from support.marian import WIDTH, marian_logits, positions, random_tensors, settings, vocabulary, write_marian
from torch import Tensor

from transformer_mt.extensions.marian.import_marian import import_marian
from transformer_mt.ground.errors import MachineError, TmtError
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD


def imported(folder: Path, tensors: dict[str, Tensor] | None = None, **changes: Any) -> Run:
    return import_marian(write_marian(folder / "marian", tensors, **changes), folder / "run")


def refusal(folder: Path, tensors: dict[str, Tensor] | None = None, **changes: Any) -> TmtError:
    """The error of an import, which leaves no run."""
    with pytest.raises(TmtError) as error:
        imported(folder, tensors, **changes)
    assert "\n" not in str(error.value)
    assert not (folder / "run").exists()
    return error.value


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation_function": "relu", "d_model": 12, "encoder_attention_heads": 3, "decoder_attention_heads": 3},
        {"activation_function": "gelu", "encoder_layers": 1, "decoder_layers": 1},
        {"activation_function": "silu", "encoder_ffn_dim": 29, "decoder_ffn_dim": 29},
    ],
)
def test_logits_equal_marians(tmp_path: Path, changes: dict[str, Any]) -> None:
    tensors = {name: tensor.half() for name, tensor in random_tensors(settings(**changes)).items()}
    run = imported(tmp_path, tensors, **changes)
    network, tokens = run.network().double(), run.tokenizer().pieces(range(run.tokenizer().size))
    ids = torch.tensor([vocabulary()["<pad>" if token == "<s>" else token] for token in tokens])
    source, target = torch.randint(EOS, len(ids), (3, 11)), torch.randint(EOS, len(ids), (3, 7))
    target[:, 0] = BOS
    expected = marian_logits(tensors, settings(**changes), ids[source], ids[target])
    found = network(source, target)
    torch.testing.assert_close(found[..., 1:], expected[..., ids[1:]], rtol=0.0, atol=1e-10)
    assert found.softmax(dim=-1)[..., PAD].max() < 1e-40


def test_configuration_says_what_the_folder_says(tmp_path: Path) -> None:
    config = imported(tmp_path, dropout=0.25, attention_dropout=0.125, max_position_embeddings=37).config()
    model: Any = config.model
    assert (model.dropout, model.attention.dropout) == (0.25, 0.125)
    assert [model.max_length, config.search.max_length, config.search.max_length_margin] == [37] * 3
    assert (config.data.source_language, config.data.target_language) == ("de", "en")
    (tmp_path / "marian/tokenizer_config.json").write_text("{}", "utf-8-sig")
    data = import_marian(tmp_path / "marian", tmp_path / "other").config().data
    assert (data.source_language, data.target_language) == ("auto", "auto")


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_positions_may_be_in_the_file_if_they_are_marians(tmp_path: Path, side: str) -> None:
    tensors, name = random_tensors(settings()), f"model.{side}.embed_positions.weight"
    table = positions(41, WIDTH).float()
    for number, other in enumerate((table + 0.01, table[:-1])):
        assert f"{name} is not sinusoidal" in str(refusal(tmp_path / f"{number}", tensors | {name: other}))
    imported(tmp_path, tensors | {name: table})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model_type", "bart"),
        ("scale_embedding", False),
        ("separate_vocabs", True),
        ("share_encoder_decoder_embeddings", False),
        ("tie_word_embeddings", False),
        ("activation_function", "gelu_new"),
        ("decoder_ffn_dim", 8),
        ("decoder_attention_heads", 3),
        ("decoder_start_token_id", 0),
        ("pad_token_id", 3),
        ("eos_token_id", 5),
    ],
)
def test_unsupported_settings_are_named(tmp_path: Path, key: str, value: object) -> None:
    changes = {key: value} | ({"decoder_start_token_id": value} if key == "pad_token_id" else {})
    error = refusal(tmp_path, random_tensors(settings()), **changes)
    assert str(error).startswith(f"{tmp_path / 'marian'}: {key} is {value}; tmt needs ")


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"d_model": "15"}, "model.width: "),
        ({"encoder_layers": 3}, "(encoder.2"),
    ],
)
def test_wrong_settings_are_named_as_ours(tmp_path: Path, changes: dict[str, Any], place: str) -> None:
    assert place in str(refusal(tmp_path, random_tensors(settings()), **changes))


VOCABULARY, TENSORS = "vocab.json, source.spm, target.spm: damaged (", "model.safetensors: damaged"
DAMAGED: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("config.json", lambda content: b"[]", "config.json: damaged, or not a JSON object; copy the whole model again"),
    ("config.json", lambda content: content.ljust(2**16 + 1), "config.json: "),
    ("vocab.json", lambda content: json.dumps(vocabulary() | {"▁d": 3}).encode(), VOCABULARY),
    ("vocab.json", lambda content: content.replace(b"<pad>", b"pad"), "pad_token_id is "),
    ("target.spm", lambda content: b"", VOCABULARY),
    ("model.safetensors", lambda content: content[:-1], TENSORS),
]


@pytest.mark.parametrize(("name", "damage", "message"), DAMAGED)
def test_damaged_files_are_refused_by_name(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes], message: str
) -> None:
    path = write_marian(tmp_path / "marian") / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(TmtError) as error:
        import_marian(path.parent, tmp_path / "run")
    assert message in str(error.value)


TABLES = ["lm_head", "model.encoder.embed_tokens", "model.decoder.embed_tokens"]


@pytest.mark.parametrize(("names", "kept"), [(TABLES[:1], False), (TABLES[1:2], False), (TABLES, True)])
def test_copies_of_the_table_are_no_other_model(tmp_path: Path, names: Sequence[str], kept: bool) -> None:
    tensors = random_tensors(settings())
    expected = imported(tmp_path / "one", tensors).network().state_dict()
    shared = tensors["model.shared.weight"] if kept else tensors.pop("model.shared.weight")
    tensors |= {f"{name}.weight": shared.clone() for name in names}
    torch.testing.assert_close(imported(tmp_path / "more", tensors).network().state_dict(), expected, rtol=0, atol=0)
    if kept:
        tensors[f"{names[-1]}.weight"][0, 0] += 1.0
        assert "has different tables of tokens; call model.tie_weights" in str(refusal(tmp_path, tensors))


def test_weights_that_may_not_fit_in_memory_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.runs.directory.free_memory", lambda: 10)
    monkeypatch.setattr("transformer_mt.runs.directory.read_regular", lambda *_, **__: pytest.fail("reads"))
    monkeypatch.setattr("transformer_mt.ground.memory.FREE_ANYWHERE", 0)
    error = str(refusal(tmp_path, random_tensors(settings())))
    assert "safetensors: needs 0.0 GB of memory, 0.0 GB are free; use" in error


def test_a_table_with_another_number_of_tokens_has_a_remedy(tmp_path: Path) -> None:
    tensors = random_tensors(settings())
    tensors["model.shared.weight"] = torch.randn(len(vocabulary()) + 8, WIDTH)
    assert "; call model.resize_token_embeddings(" in str(refusal(tmp_path, tensors))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda found: found.pop("final_logits_bias"), "output.bias"),
        (lambda found: found.update(extra=torch.ones(3), final_logits_bias=torch.ones(1, 3)), "extra"),
        (lambda found: found["model.shared.weight"].fill_(torch.nan), "source_embedding.table.weight"),
        (lambda found: found.update({"model.encoder.layers.0.fc2.bias": torch.ones(WIDTH + 1)}), "encoder.0.feed_"),
    ],
)
def test_tensors_that_do_not_fit_are_named(
    tmp_path: Path, change: Callable[[dict[str, Tensor]], object], name: str
) -> None:
    change(tensors := random_tensors(settings()))
    error = refusal(tmp_path, tensors)
    assert isinstance(error, MachineError)
    assert f"({name}" in str(error)


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "source.spm", "target.spm", "model.safetensors"])
def test_links_are_not_followed(tmp_path: Path, name: str) -> None:
    folder = write_marian(tmp_path / "marian")
    (tmp_path / "named by a person").symlink_to(folder)
    import_marian(tmp_path / "named by a person", tmp_path / "run")
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    with pytest.raises(MachineError, match=rf"{name}: not a regular file \(links are refused\); copy"):
        import_marian(folder, tmp_path / "other")
