"""Comparison of our translations with another program's."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.evaluation import score_texts
from transformer_mt.extensions.transformers.transformers_engine import TransformersEngine
from transformer_mt.text.normalize import normalize
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translation, Translator

# The number of validation pairs to translate; the minimum share of equal translations in float32; and the largest
# difference of ln p between two tokens that counts as a tie, which rounding may decide.
MOST_PAIRS = 500
SAME = 0.995
TIE = 1e-4


# Characters outside most vocabularies; a sentence with decomposed and invisible characters; the longest sentence to
# generate, in tokens.
STRANGE = "Ωмир 日本語 🙂 ﷽ \u0000\ufffd"


DECOMPOSED = "\ufeffDas Ma\u0308d\u00adchen ▁ liest\u200b ein gu\u200dtes Buch."


LONGEST_MADE = 1_024


@dataclass(frozen=True)
class Difference:
    """A sentence that is translated differently.

    `gap` is ln p of our token minus ln p of theirs where the translations diverge; near 0, a tie.
    """

    source: str
    ours: str
    theirs: str
    gap: float


@dataclass(frozen=True, kw_only=True)
class Search:
    """The comparison for one beam width; pairs of numbers are ours first, then the other program's.

    `largest_gap` is the largest difference of ln p among equal translations. BLEU (0–100) and its sacrebleu signature
    are None without pairs.
    """

    beam: int
    sentences: int
    same: int
    largest_gap: float
    bleu: tuple[float, float] | None
    signature: str | None
    sentences_per_second: tuple[float, float]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, kw_only=True)
class Parity:
    """The comparison on validation sentences, texts of several lengths, an empty one, and unusual characters.

    `read_differently` has the texts that the other program reads or writes differently, None if it uses our tokens.
    `length_penalty` is our α; other programs divide ln p by length^(α / 2).
    """

    quantization: str | None
    pairs: int
    length_penalty: float
    read_differently: tuple[str, ...] | None
    greedy: Search
    beam: Search


def compare(ours: Model, theirs: Model, pairs: Pairs, *, quantization: str | None) -> Parity:
    """Translate the same sentences with both programs, greedily and with a beam of 4.

    Both translate the tokens of our vocabulary; transformers' own tokenizer is compared with it separately.
    """

    def fits(text: str) -> bool:
        return len(ours.tokenizer.encode(normalize(text))) < ours.engine.max_length

    kept = [pair for pair in pairs if fits(pair.source)][:MOST_PAIRS]
    sources = [pair.source for pair in kept]
    sources += filter(fits, (*_of_lengths(sources, ours), "", STRANGE, DECOMPOSED))
    references = [pair.translations for pair in kept]
    translators = Translator.of(ours), Translator.of(theirs)
    greedy, beam = (_search(translators, sources, references, width) for width in (1, 4))
    engine = theirs.engine
    differently = None
    if isinstance(engine, TransformersEngine):
        differently = tuple(text for text in sources if not _reads_alike(ours, engine, text))
    return Parity(
        quantization=quantization, pairs=len(kept), length_penalty=translators[0].search.length_penalty,
        read_differently=differently, greedy=greedy, beam=beam,
    )  # fmt: skip


def _reads_alike(ours: Model, theirs: TransformersEngine, text: str) -> bool:
    ids = ours.prepare.sentence(text).ids
    return theirs.read(text) == [*ids, EOS] and theirs.write(ids) == ours.tokenizer.decode(ids)


def _search(
    translators: tuple[Translator, Translator],
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    beam: int,
) -> Search:
    search = translators[0].search.model_copy(update={"beam": beam, "n_best": 1, "sample": False})

    def translated(translator: Translator) -> tuple[list[Translation], float]:
        """The translations, and sentences per second."""
        start = time.perf_counter()
        found = [ranked[0] for ranked in translator.translate(sources, search, split=False)]
        return found, len(sources) / max(time.perf_counter() - start, 1e-9)

    (ours, own), (theirs, other) = map(translated, translators)
    differences = []
    gaps = [0.0]
    for source, a, b in zip(sources, ours, theirs, strict=True):
        if a.text == b.text:
            gaps.append(abs(a.log_probability - b.log_probability))
        else:
            differences.append(Difference(source, a.text, b.text, _gap(translators[0], source, a, b)))
    texts = [[one.text for one in found[: len(references)]] for found in (ours, theirs)]
    language = translators[0].model.config.data.target_language
    scores = [score_texts(found, references, language=language) for found in texts] if references else []
    return Search(
        beam=beam,
        sentences=len(sources),
        same=len(sources) - len(differences),
        largest_gap=max(gaps),
        bleu=(scores[0].bleu, scores[1].bleu) if scores else None,
        signature=scores[0].signature["bleu"] if scores else None,
        sentences_per_second=(own, other),
        differences=tuple(differences),
    )


def _gap(translator: Translator, source: str, ours: Translation, theirs: Translation) -> float:
    """ln p of our token minus ln p of theirs where two translations diverge, by our model."""
    model = translator.model
    sources = [*model.prepare.sentence(source).ids, EOS]
    one, other = ([*model.tokenizer.ids(found.tokens), EOS] for found in (ours, theirs))
    place = next(at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    found = model.engine.likeliest(sources, one, count=model.tokenizer.size)[place]
    probability = dict(zip(found.ids, found.probabilities, strict=True)).get(other[place], 0.0)
    return math.log(max(found.chosen, 1e-30) / max(probability, 1e-30))


def _of_lengths(sources: Sequence[str], opened: Model) -> Iterator[str]:
    """Texts of about a quarter, a half, three quarters and all of the tokens that the model takes."""
    limit = min(opened.engine.max_length, LONGEST_MADE)
    ids = opened.tokenizer.encode(normalize(" ".join(sources) or STRANGE))
    ids *= 1 + limit // len(ids)
    for count in (limit // 4, limit // 2, 3 * limit // 4, limit):
        yield opened.tokenizer.decode(ids[: count - 4])  # a word that is cut may have more tokens


def parity_lines(parity: Parity) -> Iterator[str]:
    """The comparison as text."""
    if parity.read_differently is not None:
        texts = parity.greedy.sentences
        yield f"tokens   {texts - len(parity.read_differently)} of {texts} texts have the same tokens"
    for name, found in (("greedy", parity.greedy), (f"beam {parity.beam.beam}", parity.beam)):
        share = 100 * found.same / found.sentences
        yield f"{name:<8} {found.same} of {found.sentences} translations are the same ({share:.1f} %)"
        yield f"         for these, ln p differs by at most {found.largest_gap:.1e}"
        if found.bleu:
            ours, theirs = found.bleu
            yield f"         BLEU {ours:.2f} here, {theirs:.2f} there ({theirs - ours:+.2f}), {parity.pairs} pairs"
        own, other = found.sentences_per_second
        yield f"         {own:.1f} sentences per second here, {other:.1f} there"
    alpha = parity.length_penalty
    yield f"beam scores are ln p divided by ((5 + length) / 6)^{alpha:g} here, by length^{alpha / 2:g} there"
