"""`Translator`: sentences in, translations out, with any engine."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

from typing_extensions import override

from transformer_mt.config.sections import SearchConfig
from transformer_mt.corpus.cleaning import normalized_pair
from transformer_mt.corpus.pairs import AnyPair, SentencePair, as_pairs
from transformer_mt.ground.errors import InputError, require_list
from transformer_mt.ground.memory import require
from transformer_mt.ground.progress import advance, working
from transformer_mt.ground.seeds import derive_seed
from transformer_mt.runs.directory import find_run
from transformer_mt.text.languages import language_of
from transformer_mt.text.normalize import normalize
from transformer_mt.text.sentences import join_sentences
from transformer_mt.tokenizer.prepared import PreparedLine, PreparedSentence
from transformer_mt.tokenizer.symbols import EOS, SPECIAL, UNK
from transformer_mt.translation.engine import OWN, Hypothesis, Prefix, Task
from transformer_mt.translation.glossary import NONE, Glossary, Use
from transformer_mt.translation.model import Model

if TYPE_CHECKING:
    from transformer_mt.translation.scoring import PairScore

# Searches for the n best of a sentence; each doubles the number of hypotheses.
ATTEMPTS = 4
# Batches of a stream to read at a time: enough to sort the sentences by length.
BATCHES_READ = 16


@dataclass(frozen=True)
class Translation:
    """A translation: its text, the score that ranks it, ln p of its tokens and the end symbol, and its tokens.

    If a line was translated sentence by sentence, `sentences` has their translations, and score and ln p are sums.
    `is_doubtful` means that the mean ln p per token is lower than for almost all right translations (`Model.doubt`), in
    one of the sentences. It is always false for samples, which are meant to be unlikely, and after a prefix.
    `terms` are the glossary's terms in the source. Only `text` has them: tokens and numbers belong to the translation
    without them.
    """

    text: str
    score: float
    log_probability: float
    tokens: tuple[str, ...]
    sentences: tuple["Translation", ...] = ()
    is_doubtful: bool = False
    terms: tuple[Use, ...] = ()

    @property
    def mean_log_probability(self) -> float:
        """Mean ln p per token, counting an end symbol per sentence."""
        return self.log_probability / (len(self.tokens) + max(len(self.sentences), 1))


EMPTY = Translation(text="", score=0.0, log_probability=0.0, tokens=())

# A prefix, as text or as tokens.
PrefixText = str | Sequence[str]
PlaceName = Callable[[int], str]
IsWaiting = Callable[[], bool]
# Distinct translations, best first.
Ranked = list[Translation]


def numbered(number: int) -> str:
    """The default name of a sentence in messages, from its number (from 0): `sentence 3` for 2."""
    return f"sentence {number + 1}"


@dataclass(eq=False, repr=False)
class Translator:
    """Translates text with an opened model; `search` is the default for calls without their own.

    In the text of a translation, terms of the `glossary` replace the words that are linked to them.
    """

    model: Model
    _: KW_ONLY
    search: SearchConfig
    glossary: Glossary = NONE

    @override
    def __repr__(self) -> str:
        return f"Translator({self.model})"

    @classmethod
    def load(
        cls, directory: str | Path, *, device: str = "auto", engine: str = OWN, quantization: str | None = None
    ) -> Self:
        """Load the trained model of a run directory, in float32, with the run's configured search.

        `ready` is the model that comes with the package. A checkpoint, `…/checkpoints/step-N`, loads the weights
        validated at that step. The engine is `torch`, or an extension's, which may quantize its weights.

        Raises `InputError` for a directory that is not a run or has no model yet, for an unknown device or engine, and
        for a model that the engine does not support; `MachineError` for damaged files.
        """
        run = find_run(Path(directory))
        return cls.of(Model.open(run, device=device, engine=engine, quantization=quantization))

    @classmethod
    def of(cls, model: Model) -> Self:
        """A translator with the model's configured search."""
        return cls(model, search=model.config.search)

    def translate(
        self,
        sentences: Sequence[str],
        search: SearchConfig | None = None,
        *,
        prefix: PrefixText = "",
        place: PlaceName = numbered,
        split: bool = True,
    ) -> list[Ranked]:
        """Return the `search.n_best` best translations of each line, with distinct texts, best first.

        With `split`, a line of several sentences is translated sentence by sentence into one translation, unless
        n_best > 1 or a prefix is given. Lines in all lowercase or all capitals get the capitalisation of training.
        Every translation begins with the prefix, a text or tokens; tokens ending in `</s>` are the whole translation.
        An empty line has an empty translation. Translations are limited by the model's `max_length` too.

        Hypotheses with different tokens can have the same text. So with n_best > 1 the beam, or the number of samples,
        starts at 2 n_best or more and doubles, for up to `ATTEMPTS` searches, while there are too few texts; the result
        may still have fewer than `n_best`.

        The result for a line does not depend on other lines, except for rounding; a sampled one depends on the seed and
        the line's number. Raises `InputError`, before translating anything, for a sentence that is too long, named by
        `place` from its number (from 0), for a prefix that is too long, and if memory is too small; `MachineError` for
        a model whose numbers are not finite.
        """
        require_list(sentences, "sentences")
        search = search or self.search
        lines = self.model.prepare.lines(sentences, split=split and splits(search, prefix))
        return self.translate_prepared(list(enumerate(lines)), search, prefix=prefix, place=place)

    def translate_lines(
        self,
        lines: Iterable[PreparedLine],
        search: SearchConfig,
        *,
        prefix: PrefixText = "",
        place: PlaceName = numbered,
        is_waiting: IsWaiting | None = None,
    ) -> Iterator[Ranked]:
        """Yield the translations of prepared lines, reading `BATCHES_READ` batches (per parallel batch) at a time.

        Translates earlier if `is_waiting` returns False: the next line is not available yet. Raises as `translate`,
        for one read at a time.
        """
        chunk: list[tuple[int, PreparedLine]] = []
        for item in enumerate(lines):
            chunk.append(item)
            if len(chunk) == BATCHES_READ * self._at_once(search) or (is_waiting and not is_waiting()):
                yield from self.translate_prepared(chunk, search, prefix=prefix, place=place)
                chunk.clear()
        if chunk:
            yield from self.translate_prepared(chunk, search, prefix=prefix, place=place)

    def score(self, pairs: Sequence[AnyPair]) -> "list[PairScore]":
        """ln p of each target given its source, token by token, for pairs of `SentencePair` or of two texts.

        Raises `InputError` for a pair that is too long.
        """
        return list(self.score_stream(pairs))

    def score_stream(self, pairs: Iterable[AnyPair]) -> "Iterator[PairScore]":
        """Like `score`, for a stream of pairs, read a thousand at a time."""
        from transformer_mt.translation.scoring import score_pairs  # imports torch

        given = (normalized_pair(*as_pairs([pair])) for pair in pairs)
        return score_pairs(self.model.network, self.model.tokenizer, given)

    def require_fitting(self, sentences: Iterable[PreparedSentence], place: str) -> None:
        """Raise `InputError`, naming `place`, for a sentence with more tokens than the model takes."""
        limit = self.model.engine.max_length
        for sentence in sentences:
            if (count := len(sentence.ids) + 1) > limit:
                raise InputError(place, f"{count} tokens, the model takes at most {limit}", "split it")

    def require_fitting_pair(self, pair: AnyPair, place: str) -> None:
        """Raise `InputError`, naming `place`, for a pair with a side that has more tokens than the model takes."""
        prepare = self.model.prepare
        (given,) = as_pairs([pair])
        self.require_fitting([prepare.sentence(given.source), prepare.target.sentence(given.target)], place)

    def translate_prepared(
        self,
        lines: Sequence[tuple[int, PreparedLine]],
        search: SearchConfig,
        *,
        prefix: PrefixText = "",
        place: PlaceName = numbered,
    ) -> list[Ranked]:
        """Translate prepared lines, each given with its number. Raises as `translate`."""
        tokenizer = self.model.tokenizer
        engine = self.model.engine
        if self.glossary:
            _ = self.model.linking_heads  # raises
        limit = min(search.max_length, engine.max_length)  # of a translation, with `EOS`
        forced, ends = self._forced(prefix)
        if len(forced) >= limit:
            raise InputError("prefix", f"{len(forced)} tokens, but a translation has at most {limit - 1}", "shorten it")
        longest = len(forced) + 1 if ends else limit
        tasks = []
        for number, line in lines:
            self.require_fitting(line.sentences, place(number))
            for index, sentence in enumerate(line.sentences):
                seed = derive_seed(search.seed, *((number, index) if index else (number,)))
                # Vaswani et al. 2017, §6.1: a translation may exceed its source by a fixed number of tokens.
                most = max(len(sentence.ids), len(forced)) + 1 + search.max_length_margin
                tasks.append(Task([*sentence.ids, EOS], min(most, longest), seed))
        waiting = [index for index, task in enumerate(tasks) if tokenizer.holds_text(task.source[:-1])]
        waiting.sort(key=lambda index: len(tasks[index].source), reverse=True)
        # A lower bound: only the logits and log-probabilities of the parallel batches.
        needed = 8 * tokenizer.size * min(self._at_once(search), len(waiting)) * max(search.beam, search.n_best)
        require(needed, engine.free_memory, what="search.beam, n_best and batch_size", remedy="lower them")
        found = self._found({index: tasks[index] for index in waiting}, search, forced)
        ranked = [found.get(index, [EMPTY]) for index in range(len(tasks))]
        if self.glossary:
            sentences = [sentence for _, line in lines for sentence in line.sentences]
            ranked = self._with_terms(sentences, ranked, prefix=normalize(tokenizer.decode(forced)))
        translations = iter(ranked)
        return [_joined(list(islice(translations, len(line.sentences)))) for _, line in lines]

    def _at_once(self, search: SearchConfig) -> int:
        """The number of sentences translated in parallel; for sampling, the same on every machine."""
        return search.batch_size * (1 if search.sample else self.model.engine.batches)

    def _forced(self, prefix: PrefixText) -> tuple[Prefix, bool]:
        """The tokens of a prefix, and whether the translation ends with it."""
        if isinstance(prefix, str):
            forced = self.model.prepare.target.sentence(prefix).ids if prefix else ()
            if UNK in forced:
                raise InputError("prefix", "has characters without a token", "leave them out")
            return forced, False
        ids = self.model.tokenizer.ids(prefix)
        ends = ids[-1:] == [EOS]
        for piece, index in zip(prefix, ids[:-1] if ends else ids, strict=False):
            if index in SPECIAL:
                raise InputError("prefix", f"{piece!r} is not a text token", "give tokens of a translation")
        return tuple(ids[: len(ids) - ends]), ends

    def _found(self, waiting: Mapping[int, Task], search: SearchConfig, prefix: Prefix) -> dict[int, Ranked]:
        """Translate every sentence; search again for sentences with too few distinct texts."""
        found: dict[int, Ranked] = {}
        count = 1 if search.n_best == 1 else 2 * search.n_best
        least = -math.inf if search.sample or prefix else self.model.doubt.threshold
        for _ in range(ATTEMPTS):
            if not waiting:
                break
            hypotheses = self.model.engine.search(list(waiting.values()), search, count=count, prefix=prefix)
            for key, ranked in zip(waiting, hypotheses, strict=True):
                if key not in found:
                    advance()
                found[key] = self._different(ranked, count=search.n_best, least=least)
            waiting = {key: task for key, task in waiting.items() if len(found[key]) < search.n_best}
            count *= 2
        return found

    def _with_terms(
        self, sentences: Sequence[PreparedSentence], found: Sequence[Ranked], *, prefix: str
    ) -> list[Ranked]:
        """The translations, after the glossary's terms in each sentence were put into its own."""
        from transformer_mt.links.align import align_pairs  # imports torch
        from transformer_mt.translation.substitution import put_terms

        model = self.model
        terms = list(map(self.glossary.terms_in, sentences))
        rows = [(index, one) for index, ranked in enumerate(found) if terms[index] for one in ranked]
        pairs = [SentencePair(sentences[index].text, self._linkable(one.text)) for index, one in rows]
        aligned = align_pairs(model.network, model.tokenizer, pairs, model.linking_heads)
        is_english = language_of(model.config.data.target_language) == "en"
        different: dict[int, dict[str, Translation]] = defaultdict(dict)
        with working(""):  # the sentences were counted
            for (index, one), alignment in zip(rows, aligned, strict=True):
                text, placed = put_terms(alignment, terms[index], prefix=prefix, is_english=is_english)
                uses = tuple(Use(term.source, term.target, term in placed) for term in terms[index])
                different[index].setdefault(text, replace(one, text=text or one.text, terms=uses))
        return [list(different[index].values()) or ranked for index, ranked in enumerate(found)]

    def _linkable(self, translation: str) -> str:
        """A translation as the model reads it; empty if it has too many tokens in the usual spelling."""
        text = normalize(translation)
        return text if len(self.model.tokenizer.target.encode(text)) < self.model.engine.max_length else ""

    def _different(self, hypotheses: list[Hypothesis], *, count: int, least: float) -> Ranked:
        """The first hypotheses with distinct texts, as translations, best first; doubtful with a mean below `least`."""
        by_text: dict[str, Translation] = {}
        for hypothesis in hypotheses:
            text = self.model.tokenizer.decode(hypothesis.tokens)
            if text not in by_text and len(by_text) < count:
                pieces = tuple(self.model.tokenizer.pieces(hypothesis.tokens))
                found = Translation(text, hypothesis.score, hypothesis.log_probability, pieces)
                by_text[text] = replace(found, is_doubtful=found.mean_log_probability < least)
        return sorted(by_text.values(), key=lambda translation: translation.score, reverse=True)


def splits(search: SearchConfig, prefix: PrefixText) -> bool:
    """True if a line may be translated sentence by sentence."""
    return search.n_best == 1 and not prefix


def _joined(sentences: list[Ranked]) -> Ranked:
    """The translations of a line: of its only sentence, or the best of each sentence, joined."""
    if len(sentences) == 1:
        return sentences[0]
    best = tuple(ranked[0] for ranked in sentences)
    return [
        Translation(
            join_sentences(each.text for each in best),
            sum(each.score for each in best),
            sum(each.log_probability for each in best),
            tuple(chain.from_iterable(each.tokens for each in best)),
            best,
            any(each.is_doubtful for each in best),
            tuple(chain.from_iterable(each.terms for each in best)),
        )
    ]
