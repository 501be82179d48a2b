"""Resuming a run: same configuration, same data, from its newest sound checkpoint."""

from transformer_mt.config.sections import Config
from transformer_mt.config.toml import differences
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.runs.directory import Run, saved_steps
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.training.batch_stream import TrainingCorpora
from transformer_mt.training.schedules import depends_on_steps
from transformer_mt.training.trainer import Trainer

# Keys that may change on resuming, because earlier steps do not depend on them.
MAY_CHANGE = (
    "training.steps", "training.epochs", "training.patience", "training.device", "training.tensorboard",
    "training.keep_checkpoints", "search.", "plugins",
)  # fmt: skip
# Changed keys to name in an error.
_SHOWN = 5


def as_begun(config: Config, there: Config) -> Config:
    """The configuration, with the run's own record of a parent that has been moved or trained further."""
    parent = config.init_from
    begun = there.init_from
    same = parent.run == begun.run or parent.weights == begun.weights
    return config.model_copy(update={"init_from": begun}) if same else config


def require_same(run: Run, config: Config, corpora: TrainingCorpora) -> Tokenizer:
    """The tokenizer of a run to resume. Raises `InputError` if the configuration or the data has changed."""
    remedy = "choose another directory, or start over with --overwrite"
    # Such a schedule depends on the total number of steps from the first one on.
    fixed = ("training.steps", "training.epochs") if depends_on_steps(config.schedule) else ()
    changed = [
        f"{key} is {old!r} there, {new!r} now"
        for key, old, new in differences(run.config(), config)
        if key in fixed or not key.startswith(MAY_CHANGE)
    ]
    if changed:
        if (more := len(changed) - _SHOWN) > 0:
            changed[_SHOWN:] = [f"and {more} more"]
        raise InputError(run.path, f"belongs to another configuration ({'; '.join(changed)})", remedy)
    if difference := run.data().difference(corpora.record):
        raise InputError(run.path, f"the data is not the same: {difference}", f"give the old data, {remedy}")
    return run.tokenizer()


def resume_newest(trainer: Trainer) -> list[str]:
    """Resume from the newest sound checkpoint, if any; return notes.

    Raises `MachineError` if there are checkpoints but none is sound and complete.
    """
    on_main = trainer.distributed.broadcast_from_main
    checkpoints = trainer.checkpoints
    damaged: list[MachineError] = []
    for step in reversed(on_main(checkpoints.steps)):
        try:
            trainer.resume(step)
        except MachineError as damage:
            damaged.append(damage)
            continue
        notes = [f"{damage}; trying the previous one" for damage in damaged]
        there = trainer.progress.machine
        here = trainer.machine
        if there != here:
            notes.append(f"resuming is not bit-exact: {there} before, {here} now")
        return [*notes, f"continuing {trainer.run.path} from step {step}"]
    if on_main(lambda: saved_steps(checkpoints.directory)):
        reason = f"no sound checkpoint ({damaged[0]})" if damaged else "no complete checkpoint"
        raise MachineError(checkpoints.directory, reason, "start over with --overwrite")
    if trainer.distributed.is_main:
        trainer.run.forget_metrics_after(0)
    return []
