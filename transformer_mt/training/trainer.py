"""The training loop: a generator of reports."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from transformer_mt.batching.batches import Batch
from transformer_mt.config.sections import Config
from transformer_mt.ground.device import (
    choose_precision,
    compute_in,
    describe_machine,
    random_states,
    restore_random_states,
)
from transformer_mt.ground.distributed import Distributed
from transformer_mt.ground.errors import Diverged, MachineError, is_out_of_memory
from transformer_mt.ground.memory import return_freed
from transformer_mt.ground.seeds import derive_seed
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.runs.checkpoints import STATE, Checkpoint, Checkpoints, Progress
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import require_specs, specs_of, weights_of
from transformer_mt.training.averaging import AVERAGING
from transformer_mt.training.batch_stream import BatchStream
from transformer_mt.training.objective import build_objective, mask_tokens
from transformer_mt.training.optimizer import build_optimizer, reason
from transformer_mt.training.reports import (
    VALIDATION_METRICS,
    FinishReport,
    MetricsLog,
    Report,
    StepReport,
    ValidationReport,
)
from transformer_mt.training.schedules import Schedule
from transformer_mt.training.validation import Validator

# Steps between validations, unless configured: at least five validations, so that a short run keeps checkpoints.
MOST_BETWEEN = 200


class Trainer:
    """Trains a model in a run directory, where it writes metrics and checkpoints.

    Between two reports, and whenever `can_interrupt` is true, `save` writes a consistent state; training resumes from
    it bit for bit.
    """

    def __init__(
        self,
        run: Run,
        config: Config,
        model: Seq2Seq,
        *,
        device: torch.device,
        distributed: Distributed,
        stream: BatchStream,
        schedule: Schedule,
        validate: Validator,
    ) -> None:
        training = self.config = config.training
        self.run = run
        self.distributed = distributed
        self.device = device
        self.machine = describe_machine(device, processes=distributed.world_size)
        # From a batch to its gradient, and from gradients to new weights.
        self.stream = stream
        self.precision = choose_precision(training.precision, device)
        self.model = model.to(device)
        self.wrapped = distributed.wrap(self.model)
        self.objective = build_objective(config.objective)
        self.max_grad_norm = config.optimizer.max_grad_norm
        self.optimizer = build_optimizer(config.optimizer, self.model, schedule)
        # The weights to validate and save.
        self.averaging = AVERAGING[training.averaging](self.model, training)
        self.validate = validate
        self.checkpoints = Checkpoints(run, weights_of(self.averaging.candidate()))
        self.progress = Progress()
        self.saved_step = 0
        self._can_interrupt = False
        # How long, and how often. Reading a number waits for the GPU, so there it is done only every `log_every` steps.
        log_every = max(1, min(training.log_every, stream.steps_of(1)))  # at least once per epoch
        self.log = MetricsLog(run, training, every=log_every, is_main=distributed.is_main)
        self.check_every = 1 if device.type == "cpu" else log_every
        self.steps = stream.steps_of(training.epochs) if training.epochs else training.steps
        self.validate_every = training.validate_every or max(1, min(MOST_BETWEEN, self.steps // 5))

    @property
    def can_interrupt(self) -> bool:
        """True if `save` would write a consistent state after an exception now."""
        return self._can_interrupt and self.distributed.can_interrupt

    @torch.inference_mode(False)
    def train(self) -> Iterator[Report]:
        """Train until all steps or epochs are done, or validation stops improving; yield reports.

        Raises `Diverged` if loss or weights stop being finite, and `MachineError` if memory or a file fails.
        """
        progress = self.progress
        with self.log.training_from(progress.step):
            while True:
                is_due = progress.step % self.validate_every == 0 or progress.is_complete(self.config)
                if is_due and progress.step > progress.validated_step:
                    yield self._validated()
                if reason := progress.reason_to_finish(self.config):
                    break
                if progress.step % self.config.checkpoint_every == 0 and progress.step != progress.validated_step:
                    self.save()
                step = self.step()
                window = self.log.step(step)
                yield step
                if window:
                    return_freed()
                    yield window
        yield FinishReport(progress.step, reason, progress.best_step)

    def share_done(self) -> float:
        """The fraction of training that is done, from 0 to 1, not counting early stopping."""
        return min(1.0, self.progress.step / self.steps)

    def step(self) -> StepReport:
        """Accumulate the gradient over several batches, then take an optimizer step.

        The loss is the mean over all tokens of all processes, so the gradient equals that of one large batch. Raises
        `Diverged` if loss, gradient or weights are not finite, and `MachineError` if memory runs out.
        """
        start = time.perf_counter()
        step = self.progress.step + 1
        batches: list[Batch] = []

        def take() -> int:
            batches.extend(self.stream.take() for _ in range(self.config.accumulation_steps))
            return sum(batch.target_tokens for batch in batches)

        with self._interruptible():  # a new epoch may encode the whole corpus again
            tokens = sum(self.distributed.all_gather(take))
        loss: float | Tensor = self._accumulate(batches, tokens)
        is_looked_at = step % self.check_every == 0
        with self._naming(max(batches, key=lambda batch: batch.labels.numel())):
            norm: float | Tensor = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
            if is_looked_at:
                loss = float(loss)
                norm = float(norm)
                if not (math.isfinite(loss) and math.isfinite(norm)):
                    raise self._diverged("loss", step)
            learning_rate = self.optimizer.step(step)
        if is_looked_at:
            self._require_finite_weights(step)  # before they reach an average or a checkpoint
        self.averaging.update(step)
        seconds = time.perf_counter() - start
        self.progress.step = step
        self.progress.epoch, self.progress.batch = self.stream.next_position()
        self.progress.target_tokens += tokens
        self.progress.seconds += seconds
        return StepReport(step, self.progress.last_epoch, loss, learning_rate, norm, tokens, seconds)

    def _accumulate(self, batches: list[Batch], tokens: int) -> Tensor:
        """Accumulate the gradient; return the mean loss over the tokens of all batches and processes (asynchronous)."""
        self.model.train()
        losses = []
        for batch in batches:
            with nullcontext() if batch is batches[-1] else getattr(self.wrapped, "no_sync", nullcontext)():
                losses.append(self.backward(batch.to(self.device), tokens))
        return self.distributed.all_reduce(torch.stack(losses).sum())

    def backward(self, batch: Batch, tokens: int) -> Tensor:
        """Add the gradient of a batch's share of the mean loss over `tokens` tokens; return that share.

        Raises `MachineError` if memory runs out.
        """
        with self._naming(batch):
            batch = replace(batch, source=mask_tokens(batch.source, share=self.config.token_masking))
            with compute_in(self.precision, self.device):
                loss = self.objective(self.wrapped, batch) / tokens
            loss.backward()
        return loss.detach()

    def _validated(self) -> ValidationReport:
        """Validate the candidate weights, and save the weights to use if they change."""
        start = time.perf_counter()
        progress = self.progress
        self._require_finite_weights(progress.step)
        with self._interruptible():
            validation = self.validate(self.averaging.candidate().eval())
        if not math.isfinite(validation.loss):
            raise self._diverged("validation loss", progress.step)
        best = progress.add_validation(VALIDATION_METRICS[self.config.choose_by](validation))
        if best and self.distributed.is_main:
            self.run.save_model(weights_of(self.averaging.candidate()))
        seconds = time.perf_counter() - start
        progress.seconds += seconds
        report = ValidationReport(
            progress.step, progress.last_epoch, validation, best, progress.validations_without_improvement, seconds
        )
        self.log.validation(report)  # before the checkpoint: resuming from it does not repeat the validation
        self.save()
        return report

    def save(self) -> None:
        """Write a checkpoint; delete others or reduce them to their weights, as configured.

        Raises `Diverged` if weights are not finite, and `MachineError` if writing fails.
        """
        self._require_finite_weights(self.progress.step)
        random = self.distributed.all_gather(lambda: random_states(self.device))
        self.progress.machine = self.machine
        self.progress.steps = self.config.steps
        self.progress.epochs = self.config.epochs
        state = {"optimizer": self.optimizer.state(), "averaging": self.averaging.state(), "random": random}
        checkpoint = Checkpoint(self.progress, weights_of(self.averaging.candidate()), state)
        steps = {self.progress.best_step}
        if self.config.keep_checkpoints == "weights":
            steps |= dict(self.progress.history).keys()
        complete = None if self.config.keep_checkpoints == "all" else 2
        self.distributed.broadcast_from_main(lambda: self.checkpoints.save(checkpoint, complete, weights=steps))
        self.saved_step = self.progress.step

    def resume(self, step: int) -> None:
        """Resume from the checkpoint of a step. Raises `MachineError` if it is damaged or from another run."""
        checkpoint = self.distributed.broadcast_from_main(lambda: self.checkpoints.load(step))
        path = self.checkpoints.path(step) / STATE
        self.distributed.all_gather(lambda: self._restore(checkpoint, path))
        self.progress = checkpoint.progress
        self.saved_step = step
        self.stream.seek(self.progress.epoch, self.progress.batch)
        if self.distributed.is_main:
            self.run.forget_metrics_after(step)

    def _restore(self, checkpoint: Checkpoint, path: Path) -> None:
        rank = self.distributed.rank
        try:
            optimizer, averaging, random = (checkpoint.state[name] for name in ("optimizer", "averaging", "random"))
            self.optimizer.load(optimizer)
            require_specs(averaging, specs_of(self.averaging.state()), path=path)
            with torch.no_grad():
                self.averaging.load(checkpoint.weights, averaging)
            if rank < len(random):
                restore_random_states(random[rank], self.device)
            else:  # saved by fewer processes
                torch.manual_seed(derive_seed(self.config.seed, rank, checkpoint.progress.step))
        except Exception as error:  # an untrusted state may be anything
            raise MachineError(path, f"not a state of this training ({reason(error)})", "restore it") from None

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Mark work that does not change anything that `save` writes."""
        self._can_interrupt = True
        try:
            yield
        finally:
            self._can_interrupt = False

    @contextmanager
    def _naming(self, batch: Batch) -> Iterator[None]:
        """Convert out-of-memory errors to a `MachineError` with the batch and a remedy."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            source, target = batch.sizes
            where = f"step {self.progress.step + 1}, in a batch of {source} source and {target} target tokens"
            remedy = "lower training.batch_tokens and raise training.accumulation_steps, or lower model.width"
            raise MachineError("training", f"out of memory at {where}", remedy) from None

    def _require_finite_weights(self, step: int) -> None:
        ends = [end for parameter in self.model.parameters() for end in torch.aminmax(parameter.detach())]
        if not torch.stack(ends).isfinite().all():
            raise self._diverged("weights", step)

    def _diverged(self, what: str, step: int) -> Diverged:
        when = "at" if self.check_every == 1 else "by"
        rate = self.optimizer.schedule(step)
        saved = [f"; the checkpoint of step {earlier} is intact" for earlier in self.checkpoints.steps()]
        problem = f"the {what} diverged {when} step {step}, at a learning rate of {rate:.1e}"
        remedy = "lower schedule.factor or schedule.learning_rate, or raise schedule.warmup, and start again"
        return Diverged("training", problem, f"{remedy}{''.join(saved[-1:])}")
