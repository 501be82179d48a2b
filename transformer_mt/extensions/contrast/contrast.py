"""`tmt contrast`: why this word, and not another?"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from transformer_mt.ground.errors import InputError
from transformer_mt.links.tokens import PairTokens, Tokens, find_row, shared
from transformer_mt.models.head_mask import without_heads
from transformer_mt.models.seq2seq import Seq2Seq, evaluating, require_finite
from transformer_mt.text.brief import Brief
from transformer_mt.text.normalize import normalize
from transformer_mt.text.terminal import JsonObject
from transformer_mt.text.words import is_word, word_spans
from transformer_mt.tokenizer.prepared import PreparedSentence, Preparer
from transformer_mt.tokenizer.symbols import EOS, SPECIAL
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.views.methods import METHODS, Explained, erase, gradient_times_input
from transformer_mt.views.rendering import inline, label, table_lines, wrapped
from transformer_mt.views.request import SentenceRequest
from transformer_mt.views.serialise import to_json
from transformer_mt.views.subject import Subject

END = "</s>"


@dataclass(frozen=True, repr=False)
class Attribution(Brief):
    """How much each word speaks for the first token; below zero, for the other.

    `gradient` is None if the model has no gradient method.
    """

    words: tuple[str, ...]
    gradient: Float[Tensor, " N"] | None
    erasure: Float[Tensor, " N"]


@dataclass(frozen=True, repr=False)
class Contrast(Brief):
    """z_a − z_b = ln p(a) − ln p(b), the difference of two tokens' logits after a prefix, attributed to words.

    By gradient × input of the difference, and by its fall when a word is taken out (Yin and Neubig 2022, "Interpreting
    Language Models with Contrastive Explanations", EMNLP). We remove the word from the sentence, as `erase` does.

    `token` is a, `other_token` b: the first tokens at which `word` and `other` differ, after the text `prefix`.
    """

    source: str
    target: str
    word: str
    other: str
    prefix: str
    token: str
    other_token: str
    probability: float
    other_probability: float
    difference: float
    from_source: Attribution
    from_prefix: Attribution

    def to_json(self) -> JsonObject:
        """The fields, and the sentence `in_words`."""
        return to_json(vars(self) | {"in_words": in_words(self)})


class ContrastRequest(SentenceRequest):
    """A request for `tmt contrast`; `other` is its option `--not`. With a `prefix`, all are tokens, and no target."""

    target: str = ""
    word: str
    other: str
    prefix: list[str] | None = None
    without: list[str] = Field([])


def view_contrast(subject: Subject, asked: ContrastRequest) -> JsonObject:
    """`tmt contrast --json`, or the same for two tokens after a prefix. Raises `InputError` for unknown ones."""
    pair = (subject.network, subject.model.tokenizer, subject.tokens)
    words = (asked.word, asked.other)
    with without_heads(subject.network, subject.without):
        if asked.prefix is None:
            return subject.to_json(contrast_words(*pair, *words))
        return subject.to_json(contrast_pieces(*pair, *words, prefix=asked.prefix))


def contrast_words(model: Seq2Seq, tokenizer: Tokenizer, tokens: PairTokens, word: str, other: str) -> Contrast:
    """Contrast a word of the target, or its number from 1, with another text in its place.

    `</s>` is the end of the target, on both sides. Raises `InputError` for a word that is not in the target, and for
    an alternative that is empty or the same.
    """
    written = tokens.written
    text = written.text
    _, number, _ = find_row({"target": written}, word=word, token=1)
    other = normalize(other)
    if not other:
        raise InputError("other", "empty", "give a word")
    start, end = [*word_spans(text), (len(text), len(text))][number]
    gap = " " if start == len(text) and is_word(other) else ""
    instead = text[:start] if other == END else f"{text[:start]}{gap}{other}{text[end:]}"
    changed = Tokens.of(Preparer(tokenizer.target).sentence(instead))
    differs = (row for row, (a, b) in enumerate(zip(written.ids, changed.ids, strict=False)) if a != b)
    if (row := next(differs, None)) is None:
        raise InputError("other", f"{other!r} is what the translation says", "give another word")
    *prefix, a = written.ids[: row + 1]
    found = contrast_tokens(model, tokenizer, tokens, prefix=prefix, pair=(a, changed.ids[row]))
    return replace(found, target=text, word=written.words[number], other=other)


def contrast_pieces(
    model: Seq2Seq, tokenizer: Tokenizer, tokens: PairTokens, word: str, other: str, *, prefix: Sequence[str]
) -> Contrast:
    """Contrast two tokens after the tokens of a prefix; the pair's own target is ignored.

    Raises `InputError` for an unknown token, equal ones, and a prefix that is too long.
    """
    pieces = [*prefix, word, other]
    ids = tokenizer.ids(pieces)
    for key, piece, index in zip([*["prefix"] * len(prefix), "word", "other"], pieces, ids, strict=True):
        if index in SPECIAL and (index != EOS or key == "prefix"):
            raise InputError(key, f"{piece!r} is not a text token", "give tokens of a translation")
    *before, a, b = ids
    if (length := len(before) + 1) > model.max_length:
        raise InputError("prefix", f"{length} tokens, the model takes at most {model.max_length}", "shorten it")
    if a == b:
        raise InputError("other", f"{other!r} is the word itself", "give another token")
    return contrast_tokens(model, tokenizer, tokens, prefix=before, pair=(a, b))


def contrast_tokens(
    model: Seq2Seq, tokenizer: Tokenizer, tokens: PairTokens, *, prefix: Sequence[int], pair: tuple[int, int]
) -> Contrast:
    """Contrast two token ids after the ids of a prefix. Raises `MachineError` if the model's numbers are not finite."""
    a, b = pair
    before = PreparedSentence(tokenizer.decode(prefix), tuple(prefix), tokenizer.target)
    of_prefix = PairTokens(tokens.source, _read(before), Tokens.of(before))  # the tokens compete in its last row
    with evaluating(model):
        logits = require_finite(model(*of_prefix.inputs(model)))[0, -1]
    likely = logits.softmax(dim=-1)
    texts = tokenizer.pieces(pair)

    def difference(logits: Tensor) -> Tensor:
        return logits[..., -1:, a] - logits[..., -1:, b]

    return Contrast(
        source=tokens.source.text,
        target=tokenizer.decode([*prefix, a]),
        word=texts[0],
        other=texts[1],
        prefix=before.text.rstrip(),
        token=texts[0],
        other_token=texts[1],
        probability=likely[a].item(),
        other_probability=likely[b].item(),
        difference=(logits[a] - logits[b]).item(),
        from_source=_attributed(model, of_prefix, difference, stack="cross"),
        from_prefix=_attributed(model, of_prefix, difference, stack="decoder"),
    )


def _read(prefix: PreparedSentence) -> Tokens:
    """The tokens of a prefix, which may end within a word or a character."""
    read = Tokens.of(prefix, begins=True)
    if "\ufffd" in prefix.text:  # part of a character: its words do not match its tokens
        return replace(read, words=read.pieces, words_of_piece=tuple((place,) for place in range(len(read.pieces))))
    if read.pieces[-1] == "▁":  # the start of the next word
        return replace(read, words=(*read.words, "▁"), words_of_piece=(*read.words_of_piece[:-1], (len(read.words),)))
    return read


def _attributed(model: Seq2Seq, tokens: PairTokens, of: Explained, *, stack: str) -> Attribution:
    columns = tokens.sides(stack)[1]
    words = columns.membership()
    gradient = None
    first = 1 if stack == "decoder" else 0  # `<s>` cannot be erased
    if METHODS["gradient"]().applies_to(model):
        of_pieces = gradient_times_input(model, tokens, stack=stack, of=of)[-1].cpu().numpy()
        gradient = torch.from_numpy(shared(words) @ of_pieces)[first:]
    falls = erase(model, tokens, torch.from_numpy(words).bool(), stack=stack, of=of)[-1].cpu()
    return Attribution(columns.words[first:], gradient, falls[first:])


def contrast_lines(found: Contrast, *, width: int) -> Iterator[str]:
    """Yield the question, a table for each side with a row per word, and the answer in words."""
    a = inline(found.token)
    b = inline(found.other_token)
    yield from wrapped(f"Why {a} and not {b}?", width=width)
    for title, side in (("source", found.from_source), ("before", found.from_prefix)):
        methods = ["erasure"] if side.gradient is None else ["gradient", "erasure"]
        cells = [[f"{number:z.2f}" for number in getattr(side, method).tolist()] for method in methods]
        if side.words:
            rows = zip(map(label, side.words), *cells, strict=True)
            yield from ("", *table_lines(rows, headings=(title, *methods), right=(1, 2), width=width))
    meaning = (
        f"A number is what the word adds to ln p({a}) − ln p({b}); below zero, it speaks for {b}. gradient: gradient × "
        "input of this difference; erasure: how far it falls when the word is taken out."
    )
    yield from ("", *wrapped(meaning, width=width), "", *wrapped(in_words(found, inline), width=width))


def in_words(found: Contrast, shown: Callable[[str], str] = str) -> str:
    """The probabilities of both tokens, and how their odds change without the word that speaks most for the first."""
    a = shown(found.token)
    b = shown(found.other_token)
    where = f'After "{shown(found.prefix)}"' if found.prefix else "At the start"
    said = (
        f"{where}, {a} has probability {found.probability:.3g} and {b} {found.other_probability:.3g}: "
        f"{_odds(found.difference)}"
    )
    sides = (found.from_source, found.from_prefix)
    falls = [pair for side in sides for pair in zip(side.erasure.tolist(), side.words, strict=True)]
    fall, word = max(falls)
    return f"{said}; without {shown(word)}, {_odds(found.difference - fall)}." if fall > 0.0 else f"{said}."


def _odds(difference: float) -> str:
    ratio = f"{float(f'{math.exp(min(abs(difference), 700.0)):.3g}'):,.10g}"
    return f"{ratio} to 1" if difference >= 0.0 else f"1 to {ratio}"
