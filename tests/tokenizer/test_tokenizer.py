import json
import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from transformer_mt.config.sections import TokenizerConfig
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.text.normalize import normalize
from transformer_mt.tokenizer.learning import learn, learn_with
from transformer_mt.tokenizer.sentencepiece_model import learned_scores, load_model, write_model
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, SPECIAL, UNK
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer

KINDS = ("unigram", "bpe")
SYMBOLS = ("<s>", "</s>", "<pad>", "<unk>", "<0x41>", "<0x00>", "▁", "a<s>b", "<s></s>", " ", "…", "\x00", "\ud800")

SYLLABLES = ("den", "der", "ei", "sch", "ung", "in", "lich", "an", "ke", "tor")


def sentences() -> Iterator[str]:
    draw = random.Random(1)
    for _ in range(100):
        yield " ".join("".join(draw.choices(SYLLABLES, k=3)) for _ in range(5))
    nouns, verbs = ("Hund", "Katze", "Bäcker", "Straße", "Zug"), ("sieht", "ruft", "grüßt", "findet")
    for _ in range(200):
        yield f"Der {draw.choice(nouns)} {draw.choice(verbs)} die {draw.choice(nouns)}."
        yield f"Don't {draw.choice(verbs)} the well-known <s> {draw.choice(nouns)}, please!"


def train(kind: str, size: int = 310) -> Tokenizer:
    return Tokenizer.train(sentences(), TokenizerConfig.model_validate({"kind": kind, "vocabulary_size": size}))


TOKENIZERS = {kind: train(kind) for kind in KINDS}
texts = st.one_of(st.text(), st.lists(st.one_of(st.sampled_from(SYMBOLS), st.text(max_size=3))).map("".join)).map(
    normalize
)


@pytest.fixture(params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return TOKENIZERS[request.param]


def test_the_vocabulary_has_the_requested_size(tokenizer: Tokenizer) -> None:
    assert (tokenizer.size, tokenizer.note) == (310, None)


@pytest.mark.parametrize("kind", KINDS)
def test_reduces_too_large_a_vocabulary_with_a_note(kind: str) -> None:
    largest = train(kind, size=9_999)
    assert 310 < largest.size < 9_999
    assert largest.note == f"tokenizer.vocabulary_size: {largest.size} instead of 9999; the text does not support more"
    assert train(kind, size=largest.size).note is None
    assert train(kind, size=largest.size + 1).size == largest.size


@pytest.mark.parametrize("kind", KINDS)
def test_raises_too_small_a_vocabulary_with_a_note(kind: str) -> None:
    smallest = train(kind, size=7)
    assert smallest.size > 4 + 256
    assert smallest.note == (
        f"tokenizer.vocabulary_size: {smallest.size} instead of 7; the characters and bytes need this many"
    )
    assert train(kind, size=smallest.size).note is None


@pytest.mark.parametrize("corpus", [[], ["", "  "]])
def test_no_text_to_learn_from_is_an_error(corpus: list[str]) -> None:
    with pytest.raises(InputError, match=r"^the corpus: no text to learn a vocabulary from; give sentences"):
        Tokenizer.train(corpus, TokenizerConfig())


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
@example("<s> </s> <pad> <unk> <0x41>")
@example("‘Ein ﬁn…’ ½ 😀")
def test_decoding_inverts_encoding_without_special_symbols(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.encode(text)
    assert not SPECIAL & set(ids)
    assert tokenizer.decode(ids) == text


def test_decoding_skips_special_symbols(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("Der Hund ruft.")
    assert tokenizer.decode([BOS, *ids[:2], UNK, *ids[2:], EOS, PAD]) == "Der Hund ruft."
    assert tokenizer.decode([]) == ""


def test_tokens_mark_word_starts_and_bytes(tokenizer: Tokenizer) -> None:
    pieces = tokenizer.pieces(tokenizer.encode("Der Hund €"))
    assert "".join(pieces) == "▁Der▁Hund▁<0xE2><0x82><0xAC>"


def test_a_damaged_file_is_an_error(tokenizer: Tokenizer) -> None:
    whole = tokenizer.serialized
    for damaged in (b"", b"hello", whole[: len(whole) // 2]):
        with pytest.raises(MachineError, match=r"^x: not a vocabulary that tmt trained, or damaged \([^\n]+$"):
            Tokenizer.parse(damaged, place="x")


def test_sampling_is_a_function_of_sentences_and_seed() -> None:
    tokenizer = TOKENIZERS["unigram"]
    corpus = list(sentences())
    first = tokenizer.encode_batch(corpus, sampling=Sampling(seed=5, alpha=0.3))
    tokenizer.encode_batch(corpus[:7], sampling=Sampling(seed=6, alpha=0.3))
    tokenizer.encode_batch(corpus)
    assert tokenizer.encode_batch(corpus, sampling=Sampling(seed=5, alpha=0.3)) == first
    assert tokenizer.encode_batch(corpus, sampling=Sampling(seed=6, alpha=0.3)) != first


@pytest.mark.slow
def test_sampling_is_the_same_in_another_process(tmp_path: Path) -> None:
    """Resuming depends on it. sentencepiece's own sampling differs between processes."""
    tokenizer = TOKENIZERS["unigram"]
    (tmp_path / "tokenizer.model").write_bytes(tokenizer.serialized)
    corpus = list(sentences())[:100]
    program = (
        "import json, pathlib, sys; from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer;"
        "tokenizer = Tokenizer.parse(pathlib.Path(sys.argv[1]).read_bytes(), place='');"
        "print(json.dumps(tokenizer.encode_batch(json.load(sys.stdin), sampling=Sampling(seed=5, alpha=0.3))))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "tokenizer.model")]
    printed = subprocess.run(command, input=json.dumps(corpus), capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == tokenizer.encode_batch(corpus, sampling=Sampling(seed=5, alpha=0.3))


def test_unigram_segmentations_match_their_smoothed_probabilities() -> None:
    tokenizer, alpha, draws = TOKENIZERS["unigram"], 0.4, 4_000
    counts = Counter(map(tuple, tokenizer.encode_batch(["der Zug"] * draws, sampling=Sampling(seed=5, alpha=alpha))))
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(tokenizer.serialized)
    best = [tuple(ids) for ids in processor.NBestEncode("der Zug", nbest_size=64, out_type=int)]
    weights = [math.exp(alpha * sum(map(processor.GetScore, ids))) for ids in best]
    assert len(best) > 5
    for ids, weight in zip(best, weights, strict=True):
        assert counts[ids] / draws == pytest.approx(weight / sum(weights), abs=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_a_character_that_occurs_once_gets_a_token(kind: str) -> None:
    corpus = [*sentences(), "Žižek"]
    assert 1 / sum(map(len, corpus)) < 1e-4  # sentencepiece's default drops five in ten thousand
    tokenizer = Tokenizer.train(corpus, TokenizerConfig.model_validate({"kind": kind, "vocabulary_size": 330}))
    assert "".join(tokenizer.pieces(tokenizer.encode("Žižek"))) == "▁Žižek"


@pytest.mark.parametrize("kind", KINDS)
def test_a_rewritten_model_segments_alike(kind: str) -> None:
    original = learn(list(sentences()), kind=kind, size=310)
    theirs = load_model(original)
    ours = load_model(write_model(learned_scores(theirs), kind))
    corpus = [*sentences(), *SYMBOLS[:-1], "Žižek 😀 ½", ""]
    for read in (
        lambda processor, text: processor.Encode(text, out_type=int),
        lambda processor, text: processor.Encode(text, out_type=str),
        lambda processor, text: processor.Encode(text, return_type="offset_mapping"),
        lambda processor, text: processor.Decode(processor.Encode(text, out_type=int)),
        lambda processor, text: processor.NBestEncode(text, nbest_size=5, out_type=int) if kind == "unigram" else [],
    ):
        assert [read(ours, text) for text in corpus] == [read(theirs, text) for text in corpus]
    assert learned_scores(ours) == learned_scores(theirs)


@pytest.mark.parametrize(
    "options",
    [
        {"pad_id": 3, "eos_id": 0},
        {"byte_fallback": False, "vocab_size": 200},
        {"control_symbols": "mine"},
        {"bos_piece": "<b>"},
    ],
)
def test_refuses_other_sentencepiece_models(options: dict[str, object]) -> None:
    ours = {"byte_fallback": True, "pad_id": PAD, "unk_id": UNK, "bos_id": BOS, "eos_id": EOS, "minloglevel": 2}
    with pytest.raises(MachineError, match=r"^x: not a vocabulary that tmt trained, or damaged"):
        Tokenizer.parse(learn_with(list(sentences()), {"vocab_size": 320, **ours, **options}), place="x")


def test_refuses_scores_whose_sums_could_overflow() -> None:
    scores = learned_scores(load_model(TOKENIZERS["unigram"].serialized))
    for score in (2.0**21, -(2.0**21)):
        with pytest.raises(MachineError, match=r"^x: not a vocabulary that tmt trained"):
            Tokenizer.parse(write_model(scores | {"der": score}, "unigram"), place="x")
