"""The training loop: a generator of reports."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import torch
from torch import Tensor, nn

from transformer_mt.batching.batches import Batch, derive_seed
from transformer_mt.config.sections import Config, NoamConfig
from transformer_mt.device import compute_in, describe_machine, random_states, restore_random_states
from transformer_mt.distributed import Distributed
from transformer_mt.errors import Diverged, MachineError, is_out_of_memory
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.registry import lookup
from transformer_mt.runs.checkpoints import Checkpoint, Checkpoints, Layouts, Progress, states_by_name, states_of
from transformer_mt.runs.directory import CHECKPOINTS, Run
from transformer_mt.runs.weights import layout_of, load_weights, weights_of
from transformer_mt.training.averaging import build_averaging
from transformer_mt.training.keeping import build_keep
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

    Between two reports, and wherever `can_interrupt` is true, what `save` writes is whole: training goes on from there
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
        distributed: Distributed,
    ) -> None:
        self.config = config.training
        self.run = run
        self.model = model.to(device)
        self.joined = distributed.wrap(self.model)
        self.stream = stream
        self.validate = validate
        self.device, self.precision = device, precision
        self.distributed = distributed
        self.objective = build_objective(config.objective)
        self.score = lookup(VALIDATION_SCORES, config.training.best_metric, key="training.best_metric")
        self.max_grad_norm = config.optimizer.max_grad_norm
        schedule = configured_schedule(config)
        # What a person turns down when the loss diverges.
        is_by_factor = isinstance(config.schedule, NoamConfig) and not config.schedule.learning_rate
        self.rate_key = f"schedule.{'factor' if is_by_factor else 'learning_rate'}"
        # Numbers of float16 under 6e-8 are zero; the gradients of the scaled loss are not (Micikevicius et al. 2018).
        self.scaler = torch.amp.GradScaler(device.type, enabled=precision == torch.float16)
        self.optimizer = build_optimizer(config.optimizer, model, schedule, self.scaler)
        self.averaging = build_averaging(config.training, model)
        self.keep = build_keep(config.training.keep)
        layouts = Layouts(layout_of(weights_of(model)), layout_of(self.averaging.state()), self.optimizer.layout())
        self.checkpoints = Checkpoints(run.path / CHECKPOINTS, layouts, distributed=distributed)
        self.log = MetricsLog(
            run, every=config.training.log_every, distributed=distributed, tensorboard=config.training.tensorboard
        )
        # To look at a number that a GPU computes is to wait for it, and for all that it still has to do before.
        self.look_every = 1 if device.type == "cpu" else config.training.log_every
        self._seen = True
        self.progress = Progress()
        self._can_interrupt = False

    @property
    def can_interrupt(self) -> bool:
        """Whether an exception may end this now, and `save` then writes what is whole."""
        return self._can_interrupt and self.distributed.can_interrupt

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
        self._look_at_weights()
        states = self.distributed.all_gather(lambda: random_states(self.device))
        self.progress.machine = describe_machine(self.device, processes=self.distributed.world_size)
        self.progress.sums = self.run.sums if self.distributed.is_main else {}
        self.progress.loss_scale, self.progress.steps_at_scale = self.optimizer.loss_scale()
        checkpoint = Checkpoint(
            progress=self.progress,
            weights=weights_of(self.model),
            averaged=self.averaging.state(),
            optimizer=self.optimizer.state(),
            random=states_by_name(states),
        )
        self.distributed.broadcast_from_main(lambda: self._write(checkpoint))

    def _write(self, checkpoint: Checkpoint) -> None:
        self.checkpoints.save(checkpoint)
        needed = self.averaging.steps_to_keep(self.progress.history) | {self.progress.best_step}
        sound = [step for step in self.checkpoints.steps() if step <= self.progress.step]
        self.checkpoints.keep(needed | set(sound[-2:]) | self.keep(sound))

    def resume(self, step: int) -> None:
        """Continue from the checkpoint of a step. Raises `MachineError` where that is not sound."""
        checkpoint = self.distributed.broadcast_from_main(lambda: self._load_own(step))
        with torch.no_grad():
            load_weights(self.model, checkpoint.weights)
            self.averaging.load(checkpoint.averaged)
        self.optimizer.load(checkpoint.optimizer)
        self.progress = checkpoint.progress
        self.optimizer.load_loss_scale(self.progress.loss_scale, self.progress.steps_at_scale)
        self.stream.seek(self.progress.epoch, self.progress.batch)
        self.distributed.all_gather(
            lambda: self._restore_random_states(states_of(checkpoint.random, self.distributed.rank))
        )
        if self.distributed.is_main:
            self.run.forget_metrics_after(step)

    def _restore_random_states(self, states: dict[str, Tensor]) -> None:
        """Go on with these random numbers; with new ones where another number of processes has saved none for us."""
        step = self.progress.step
        if not states:
            torch.manual_seed(derive_seed(self.config.seed, self.distributed.rank, step))
            return
        try:
            restore_random_states(states, self.device)
        except (RuntimeError, TypeError):
            path = self.checkpoints.path(step)
            raise MachineError(f"{path}: a random state is not one of {self.device.type}; restore it") from None

    def _load_own(self, step: int) -> Checkpoint:
        """Raises `MachineError` for one that belongs to another configuration or vocabulary than the run."""
        checkpoint = self.checkpoints.load(step)
        found = checkpoint.progress.sums
        if other := [name for name, own in self.run.sums.items() if found.get(name) != own]:
            path = self.checkpoints.path(checkpoint.progress.step)
            raise MachineError(f"{path}: was saved with another {other[0]}; restore that file, or train anew")
        return checkpoint

    def step(self) -> StepReport:
        """Accumulate the gradient of the mean loss over several batches, then let the optimizer take a step.

        The sum over all batches' tokens, of all processes, is divided by their number, so the gradient is that of one
        large batch however unequal the batches are.
        """
        start = time.perf_counter()
        epoch, _ = self.stream.next_position()
        batches: list[Batch] = []
        with self._interruptible():  # a new epoch may encode the whole corpus anew
            tokens = sum(self.distributed.all_gather(lambda: self._take(batches)))
        self.model.train()
        loss = self._accumulate(batches, tokens)
        with self._naming(max(batches, key=lambda batch: batch.labels.numel())):
            self.optimizer.unscale()
            norm: float | Tensor = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
            self._seen = (self.progress.step + 1) % self.look_every == 0
            if self._seen:
                loss, norm = float(loss), float(norm)
                self._require_finite(loss, norm)
            learning_rate = self.optimizer.step()
        if self._seen:
            self._require_finite_weights()  # before an average takes them in, or a checkpoint
        self.averaging.update()
        seconds = time.perf_counter() - start
        self.progress.step += 1
        self.progress.epoch, self.progress.batch = self.stream.next_position()
        self.progress.target_tokens += tokens
        self.progress.seconds += seconds
        return StepReport(self.progress.step, epoch, loss, learning_rate, norm, tokens, seconds)

    def backward(self, batch: Batch, tokens: int) -> Tensor:
        """Add the gradient of a batch's share of the mean loss over `tokens` tokens; return that share."""
        batch = replace(batch, source=mask_tokens(batch.source, share=self.config.token_masking))
        with self._naming(batch):
            with compute_in(self.precision, self.device):
                loss = self.objective(self.joined, batch) / tokens
            self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _take(self, batches: list[Batch]) -> int:
        """Add the batches of a step; how many tokens their losses are sums over."""
        batches.extend(self.stream.take() for _ in range(self.config.accumulation_steps))
        return sum(self.objective.tokens(batch) for batch in batches)

    def _accumulate(self, batches: list[Batch], tokens: int) -> float | Tensor:
        """The mean loss over the tokens of all batches and processes, and its gradient; a GPU still computes it."""
        losses = []
        for number, batch in enumerate(batches, start=1):
            with nullcontext() if number == len(batches) else self.distributed.no_sync(self.joined):
                losses.append(self.backward(batch.to(self.device), tokens))
        if self.device.type == "cpu":
            return self.distributed.all_reduce(math.fsum(map(float, losses)))
        return self.distributed.all_reduce(torch.stack(losses).sum())

    def _validated(self) -> ValidationReport:
        """Validate the candidate weights, and store the weights to use if that changes them."""
        start = time.perf_counter()
        progress = self.progress
        self._look_at_weights()
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
        if self.distributed.is_main:
            weights = self.averaging.select_weights(progress.history, best=best, read=self.checkpoints.weights)
            if weights is not None:
                self.run.save_model(weights)
        progress.validated_step = progress.step
        seconds = time.perf_counter() - start
        progress.seconds += seconds
        report = ValidationReport(
            progress.step, progress.epoch, validation, best, progress.validations_without_improvement, seconds
        )
        self.log.validation(report)  # before the checkpoint, from which no validation would be made again
        self.save()
        return report

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """What happens inside changes nothing that `save` writes."""
        self._can_interrupt = True
        try:
            yield
        finally:
            self._can_interrupt = False

    @contextmanager
    def _naming(self, batch: Batch) -> Iterator[None]:
        """Where memory runs out inside, the batch is named with what to do."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            (pairs, source), target = batch.source.shape, batch.decoder_input.shape[1]
            raise MachineError(
                f"training: out of memory at step {self.progress.step + 1}, in a batch of {pairs} pairs, {pairs}×"
                f"{source} source and {pairs}×{target} target tokens; lower training.batch_tokens and raise "
                "training.accumulation_steps in proportion, or lower model.max_length or model.width"
            ) from None

    def _look_at_weights(self) -> None:
        """Before weights of which nobody has looked at the last steps are validated or saved."""
        if not self._seen:
            self._require_finite_weights()
            self._seen = True

    def _require_finite(self, loss: float, norm: float) -> None:
        """Raise `Diverged` for a loss or a gradient that is not finite.

        Under loss scaling a gradient may overflow: the step is skipped and the scale halved. Where that does not help
        any more, the gradient itself is not finite.
        """
        overflowed = self.scaler.is_enabled() and self.scaler.get_scale() >= 1.0
        if not (math.isfinite(loss) and (overflowed or math.isfinite(norm))):
            raise self._diverged("loss")

    def _require_finite_weights(self) -> None:
        ends = [end for parameter in self.model.parameters() for end in torch.aminmax(parameter.detach())]
        if not torch.stack(ends).isfinite().all():
            raise self._diverged("weights")

    def _diverged(self, what: str) -> Diverged:
        """What to say of numbers that are not finite, and what is left."""
        step = self.optimizer.steps
        step += what == "loss"  # of which the optimizer has not heard
        when = "at" if self.look_every == 1 else "by"
        kept = self.checkpoints.steps()
        return Diverged(
            f"training: the {what} diverged {when} step {step}, at a learning rate of "
            f"{self.optimizer.schedule(step):.1e}; lower {self.rate_key} or raise schedule.warmup and start anew; "
            + (f"the checkpoint of step {kept[-1]} is sound and stays" if kept else "there is no checkpoint yet")
        )

    def _validation_is_due(self) -> bool:
        step = self.progress.step
        due = step > 0 and (step % self.config.validate_every == 0 or self.progress.is_complete(self.config))
        return due and self.progress.validated_step != step

    def _checkpoint_is_due(self) -> bool:
        step = self.progress.step
        return step % self.config.checkpoint_every == 0 and step != self.progress.validated_step
