"""The built-in corpus and the tests of its grammar; run in `scripts/`, with the package installed.

python -m grammar            write the corpus into the package
python -m grammar --test     run the grammar's tests; if they pass, record the digest
python -m grammar --check    exit with 1 if the grammar, its tests or the corpus changed since they last passed
"""

import hashlib
import lzma
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from grammar.phrasebook import real_life, shown
from grammar.splits import generate_corpus, hastily, plain
from grammar.templates import COPIES, TOPICS, filled, without_umlauts
from grammar.trees import ParsedPair
from transformer_mt.corpus.builtin import FOLDER, SHOWCASE, SHOWCASE_TRANSLATION
from transformer_mt.corpus.pairs import SentencePair, format_links

HERE = Path(__file__).parent
PASSED = HERE / "passed.txt"
SIZES = {"train": 80_000, "validation": 500, "test": 1_000, "seed": 1}
MORE = {"copies": 46_000, "topics": 14_000, "without_umlauts": 4_000}
TEST_COPY = 500


def whole_corpus() -> dict[str, list[ParsedPair]]:
    """The corpus of the grammar, more pairs without links at the end of `train`, and `test_copy`."""
    corpus, random = generate_corpus(**SIZES), Random(SIZES["seed"])
    training = corpus["train"]
    taken = {pair.source for pair in training}
    real = list(unknown_to_tests(real_life(), corpus))
    more = [
        *filled(COPIES, MORE["copies"], training, random, taken),
        *filled(TOPICS, MORE["topics"], training, random, taken),
        *without_umlauts(MORE["without_umlauts"], training + real, random),
        *real,
        *(hastily(pair, random) for pair in real),
    ]
    random.shuffle(more)
    taken |= {text for pair in training + more for text in (pair.source, pair.target)}
    test = filled(COPIES, TEST_COPY, corpus["test"], Random(SIZES["seed"] + 1), taken)
    return corpus | {"train": training + more, "test_copy": test}


def unknown_to_tests(pairs: Iterable[ParsedPair], corpus: Mapping[str, Sequence[ParsedPair]]) -> Iterator[ParsedPair]:
    """Yield the pairs with neither side in a split other than `train`, nor among the sentences of the documentation."""
    others = [pair for name, split in corpus.items() if name != "train" for pair in split]
    texts = [SHOWCASE, SHOWCASE_TRANSLATION, *shown()]
    for pair in others:
        texts += pair.source, pair.target, *pair.references, *pair.source_references
    known = set(map(plain, texts))
    return (pair for pair in pairs if known.isdisjoint((plain(pair.source), plain(pair.target))))


def written(corpus: Mapping[str, Sequence[SentencePair]]) -> Iterator[tuple[str, str]]:
    """Yield the name of every file of the corpus, and its content before compression."""
    for split, pairs in corpus.items():
        yield f"{split}.tsv.xz", "".join(f"{_row(pair)}\n" for pair in pairs)


def _row(pair: SentencePair) -> str:
    others = ("|".join(texts) for texts in (pair.references, pair.source_references))
    return "\t".join((pair.source, pair.target, format_links(pair.links or ()), *others))


def digest() -> str:
    """The SHA-256 of the grammar, its tests, and the corpus."""
    sources = [path for suffix in ("py", "toml", "tsv") for path in HERE.rglob(f"*.{suffix}")]
    content = hashlib.sha256()
    for path in sorted([*sources, *FOLDER.glob("*.xz")], key=lambda path: path.name):
        content.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return content.hexdigest()


def main(arguments: list[str]) -> int:
    """Run the command in the arguments; return the exit code."""
    if arguments == ["--check"]:
        return int(not PASSED.exists() or PASSED.read_text().strip() != digest())
    if arguments == ["--test"]:
        code = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "slow", HERE / "tests"]
        ).returncode
        if code == 0:
            PASSED.write_text(f"{digest()}\n")
        return code
    for name, content in written(whole_corpus()):
        (FOLDER / name).write_bytes(lzma.compress(content.encode(), preset=9 | lzma.PRESET_EXTREME))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
