"""The training loop: a generator of reports."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import nn

from transformer_mt.batching import Batch
from transformer_mt.config.sections import Config, NoamConfig
from transformer_mt.device import compute_in, describe_machine, random_states, restore_random_states
from transformer_mt.errors import Diverged, EnvironmentProblem
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.names import lookup
from transformer_mt.processes import Processes
from transformer_mt.runs.checkpoints import Checkpoint, Checkpoints, Layouts, Progress
from transformer_mt.runs.directory import CHECKPOINTS, Run
from transformer_mt.runs.weights import layout_of, load_weights, weights_of
from transformer_mt.training.averaging import build_averaging
from transformer_mt.training.log import MetricsLog
from transformer_mt.training.masking import mask_tokens
from transformer_mt.training.objective import build_objective
from transformer_mt.training.optimizer import build_optimizer
from transformer_mt.training.reports import (
    VALIDATION_SCORES,
    FinishReport,
    Report,
    StepReport,
    Validation,
    ValidationReport,
)
from transformer_mt.training.schedules import configured_schedule
from transformer_mt.training.stream import BatchStream

Validate = Callable[[Seq2Seq], Validation]


class Trainer:
    """Trains a model in a run directory, and writes its metrics there.

    Between two reports, and wherever `interruptible` is true, what `save` writes is whole: training goes on from there
    bit for bit.
    """

    def __init__(
        self,
        config: Config,
        run: Run,
        *,
        model: Seq2Seq,
        stream: BatchStream,
        validate: Validate,
        device: torch.device,
        precision: torch.dtype,
        processes: Processes,
    ) -> None:
        self.config = config.training
        self.run = run
        self.model = model.to(device)
        self.stream = stream
        self.validate = validate
        self.device, self.precision = device, precision
        self.processes = processes
        self.objective = build_objective(config.objective)
        self.score = lookup(VALIDATION_SCORES, config.training.score, key="training.score")
        self.clip = config.optimizer.clip
        schedule = configured_schedule(config)
        # What a person turns down when the loss diverges.
        is_by_factor = isinstance(config.schedule, NoamConfig) and not config.schedule.learning_rate
        self.rate_key = f"schedule.{'factor' if is_by_factor else 'learning_rate'}"
        self.optimizer = build_optimizer(config.optimizer, model, schedule)
        self.averaging = build_averaging(config.training, model)
        layouts = Layouts(layout_of(weights_of(model)), layout_of(self.averaging.state()), self.optimizer.layout())
        self.checkpoints = Checkpoints(run.path / CHECKPOINTS, layouts, processes=processes)
        self.log = MetricsLog(
            run, every=config.training.log_every, processes=processes, tensorboard=config.training.tensorboard
        )
        self.progress = Progress()
        self.interruptible = False

    def train(self) -> Iterator[Report]:
        """Train until all steps or epochs are done or validations bring no more improvement."""
        with self.log.training_from(self.progress.step):
            yield from self._train()
        reason = self.progress.reason_to_finish(self.config)
        assert reason is not None
        assert self.progress.best_score is not None
        yield FinishReport(self.progress.step, reason, self.progress.best_step, self.progress.best_score)

    def _train(self) -> Iterator[Report]:
        while True:
            if self._validation_is_due():
                yield self._validated()
            if self.progress.reason_to_finish(self.config):
                return
            if self._checkpoint_is_due():
                self.save()
            step = self.step()
            window = self.log.step(step)
            yield step
            if window:
                yield window

    def share_done(self) -> float:
        """How much of the training lies behind, from 0 to 1, unless validations end it before."""
        if not self.config.epochs:
            return min(1.0, self.progress.step / self.config.steps)
        return min(1.0, (self.progress.epoch + self.progress.batch / len(self.stream.plan)) / self.config.epochs)

    def save(self) -> None:
        """Write a checkpoint of this moment, and delete those that nothing needs any more.

        Those of later steps go too: a resumption that started before them has found them damaged.
        """
        self.progress.machine = describe_machine(self.device)
        checkpoint = Checkpoint(
            progress=self.progress,
            weights=weights_of(self.model),
            averaged=self.averaging.state(),
            optimizer=self.optimizer.state(),
            random=random_states(self.device),
        )
        self.checkpoints.save(checkpoint)
        needed = self.averaging.steps_to_keep(self.progress.history) | {self.progress.best_step}
        sound = [step for step in self.checkpoints.steps() if step <= self.progress.step]
        self.checkpoints.keep(needed | set(sound[-2:]))

    def resume(self, step: int) -> None:
        """Continue from the checkpoint of a step. Raises `EnvironmentProblem` where that is not sound."""
        checkpoint = self.checkpoints.load(step)
        with torch.no_grad():
            load_weights(self.model, checkpoint.weights)
            self.averaging.load(checkpoint.averaged)
        self.optimizer.load(checkpoint.optimizer)
        self.progress = checkpoint.progress
        self.stream.seek(self.progress.epoch, self.progress.batch)
        try:
            restore_random_states(checkpoint.random, self.device)
        except (RuntimeError, TypeError):
            path = self.checkpoints.path(step)
            raise EnvironmentProblem(f"{path}: a random state is not one of {self.device.type}; restore it") from None
        self.run.forget_metrics_after(step)

    def step(self) -> StepReport:
        """Accumulate the gradient of the mean loss over several batches, then let the optimizer take a step.

        The sum over all batches' tokens, of all processes, is divided by their number, so the gradient is that of one
        large batch however unequal the batches are.
        """
        start = time.perf_counter()
        epoch = self.stream.epoch
        with self._interruptible():  # a new epoch may encode the whole corpus anew
            batches = [self.stream.take() for _ in range(self.config.accumulation_steps)]
        tokens = self.processes.sum(sum(self.objective.tokens(batch) for batch in batches))
        self.model.train()
        loss = self.processes.sum(math.fsum(self.backward(batch.to(self.device), tokens) for batch in batches))
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), self.clip))
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise self._diverged("loss")
        learning_rate = self.optimizer.step()
        if not math.isfinite(nn.utils.get_total_norm(self.model.parameters(), math.inf)):
            raise self._diverged("weights")  # before an average takes them in, or a checkpoint
        self.averaging.update()
        seconds = time.perf_counter() - start
        self.progress.step += 1
        self.progress.epoch, self.progress.batch = self.stream.next_position()
        self.progress.target_tokens += tokens
        self.progress.seconds += seconds
        return StepReport(self.progress.step, epoch, loss, learning_rate, norm, tokens, seconds)

    def backward(self, batch: Batch, tokens: int) -> float:
        """Add the gradient of a batch's share of the mean loss over `tokens` tokens; return that share."""
        batch = replace(batch, source=mask_tokens(batch.source, share=self.config.token_masking))
        with compute_in(self.precision, self.device):
            loss = self.objective(self.model, batch) / tokens
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())

    def _validated(self) -> ValidationReport:
        """Validate the candidate weights, and store the weights to use if that changes them."""
        start = time.perf_counter()
        progress = self.progress
        with self._interruptible():
            validation = self.validate(self.averaging.candidate().eval())
        if not math.isfinite(validation.loss):
            raise self._diverged("validation loss")
        score = self.score(validation)
        best = progress.best_score is None or score > progress.best_score
        if best:
            progress.best_step, progress.best_score = progress.step, score
        progress.validations_without_improvement = 0 if best else progress.validations_without_improvement + 1
        progress.history.append((progress.step, score))
        weights = self.averaging.select_weights(progress.history, best=best, read=self.checkpoints.weights)
        if weights is not None and self.processes.is_first:
            self.run.save_model(weights)
        progress.validated_step = progress.step
        seconds = time.perf_counter() - start
        progress.seconds += seconds
        report = ValidationReport(
            progress.step, self.stream.epoch, validation, best, progress.validations_without_improvement, seconds
        )
        self.log.validation(report)  # before the checkpoint, from which no validation would be made again
        self.save()
        return report

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """What happens inside changes nothing that `save` writes."""
        self.interruptible = True
        try:
            yield
        finally:
            self.interruptible = False

    def _diverged(self, what: str) -> Diverged:
        """What to say of numbers that are not finite, and what is left."""
        step = self.optimizer.steps
        step += what == "loss"  # of which the optimizer has not heard
        kept = self.checkpoints.steps()
        return Diverged(
            f"training: the {what} diverged at step {step}, at a learning rate of {self.optimizer.schedule(step):.1e}; "
            f"lower {self.rate_key} or raise schedule.warmup and start anew; "
            + (f"the checkpoint of step {kept[-1]} is sound and stays" if kept else "there is no checkpoint yet")
        )

    def _validation_is_due(self) -> bool:
        step = self.progress.step
        due = step > 0 and (step % self.config.validate_every == 0 or self.progress.is_complete(self.config))
        return due and self.progress.validated_step != step

    def _checkpoint_is_due(self) -> bool:
        step = self.progress.step
        return step % self.config.checkpoint_every == 0 and step != self.progress.validated_step
