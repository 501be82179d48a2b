"""Marian models in transformers' format become runs that compute the same."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from support.marian import (
    HIDDEN,
    LONGEST,
    WIDTH,
    marian_logits,
    positions,
    random_tensors,
    read_tensors,
    settings,
    vocabulary,
    write_marian,
)
from torch import Tensor

from transformer_mt.extensions.marian.import_marian import import_marian
from transformer_mt.ground.errors import InputError, MachineError, TmtError
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.symbols import BOS, EOS, NEVER_GENERATED, PAD, UNK
from transformer_mt.translation.translator import Translator

TOLERANCE = {"rtol": 0.0, "atol": 1e-10}


def imported(folder: Path, **changes: Any) -> Run:
    return import_marian(write_marian(folder / "marian", **changes), folder / "run")


def theirs(run: Run) -> Tensor:
    """Marian's id of each of our tokens; for `PAD` and `BOS`, of its padding."""
    ids, tokens = vocabulary(), run.tokenizer().pieces(range(run.tokenizer().size))
    return torch.tensor([ids["<pad>" if token == "<s>" else token] for token in tokens])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation_function": "relu", "d_model": 12, "encoder_attention_heads": 3, "decoder_attention_heads": 3},
        {"activation_function": "gelu", "encoder_layers": 1, "decoder_layers": 1},
        {"activation_function": "silu", "encoder_ffn_dim": 29, "decoder_ffn_dim": 29, "encoder_layers": 3},
    ],
)
def test_logits_equal_marians(tmp_path: Path, changes: dict[str, Any]) -> None:
    run = imported(tmp_path, **changes)
    ids, network = theirs(run), run.network().double()
    source, target = torch.randint(EOS, len(ids), (3, 11)), torch.randint(EOS, len(ids), (3, 7))
    target[:, 0] = BOS
    expected = marian_logits(read_tensors(tmp_path / "marian"), settings(**changes), ids[source], ids[target])
    found = network(source, target)
    torch.testing.assert_close(found[..., 1:], expected[..., ids[1:]], **TOLERANCE)
    padded = torch.cat((source, torch.full((3, 2), PAD)), dim=1)
    torch.testing.assert_close(network(padded, target), found, **TOLERANCE)
    assert found.softmax(dim=-1)[..., PAD].max() < 1e-40


def test_weights_in_16_bits_are_read_as_they_are(tmp_path: Path) -> None:
    tensors = {name: tensor.half() for name, tensor in random_tensors(settings()).items()}
    run = import_marian(write_marian(tmp_path / "marian", tensors), tmp_path / "run")
    table = run.network().get_parameter("source_embedding.table.weight")
    assert table.dtype == torch.float32
    assert {*table[EOS].tolist()} == {*tensors["model.shared.weight"][0].float().tolist()}


def test_configuration_says_what_the_folder_says(tmp_path: Path) -> None:
    config = imported(tmp_path, dropout=0.25, attention_dropout=0.125).config()
    model = config.model
    assert (model.width, model.max_length, model.feed_forward, model.feed_forward_width) == (
        WIDTH,
        LONGEST,
        "silu",
        HIDDEN,
    )
    assert (model.dropout, model.attention.dropout, model.attention.bias) == (0.25, 0.125, True)
    assert (config.search.max_length, config.search.max_length_margin) == (LONGEST, LONGEST)
    assert (config.data.source_language, config.data.target_language) == ("de", "en")
    assert config.tokenizer.vocabulary_size == len(vocabulary()) + 1


def test_folder_need_not_name_its_languages(tmp_path: Path) -> None:
    folder = write_marian(tmp_path / "marian")
    (folder / "tokenizer_config.json").write_text("{}", "utf-8-sig")
    (folder / "generation_config.json").unlink()
    data = import_marian(folder, tmp_path / "run").config().data
    assert (data.source_language, data.target_language) == ("auto", "auto")


def test_symbols_are_never_generated(tmp_path: Path) -> None:
    tensors = random_tensors(settings())
    for token in ("<pad>", "<unk>"):  # by far the likeliest
        tensors["final_logits_bias"][0, vocabulary()[token]] = 50.0
    import_marian(write_marian(tmp_path / "marian", tensors), tmp_path / "run")
    translator = Translator.load(tmp_path / "run", device="cpu")
    [[best]] = translator.translate(["der Hund sieht das Kind."])
    assert best.text
    assert {*translator.model.tokenizer.ids(best.tokens)}.isdisjoint(NEVER_GENERATED)


def test_the_parts_of_a_run_without_training_data_can_be_read(tmp_path: Path) -> None:
    run = imported(tmp_path)
    assert run.words() is run.alignment() is None
    assert {split: data.rows for split, data in run.data().fingerprints.items()} == {"train": 0}
    assert not [*run.metrics()]


def test_positions_may_be_in_the_file_if_they_are_marians(tmp_path: Path) -> None:
    tensors = random_tensors(settings())
    tensors["model.encoder.embed_positions.weight"] = positions(LONGEST, WIDTH).float()
    tensors["model.decoder.embed_positions.weight"] = positions(LONGEST, WIDTH).float()
    import_marian(write_marian(tmp_path / "marian", tensors), tmp_path / "run")
    for side in ("encoder", "decoder"):
        learned = tensors | {f"model.{side}.embed_positions.weight": positions(LONGEST, WIDTH).float() + 0.01}
        with pytest.raises(InputError, match=rf"model.{side}.embed_positions.weight is not sinusoidal; "):
            import_marian(write_marian(tmp_path / side, learned), tmp_path / "other")
        shorter = tensors | {f"model.{side}.embed_positions.weight": positions(LONGEST, WIDTH).float()[:-1]}
        with pytest.raises(InputError, match="is not sinusoidal"):
            import_marian(write_marian(tmp_path / f"{side} shorter", shorter), tmp_path / "other")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "bart"}, "model_type is bart; tmt needs marian"),
        ({"scale_embedding": False}, "scale_embedding is False; tmt needs True"),
        ({"separate_vocabs": True}, "separate_vocabs is True; tmt needs False"),
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings is False; tmt needs True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings is False; tmt needs True"),
        (
            {"activation_function": "gelu_new"},
            "activation_function is gelu_new; tmt needs swish or silu or relu or gelu",
        ),
        ({"decoder_ffn_dim": 8}, "decoder_ffn_dim is 8; tmt needs 7"),
        ({"decoder_attention_heads": 3}, "decoder_attention_heads is 3; tmt needs 5"),
        ({"decoder_start_token_id": 0}, "decoder_start_token_id is 0; tmt needs "),
        ({"d_model": "15"}, "model.width: input should be a valid integer, not '15'; "),
        ({"d_model": 10**9}, "model.width: input should be less than or equal to 65536, "),
        ({"encoder_attention_heads": 4, "decoder_attention_heads": 4}, "model.width: 15 is not divisible by 4 heads; "),
        ({"encoder_layers": None}, "model.encoder_layers: input should be a valid integer, not None"),
        ({"dropout": 1.5}, "model.dropout: input should be less than 1"),
        ({"pad_token_id": 3, "decoder_start_token_id": 3}, "pad_token_id is 3; tmt needs [0-9]+$"),
        ({"eos_token_id": 5}, "eos_token_id is 5; tmt needs 0$"),
        ({"encoder_layers": 3}, r"the weights do not fit the configuration \(encoder.2"),
        ({"decoder_layers": 2}, r"the weights do not fit the configuration \(decoder.2"),
    ],
)
def test_unsupported_and_wrong_settings_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = write_marian(tmp_path / "marian", random_tensors(settings()), **changes)
    with pytest.raises(TmtError, match=message) as error:
        import_marian(folder, tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def rewritten(name: str, change: Callable[[Any], Any]) -> Callable[[Path], object]:
    """Change the content of a JSON file."""
    return lambda folder: (folder / name).write_text(json.dumps(change(json.loads((folder / name).read_text()))))


def without(token: str) -> Callable[[Path], object]:
    return rewritten("vocab.json", lambda ids: {key: index for key, index in ids.items() if key != token})


DAMAGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a list": (lambda folder: (folder / "config.json").write_text("[]"), "config.json: damaged, or not a JSON object"),
    "not JSON": (lambda folder: (folder / "vocab.json").write_text("{"), "vocab.json: damaged, or not a JSON object"),
    "deep": (lambda folder: (folder / "vocab.json").write_text("[" * 10**6), "vocab.json: damaged, or not a JSON obj"),
    "long": (lambda folder: (folder / "config.json").write_text(" " * 2**16 + "{}"), "65538 bytes, at most 65536 exp"),
    "missing": (lambda folder: (folder / "source.spm").unlink(), "source.spm: missing; copy the whole model again"),
    "twice": (rewritten("vocab.json", lambda ids: ids | {"▁d": 3}), "target.spm: damaged ("),
    "too large": (rewritten("vocab.json", lambda ids: ids | {"▁d": 10**6}), "target.spm: damaged ("),
    "negative": (rewritten("vocab.json", lambda ids: ids | {"▁d": -1}), "target.spm: damaged ("),
    "text": (rewritten("vocab.json", lambda ids: ids | {"▁d": "3"}), "target.spm: damaged ("),
    "lists": (rewritten("vocab.json", lambda ids: ids | {"▁d": []}), "target.spm: damaged ("),
    "no padding": (without("<pad>"), "pad_token_id is "),
    "no unknown": (without("<unk>"), "target.spm: damaged ("),
    "a gap": (without("▁d"), "target.spm: damaged ("),
    "no tokens": (rewritten("vocab.json", lambda ids: {}), "pad_token_id is "),
    "no model": (lambda folder: (folder / "target.spm").write_bytes(b"\n" * 99), "target.spm: damaged ("),
    "empty": (lambda folder: (folder / "target.spm").write_bytes(b""), "target.spm: damaged ("),
    "truncated": (
        lambda folder: (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-1]),
        "model.safetensors: damaged or not a safetensors file; copy the whole model again, without links",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused_by_name(tmp_path: Path, name: str) -> None:
    damage, message = DAMAGED[name]
    damage(folder := write_marian(tmp_path / "marian"))
    with pytest.raises(TmtError, match=re.escape(message)):
        import_marian(folder, tmp_path / "run")
    assert not (tmp_path / "run").exists()


TABLES = ["lm_head", "model.encoder.embed_tokens", "model.decoder.embed_tokens"]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("names", [*((name,) for name in TABLES), TABLES])
def test_copies_of_the_table_are_no_other_model(tmp_path: Path, names: Sequence[str], kept: bool) -> None:
    tensors = random_tensors(settings())
    expected = import_marian(write_marian(tmp_path / "marian", tensors), tmp_path / "run").network().state_dict()
    shared = tensors["model.shared.weight"] if kept else tensors.pop("model.shared.weight")
    tensors |= {f"{name}.weight": shared.clone() for name in names}
    found = import_marian(write_marian(tmp_path / "more", tensors), tmp_path / "same").network().state_dict()
    assert all(found[name].equal(expected[name]) for name in expected)
    if kept or names == TABLES:
        tensors[f"{names[-1]}.weight"][0, 0] += 1.0
        with pytest.raises(InputError, match=r"has different tables of tokens; call model.tie_weights"):
            import_marian(write_marian(tmp_path / "other", tensors), tmp_path / "third")


@pytest.mark.parametrize("rows", [-1, 1, 8])
def test_a_table_with_another_number_of_tokens_has_a_remedy(tmp_path: Path, rows: int) -> None:
    tensors = random_tensors(settings())
    table = tensors["model.shared.weight"]
    tensors["model.shared.weight"] = torch.randn(len(table) + rows, WIDTH)
    said = f"has {len(table) + rows} rows for tokens, but vocab.json has {len(table)} tokens; call model.resize_token_"
    with pytest.raises(InputError, match=said):
        import_marian(write_marian(tmp_path / "marian", tensors), tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found.pop("final_logits_bias"), "(output.bias)"),
        (lambda found: found.update(extra=torch.ones(3)), "(extra)"),
        (lambda found: found.update(final_logits_bias=torch.ones(1, 3)), "(output.bias)"),
        (lambda found: found.update(final_logits_bias=torch.ones(1, len(vocabulary()) + 1)), "(output.bias)"),
        (lambda found: found.update({"model.shared.weight": torch.ones(3)}), "(source_embedding.table.weight)"),
        (lambda found: found.pop("model.shared.weight"), "(source_embedding.table.weight)"),
        (lambda found: found.update({"model.shared.weight": torch.tensor(1.0)}), "(source_embedding.table.weight)"),
        (lambda found: found.update({"final_logits_bias": torch.ones(1, 3, dtype=torch.int8)}), "(output.bias)"),
        (lambda found: found["model.shared.weight"].fill_(torch.nan), "not finite (source_embedding.table.weight)"),
        (lambda found: found.update({"model.encoder.layers.0.fc2.bias": torch.ones(WIDTH + 1)}), "(encoder.0.feed_fo"),
        (lambda found: found.update({"model.encoder.layers.0.fc1.weight": torch.ones(HIDDEN, 16)}), "(encoder.0.feed"),
    ],
)
def test_tensors_that_do_not_fit_are_named(
    tmp_path: Path, change: Callable[[dict[str, Tensor]], object], message: str
) -> None:
    change(tensors := random_tensors(settings()))
    with pytest.raises(MachineError, match=re.escape(message)):
        import_marian(write_marian(tmp_path / "marian", tensors), tmp_path / "run")


def test_pickles_are_refused_by_name(tmp_path: Path) -> None:
    folder = write_marian(tmp_path / "marian")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"pytorch_model.bin: it is a pickle and could run any program.*safetensors"):
        import_marian(folder, tmp_path / "run")


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder = write_marian(tmp_path / "marian")
    for name in sorted(path.name for path in folder.iterdir()):
        if name == "generation_config.json":  # not read
            continue
        (folder / name).rename(tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
        with pytest.raises(MachineError, match=rf"{name}: not a regular file \(links are refused\); copy"):
            import_marian(folder, tmp_path / "run")
        (tmp_path / name).rename(folder / name)
    (tmp_path / "named by a person").symlink_to(folder)
    import_marian(tmp_path / "named by a person", tmp_path / "run")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = write_marian(tmp_path / "marian")
    (tmp_path / "empty").mkdir()
    import_marian(folder, tmp_path / "empty")
    before = {path: path.read_bytes() for path in (tmp_path / "empty").iterdir() if path.is_file()}
    for path in (tmp_path / "empty", folder / "config.json"):
        with pytest.raises(InputError, match="exists; choose another directory"):
            import_marian(folder, path)
    assert before == {path: path.read_bytes() for path in (tmp_path / "empty").iterdir() if path.is_file()}


def test_tokens_keep_their_ids_order(tmp_path: Path) -> None:
    run = imported(tmp_path)
    ids = theirs(run)
    assert ids[[UNK, BOS, EOS]].tolist() == [1, vocabulary()["<pad>"], 0]
    assert ids[4:].tolist() == sorted(ids[4:].tolist())
    assert {*ids.tolist()} == {*range(len(vocabulary()))}
    table = run.network().get_parameter("source_embedding.table.weight")
    assert table[PAD].abs().max() == 0.0
    raw = safetensors.torch.load((tmp_path / "marian/model.safetensors").read_bytes())["model.shared.weight"]
    torch.testing.assert_close(table[1:].sort(dim=1).values, raw[ids[1:]].sort(dim=1).values, rtol=0.0, atol=0.0)
