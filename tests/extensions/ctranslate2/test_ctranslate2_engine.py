from typing import Any
from unittest.mock import Mock

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.ctranslate2 import both_engines, in_ctranslate2
from support.engines import small_tokenizer
from support.tiny import tiny_config

from transformer_mt.config.sections import SearchConfig
from transformer_mt.extensions.ctranslate2.ctranslate2_engine import CTranslate2Engine, _processors
from transformer_mt.extensions.ctranslate2.ctranslate2_weights import model_files
from transformer_mt.ground.errors import InputError, MachineError, TmtError
from transformer_mt.tokenizer.symbols import EOS, NEVER_GENERATED
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.engine import Task, length_penalty
from transformer_mt.translation.glossary import Glossary
from transformer_mt.translation.translator import Translation, Translator

pytestmark = pytest.mark.slow

SENTENCES = [
    "The old dog has a house.",
    "Can you?",
    "",
    "I will help the small man with the big house.",
    "help",
    "日本",
]
LENGTH = "model.max_length=61"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer()


@pytest.fixture(scope="module")
def both(tokenizer: Tokenizer) -> tuple[Translator, Translator]:
    return both_engines(LENGTH, tokenizer=tokenizer)


@pytest.fixture(scope="module")
def other(both: tuple[Translator, Translator]) -> Translator:
    return both[1]


def assert_same(found: list[list[Translation]], expected: list[list[Translation]]) -> None:
    for theirs, ours in zip(found, expected, strict=True):
        assert [one.tokens for one in theirs] == [one.tokens for one in ours]
        for a, b in zip(theirs, ours, strict=True):
            assert (a.score, a.log_probability) == pytest.approx((b.score, b.log_probability), rel=1e-4, abs=1e-4)


@given(
    alpha=st.sampled_from([0.0, 0.6, 1.0, 3.0]),
    longest=st.integers(3, 30),
    margin=st.integers(0, 12),
    batch=st.sampled_from([1, 3, 64]),
    workers=st.sampled_from([1, 3]),
    prefix=st.sampled_from(["", "I", "The old"]),
)
# After the prefix, only long sentences leave room.
@example(alpha=0.0, longest=30, margin=0, batch=64, workers=1, prefix="The old")
@example(alpha=0.0, longest=30, margin=1, batch=64, workers=1, prefix="The old")
@settings(max_examples=12)
def test_greedy_translations_are_the_same(
    both: tuple[Translator, Translator], alpha: float, longest: int, margin: int, batch: int, workers: int, prefix: str
) -> None:
    both[1].model.engine.batches = workers
    search = SearchConfig(
        beam=1, length_penalty=alpha, max_length=longest + 6, max_length_margin=margin, batch_size=batch
    )
    ours, theirs = (translator.translate(SENTENCES, search, prefix=prefix) for translator in both)
    assert_same(theirs, ours)


def test_exhaustive_beam_finds_the_same(both: tuple[Translator, Translator]) -> None:
    search = SearchConfig(beam=both[0].model.tokenizer.size, max_length=3)
    ours, theirs = (translator.translate(SENTENCES, search) for translator in both)
    assert_same(theirs, ours)


@pytest.mark.parametrize("prefix", ["", "Can you"])
@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(beam=4, n_best=2, max_length=30, max_length_margin=2),
        SearchConfig(beam=6, n_best=3, max_length=9, length_penalty=2.0),
    ],
    ids=["short", "long"],
)
def test_scores_use_our_formula_and_limits_hold(
    both: tuple[Translator, Translator], search: SearchConfig, prefix: str
) -> None:
    own, other = both
    tokenizer = own.model.tokenizer
    sources = [source for source in SENTENCES if source]
    for source, ranked in zip(sources, other.translate(sources, search, prefix=prefix), strict=True):
        longest = max(len(tokenizer.encode(source)), len(tokenizer.encode(prefix))) + 1 + search.max_length_margin
        assert ranked == sorted(ranked, key=lambda one: -one.score)
        assert len({one.text for one in ranked}) == len(ranked)
        for one in ranked:
            assert one.text.startswith(prefix)
            penalty = length_penalty(len(one.tokens) + 1, search.length_penalty)
            assert one.score == pytest.approx(one.log_probability / penalty)
            assert len(one.tokens) < min(search.max_length, longest)
            ((forced,),) = own.translate([source], SearchConfig(beam=1), prefix=[*one.tokens, "</s>"])
            assert one.log_probability == pytest.approx(forced.log_probability, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_likely_symbols_are_never_generated(tokenizer: Tokenizer, beam: int) -> None:
    own, _ = both_engines(LENGTH, tokenizer=tokenizer)
    with torch.no_grad():
        own.model.network.output.bias[list(NEVER_GENERATED)] += 50.0
    search = SearchConfig(beam=beam, max_length=7)
    ours, theirs = (one.translate(SENTENCES, search) for one in (own, in_ctranslate2(own, LENGTH)))
    assert NEVER_GENERATED
    assert not any(set(NEVER_GENERATED) & set(tokenizer.ids(ranked[0].tokens)) for ranked in theirs)
    if beam == 1:
        assert_same(theirs, ours)


def test_tokens_with_the_end_symbol_are_the_whole_translation(both: tuple[Translator, Translator]) -> None:
    pieces = ["▁", "h", "e", "l", "p", "</s>"]
    for search in (SearchConfig(beam=1), SearchConfig()):
        ours, theirs = (translator.translate(SENTENCES, search, prefix=pieces) for translator in both)
        assert_same(theirs, ours)


def test_empty_lines_and_length_zero_have_empty_translations(both: tuple[Translator, Translator]) -> None:
    other = both[1]
    assert other.translate([]) == []
    ours, theirs = (translator.translate(SENTENCES, SearchConfig(max_length=1)) for translator in both)
    assert_same(theirs, ours)
    assert {ranked[0].tokens for ranked in theirs} == {()}


def test_unsupported_number_format_is_reported(
    both: tuple[Translator, Translator], caplog: pytest.LogCaptureFixture
) -> None:
    tokens = both[0].model.tokenizer.pieces(range(both[0].model.tokenizer.size))
    files = model_files(both[0].model.network, tiny_config(LENGTH), tokens, quantization=None)
    for name in (None, "float32", "int16"):  # the weights are float32
        CTranslate2Engine(files, tokens=tokens, max_length=7, device="cpu", quantization=name)
    assert caplog.messages == ["tmt: int16: this processor has no fast arithmetic for it; computing in float32"]


def test_non_finite_numbers_are_a_one_line_error(tokenizer: Tokenizer) -> None:
    own, _ = both_engines(LENGTH, tokenizer=tokenizer)
    with torch.no_grad():
        own.model.network.decoder_norm.bias.fill_(3e38)  # type: ignore[union-attr]
    for search in (SearchConfig(beam=1), SearchConfig(beam=3)):
        with pytest.raises(MachineError, match=r"^the model: its numbers are not finite; restore"):
            in_ctranslate2(own, LENGTH).translate(SENTENCES, search)


def test_few_batches_are_in_memory_at_a_time(other: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = other.model.engine
    encode = other.model.tokenizer.encode
    watched = Mock(wraps=engine._translator)
    monkeypatch.setattr(engine, "_translator", watched)
    monkeypatch.setattr(engine, "batches", 2)
    tasks = [Task([*encode("help"), EOS], limit=40)] * 20
    next(engine.search(tasks, SearchConfig(beam=4, batch_size=1), count=4, prefix=tuple(encode("I"))))
    started = watched.translate_batch.call_args_list
    assert len(started) in (5, 6)  # perhaps one again, without special symbols
    assert {len(call.args[0]) for call in started} == {1}
    assert watched.score_batch.call_args.kwargs["max_batch_size"] == 1


@pytest.mark.parametrize(("told", "processors"), [("4,2", 4), ("99", 16), ("0", 1), ("many", 3)])
def test_number_of_workers_follows_cpus_or_openmp(monkeypatch: pytest.MonkeyPatch, told: str, processors: int) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2})
    assert _processors() == processors


@pytest.mark.parametrize("device", ["tpu", "cuda:", "cpu:0", "cuda:71"])
def test_unknown_device_is_a_one_line_error(device: str) -> None:
    message = f"^device: CTranslate2 supports auto, cpu and cuda, not {device}; choose one of these$"
    if device == "cuda:71":
        message = r"^ctranslate2: .+; use another device or number format$"
    with pytest.raises(TmtError, match=message):
        CTranslate2Engine({}, tokens=(), max_length=9, device=device, quantization=None)


def test_error_of_ctranslate2_is_one_line(other: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def translate_batch(self, *_: object, **__: object) -> None:
            raise RuntimeError("no such kernel\n")

    monkeypatch.setattr(other.model.engine, "_translator", Broken())
    with pytest.raises(MachineError, match=r"^ctranslate2: no such kernel; "):
        other.translate(["help"])


def test_forked_process_is_an_error(other: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getpid", lambda: 1)
    for use in (
        lambda: other.translate(SENTENCES),
        lambda: other.model.engine.likeliest([EOS], [EOS], count=1),
    ):
        with pytest.raises(MachineError, match=r"^engine: CTranslate2 does not work in a forked process; open the"):
            use()


def test_a_glossary_needs_attention(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    _, theirs = both_engines(tokenizer=tokenizer)
    theirs.glossary = Glossary({"cat": "house"})
    monkeypatch.setattr(theirs.model.engine, "search", None)  # nothing is translated before
    with pytest.raises(InputError, match=r"^engine: ctranslate2 does not expose the model; leave it out$"):
        theirs.translate(["dog"])
