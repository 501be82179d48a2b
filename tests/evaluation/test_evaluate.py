"""Scores against hand-computed values and against sacrebleu itself."""

import dataclasses
import unicodedata
from itertools import zip_longest

import pytest
import sacrebleu
from support.engines import translator_of
from support.tiny import tiny_model

from transformer_mt.config.sections import SearchConfig, TokenizerConfig
from transformer_mt.config.toml import load_config
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.evaluation.evaluate import compare_texts, evaluate, find_poorest, score_bands, score_texts
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.links.counts import LinkCounts, link_counts
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.translator import Translation, Translator

PAIRS = [
    SentencePair("Der Hund schläft.", "The dog is sleeping.", ((0, 0), (1, 1), (2, 2), (2, 3), (3, 4))),
    SentencePair("Die Katze schläft nicht.", "The cat is not sleeping.", ((0, 0), (1, 1), (2, 2), (2, 4), (3, 3))),
    SentencePair("Wo ist der Hund?", "Where is the dog?", ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4))),
]
SEARCH = SearchConfig(beam=1, max_length=7)
CHINESE = ["学生看见大海。", "老师爱音乐。", "猫不睡觉。"]


@pytest.fixture
def translator() -> Translator:
    texts = [text for pair in PAIRS for text in (pair.source, pair.target)]
    tokenizer = Tokenizer.train(texts, TokenizerConfig(vocabulary_size=300))
    return translator_of(tiny_model("model.decoder_layers=3", vocabulary=tokenizer.size), tokenizer)


def test_scores_and_signatures_match_sacrebleu() -> None:
    hypotheses = ["The dog sleeps now.", "A cat is not sleeping.", "Where's the dog?"]
    references = [pair.target for pair in PAIRS]
    scores = score_texts(hypotheses, [(reference,) for reference in references])
    assert (scores.references, scores.translations) == (3, tuple(hypotheses))
    assert scores.bleu == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert scores.bleu_lowercase == sacrebleu.corpus_bleu(hypotheses, [references], lowercase=True).score
    assert scores.chrf == sacrebleu.corpus_chrf(hypotheses, [references]).score
    version = sacrebleu.__version__
    assert dict(scores.signature) == {
        "bleu": f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}",
        "bleu_lowercase": f"nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:{version}",
        "chrf": f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}",
    }


def test_a_hypothesis_may_match_any_reference() -> None:
    hypotheses = ["The hound sleeps.", "The cat does not sleep.", "Where is a dog?"]
    references = [("The dog is sleeping.", "The hound sleeps."), ("The cat does not sleep.",), ("Where?", "x", "y z")]
    scores = score_texts(hypotheses, references)
    assert (scores.exact, scores.references) == (pytest.approx(2 / 3), 6)
    streams = [*zip_longest(*references)]
    assert scores.bleu == sacrebleu.BLEU().corpus_score(hypotheses, streams).score  # type: ignore[arg-type]
    assert scores.chrf == sacrebleu.CHRF().corpus_score(hypotheses, streams).score  # type: ignore[arg-type]
    assert all("nrefs:var" in signature for signature in scores.signature.values())


def test_scores_bands_and_skips_empty_ones() -> None:
    numbers = [5, 1, 6, 12, 10, 13, 0]
    texts = ["b", "the 1 of them", "the 7 of them", "c", "c", "the 13 of them", "none"]
    references = [(f"the {number} of them", "b") for number in numbers]
    bands = score_bands(texts, references, numbers, (1, 6, 11, 16))
    assert [(band.fewest, band.most, band.sentences) for band in bands] == [(1, 5, 2), (6, 10, 2), (11, 15, 2)]
    assert [band.exact for band in bands] == [1.0, 0.0, 0.5]
    for band, rows in zip(bands, ([0, 1], [2, 4], [3, 5]), strict=True):
        expected = score_texts([texts[row] for row in rows], [references[row] for row in rows])
        assert (band.bleu, band.chrf) == (expected.bleu, expected.chrf)
    (last,) = score_bands(texts[3:6], references[3:6], numbers[3:6], (1, 10))
    assert (last.fewest, last.most, last.sentences) == (10, None, 3)


def test_bands_share_a_tokenizer() -> None:
    references = [(text,) for text in (*CHINESE, "OK OK OK OK")]
    short, long = score_bands([*CHINESE, "OK OK OK，OK"], references, [1, 1, 1, 9], (1, 6))
    assert short.bleu == pytest.approx(100)
    assert long.bleu == score_texts(["OK OK OK，OK"], references[3:], language="zh").bleu
    assert long.bleu != score_texts(["OK OK OK，OK"], references[3:]).bleu
    written, theirs = ["OK OK OK OK，OK"] * 2, [("OK OK OK OK ， OK",)] * 2
    _, two = score_bands([*CHINESE, *written], [*references[:3], *theirs], [1, 1, 1, 9, 9], (1, 6), language="zh")
    assert two.intervals is not None
    assert two.intervals["bleu"].score == pytest.approx(100)
    assert compare_texts([written], theirs)[0]["bleu"].score < 99


def test_exact_match_ignores_only_white_space() -> None:
    assert score_texts(["a b ", "\ta b", "a  b", "A b", "a b.", "ab"], [("a b",)] * 6).exact == 3 / 6


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Trái tim bị vỡ.", unicodedata.normalize("NFD", "Trái tim bị vỡ.")),
        ("Das Mädchen schläft.", "Das Mäd\u00adchen schläft."),
    ],
)
def test_unicode_forms_score_alike(one: str, other: str) -> None:
    texts, pairs = [one, "x y z"], [SentencePair("a", one), SentencePair("b", "x y")]
    scores = score_texts(texts, [(one,), ("x y",)])
    assert score_texts([other, "x y z"], [(one,), ("x y",)]) == scores
    assert score_texts(texts, [(other,), ("x y",)]) == scores
    intervals = compare_texts([texts, ["", ""]], [(one,), ("x y",)])
    assert compare_texts([[other, "x y z"], ["", ""]], [(one,), ("x y",)]) == intervals
    worst = find_poorest([other, "x y z"], pairs, count=2)
    assert [poor.chrf for poor in worst] == [poor.chrf for poor in find_poorest(texts, pairs, count=2)]


@pytest.mark.parametrize("language", ["zh", "zh-TW", "", "en"])
def test_bleu_and_exact_agree_on_perfect_chinese(language: str) -> None:
    references = [(text,) for text in CHINESE]
    scores = score_texts(CHINESE, references, language=language)
    assert (scores.bleu, scores.exact, scores.notes) == (pytest.approx(100), 1.0, ())
    assert all("tok:zh" in scores.signature[name] for name in ("bleu", "bleu_lowercase"))
    wrong = [CHINESE[0].replace("大海", "小山"), *CHINESE[1:]]
    assert 50 < score_texts(wrong, references, language=language).bleu < 100
    perfect, other = (one["bleu"] for one in compare_texts([CHINESE, wrong], references, language=language))
    assert perfect.mean == pytest.approx(100)
    assert 50 < other.mean < 100


def test_compares_systems_with_the_first() -> None:
    references = [(f"the {number} old men and the cat read it",) for number in range(30)]
    right = [text for (text,) in references]
    wrong = ["the men", *right[1:20], *["a cat reads"] * 10]
    first, same, worse = (one["bleu"] for one in compare_texts([right, right[:], wrong], references))
    assert (first.p_value, same.p_value) == (None, 1.0)
    assert worse.p_value is not None
    assert worse.p_value < 0.05
    assert (first.score, worse.score) == (pytest.approx(100), score_texts(wrong, references).bleu)
    assert abs(worse.mean - worse.score) < worse.half_width
    assert worse.change(first.score) == f"{worse.score - 100:.2f}, p = {worse.p_value:.3f}"
    assert same.text() == "100.00 ±0.00"


def test_finds_the_poorest_translations_first() -> None:
    found = find_poorest(["x", "The cat is not sleeping.", "Where is it?"], PAIRS, count=2)
    assert [(poor.number, poor.translation) for poor in found] == [(1, "x"), (3, "Where is it?")]
    assert (found[0].source, found[0].reference, found[0].chrf) == (PAIRS[0].source, PAIRS[0].target, 0.0)
    (worst,) = find_poorest(["", "x"], [SentencePair("", ""), SentencePair("x", "y")], count=1)
    assert worst.number == 2  # sacrebleu's chrF of two empty texts is 0


def test_scores_of_equal_texts_are_exactly_100() -> None:
    texts = ["The dog is sleeping in the house.", "The cat is not sleeping.", "Where is the old dog?"]
    scores = score_texts(texts, [(text,) for text in texts])
    assert scores.bleu == scores.bleu_lowercase == scores.chrf == 100.0
    assert sacrebleu.corpus_bleu(texts, [texts]).score > 100
    interval = compare_texts([texts], [(text,) for text in texts])[0]["bleu"]
    assert interval.score == interval.mean == 100.0


def test_notes_references_too_short_for_bleu() -> None:
    scores = score_texts(["Ja.", "Nein."], [("Ja.",), ("Nein.",)])
    assert (scores.bleu, scores.exact) == (0, 1)
    assert scores.notes == ("BLEU: meaningless, as no reference has four tokens; read chrF",)


def test_evaluates_the_best_translations_with_every_reference(translator: Translator) -> None:
    scores = evaluate(translator, PAIRS, SEARCH)
    best = [found[0].text for found in translator.translate([pair.source for pair in PAIRS], SEARCH)]
    expected = score_texts(best, [(pair.target,) for pair in PAIRS])
    known = {key: value for key, value in vars(expected).items() if value is not None}
    assert {key: getattr(scores, key) for key in known} == known
    assert (scores.sentences, scores.references, scores.exact) == (3, 3, 0.0)
    assert scores.seconds > 0
    assert scores.sentences_per_second == pytest.approx(3 / scores.seconds)
    more = [dataclasses.replace(pair, references=(text,)) for pair, text in zip(PAIRS, best, strict=True)]
    scores = evaluate(translator, more, SEARCH)
    assert (scores.exact, scores.references) == (1.0, 6)


def test_evaluation_tokenizes_for_the_target_language(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Translation("OK OKOKOK", 0.0, 0.0, ())
    monkeypatch.setattr(Translator, "translate_prepared", lambda _, lines, *__: [[text] for _ in lines])
    pairs = [SentencePair("a", "OK OK OK OK"), SentencePair("Mäd\u00adchen " * 7, "OK OK OK OK")]
    scores = evaluate(translator, pairs)
    assert scores.bleu < 50
    assert scores.by_length is None
    translator.model.config = load_config(None, ["data.target_language=th"])
    scores = evaluate(translator, [*pairs, SentencePair("", "OK OK OK OK")], by_length=True)
    assert scores.by_length is not None
    assert [each.bleu for each in (scores, *scores.by_length)] == [100.0] * 3
    bands = [(band.fewest, band.most, band.sentences) for band in scores.by_length]
    assert bands == [(1, 5, 2), (6, 10, 1)]


def test_every_pair_counts(translator: Translator) -> None:
    long, empty = SentencePair("Hund " * 999, "dog"), SentencePair("", "")
    scores = evaluate(translator, [long, PAIRS[0], PAIRS[0], empty, SentencePair("", "dog")], SEARCH)
    assert (scores.sentences, scores.untranslated, scores.exact) == (5, (1,), 0.2)
    best = translator.translate([PAIRS[0].source], SEARCH)[0][0].text
    assert scores.translations == ("", best, best, "", "")


def test_scores_links_with_given_heads_or_all(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    alignment = AlignmentHeads(heads=(HeadName("cross", 2, 1),), chosen_by="links")
    for given_heads, heads, chosen_by in (
        (alignment, ("cross.2.1",), "links"),
        (None, tuple(f"cross.{layer}.{head}" for layer in (1, 2, 3) for head in (1, 2, 3)), "guess"),
    ):
        scores = evaluate(translator, PAIRS, SEARCH, alignment=given_heads)
        assert (scores.aer_heads, scores.aer_chosen_by) == (heads, chosen_by)
        assert scores.aer is not None
        assert 0 < scores.aer <= 1
    counts = link_counts(translator.model.network, translator.model.tokenizer, PAIRS, alignment)
    assert evaluate(translator, PAIRS, SEARCH, alignment=alignment).aer == counts.error_rate
    bare = evaluate(translator, [dataclasses.replace(pair, links=None) for pair in PAIRS], SEARCH)
    assert {bare.aer, bare.aer_precision, bare.aer_recall, bare.aer_heads, bare.aer_chosen_by} == {None}
    monkeypatch.setattr("transformer_mt.links.counts.link_counts", lambda *_: LinkCounts(right=1, predicted=2, gold=4))
    scores = evaluate(translator, PAIRS, SEARCH)
    assert (scores.aer_precision, scores.aer_recall) == (0.5, 0.25)


def test_a_coarse_clock_causes_no_error(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.perf_counter", lambda: 1.0)
    assert evaluate(translator, PAIRS, SEARCH).sentences_per_second > 0


def test_no_pairs_are_an_error(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"^evaluation: there are no sentence pairs; give at least one$"):
        evaluate(translator, [], SEARCH)
