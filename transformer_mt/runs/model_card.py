"""The model card of an exported or packed model."""

from transformer_mt.corpus.source import corpus_name
from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.directory import Run
from transformer_mt.text.terminal import escape_controls

_CARD = """\
# {source} → {target}, trained on {corpus}

{use}

- architecture: {kind}, width {width}, {parameters:,} parameters in {precision}
- vocabulary: {vocabulary:,} tokens
- training: {steps:,} steps, best validation at step {best}{score}
- limits: it guesses words that its training data lacks; sources of up to {longest:,} tokens fit

The licence is up to the owner of the training data and of this model.
"""


def model_card(run: Run, *, use: str, precision: str) -> str:
    """The data, sizes, training and limits of a run's model, in Markdown. `use` says how to use it.

    Raises `InputError` before the first validation.
    """
    config = run.config()
    network = run.network()
    progress = newest_progress(run)
    best = "" if progress.best_score is None else f", {config.training.choose_by} {abs(progress.best_score):.4f}"
    return _CARD.format(
        source=escape_controls(config.data.source_language), target=escape_controls(config.data.target_language),
        corpus=escape_controls(corpus_name(config.data)),
        use=use, kind=config.model.kind, width=config.model.width, precision=precision,
        parameters=sum(weight.numel() for weight in network.parameters()), vocabulary=run.tokenizer().size,
        steps=progress.step, best=progress.best_step, score=best, longest=network.max_length,
    )  # fmt: skip
