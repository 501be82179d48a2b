"""Packing a run: what a person needs to translate with it and to look inside, in one file."""

from transformer_mt.corpus.source import corpus_name
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.checksums import LOADED, sha256
from transformer_mt.runs.directory import CONFIG, MODEL, TOKENIZER, Run
from transformer_mt.runs.packed import CARD, PROGRESS, packed
from transformer_mt.runs.weights import converted, digest, pack, weights_of

PRECISIONS = ("bfloat16", "float32")

_CARD = """\
# {source} → {target}, trained on {corpus}

A translation model of tmt: `tmt translate --model FILE`, `tmt serve --model FILE`.

- architecture: {kind}, width {width}, {parameters:,} parameters in {precision}
- vocabulary: {vocabulary:,} tokens
- training: {steps:,} steps, best validation at step {best}{score}
- limits: it guesses words that its training data lacks; sources of up to {longest:,} tokens fit

The licence is up to the owner of the training data and of this file.
"""


def pack_run(run: Run, *, precision: str = "bfloat16") -> bytes:
    """The content of a packed run, with its weights in `bfloat16` or `float32`.

    Raises `InputError` before the first validation and `MachineError` if a file of the run is damaged.
    """
    config, network, progress = run.config(), run.network(), newest_progress(run)
    weights = converted(weights_of(network), precision)
    files = run.small_files()
    sums = {name: sha256(files[name]) for name in (CONFIG, TOKENIZER)}
    sums[LOADED] = digest(converted(weights, "float32"))
    score = "" if progress.best_score is None else f", {config.training.best_metric} {abs(progress.best_score):.4f}"
    card = _CARD.format(
        source=config.data.source_language, target=config.data.target_language, corpus=corpus_name(config.data),
        kind=config.model.kind, width=config.model.width, precision=precision,
        parameters=sum(weight.numel() for weight in weights.values()), vocabulary=run.tokenizer().size,
        steps=progress.step, best=progress.best_step, score=score, longest=network.max_length,
    )  # fmt: skip
    state = progress.model_dump_json().encode()
    return packed({CARD: card.encode(), **files, PROGRESS: state, MODEL: pack(weights, sums)})
