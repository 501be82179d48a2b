from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from support.engines import small_tokenizer, translator_of
from support.table_model import TableModel, log_probability

from transformer_mt.config.sections import SearchConfig
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.progress import shown_by, working
from transformer_mt.runs.doubt import Doubt
from transformer_mt.tokenizer.symbols import EOS
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.search import beam_search, length_penalty
from transformer_mt.translation.translator import (
    ATTEMPTS,
    BATCHES_READ,
    EMPTY,
    IsWaiting,
    Ranked,
    Translator,
)

SENTENCES = ["The old dog has a house.", "Can you?", "", "I will help the small man with the big house.", "help", "  "]
GREEDY = SearchConfig(beam=1, max_length=7)
BEAM = SearchConfig(beam=3, n_best=2, max_length=7)
SAMPLES = SearchConfig(sample=True, n_best=3, max_length=7, seed=5)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer()


@pytest.fixture
def model(tokenizer: Tokenizer) -> TableModel:
    return TableModel(vocabulary=tokenizer.size, seed=3, scale=3.0, max_length=31)


@pytest.fixture
def translator(model: TableModel, tokenizer: Tokenizer) -> Translator:
    return translator_of(model, tokenizer)


def endless(tokenizer: Tokenizer) -> Translator:
    """A translator that ends translations only at the limit."""
    model = TableModel(vocabulary=tokenizer.size, seed=3, max_length=61)
    model.table[:, EOS] -= 50.0
    return translator_of(model, tokenizer)


class Forgetful(Tokenizer):
    """Decodes all translations of the same number of tokens to the same text."""

    def decode(self, ids) -> str:  # type: ignore[no-untyped-def]
        return "x" * min(len(ids), 3)


def test_line_is_split_into_sentences_by_default(translator: Translator) -> None:
    texts = ["Can you help me? I will. The old man has a house!", "", "help", "Can you? Can you?"]
    parts = [["Can you help me?", "I will.", "The old man has a house!"], [""], ["help"], ["Can you?", "Can you?"]]
    for found, own in zip(translator.translate(texts, GREEDY, split=True), parts, strict=True):
        alone = tuple(ranked[0] for ranked in translator.translate(own, GREEDY))
        assert [best.text for best in found] == [" ".join(each.text for each in alone)]
        assert found[0].sentences == (alone if len(own) > 1 else ())
        assert found[0].score == pytest.approx(sum(each.score for each in alone))
        assert found[0].log_probability == pytest.approx(sum(each.log_probability for each in alone))
        assert found[0].tokens == tuple(token for each in alone for token in each.tokens)
        symbols = sum(len(each.tokens) + 1 for each in alone)
        assert found[0].mean_log_probability == pytest.approx(found[0].log_probability / symbols)
    assert not translator.translate(texts[-1:], GREEDY, split=False)[0][0].sentences


def test_limit_applies_to_sentences_not_lines(translator: Translator) -> None:
    texts, prepare = ["I will help the small man. " * 4], translator.model.prepare
    translator.require_fitting(prepare.lines(texts, split=True)[0].sentences, "here")
    with pytest.raises(InputError, match=r"^here: "):
        translator.require_fitting(prepare.lines(texts, split=False)[0].sentences, "here")
    with pytest.raises(InputError, match=r"^sentence 3: "):
        translator.translate(["a", "b", "Can you? " + "help me " * 40], split=True)


def test_every_sentence_has_its_own_seed(translator: Translator) -> None:
    search = SAMPLES.model_copy(update={"n_best": 1})
    (split,) = translator.translate(["Can you? Can you? Can you?"], search, split=True)
    first, *others = [each.text for each in split[0].sentences]
    assert first == translator.translate(["Can you?"], search)[0][0].text
    assert len({first, *others}) > 1


@pytest.mark.parametrize(
    ("above", "search", "options", "doubtful"),
    [
        (0.01, GREEDY, {}, [False] * 3),
        (-0.01, GREEDY, {}, [True] * 3),  # the line and both sentences
        (-0.01, GREEDY, {"prefix": "The"}, [False]),
        (-0.01, SAMPLES, {}, [False]),
    ],
)
def test_translations_below_the_threshold_of_the_model_are_doubtful(
    above: float, search: SearchConfig, options: dict[str, str], doubtful: list[bool], translator: Translator
) -> None:
    lines = ["Can you help?", "Can you help? I will help the man."]
    means = [part.mean_log_probability for part in translator.translate(lines, GREEDY)[1][0].sentences]
    model = replace(translator.model)
    model.doubt = Doubt(threshold=min(0.0, (min(means) if above > 0 else max(means)) - above))
    ((found, *_),) = Translator(model, search=search).translate(lines[1:], **options)
    assert [found.is_doubtful, *(part.is_doubtful for part in found.sentences)] == doubtful


def test_a_line_is_doubtful_if_one_of_its_sentences_is(translator: Translator) -> None:
    model, line = replace(translator.model), ["Can you help? I will help the man."]
    means = [part.mean_log_probability for part in translator.translate(line, GREEDY)[0][0].sentences]
    model.doubt = Doubt(threshold=sum(means) / 2)
    ((found, *_),) = Translator(model, search=GREEDY).translate(line)
    assert sorted(part.is_doubtful for part in found.sentences) == [False, True]
    assert found.is_doubtful


@pytest.mark.parametrize("search", [GREEDY, BEAM, SAMPLES], ids=["greedy", "beam", "samples"])
@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_batches_do_not_change_translations_or_their_order(
    translator: Translator, search: SearchConfig, batch_size: int
) -> None:
    together = translator.translate(SENTENCES, search.model_copy(update={"batch_size": batch_size}))
    assert together == translator.translate(SENTENCES, search)
    if not search.sample:
        assert together == [translator.translate([sentence], search)[0] for sentence in SENTENCES]


def stream(
    translator: Translator, sentences: Iterable[str], search: SearchConfig, is_waiting: IsWaiting | None = None
) -> Iterator[Ranked]:
    """Translations of sentences that are read one at a time."""
    lines = (line for sentence in sentences for line in translator.model.prepare.lines([sentence], split=False))
    return translator.translate_lines(lines, search, is_waiting=is_waiting)


def test_stream_yields_before_reading_everything(translator: Translator) -> None:
    read = []

    def endless() -> Iterator[str]:
        while True:
            read.append("help")
            yield "help"

    next(stream(translator, endless(), GREEDY.model_copy(update={"batch_size": 2})))
    assert len(read) == 2 * BATCHES_READ


@pytest.mark.parametrize("search", [BEAM, SAMPLES], ids=["beam", "samples"])
def test_paused_stream_yields_its_translations_so_far(translator: Translator, search: SearchConfig) -> None:
    read: list[str] = []
    sentences, search = SENTENCES * 7, search.model_copy(update={"batch_size": 1})
    assert len(sentences) > BATCHES_READ

    def slow() -> Iterator[str]:
        for sentence in sentences:
            read.append(sentence)
            yield sentence

    found = stream(translator, slow(), search, is_waiting=lambda: len(read) != 2)
    first = next(found)
    assert read == SENTENCES[:2]
    assert [first, *found] == translator.translate(sentences, search)


def test_sentence_without_text_has_an_empty_translation(translator: Translator, model: TableModel) -> None:
    assert translator.translate(["", " \t\u00a0"], BEAM, prefix="Can") == [[EMPTY], [EMPTY]]
    assert model.decoded == []


@pytest.mark.parametrize("search", [BEAM, SAMPLES], ids=["beam", "samples"])
def test_n_best_translations_are_distinct_and_sorted(translator: Translator, search: SearchConfig) -> None:
    for translations in translator.translate([SENTENCES[0], SENTENCES[1]], search):
        assert len({translation.text for translation in translations}) == search.n_best == len(translations)
        assert translations == sorted(translations, key=lambda translation: -translation.score)


@pytest.mark.parametrize("sampling", [False, True])
def test_search_widens_until_enough_texts_differ(model: TableModel, tokenizer: Tokenizer, sampling: bool) -> None:
    model.table[:, EOS] += 5.0
    translator = translator_of(model, Forgetful(tokenizer.serialized))
    found = translator.translate(["help", "Can you?"], SearchConfig(beam=1, n_best=3, sample=sampling, max_length=7))
    assert 1 < len(model.started) <= ATTEMPTS
    for translations in found:
        assert len({translation.text for translation in translations}) == 3


def test_search_gives_up_after_a_few_attempts(translator: Translator, model: TableModel) -> None:
    done: list[int] = []

    @contextmanager
    def display(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        yield done.append

    with shown_by(display), working("translating", 2):
        found = translator.translate(["help", "Can you?"], SearchConfig(n_best=3, max_length=1))
    assert sum(done) == 2
    assert [len(translations) for translations in found] == [1, 1]
    assert model.started == [2] * ATTEMPTS


def test_best_of_equal_texts_is_kept(model: TableModel, tokenizer: Tokenizer) -> None:
    model.table[:, EOS] += 7.0
    (found,) = translator_of(model, Forgetful(tokenizer.serialized)).translate(["help"], SearchConfig(n_best=2, beam=8))
    assert model.started == [1]
    source = torch.tensor([[*tokenizer.encode("help"), EOS]])
    (hypotheses,) = beam_search(model, source, beam=8, alpha=1.0, limits=[31], n_best=4)
    texts = ["x" * min(len(hypothesis.tokens), 3) for hypothesis in hypotheses]
    assert texts.count(texts[0]) > 1
    other = next(index for index, text in enumerate(texts) if text != texts[0])
    assert [translation.score for translation in found] == [hypotheses[0].score, hypotheses[other].score]


def test_prefix_may_be_tokens_of_an_unusual_segmentation(translator: Translator, tokenizer: Tokenizer) -> None:
    pieces = ["▁", "h", "e", "l", "p"]
    assert tokenizer.pieces(tokenizer.encode("help")) != pieces
    ((found,),) = translator.translate(["Can you?"], GREEDY, prefix=pieces)
    assert found.tokens[: len(pieces)] == tuple(pieces)
    as_text = tokenizer.pieces(tokenizer.encode("The"))
    assert translator.translate(SENTENCES, BEAM, prefix=as_text) == translator.translate(SENTENCES, BEAM, prefix="The")


@pytest.mark.parametrize("search", [GREEDY, BEAM, SAMPLES])
def test_tokens_with_the_end_symbol_are_the_whole_translation(translator: Translator, search: SearchConfig) -> None:
    ((free,),) = translator.translate(["Can you?"], GREEDY)
    ((found,),) = translator.translate(["Can you?"], search, prefix=[*free.tokens[:3], "</s>"])
    assert found.tokens == free.tokens[:3]
    tokenizer = translator.model.tokenizer
    source = torch.tensor([*tokenizer.encode("Can you?"), EOS])
    expected = log_probability(translator.model.network, source, tuple(tokenizer.ids(found.tokens)))
    assert found.log_probability == pytest.approx(expected)
    assert found.score == pytest.approx(expected / length_penalty(4, search.length_penalty))


@pytest.mark.parametrize("pieces", [["<s>"], ["▁", "</s>", "h"], ["<unk>"], ["no piece"], ["<pad>", "</s>"]])
def test_prefix_of_other_tokens_is_an_input_error(translator: Translator, pieces: list[str]) -> None:
    wrong = next(piece for piece in pieces if piece != "▁")
    with pytest.raises(InputError) as caught:
        translator.translate(["help"], GREEDY, prefix=pieces)
    assert str(caught.value) == f"prefix: {wrong!r} is not a text token; give tokens of a translation"


def test_prefix_that_is_too_long_is_an_input_error(translator: Translator, tokenizer: Tokenizer) -> None:
    tokens = len(tokenizer.encode("The old"))
    for limit in (tokens, tokens - 1):
        with pytest.raises(InputError) as caught:
            translator.translate(["help"], SearchConfig(max_length=limit), prefix="The old")
        assert str(caught.value) == f"prefix: {tokens} tokens, but a translation has at most {limit - 1}; shorten it"
    ((found,),) = translator.translate(["help"], SearchConfig(max_length=tokens + 1), prefix="The old")
    assert found.text == "The old"


def test_error_names_a_sentence_that_is_too_long(translator: Translator, tokenizer: Tokenizer) -> None:
    long = "The old dog " * 11
    tokens = len(tokenizer.encode(long)) + 1
    with pytest.raises(InputError) as caught:
        translator.translate(["help", "", long], GREEDY)
    assert str(caught.value) == f"sentence 3: {tokens} tokens, the model takes at most 31; split it"
    with pytest.raises(InputError, match=r"^text\.de:1: "):
        translator.translate([long], GREEDY, place=lambda number: f"text.de:{number + 1}")


@pytest.mark.parametrize("sampling", [False, True])
def test_margin_limits_the_length_of_a_translation(tokenizer: Tokenizer, sampling: bool) -> None:
    search = SearchConfig(sample=sampling, max_length_margin=3, max_length=17)
    found = endless(tokenizer).translate(SENTENCES, search)
    lengths = [len(tokenizer.encode(sentence)) for sentence in SENTENCES]
    assert [len(best.tokens) for best, *_ in found] == [min(length + 3, 16) if length else 0 for length in lengths]
    assert min(lengths) + 3 < 16 < max(lengths) + 3


def test_margin_applies_after_a_long_prefix(tokenizer: Tokenizer) -> None:
    for extra in (0, 2):
        search = SearchConfig(max_length_margin=extra)
        ((found,),) = endless(tokenizer).translate(["a"], search, prefix=SENTENCES[3])
        assert len(found.tokens) == len(tokenizer.encode(SENTENCES[3])) + extra


def test_samples_depend_on_the_seed_and_the_sentence_number(translator: Translator) -> None:
    first, second = translator.translate(["help", "help"], SAMPLES)
    assert first != second
    assert translator.translate(["help"], SAMPLES) == [first]
    assert translator.translate(["help"], SAMPLES.model_copy(update={"seed": 6})) != [first]


@pytest.mark.parametrize("training", [True, False])
def test_translation_restores_training_mode(model: TableModel, tokenizer: Tokenizer, training: bool) -> None:
    seen = []
    start = model.start

    def watched(source: torch.Tensor):  # type: ignore[no-untyped-def]
        seen.append((model.training, torch.is_inference_mode_enabled()))
        return start(source)

    model.start = watched  # type: ignore[method-assign]
    model.train(training)
    translator_of(model, tokenizer).translate(["help"], GREEDY)
    assert seen == [(False, True)]
    assert model.training == training


@pytest.mark.parametrize(
    "search", [SearchConfig(beam=1000), SearchConfig(beam=1, n_best=1000), SearchConfig(sample=True, n_best=1000)]
)
def test_search_larger_than_memory_is_refused(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, search: SearchConfig
) -> None:
    monkeypatch.setattr("transformer_mt.ground.device.free_memory", lambda: 10**6)
    translator.translate(SENTENCES, GREEDY)
    expected = r"^search\.beam, n_best and batch_size: needs 0\.0 GB of memory, 0\.0 GB are free; lower"
    with pytest.raises(InputError, match=expected):
        translator.translate(SENTENCES, search)
