"""Training speed: ours, the plain loop, JoeyNMT, and the limit set by the machine's matrix products."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import torch

from benchmarks.contest import Contestant, Spread, in_turn, markdown, ratio, tmt_environment
from benchmarks.matrix_products import SIDE, training_flops
from benchmarks.reference import Sizes, describe, generated_text, reference_batches
from transformer_mt.batching.batches import Batch
from transformer_mt.ground.device import choose_device, choose_precision
from transformer_mt.tokenizer.symbols import SPECIAL

PLAIN, PLAIN_AS_OURS, JOEYNMT = "torch.nn.Transformer", "torch.nn.Transformer, dropout as ours", "JoeyNMT"


@dataclass(frozen=True)
class Speeds:
    """Per round: tokens per second of each program, and operations per second of each number format's products."""

    tokens: Mapping[str, Sequence[float]]
    needed: Sequence[float]
    batches: Sequence[Batch]
    products: Mapping[str, Sequence[float]]


def training_table(sizes: Sizes, folder: Path, *, rounds: int = 10, joeynmt: Path | None = None) -> str:
    """Measure steps of all programs in turn, and return Markdown; writes files to the folder."""
    speeds = measured(sizes, folder, rounds=rounds, joeynmt=joeynmt)
    baselines = [name for name in (PLAIN, PLAIN_AS_OURS, JOEYNMT) if name in speeds.tokens]
    head = ["training", "tokens/s", *(f"× {name}" for name in baselines), "of the matrix peak"]
    rows = []
    for name, tokens in speeds.tokens.items():
        against = [ratio(tokens, speeds.tokens[other]).shown(2) if other != name else "" for other in baselines]
        rows.append([name, Spread.of(tokens).shown(0), *against, share_of_peak(name, speeds)])
    return "\n\n".join((f"{describe()}; {words(sizes, speeds)}", markdown(head, rows)))


def measured(sizes: Sizes, folder: Path, *, rounds: int, joeynmt: Path | None) -> Speeds:
    """Start every program and measure them in turn."""
    warmups = 2
    batches = list(islice(reference_batches(sizes), warmups + rounds))
    device = choose_device("auto")
    auto = str(choose_precision("auto", device)).removeprefix("torch.")
    formats = list(dict.fromkeys((auto, "float32")))
    settings, saved = json.dumps(asdict(sizes)), save(batches, folder / "batches.pt")
    with ExitStack() as stack:
        enter = stack.enter_context
        programs = [enter(our_training(f"ours, {name}", settings, name)) for name in formats]
        for name, places in ((PLAIN, "everywhere"), (PLAIN_AS_OURS, "as_ours")):
            programs.append(enter(Contestant(name, "plain_training", settings, saved, device.type, places)))
        if joeynmt:
            configured = write_joeynmt(sizes, folder / "joeynmt", device=device)
            programs.append(enter(Contestant(JOEYNMT, "joeynmt_training", configured, python=str(joeynmt))))
        peaks = [enter(Contestant(name, "matrix_products", name, device.type, SIDE[device.type])) for name in formats]
        found = in_turn([program.turn for program in (*programs, *peaks)], rounds=rounds, warmups=warmups)
    rates = [[turn.get("tokens", turn.get("flops")) / turn["seconds"] for turn in turns] for turns in found]
    kept = batches[warmups:]
    needed = [training_flops(sizes, batch) / (batch.source_tokens + batch.target_tokens) for batch in kept]
    by_name = dict(zip((program.name for program in (*programs, *peaks)), rates, strict=True))
    products = {name: by_name.pop(name) for name in formats}
    return Speeds(by_name, needed, kept, products)


def our_training(name: str, settings: str, precision: str) -> Contestant:
    """Our program, as `tmt` starts it."""
    return Contestant(name, "our_training", settings, precision, variables=tmt_environment())


def share_of_peak(name: str, speeds: Speeds) -> str:
    """The rate of the matrix-product operations a step needs, as a share of the format's peak."""
    if name == JOEYNMT:  # it makes its own batches
        return ""
    rates = [tokens * flops for tokens, flops in zip(speeds.tokens[name], speeds.needed, strict=True)]
    shown = ratio([100 * rate for rate in rates], speeds.products[format_of(name, speeds)])
    return f"{shown.median:.1f} % ({shown.low:.1f}–{shown.high:.1f})"


def format_of(name: str, speeds: Speeds) -> str:
    """The number format of a program's products."""
    return next((known for known in speeds.products if name.endswith(known)), "float32")


def words(sizes: Sizes, speeds: Speeds) -> str:
    """A description of the trained model and the machine's peak."""
    cells = [tokens.numel() for batch in speeds.batches for tokens in (batch.source, batch.decoder_input)]
    real = sum(batch.source_tokens + batch.target_tokens for batch in speeds.batches)
    peaks = ", ".join(f"{Spread.of(rates).median / 1e9:,.0f} in {name}" for name, rates in speeds.products.items())
    side = SIDE[choose_device("auto").type]
    return (
        f"{sizes.words} of which {1 - real / sum(cells):.0%} are padding; source and target tokens together, without "
        f"padding; all programs but ours in float32; "
        f"matrix peak (square products of {side:,}): {peaks} GFLOP/s; median (quartiles) of {len(speeds.needed)} steps"
    )


def save(batches: Sequence[Batch], path: Path) -> Path:
    """Save the batches in a form that other programs can read."""
    torch.save([(batch.source, batch.decoder_input, batch.labels) for batch in batches], path)
    return path


def write_joeynmt(sizes: Sizes, folder: Path, *, device: torch.device) -> Path:
    """Write text and an equivalent configuration for JoeyNMT, which makes its own batches."""
    folder.mkdir()
    pairs = generated_text(sizes)
    for language, side in (("de", 0), ("en", 1)):
        for split, part in (("train", pairs), ("dev", pairs[:8])):
            (folder / f"{split}.{language}").write_text("".join(f"{pair[side]}\n" for pair in part))
    numbers = "".join(f"{number}\n" for number in range(len(SPECIAL), sizes.vocabulary))
    (folder / "vocabulary.txt").write_text(numbers)
    (folder / "config.yaml").write_text(json.dumps(joeynmt_configuration(sizes, folder, device=device)))
    return folder / "config.yaml"


def joeynmt_configuration(sizes: Sizes, folder: Path, *, device: torch.device) -> dict[str, object]:
    """A configuration as close to ours as possible; JoeyNMT also drops attention weights and feed-forward units."""
    language = {"level": "word", "max_length": 1000, "voc_file": str(folder / "vocabulary.txt")}
    stack = {
        "type": "transformer",
        "num_layers": sizes.layers,
        "num_heads": sizes.heads,
        "embeddings": {"embedding_dim": sizes.width, "scale": True, "dropout": sizes.dropout},
        "hidden_size": sizes.width,
        "ff_size": sizes.feedforward,
        "dropout": sizes.dropout,
        "layer_norm": "pre",
    }
    return {
        "name": "benchmark",
        "model_dir": str(folder / "model"),
        "use_cuda": device.type == "cuda",
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "dev"),
            "dataset_type": "plain",
            "src": {"lang": "de", **language},
            "trg": {"lang": "en", **language},
        },
        "testing": {"beam_size": 1, "batch_size": 8},
        "training": {
            "random_seed": 1,
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "scheduling": "noam",
            "learning_rate_factor": 1,
            "learning_rate_warmup": 400,
            "learning_rate": 0.001,
            "learning_rate_min": 0.0,
            "label_smoothing": 0.1,
            "clip_grad_norm": 1.0,
            "normalization": "tokens",
            "batch_size": sizes.batch_tokens,
            "batch_type": "token",
            "epochs": 1000,
            "validation_freq": 10**9,
            "logging_freq": 10**9,
            "overwrite": True,
        },
        "model": {"tied_embeddings": True, "tied_softmax": True, "encoder": stack, "decoder": stack},
    }
