"""Beam search and sampling over any `Seq2Seq`: token ids in, token ids out.

Letters: B sentences; N live hypotheses of all sentences together, the decoder's rows; C candidates, each a hypothesis
plus one token. A hypothesis leaves the decoder as soon as it ends or cannot win, so N shrinks over time.
"""

import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_mt.attention.shapes import Rows, Source
from transformer_mt.models.seq2seq import Seq2Seq, State, log_softmax
from transformer_mt.tokenizer.symbols import BOS, EOS, NEVER_GENERATED
from transformer_mt.translation.beam_tree import BEATEN, ENDED, Kept, recorded_steps
from transformer_mt.translation.engine import Hypothesis, Prefix, length_penalty
from transformer_mt.translation.sampling import RowLogits, draw, keep_top_k, keep_top_p, temper

# The maximum length of each sentence's translation, `EOS` included.
Limits = Sequence[int]
# The hypotheses of each sentence, best first.
Found = list[list[Hypothesis]]


def beam_search(
    model: Seq2Seq,
    source: Source,
    *,
    beam: int,
    alpha: float,
    limits: Limits,
    n_best: int,
    prefix: Prefix = (),
) -> Found:
    """Beam search over the sources B S: the `n_best` best hypotheses of each sentence, best first.

    Each step keeps the `beam` likeliest candidates of a sentence. Candidates that end in `EOS` are finished; the others
    stay live while they can still beat the `n_best`-th finished one, so early stopping never changes the result. A beam
    of 1 is greedy search; one wide enough for every live hypothesis is exhaustive. Returns fewer than `n_best` if the
    beam is narrower or no more exist.

    Every hypothesis begins with the prefix; it must be shorter than all `limits`, and its tokens count towards
    log-probability and length. `PAD`, `UNK` and `BOS` are never generated.
    """
    assert len(prefix) < min(limits)
    finished: Found = [[] for _ in source]
    live = _Live.start(model, source, prefix)
    # A bound for live hypotheses: log-probabilities only fall, and the largest penalty belongs to the longest.
    largest_penalty = [length_penalty(limit, alpha) for limit in limits]
    for length in range(len(prefix) + 1, max(limits) + 1):
        penalty = length_penalty(length, alpha)
        choices = live.choices(last=[limit == length for limit in limits])
        candidates = _best_candidates(live, choices, beam=beam, sentences=len(source))
        rows = candidates.rows()
        _finish(finished, live, candidates, rows, penalty=penalty, n_best=n_best)
        to_beat = [best[-1].score if len(best) == n_best else -math.inf for best in finished]
        goes_on = [
            token != EOS and log_probability / largest_penalty[origin] > to_beat[origin]
            for origin, token, log_probability in rows
        ]
        if (steps := recorded_steps.get()) is not None:
            steps.append(_kept(live, candidates, goes_on, step=length - len(prefix), penalty=penalty))
        if not any(goes_on):
            break
        live = live.extend(model, candidates.select(goes_on))
    return finished


def sample(
    model: Seq2Seq,
    source: Source,
    *,
    temperature: float,
    top_k: int,
    top_p: float,
    alpha: float,
    limits: Limits,
    num_samples: int,
    generators: Sequence[torch.Generator],
    prefix: Prefix = (),
) -> Found:
    """Sample `num_samples` independent hypotheses per source sentence, in the order drawn; repeats are possible.

    Tokens are drawn from softmax(logits / `temperature`), truncated to `top_k` (0: all), then to `top_p`. The
    log-probabilities are the model's own, without temperature or truncation. Sentence i uses the CPU generator
    `generators[i]`: its result does not depend on the rest of the batch, and drawing fewer samples gives the first ones
    of drawing more. `limits` and `prefix` are as in `beam_search`.
    """
    assert len(prefix) < min(limits)
    # B·n L: a row per sample, a column per step.
    uniform = torch.zeros(len(source) * num_samples, max(limits), dtype=torch.float32)
    for draws, limit, own in zip(uniform.view(len(source), num_samples, -1), limits, generators, strict=True):
        draws[:, :limit] = torch.rand(num_samples, limit, generator=own, dtype=torch.float32)
    finished: Found = [[] for _ in uniform]
    live = _Live.start(model, source, prefix).repeat(num_samples)
    for length in range(len(prefix) + 1, max(limits) + 1):
        # In float64 on the CPU, so that all devices draw the same.
        last = [limit == length for limit in limits for _ in range(num_samples)]
        choices = live.choices(last=last).cpu().double()
        logits = keep_top_p(keep_top_k(temper(choices, temperature), top_k), top_p)
        token = draw(logits, uniform[live.origin.cpu(), length - 1])
        candidates = live.candidates(token.to(source.device))
        rows = candidates.rows()
        _finish(finished, live, candidates, rows, penalty=length_penalty(length, alpha), n_best=1)
        goes_on = [token != EOS for _, token, _ in rows]
        if not any(goes_on):
            break
        live = live.extend(model, candidates.select(goes_on))
    return [list(chain(*finished[first : first + num_samples])) for first in range(0, len(finished), num_samples)]


Continued = Int[Tensor, " C"]


@dataclass(frozen=True)
class _Candidates:
    """For each candidate: its search, the live hypothesis it extends, the token it adds, and ln p including it."""

    origin: Continued
    parent: Continued
    token: Continued
    log_probability: Float[Tensor, " C"]

    def rows(self) -> list[tuple[int, int, float]]:
        """Search, token and ln p of each candidate; Python is faster than torch on so few rows."""
        return list(zip(self.origin.tolist(), self.token.tolist(), self.log_probability.tolist(), strict=True))

    def select(self, kept: Sequence[bool]) -> "_Candidates":
        """The candidates marked in `kept`."""
        if all(kept):
            return self
        chosen = torch.tensor([row for row, stays in enumerate(kept) if stays], device=self.token.device)
        return _Candidates(*(column[chosen] for column in vars(self).values()))


@dataclass(frozen=True)
class _Live:
    """The live hypotheses, ordered by their search (a sentence or a sample).

    `tokens` begin with `BOS`; `following` is ln p of every next token, −∞ for tokens that are never generated.
    """

    origin: Rows
    tokens: Int[Tensor, "N T"]
    log_probability: Float[Tensor, " N"]
    following: RowLogits
    state: State

    @classmethod
    def start(cls, model: Seq2Seq, source: Source, prefix: Prefix) -> "_Live":
        """One hypothesis per sentence: the prefix."""
        tokens = source.new_tensor([[BOS, *prefix]]).repeat(len(source), 1)
        logits, state = model.decode(tokens, model.start(source))
        following = log_softmax(logits)  # B 1+P V
        of_prefix = following[:, :-1].gather(2, tokens[:, 1:, None]).sum(dim=(1, 2))
        origin = torch.arange(len(source), device=source.device)
        return cls(origin, tokens, of_prefix, _without_symbols(following[:, -1]), state)

    def repeat(self, times: int) -> "_Live":
        """Repeat every hypothesis; each copy is its own search."""
        rows = self.origin.repeat_interleave(times)
        origin = torch.arange(len(rows), device=rows.device)
        state = self.state.select(rows)
        return _Live(origin, self.tokens[rows], self.log_probability[rows], self.following[rows], state)

    def choices(self, *, last: Sequence[bool]) -> RowLogits:
        """ln p of every allowed next token, −∞ for the others; searches marked in `last` allow only `EOS`."""
        if not any(last):
            return self.following
        end = torch.full_like(self.following, -torch.inf)
        end[:, EOS] = self.following[:, EOS]
        at_end = torch.tensor(last, device=end.device)[self.origin]
        return end.where(at_end[:, None], self.following)

    def candidates(self, token: Int[Tensor, " N"]) -> _Candidates:
        """Extend each hypothesis by its token."""
        log_probability = self.log_probability + self.following.gather(1, token[:, None]).squeeze(1)
        return _Candidates(self.origin, torch.arange(len(token), device=token.device), token, log_probability)

    def extend(self, model: Seq2Seq, candidates: _Candidates) -> "_Live":
        """Run the decoder on the candidates' tokens; the candidates become the live hypotheses."""
        state = self.state
        if not torch.equal(candidates.parent, torch.arange(len(self.tokens), device=candidates.parent.device)):
            state = state.select(candidates.parent)
        tokens = torch.cat((self.tokens[candidates.parent], candidates.token[:, None]), dim=1)
        logits, state = model.decode(candidates.token[:, None], state)
        following = _without_symbols(log_softmax(logits[:, -1]))
        return _Live(candidates.origin, tokens, candidates.log_probability, following, state)


def _best_candidates(live: _Live, choices: RowLogits, *, beam: int, sentences: int) -> _Candidates:
    """The `beam` likeliest candidates of each sentence (or all, if fewer), ordered by sentence."""
    origin = live.origin
    best, token = choices.topk(min(beam, choices.shape[1]))
    if beam == 1:
        return live.candidates(token[:, 0])
    first = torch.searchsorted(origin, torch.arange(sentences, device=origin.device))  # B: row of its first hypothesis
    place = torch.arange(len(origin), device=origin.device) - first[origin]  # N: index within its sentence
    # N V -> N k: a hypothesis contributes at most `beam` candidates.
    best = best + live.log_probability[:, None]
    width = best.shape[1]
    table = best.new_full((sentences, beam, width), -torch.inf)
    table[origin, place] = best
    log_probability, index = table.flatten(1).topk(beam)  # N k -> B beam
    sentence, rank = (log_probability > -torch.inf).nonzero(as_tuple=True)  # -> C
    index = index[sentence, rank]
    parent = first[sentence] + index // width
    return _Candidates(sentence, parent, token[parent, index % width], log_probability[sentence, rank])


def _kept(live: _Live, candidates: _Candidates, goes_on: Sequence[bool], *, step: int, penalty: float) -> list[Kept]:
    """The candidates of a step as records for the beam's tree."""
    tokens = torch.cat((live.tokens[candidates.parent, 1:], candidates.token[:, None]), dim=1).tolist()
    kept = []
    for hypothesis, (origin, token, log_probability), on in zip(tokens, candidates.rows(), goes_on, strict=True):
        end = ENDED if token == EOS else None if on else BEATEN
        kept.append(Kept(origin, step, tuple(hypothesis), log_probability, log_probability / penalty, end))
    return kept


def _finish(
    finished: Found,
    live: _Live,
    candidates: _Candidates,
    rows: Sequence[tuple[int, int, float]],
    *,
    penalty: float,
    n_best: int,
) -> None:
    """Add candidates ending in `EOS` to the finished hypotheses of their search; keep the `n_best` best."""
    for row, (origin, token, log_probability) in enumerate(rows):
        if token == EOS and log_probability > -math.inf:
            tokens = tuple(live.tokens[candidates.parent[row], 1:].tolist())
            hypothesis = Hypothesis(tokens, log_probability, log_probability / penalty)
            insort(finished[origin], hypothesis, key=lambda hypothesis: -hypothesis.score)
            del finished[origin][n_best:]


def _without_symbols(following: RowLogits) -> RowLogits:
    """Set tokens that are never generated to −∞, in place."""
    return following.index_fill_(1, torch.tensor(NEVER_GENERATED, device=following.device), -torch.inf)
