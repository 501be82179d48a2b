import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.engines import both_engines, in_ctranslate2, small_tokenizer
from support.tiny import tiny_config

from transformer_mt.config.sections import SearchConfig
from transformer_mt.extensions.ctranslate2.ctranslate2_engine import CTranslate2Engine, _processors
from transformer_mt.extensions.ctranslate2.ctranslate2_weights import model_files
from transformer_mt.ground.errors import InputError, MachineError, TmtError
from transformer_mt.tokenizer.symbols import EOS, NEVER_GENERATED
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.alternatives import find_alternatives
from transformer_mt.translation.engine import Task, length_penalty
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
        for name in ("score", "log_probability"):
            assert [getattr(one, name) for one in theirs] == pytest.approx(
                [getattr(one, name) for one in ours], rel=1e-4, abs=1e-4
            )


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
        SearchConfig(beam=1, max_length=9),
        SearchConfig(beam=4, n_best=2, max_length=9),
        SearchConfig(beam=4, n_best=2, max_length=30, max_length_margin=2),
        SearchConfig(beam=6, n_best=3, max_length=9, length_penalty=2.0),
    ],
    ids=["greedy", "beam", "beam, short", "beam, long"],
)
def test_scores_use_our_formula_and_limits_hold(
    both: tuple[Translator, Translator], search: SearchConfig, prefix: str
) -> None:
    own, other = both
    count = len(own.model.tokenizer.encode(prefix))
    for source, ranked in zip(SENTENCES, other.translate(SENTENCES, search, prefix=prefix), strict=True):
        if not source:
            continue
        limit = min(
            search.max_length, max(len(own.model.tokenizer.encode(source)), count) + 1 + search.max_length_margin
        )
        assert ranked == sorted(ranked, key=lambda one: -one.score)
        assert len({one.text for one in ranked}) == len(ranked)
        for one in ranked:
            assert one.text.startswith(prefix)
            penalty = length_penalty(len(one.tokens) + 1, search.length_penalty)
            assert one.score == pytest.approx(one.log_probability / penalty)
            assert len(one.tokens) < limit
            assert not set(NEVER_GENERATED) & set(own.model.tokenizer.ids(one.tokens))
            ((forced,),) = own.translate([source], SearchConfig(beam=1), prefix=[*one.tokens, "</s>"])
            assert one.log_probability == pytest.approx(forced.log_probability, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_likely_symbols_are_never_generated(tokenizer: Tokenizer, beam: int) -> None:
    own, other = both_engines(LENGTH, tokenizer=tokenizer)
    with torch.no_grad():
        own.model.network.output.bias[list(NEVER_GENERATED)] += 50.0
    again = in_ctranslate2(own, LENGTH)
    ours, theirs = (
        translator.translate(SENTENCES, SearchConfig(beam=beam, max_length=7)) for translator in (own, again)
    )
    for source, ranked, expected in zip(SENTENCES, theirs, ours, strict=True):
        assert not set(NEVER_GENERATED) & set(tokenizer.ids(ranked[0].tokens))
        if beam == 1 or not source:
            assert ranked[0].tokens == expected[0].tokens
            assert ranked[0].log_probability == pytest.approx(expected[0].log_probability, rel=1e-4)
    assert other.translate(SENTENCES, SearchConfig(beam=1, max_length=7)) != theirs


def test_tokens_with_the_end_symbol_are_the_whole_translation(both: tuple[Translator, Translator]) -> None:
    pieces = ["▁", "h", "e", "l", "p", "</s>"]
    for search in (SearchConfig(beam=1), SearchConfig()):
        ours, theirs = (translator.translate(SENTENCES, search, prefix=pieces) for translator in both)
        assert_same(theirs, ours)


def test_only_empty_lines_have_empty_translations(other: Translator) -> None:
    assert other.translate([]) == []
    assert [[one.text for one in ranked] for ranked in other.translate(["", " "])] == [[""], [""]]


def test_sampling_is_an_input_error(other: Translator) -> None:
    with pytest.raises(
        InputError, match=r"^sample: ctranslate2 does not support it; leave it out, or --engine and --quantization$"
    ):
        other.translate(SENTENCES, SearchConfig(sample=True))


def test_translation_of_length_zero_is_empty(both: tuple[Translator, Translator]) -> None:
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
    message = "tmt: int16: this processor has no fast arithmetic for it; computing in float32"
    assert [record.getMessage() for record in caplog.records] == [message]


def test_alternatives_are_the_same(both: tuple[Translator, Translator]) -> None:
    own, other = both
    ((best,),) = own.translate([SENTENCES[0]], SearchConfig(beam=1, max_length=9))
    ours, theirs = (
        find_alternatives(translator.model, translator.model.prepare.sentence(SENTENCES[0]), best, count=5)
        for translator in both
    )
    assert len(ours) == len(best.tokens) + 1
    for a, b in zip(ours, theirs, strict=True):
        assert (a.chosen.token, [one.token for one in a.others]) == (b.chosen.token, [one.token for one in b.others])
        assert b.chosen.probability == pytest.approx(a.chosen.probability, rel=1e-3)
        assert [one.probability for one in b.others] == pytest.approx([one.probability for one in a.others], rel=1e-3)
    everything, source = own.model.tokenizer.size, other.model.prepare.sentence("help")
    assert len(find_alternatives(other.model, source, best, count=everything)[0].others) == everything - 4
    assert EOS not in NEVER_GENERATED


def test_non_finite_numbers_are_a_one_line_error(tokenizer: Tokenizer) -> None:
    own, _ = both_engines(LENGTH, tokenizer=tokenizer)
    with torch.no_grad():
        own.model.network.decoder_norm.bias.fill_(3e38)  # type: ignore[union-attr]
    for search in (SearchConfig(beam=1), SearchConfig(beam=3)):
        with pytest.raises(MachineError, match=r"^the model: its numbers are not finite; restore"):
            in_ctranslate2(own, LENGTH).translate(SENTENCES, search)


def test_only_enough_batches_for_the_workers_are_started(other: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = other.model.engine
    started: list[int] = []

    def start(*arguments: object) -> object:
        started.append(len(started))
        return begin(*arguments)

    begin = engine._start  # type: ignore[attr-defined]
    monkeypatch.setattr(engine, "_start", start)
    monkeypatch.setattr(engine, "batches", 2)
    tasks = [Task([*other.model.tokenizer.encode("help"), EOS], limit=40)] * 20
    search = SearchConfig(beam=1, batch_size=1)
    found = engine.search(tasks, search, count=1, prefix=())
    first = next(found)
    assert len(started) == 5
    assert [first] * 19 == list(found)


@pytest.mark.parametrize(("told", "processors"), [("5", 5), ("4,2", 4), ("99", 16), ("0", 1), ("", 3), ("many", 3)])
def test_number_of_workers_follows_cpus_or_openmp(monkeypatch: pytest.MonkeyPatch, told: str, processors: int) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2})
    assert _processors() == processors


def test_scoring_batches_are_no_larger_than_search_batches(other: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    engine = other.model.engine

    class Watched:
        def __getattr__(self, name: str) -> object:
            method = getattr(translator, name)
            return lambda *rows, **options: (
                sizes.append(options.get("max_batch_size", len(rows[0]))),
                method(*rows, **options),
            )[1]

    translator = engine._translator
    monkeypatch.setattr(engine, "_translator", Watched())
    monkeypatch.setattr(engine, "batches", 1)
    other.translate(["help", "Can you?"], SearchConfig(beam=8, n_best=4), prefix="I")
    assert len(sizes) > 1
    assert max(sizes) <= 2


@pytest.mark.parametrize("device", ["tpu", "cuda:", "cuda:x", "cuda:99999999999", "cpu:0", "cuda:71"])
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
