"""Comparison of our translations with another program's, before an export is written."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transformer_mt.text.normalize import normalize
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.translation.engine import Engine
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator

# The number of sentences to translate; a test compares 500. In one of them, rounding may decide between two tokens.
SENTENCES = 20
MOST_DIFFERENT = 1

# Characters outside most vocabularies, and a sentence with decomposed and invisible characters.
STRANGE = "Ωмир 日本語 🙂 ﷽ \u0000\ufffd"
DECOMPOSED = "\ufeffDas Ma\u0308d\u00adchen ▁ liest\u200b ein gu\u200dtes Buch."


class TokenizingEngine(Engine):
    """An engine of a program that reads the exported vocabulary in its own way."""

    @abstractmethod
    def read(self, text: str) -> list[int]:
        """The token ids of a text, with `EOS`."""

    @abstractmethod
    def write(self, tokens: Sequence[int]) -> str:
        """The text of token ids."""


@dataclass(frozen=True)
class Difference:
    """A sentence that is translated differently."""

    source: str
    ours: str
    theirs: str


@dataclass(frozen=True, kw_only=True)
class Parity:
    """The comparison of greedy translations.

    `read_differently` has the texts that the other program reads or writes differently, None if it uses our tokens.
    """

    quantization: str | None
    sentences: int
    same: int
    differences: tuple[Difference, ...]
    read_differently: tuple[str, ...] | None


def compare(ours: Model, theirs: Model, sources: Sequence[str], *, quantization: str | None) -> Parity:
    """Translate the first sentences, an empty one and unusual characters with both programs, greedily.

    Both translate the tokens of our vocabulary; a tokenizer of the other program is compared with it separately.
    """
    odd = ("", STRANGE, DECOMPOSED)
    limit = ours.engine.max_length
    texts = [*sources[: SENTENCES - len(odd)], *odd]
    texts = [text for text in texts if len(ours.tokenizer.encode(normalize(text))) < limit]
    search = Translator.of(ours).search.model_copy(update={"beam": 1, "n_best": 1, "sample": False})
    own, other = (
        [best.text for best, *_ in Translator.of(model).translate(texts, search, split=False)]
        for model in (ours, theirs)
    )
    pairs = zip(texts, own, other, strict=True)
    differences = tuple(Difference(text, one, two) for text, one, two in pairs if one != two)
    differently = None
    if isinstance(engine := theirs.engine, TokenizingEngine):
        differently = tuple(text for text in texts if not _reads_alike(ours, engine, text))
    return Parity(
        quantization=quantization, sentences=len(texts), same=len(texts) - len(differences), differences=differences,
        read_differently=differently,
    )  # fmt: skip


def _reads_alike(ours: Model, theirs: TokenizingEngine, text: str) -> bool:
    ids = ours.prepare.sentence(text).ids
    return theirs.read(text) == [*ids, EOS] and theirs.write(ids) == ours.tokenizer.decode(ids)


def parity_lines(parity: Parity) -> Iterator[str]:
    """The comparison as text."""
    if parity.read_differently is not None:
        count = parity.sentences - len(parity.read_differently)
        yield f"{count} of {parity.sentences} texts have the same tokens"
    yield f"{parity.same} of {parity.sentences} greedy translations are the same"
