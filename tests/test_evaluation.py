"""Scores against hand-computed values and against sacrebleu itself."""

import dataclasses
import unicodedata
from functools import partial

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from support.engines import translator_of

from transformer_mt.config.sections import AttentionConfig, SearchConfig, TokenizerConfig, TransformerConfig
from transformer_mt.config.toml import load_config
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.corpus.word_counts import words_of_pairs
from transformer_mt.errors import InputError
from transformer_mt.evaluation import compare_texts, evaluate, find_poorest, measure, score_lengths, score_texts
from transformer_mt.head_names import HeadName
from transformer_mt.links.counts import LinkCounts, link_counts
from transformer_mt.models.build_model import build_model
from transformer_mt.runs.alignment import AlignmentHeads
from transformer_mt.tokenizer.tokenizer import Tokenizer
from transformer_mt.translation.translator import Translation, Translator

PAIRS = [
    SentencePair("Der Hund schläft.", "The dog is sleeping.", ((0, 0), (1, 1), (2, 2), (2, 3), (3, 4))),
    SentencePair("Die Katze schläft nicht.", "The cat is not sleeping.", ((0, 0), (1, 1), (2, 2), (2, 4), (3, 3))),
    SentencePair("Wo ist der Hund?", "Where is the dog?", ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4))),
]
SEARCH = SearchConfig(beam=1, max_length=7)
NFD = partial(unicodedata.normalize, "NFD")


@pytest.fixture
def translator() -> Translator:
    tokenizer = Tokenizer.train(
        [text for pair in PAIRS for text in (pair.source, pair.target)], TokenizerConfig(vocabulary_size=300)
    )
    config = TransformerConfig(
        width=22,
        encoder_layers=1,
        decoder_layers=3,
        feed_forward_width=13,
        max_length=31,
        attention=AttentionConfig(heads=2),
    )
    return translator_of(build_model(config, vocabulary_size=tokenizer.size), tokenizer)


def test_a_perfect_translation_scores_one_hundred() -> None:
    references = [pair.target for pair in PAIRS]
    scores = score_texts(references, [(reference,) for reference in references])
    assert (scores.bleu, scores.bleu_lowercase, scores.chrf) == pytest.approx((100, 100, 100))
    assert scores.exact == 1.0


def test_bleu_by_hand() -> None:
    # Of the 5, 4, 3 and 2 n-grams, 4, 3, 2 and 1 are right; both sides are 5 tokens long.
    scores = score_texts(["the cat sat on it"], [("the cat sat on mats",)])
    assert scores.bleu == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4))
    assert scores.exact == 0.0


def test_case_counts_except_in_lowercase_bleu() -> None:
    scores = score_texts(["the dog is sleeping."], [("The dog is sleeping.",)])
    assert scores.bleu < 100
    assert scores.bleu_lowercase == pytest.approx(100)
    assert scores.exact == 0.0


def test_scores_and_signatures_are_sacrebleu_s() -> None:
    hypotheses = ["The dog sleeps now.", "A cat is not sleeping.", "Where's the dog?"]
    references = [pair.target for pair in PAIRS]
    scores = score_texts(hypotheses, [(reference,) for reference in references])
    assert scores.references == 3
    assert scores.bleu == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert scores.bleu_lowercase == sacrebleu.corpus_bleu(hypotheses, [references], lowercase=True).score
    assert scores.chrf == sacrebleu.corpus_chrf(hypotheses, [references]).score
    version = sacrebleu.__version__
    assert dict(scores.signature) == {
        "bleu": f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}",
        "bleu_lowercase": f"nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:{version}",
        "chrf": f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}",
    }


def test_any_of_several_references_may_be_matched() -> None:
    hypotheses = ["The hound sleeps.", "The cat does not sleep.", "Where is a dog?"]
    references = [("The dog is sleeping.", "The hound sleeps."), ("The cat does not sleep.",), ("Where?", "x", "y z")]
    scores = score_texts(hypotheses, references)
    assert (scores.exact, scores.references) == (pytest.approx(2 / 3), 6)
    streams = [[several[number] if number < len(several) else None for several in references] for number in range(3)]
    assert scores.bleu == sacrebleu.BLEU().corpus_score(hypotheses, streams).score  # type: ignore[arg-type]
    assert scores.chrf == sacrebleu.CHRF().corpus_score(hypotheses, streams).score  # type: ignore[arg-type]
    assert all("nrefs:var" in signature for signature in scores.signature.values())
    first = score_texts(hypotheses, [several[:1] for several in references])
    assert scores.bleu > first.bleu
    assert scores.chrf > first.chrf


@given(st.lists(st.text("ab .", min_size=1, max_size=9).map("a".__add__), min_size=1, max_size=5), st.data())
def test_a_further_reference_lowers_no_exact_match_and_its_place_changes_nothing(
    texts: list[str], data: st.DataObject
) -> None:
    references = [tuple(data.draw(st.lists(st.sampled_from(texts), min_size=1, max_size=4))) for _ in texts]
    scores = score_texts(texts, references)
    assert score_texts(texts, [several[::-1] for several in references]) == scores
    assert score_texts(texts, [(*several, text) for several, text in zip(references, texts, strict=True)]).exact == 1.0
    assert score_texts(texts, [(*several, "c") for several in references]).exact == scores.exact


def test_evaluation_compares_with_every_reference(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    best = [found[0].text for found in translator.translate([pair.source for pair in PAIRS], SEARCH)]
    known = [dataclasses.replace(pair, references=(text,)) for pair, text in zip(PAIRS, best, strict=True)]
    assert evaluate(translator, PAIRS, SEARCH).exact == 0.0
    scores = evaluate(translator, known, SEARCH)
    assert (scores.exact, scores.references) == (1.0, 6)


def test_scores_by_length_are_those_of_the_sentences_of_each_band() -> None:
    lengths = [5, 1, 6, 12, 10, 13]
    pairs = [SentencePair(" ".join("a" * length), f"the {length} of them", None, ("b",)) for length in lengths]
    texts = ["b", "the 1 of them", "the 7 of them", "c", "c", "the 13 of them"]
    bands = list(score_lengths(texts, pairs))
    assert [(band.shortest, band.longest, band.sentences) for band in bands] == [(1, 5, 2), (6, 10, 2), (11, 15, 2)]
    assert [band.exact for band in bands] == [1.0, 0.0, 0.5]
    for band, rows in zip(bands, ([0, 1], [2, 4], [3, 5]), strict=True):
        expected = score_texts([texts[row] for row in rows], [pairs[row].translations for row in rows])
        assert (band.bleu, band.chrf) == (expected.bleu, expected.chrf)


def test_scores_by_length_are_there_when_asked_for(translator: Translator) -> None:
    assert evaluate(translator, PAIRS, SEARCH).by_length is None
    bands = evaluate(translator, PAIRS, SEARCH, by_length=True).by_length
    assert bands is not None
    assert [(band.shortest, band.longest, band.sentences) for band in bands] == [(1, 5, 3)]


def test_empty_hypotheses_score_zero() -> None:
    scores = score_texts(["", ""], [("The dog is sleeping.",), ("Where is it?",)])
    assert (scores.bleu, scores.bleu_lowercase, scores.chrf, scores.exact) == (0, 0, 0, 0)


def test_exact_matches_ignore_white_space_and_nothing_else_that_is_seen() -> None:
    assert score_texts(["a b ", "\ta b", "a  b", "A b", "a b.", "ab"], [("a b",)] * 6).exact == 3 / 6


@pytest.mark.parametrize(
    ("one", "other"),
    [("Trái tim bị vỡ.", NFD("Trái tim bị vỡ.")), ("Das Mädchen schläft.", "Das Mäd\u00adchen schläft.")],
)
def test_two_forms_of_a_text_score_alike(one: str, other: str) -> None:
    texts, pairs = [one, "x y z"], [SentencePair("a", one), SentencePair("b", "x y")]
    scores = score_texts(texts, [(one,), ("x y",)])
    assert score_texts([other, "x y z"], [(one,), ("x y",)]) == scores
    assert score_texts(texts, [(other,), ("x y",)]) == scores
    intervals = compare_texts([texts, ["", ""]], [(one,), ("x y",)])
    assert compare_texts([[other, "x y z"], ["", ""]], [(one,), ("x y",)]) == intervals
    worst = find_poorest([other, "x y z"], pairs, count=2)
    assert [poor.chrf for poor in worst] == [poor.chrf for poor in find_poorest(texts, pairs, count=2)]


CHINESE = ["学生看见大海。", "老师爱音乐。", "猫不睡觉。"]


@pytest.mark.parametrize("language", ["zh", "zh-TW", "", "en"])
def test_bleu_and_exact_agree_on_perfect_chinese(language: str) -> None:
    references = [(text,) for text in CHINESE]
    scores = score_texts(CHINESE, references, language=language)
    assert (scores.bleu, scores.exact, scores.notes) == (pytest.approx(100), 1.0, ())
    assert "tok:zh" in scores.signature["bleu"]
    assert "tok:zh" in scores.signature["bleu_lowercase"]
    wrong = [CHINESE[0].replace("大海", "小山"), *CHINESE[1:]]
    assert 50 < score_texts(wrong, references, language=language).bleu < 100
    perfect, other = compare_texts([CHINESE, wrong], references, language=language)
    assert perfect["bleu"].mean == pytest.approx(100)
    assert 50 < other["bleu"].mean < 100


def test_bands_have_the_tokenizer_of_all_sentences() -> None:
    pairs = [SentencePair("a b c", text) for text in CHINESE] + [SentencePair("a " * 9, "OK OK OK OK")]
    texts = [*CHINESE, "OK OK OK，OK"]
    short, long = score_lengths(texts, pairs)
    assert short.bleu == pytest.approx(100)
    assert long.bleu == score_texts(texts[3:], [("OK OK OK OK",)], language="zh").bleu
    assert long.bleu != score_texts(texts[3:], [("OK OK OK OK",)]).bleu


def test_lengths_are_words_of_any_script() -> None:
    pairs = [
        SentencePair("老师爱音乐。", "a"),
        SentencePair("वह अच्छा है।", "a"),
        SentencePair("Mäd\u00adchen " * 2, "a"),
    ]
    assert [(band.shortest, band.sentences) for band in score_lengths(["a", "a", "a"], pairs)] == [(1, 2), (6, 1)]


def test_all_scores_of_an_evaluation_are_those_for_the_language(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Translation("OK OKOKOK", 0.0, 0.0, ())
    monkeypatch.setattr(Translator, "translate", lambda _, texts, *__, **___: [[text] for _ in texts])
    pairs = [SentencePair("a", "OK OK OK OK")]
    known = words_of_pairs(pairs).seen("de")
    assert evaluate(translator, pairs).bleu < 50
    translator.model.config = load_config(None, ["data.target_language=th"])
    scores, _ = measure(translator, pairs, by_length=True, known=known)
    assert scores.by_length is not None
    assert scores.by_rarity is not None
    assert [each.bleu for each in (scores, *scores.by_length, *scores.by_rarity)] == [pytest.approx(100)] * 3
    assert evaluate(translator, pairs).bleu == pytest.approx(100)


def test_bleu_of_references_that_are_too_short_says_so() -> None:
    scores = score_texts(["Ja.", "Nein."], [("Ja.",), ("Nein.",)])
    assert (scores.bleu, scores.exact) == (0, 1)
    assert scores.notes == ("BLEU: says nothing, since no reference has four tokens; read chrF",)


def test_evaluation_scores_the_best_translations(translator: Translator) -> None:
    scores = evaluate(translator, PAIRS, SEARCH)
    best = [found[0].text for found in translator.translate([pair.source for pair in PAIRS], SEARCH)]
    expected = score_texts(best, [(pair.target,) for pair in PAIRS])
    known = {key: value for key, value in vars(expected).items() if value is not None}
    assert {key: getattr(scores, key) for key in known} == known
    assert (scores.sentences, scores.references) == (3, 3)
    assert scores.seconds > 0
    assert scores.sentences_per_second == pytest.approx(3 / scores.seconds)


def test_links_are_scored_with_the_heads_that_are_given(translator: Translator) -> None:
    alignment = AlignmentHeads(heads=(HeadName("cross", 2, 1),), chosen_by="links")
    scores = evaluate(translator, PAIRS, SEARCH, alignment=alignment)
    counts = link_counts(translator.model.network, translator.model.tokenizer, PAIRS, alignment)
    assert (scores.aer, scores.aer_precision, scores.aer_recall) == (
        counts.error_rate,
        counts.precision,
        counts.recall,
    )
    assert (scores.aer_heads, scores.aer_chosen_by) == (("cross.2.1",), "links")


def test_precision_and_recall_are_not_exchanged(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_mt.links.counts.link_counts", lambda *_: LinkCounts(right=1, predicted=2, gold=4))
    scores = evaluate(translator, PAIRS, SEARCH)
    assert (scores.aer_precision, scores.aer_recall) == (0.5, 0.25)


def test_without_chosen_heads_all_heads_are_a_guess(translator: Translator) -> None:
    scores = evaluate(translator, PAIRS, SEARCH)
    assert scores.aer is not None
    assert 0 < scores.aer <= 1
    assert scores.aer_heads == tuple(f"cross.{layer}.{head}" for layer in (1, 2, 3) for head in (1, 2))
    assert scores.aer_chosen_by == "guess"


def test_pairs_without_links_have_no_error_rate(translator: Translator) -> None:
    bare = [dataclasses.replace(pair, links=None) for pair in PAIRS]
    scores = evaluate(translator, bare, SEARCH)
    assert {scores.aer, scores.aer_precision, scores.aer_recall, scores.aer_heads, scores.aer_chosen_by} == {None}


def test_a_clock_that_stands_still_is_no_fault(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.perf_counter", lambda: 1.0)
    assert evaluate(translator, PAIRS, SEARCH).sentences_per_second > 0


def test_no_pairs_are_an_input_error(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"^evaluation: there are no sentence pairs; give at least one$"):
        evaluate(translator, [], SEARCH)
