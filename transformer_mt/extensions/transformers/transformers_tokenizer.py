"""Conversion of a vocabulary and our text normalisation to `tokenizer.json`, which needs no remote code.

The format is that of Hugging Face's `tokenizers`. Its regular expressions are Oniguruma's. Its normalisation differs
from ours only in rare texts: rows of more than 30 marks, invisible characters inside emoji with tags, and lone
surrogates, which it cannot read.
"""

import re
import sys
import unicodedata

from transformer_mt.text import normalize as rules
from transformer_mt.text.terminal import JsonObject
from transformer_mt.tokenizer.sentencepiece_model import FIRST, PieceScores, is_unigram, learned_scores, load_model
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, SPECIAL, UNK
from transformer_mt.tokenizer.tokenizer import Tokenizer

_VIRAMAS = "".join(map(chr, (c for c in range(sys.maxunicode) if unicodedata.combining(chr(c)) == rules.VIRAMA)))


def tokenizer_files(tokenizer: Tokenizer, *, max_length: int) -> dict[str, JsonObject]:
    """The content of `tokenizer.json` and `tokenizer_config.json`."""
    names = tokenizer.pieces(range(len(SPECIAL)))
    scores = learned_scores(load_model(tokenizer.serialized))
    ids = {name: index for index, name in enumerate(names)}
    ids |= tokenizer.tags
    start = [_symbol(name) for name in tokenizer.pieces(tokenizer.tag)]
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    end = _symbol(names[EOS])
    text = {"Sequence": {"id": "A", "type_id": 0}}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": index, "content": name, **special} for name, index in ids.items()],
        "normalizer": {"type": "Sequence", "normalizers": list(_normalizers())},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _pre_tokenizers(scores)},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [*start, text, end],
            "pair": [*start, text, {"Sequence": {"id": "B", "type_id": 0}}, end],
            "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in ids},
        },
        "decoder": {"type": "Sequence", "decoders": _DECODERS},
        "model": _model(tokenizer),
    }
    options = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # a text never has special symbols
        **{f"{key}_token": names[index] for key, index in (("pad", PAD), ("unk", UNK), ("bos", BOS), ("eos", EOS))},
        "model_input_names": ["input_ids", "attention_mask"],
    }
    return {"tokenizer.json": content, "tokenizer_config.json": options}


# Symbols and bytes after their `<`, as patterns. tokenizers has them in the vocabulary like any piece.
_LITERALS = (*(re.escape(piece[1:]) for piece in FIRST[: len(SPECIAL)]), "0x[0-9A-F]{2}>", r"2\S{1,100}>")
# The score of symbols and bytes, so that texts become none, where a split would part a learned piece.
_NEVER = -1e4
_METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}
_DECODERS = [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
]


def _model(tokenizer: Tokenizer) -> JsonObject:
    """The vocabulary, with its scores (unigram) or merges (bpe)."""
    processor = load_model(tokenizer.serialized)
    pieces = tokenizer.pieces(range(tokenizer.size))
    scores = learned_scores(processor)
    if is_unigram(processor):
        rest = _NEVER if any(_is_learned(text, scores) for text in _LITERALS) else 0.0
        vocabulary = [[piece, scores.get(piece, rest)] for piece in pieces]
        return {"type": "Unigram", "unk_id": UNK, "vocab": vocabulary, "byte_fallback": True}
    merges = []
    for piece in sorted(scores, key=lambda piece: -scores[piece]):
        splits = ((piece[:place], piece[place:]) for place in range(1, len(piece)))
        merges += [[left, right] for left, right in splits if left in scores and right in scores]
    return {
        "type": "BPE", "dropout": None, "unk_token": pieces[UNK], "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": True, "ignore_merges": False,
        "vocab": {piece: index for index, piece in enumerate(pieces)}, "merges": merges,
    }  # fmt: skip


def _symbol(name: str) -> JsonObject:
    return {"SpecialToken": {"id": name, "type_id": 0}}


def _pre_tokenizers(scores: PieceScores) -> list[JsonObject]:
    """Spaces as `▁`, and a split inside texts such as `<s>`, so that they do not become symbols."""
    rest = "|".join(text for text in _LITERALS if not _is_learned(text, scores)) or "(?!)"
    split = {"type": "Split", "pattern": {"Regex": f"<(?={rest})"}, "behavior": "MergedWithPrevious", "invert": False}
    return [_METASPACE, split]


def _is_learned(literal: str, scores: PieceScores) -> bool:
    """True if a piece spans the place where a literal symbol would be split."""
    return any(f"<{literal[0]}" in piece for piece in scores)


def _normalizers() -> list[JsonObject]:
    """Our normalisation, step by step; see `text.normalize`."""
    nfc = {"type": "NFC"}
    return [
        _replace(rules.CONTROLS.pattern, ""),
        nfc,
        *(_replace(pattern, "") for pattern in _invisible()),
        _replace(r"[\x09-\x0d\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000▁]+", " "),
        {"type": "Strip", "strip_left": True, "strip_right": True},
        nfc,
    ]


def _invisible() -> list[str]:
    """Patterns of ignorable characters that carry no meaning, in the order of `text.normalize`."""
    picture = f"[{rules.PICTURES}]"
    unspaced = f"[{rules.UNSPACED}]"
    joined = "".join(f"(?<![{rules.JOINS_NEXT}]{marks})" for marks in ("", r"\p{M}", r"\p{M}\p{M}"))
    virama = f"(?<![{_VIRAMAS}])"
    kept = r"\u200b-\u200d\ufe0e\ufe0f\U000e0020-\U000e007f"
    return [
        rf"(?![{kept}])[{rules.IGNORABLE}]",
        rf"(?<!{unspaced})\u200b|\u200b(?!{unspaced})",
        rf"{virama}{joined}\u200c|{virama}\u200c(?!\p{{M}}*[{rules.JOINS_BEFORE}])",
        rf"{virama}(?<!{picture})(?<!{picture}[\ufe0e\ufe0f])\u200d|{virama}\u200d(?!{picture})",
        rf"(?<!{picture})(?<![0-9#*])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0e|(?<=[0-9#*])\ufe0f(?!\u20e3)",
        rf"(?<!{picture})(?<![\ufe0e\ufe0f\U000e0020-\U000e007f])[\U000e0020-\U000e007f]",
    ]


def _replace(pattern: str, content: str) -> JsonObject:
    """A replacement, with Python's escapes spelled as Oniguruma's."""
    spelled = re.sub(r"\\[Uux]((?<=U)[0-9a-fA-F]{8}|(?<=u)[0-9a-fA-F]{4}|(?<=x)[0-9a-fA-F]{2})", r"\\x{\1}", pattern)
    return {"type": "Replace", "pattern": {"Regex": spelled}, "content": content}
