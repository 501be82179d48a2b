"""The built-in corpus of the package matches the output of the grammar."""

import lzma
from dataclasses import fields

from grammar.__main__ import whole_corpus, written
from transformer_mt.config.sections import BuiltinConfig
from transformer_mt.corpus.builtin import FOLDER, builtin_corpus
from transformer_mt.corpus.pairs import SentencePair


def test_the_grammar_writes_the_files_of_the_package() -> None:
    made = whole_corpus()
    files = dict(written(made))
    assert {path.name for path in FOLDER.glob("*.xz")} == files.keys()
    for name, content in files.items():
        assert lzma.decompress((FOLDER / name).read_bytes()).decode() == content, name
    read = builtin_corpus(**{**BuiltinConfig().model_dump(), "train": len(made["train"])})
    assert list(read) == list(made)
    for split, pairs in made.items():
        plain = (SentencePair(*(getattr(pair, each.name) for each in fields(SentencePair))) for pair in pairs)
        assert read[split] == list(plain)
