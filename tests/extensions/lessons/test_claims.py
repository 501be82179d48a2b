"""The course tells the truth: each number and each claim, computed again, about the model from the ready model."""

import importlib
import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer_mt import Translator, attend_pair, load_config
from transformer_mt.attention.graphs import build_graph
from transformer_mt.attention.positions import sinusoids
from transformer_mt.attention.worked_example import one_head, simple_attention
from transformer_mt.corpus.builtin import builtin_corpus
from transformer_mt.extensions.serve.page import page_files
from transformer_mt.ground.head_names import HeadName
from transformer_mt.models.blocks import LayerNorm
from transformer_mt.models.build_model import build_model
from transformer_mt.models.head_mask import head_names, without_heads
from transformer_mt.runs.directory import READY, Run
from transformer_mt.text.words import words
from transformer_mt.training.objective import entropy_of_targets
from transformer_mt.translation.engine import length_penalty
from transformer_mt.views.subject import Subject

from transformer_mt.extensions.lessons.course import Lesson, NumberCheck, course_file, read_course, stored_curves  # isort: skip

STOPS = {language: read_course(course_file(language)).stops for language in ("en", "de")}
COURSE = {lesson.title: lesson for lesson in STOPS["en"]}
HELLO, SHINY, SUN = (0.34, 0.22, 0.54), (0.53, 0.34, 0.98), (0.29, 0.54, 0.93)


@pytest.fixture(scope="module")
def ready() -> Translator:
    return Translator.load(READY, device="cpu")


def shown(number: float, digits: int) -> str:
    return f"{number:.{digits}f}".replace("-", "−")


def in_language(found: str, language: str) -> str:
    """A number as this language writes it; words stay."""
    is_number = re.fullmatch(r"−?[\d.,]+", found)
    return found.translate(str.maketrans(".,", ",.")) if is_number and language == "de" else found


def assert_says(title: str, *found: str) -> None:
    """A stop has these numbers and words, in every language. After a new ready model, a failure shows what to write."""
    number = [*COURSE].index(title)
    for language, stops in STOPS.items():
        text = " ".join((stops[number].text, stops[number].question, stops[number].answer))
        wanted = [in_language(one, language) for one in found]
        lacks = [one for one in wanted if not re.search(rf"(?<![\d.,−]){re.escape(one)}(?![.,]?\d)", text)]
        assert not lacks, f"{language}, stop {number + 1}: found {wanted}, but the text lacks {lacks}"


def bleu(variant: str, band: int) -> float:
    return float(stored_curves()["length"][variant][band][2])


def products(count: int, d: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(1)
    return (torch.randn(count, d, generator=random) * torch.randn(count, d, generator=random)).sum(dim=1)


def neighbours(graph: str, places: int) -> torch.Tensor:
    """The adjacency matrix of so many places."""
    return build_graph(graph).mask(places, places, device=torch.device("cpu")).double()


def best_score(question: str) -> float:
    """The largest corrected score of translations, given as a number of tokens and ln p."""
    found = re.findall(r"(\d+) tokens and ln p = −([\d.]*\d)", question)
    return max(-float(negative) / length_penalty(int(count), 1.0) for count, negative in found)


# What each number to check is, computed.
NUMBERS: dict[str, Callable[[], Any]] = {
    "The whole machine": lambda: 8_000 * 128,
    "Why one vector is not enough": lambda: bleu("gru_none", 3) / bleu("gru_none", 2),
    "All words at once": lambda: torch.zeros(20, 4).matmul(torch.zeros(4, 20)).numel(),
    "Attention by hand": lambda: simple_attention(torch.tensor([(10, *HELLO[1:]), SHINY, SUN])).scores[1, 0],
    "Scaling and temperature": lambda: products(200_000, 256).std(),
    "Other scores, shared heads": lambda: torch.cosine_similarity(torch.tensor([3.0, 4]), torch.tensor([6.0, 8]), 0),
    "The causal mask": lambda: torch.tensor([1.0, 2, -math.inf]).softmax(0)[1],
    "Masked training": lambda: 0.15 * 20 * 0.8,
    "Dropout on weights": lambda: 0.4 * torch.nn.functional.dropout(torch.ones(999), 0.2).max(),
    "Where is a word?": lambda: torch.dot(*sinusoids(6, 2, torch.device("cpu"), torch.float64)[[3, 5]]),
    "Relative positions": lambda: len(torch.arange(-20, 20).clip(-4, 4).unique()),
    "Where the norm goes": lambda: LayerNorm(2)(torch.tensor([[[1.0, 3.0]]]), torch.ones(1, 1).bool())[0, 0, 1],
    "Attention as a graph": lambda: int((neighbours("band(3)", 41).matrix_power(3)[20] > 0).sum()) // 2,
    "Attention can do what convolution does": lambda: neighbours("grid(5)", 25)[12].sum(),
    "Smoothed labels and a warm-up": lambda: entropy_of_targets(0.1, 7_000),
    "Beam search": lambda: best_score(COURSE["Beam search"].question),
}


@pytest.mark.parametrize("title", [title for title, lesson in COURSE.items() if lesson.check])
def test_numbers_to_check_are_right(title: str) -> None:
    check = COURSE[title].check
    if isinstance(check, NumberCheck):
        assert float(torch.as_tensor(NUMBERS[title]()).detach()) == pytest.approx(
            check.value, abs=check.tolerance + 1e-6
        )
    else:
        assert title not in NUMBERS


@pytest.mark.parametrize("lesson", COURSE.values(), ids=COURSE)
def test_the_code_of_a_stop_exists(lesson: Lesson) -> None:
    module, _, name = str(lesson.code).rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_embedding_is_42_percent_of_the_default_model() -> None:
    model = build_model(load_config(None).model, vocabulary_size=8_000)
    assert 8_000 * 128 / sum(weight.numel() for weight in model.parameters()) == pytest.approx(0.42, abs=0.005)


def test_long_sentences_cost_as_many_points_with_attention_but_a_smaller_part() -> None:
    shorter, longer = ({variant: bleu(variant, band) for variant in stored_curves()["length"]} for band in (2, 3))
    kept = {variant: shown(longer[variant] / shorter[variant], 2) for variant in shorter}
    in_figures = [str(band[variant]) for variant in ("gru_none", "gru_additive") for band in (shorter, longer)]
    assert_says("Why one vector is not enough", *in_figures, *kept.values())
    lost = [shorter[variant] - longer[variant] for variant in ("gru_none", "gru_additive")]
    assert lost == pytest.approx([21, 21], abs=0.5)
    assert kept["gru_none"] < kept["gru_additive"]


@pytest.mark.slow
def test_training_has_no_sentence_of_more_than_25_words() -> None:
    data = load_config(None).data.builtin
    pairs = builtin_corpus(train=data.train, validation=1, test=1)["train"]
    assert max(len(words(pair.source)) for pair in pairs) <= 25


def test_recurrent_models_look_where_the_course_says() -> None:
    looked = {}
    for score, maps in stored_curves()["rnn_attention"].items():
        most = [maps["columns"][row.index(max(row))].strip("▁") for row in maps["weights"]]
        looked[score] = dict(zip((row.strip("▁") for row in maps["rows"]), most, strict=True))
    assert all(len({found[word] for found in looked.values()}) == 1 for word in ("old", "man", "book"))
    assert [looked[score]["reading"] for score in ("dot", "bilinear", "additive")] == ["</s>", "liest", "liest"]


def test_hello_gets_98_percent() -> None:
    assert float(simple_attention(torch.tensor([HELLO, SHINY, SUN])).scores[0, 1]) == pytest.approx(0.7842, abs=5e-5)
    weights = simple_attention(torch.tensor([(10, *HELLO[1:]), SHINY, SUN])).weights
    assert float(weights[1, 0]) == pytest.approx(0.98, abs=0.005)


def test_one_score_with_the_matrices_of_the_picture() -> None:
    given = re.findall(r" labels: \w+, rows: (.+) \},$", page_files()["pictures.js"], re.MULTILINE)
    x, to_query, to_key, to_value = (torch.tensor(json.loads(rows)).double() for rows in given)
    query, key = (x[1] @ to_query).tolist(), (x[2] @ to_key).tolist()
    score = shown(float(one_head(x, to_query, to_key, to_value).scores[1, 2]), 4)
    assert_says("Query, key and value", *(shown(one, 2) for one in query), shown(key[0], 2), shown(key[1], 3), score)


def test_equal_matrices_make_scores_symmetric() -> None:
    x, shared = torch.tensor([HELLO, SHINY, SUN]), torch.randn(3, 2)
    scores = one_head(x, shared, shared, torch.randn(3, 2)).scores
    torch.testing.assert_close(scores, scores.T)
    assert not torch.allclose(one_head(x, shared, torch.randn(3, 2), shared).scores, scores)


def test_masking_after_the_softmax_leaves_less() -> None:
    assert float(torch.tensor([1.0, 2, 3]).softmax(0)[1]) == pytest.approx(0.245, abs=5e-4)


def test_a_mean_of_nine_pixels_is_a_convolution_except_at_the_border() -> None:
    image, kernel = torch.rand(5, 5, dtype=torch.float64), torch.full((1, 1, 3, 3), 1 / 9, dtype=torch.float64)
    means, sums = (torch.conv2d(one[None, None], kernel, padding=1)[0, 0] for one in (image, torch.ones_like(image)))
    graph = neighbours("grid(5)", 25)
    attended = (graph.log().softmax(1) @ image.flatten()).view(5, 5)  # equal scores, masked by the graph
    torch.testing.assert_close(attended[1:-1, 1:-1], means[1:-1, 1:-1])
    assert 9 - graph[0].sum() == 5
    assert_says("Attention can do what convolution does", shown(float(sums[0, 0]), 2))


def test_dropout_of_weights_is_off_by_default() -> None:
    model = load_config(None).model
    assert (model.attention.dropout, model.dropout > 0) == (0.0, True)  # type: ignore[union-attr]


def test_only_the_learned_matrices_make_products_of_positions_depend_on_the_place() -> None:
    for curves in stored_curves()["positions"].values():
        spread = {name: torch.tensor(curve)[:, 1].std() for name, curve in curves.items()}
        assert {name for name, one in spread.items() if one > 0.01} == {"learned"}


def test_products_of_positions_are_those_of_the_ready_model(ready: Translator) -> None:
    """After a change of the ready model: `python scripts/lesson_runs.py --ready-only`."""
    projections: Any = ready.model.network.attention_stacks()["encoder"][0].projections
    encodings = sinusoids(80, ready.model.config.model.width, torch.device("cpu"), torch.float32)[None]
    with torch.no_grad():
        products = (projections.queries(encodings) @ projections.keys(encodings).mT)[0, 0]
    for distance, curves in stored_curves()["positions"].items():
        stored = torch.tensor([y for _, y in curves["learned"]])
        computed = products.diagonal(int(distance))[: len(stored)]
        assert torch.corrcoef(torch.stack((stored, computed)))[0, 1] > 0.999


@cache
def laboratory() -> dict[str, list[str]]:
    """The results in docs/laboratory.md, by variant: its parameters, BLEU, exact matches, and more."""
    text = (Path(__file__).parents[3] / "docs/laboratory.md").read_text("utf-8")
    assert "for 700 steps" in text
    rows = re.findall(r"^\| (\w+) +\|((?: +[\d.,–]+ \|){8})$", text, re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


PARAMETERS, BLEU, LONG_BLEU = 0, 1, 5  # columns of the laboratory


def test_norms_and_their_bleu_are_those_of_the_laboratory() -> None:
    last = {variant: points[-1][1] for variant, points in stored_curves()["loss"].items()}
    assert sorted(last, key=last.__getitem__) == ["batch_norm", "baseline", "post_norm"]
    losses = [shown(last[variant], 2) for variant in ("batch_norm", "baseline")]
    norms = {variant: laboratory()[variant][BLEU] for variant in ("baseline", "batch_norm", "post_norm")}
    assert [*norms] == sorted(norms, key=lambda variant: -float(norms[variant]))
    assert_says("Where the norm goes", *losses, *norms.values())


def test_scores_and_shared_heads_reach_the_bleu_of_the_laboratory() -> None:
    found = {name: laboratory()[name] for name in ("baseline", "collaborative", "cosine", "euclidean")}
    separate, shared = (int(found[name][PARAMETERS].replace(",", "")) for name in ("baseline", "collaborative"))
    fewer = f"{round(separate - shared, -3):,}"
    assert_says("Other scores, shared heads", fewer, *(row[BLEU] for row in found.values()))


def test_a_band_and_relative_positions_do_what_the_course_says() -> None:
    complete, band, relative = (laboratory()[variant] for variant in ("baseline", "band", "relative"))
    assert float(band[BLEU]) >= float(complete[BLEU])
    assert_says("Attention as a graph", band[LONG_BLEU], complete[LONG_BLEU])
    assert load_config("laboratory/relative").model.attention.position == "relative(8)"  # type: ignore[union-attr]
    assert_says("Relative positions", "m = 8", complete[LONG_BLEU], relative[LONG_BLEU])


# What the course says about the ready model.


def weights_by_word(maps: Any, heads: list[HeadName], row: str) -> list[tuple[str, str]]:
    """The source words with their weights in the mean of some heads, largest first."""
    weights = maps.mean(heads)[maps.rows.index(row)]
    return [(maps.columns[at], shown(weights[at], 2)) for at in (-weights).argsort()]


def test_the_mean_of_a_layer_looks_at_the_participle(ready: Translator) -> None:
    source = "Er hat gestern ein Buch gekauft."
    target = ready.translate([source])[0][0].text
    cross = attend_pair(ready.model.network, ready.model.tokenizer, source, target).by_words().stacks["cross"]
    layer = [head for head in cross.heads("cross") if head.layer == 2]
    (first, weight), (second, less), *_ = weights_by_word(cross, layer, "bought")
    assert (first, second, len(layer)) == ("gekauft", "hat", 4)
    most = {str(head): weights_by_word(cross, [head], "bought")[0] for head in layer}
    other, looks_away = max((share, name) for name, (word, share) in most.items() if word == "hat")
    assert_says("From target to source", weight, less, looks_away, other)


def two_likeliest(subject: Subject) -> list[tuple[list[str], float, float]]:
    """The two likeliest tokens of each row, and their probabilities."""
    with torch.no_grad():
        logits = subject.network(*subject.tokens.inputs(subject.network))
    largest = logits.softmax(dim=-1)[0].topk(2)
    tokens = [subject.model.tokenizer.pieces(row) for row in largest.indices.tolist()]
    return [(both, *row) for both, row in zip(tokens, largest.values.tolist(), strict=True)]


def test_every_word_of_the_old_man_wins_by_a_wide_margin(ready: Translator) -> None:
    subject = Subject.of(ready, "Der alte Mann liest ein Buch.", None)
    rows = two_likeliest(subject)
    least, most = min(winner for _, winner, _ in rows), max(second for *_, second in rows)
    assert all(winner > 50 * second for _, winner, second in rows), rows
    assert_says(
        "Several heads, one sum", shown(math.floor(100 * least) / 100, 2), shown(math.ceil(100 * most) / 100, 2)
    )


def test_no_missing_head_changes_the_winner_of_a_row(ready: Translator) -> None:
    subject = Subject.of(ready, "Der alte Mann liest ein Buch.", None)
    before, falls = two_likeliest(subject), []
    for head in (head for head in head_names(subject.network) if head.stack == "cross"):
        with without_heads(subject.network, [head]):
            after = two_likeliest(subject)
        assert [both[0] for both, *_ in after] == [both[0] for both, *_ in before], head
        for ((word, _), usual, _), (_, winner, second) in zip(before, after, strict=True):
            falls.append((usual - winner, f"{head}", f"*{word.strip('▁')}*", usual, winner, second))
    _, name, word, *probabilities = max(falls)
    assert_says("Several heads, one sum", name, word, *(shown(one, 2) for one in probabilities))


@pytest.mark.slow
def test_one_head_less_mostly_leaves_the_translation(ready: Translator) -> None:
    data = load_config(None).data.builtin
    sources = [pair.source for pair in builtin_corpus(train=1, validation=1, test=data.test)["test"][:40]]
    before = [ranked[0].text for ranked in ready.translate(sources)]
    network = ready.model.network
    same = []
    for head in head_names(network)[::5]:
        with without_heads(network, [head]):
            same += [ranked[0].text == text for ranked, text in zip(ready.translate(sources), before, strict=True)]
    assert sum(same) / len(same) > 0.9


def test_the_floor_explains_most_of_the_difference_of_the_ready_models_last_losses(ready: Translator) -> None:
    config = ready.model.config
    assert (ready.model.tokenizer.size, config.objective.label_smoothing) == (7_000, 0.1)
    assert (config.model.dropout > 0, config.tokenizer.sampling, *config.data.mixture) == (True, "none", "tatoeba")
    last = {record["kind"]: record["loss"] for record in Run(READY).metrics() if "loss" in record}
    training, validation = (shown(last[kind], 2) for kind in ("training", "validation"))
    difference = float(training) - float(validation)
    floor = entropy_of_targets(0.1, 7_000)
    assert_says("Smoothed labels and a warm-up", training, validation, shown(difference, 2), shown(floor, 2))
    assert floor > 0.8 * difference


def test_beam_search_finds_what_greedy_search_misses(ready: Translator) -> None:
    wide = ready.search.model_copy(update={"beam": 4})
    greedy, beam = (
        ready.translate(["Wann öffnet die Bäckerei?"], search)[0][0]
        for search in (wide.model_copy(update={"beam": 1}), wide)
    )
    assert (greedy.text, beam.text) == ("When is the bakery opening?", "When does the bakery open?")
    assert beam.log_probability > greedy.log_probability


def test_the_correction_for_length_decides(ready: Translator) -> None:
    sentence = "Zwei Leute spielen im Zimmer Harfe."
    corrected = ready.search.model_copy(update={"beam": 4, "length_penalty": 1.0})
    longer, shorter = (
        ready.translate([sentence], search)[0][0]
        for search in (corrected, corrected.model_copy(update={"length_penalty": 0.0}))
    )
    texts = ("Two people are playing the harp in the room.", "Two people are playing in the room.")
    assert (longer.text, shorter.text) == texts
    assert_says("Beam search", *texts)
    scores = []
    for found in (longer, shorter):
        count = len(found.tokens) + 1
        scores.append(found.log_probability / length_penalty(count, 1.0))
        in_logs = (shown(number, 3) for number in (found.log_probability, scores[-1]))
        assert_says("Beam search", str(count), f"({5 + count}/6)", *in_logs)
    assert longer.score == pytest.approx(scores[0])
    assert scores[0] > scores[1]
    assert longer.log_probability < shorter.log_probability


def test_a_large_weight_whose_word_can_go(ready: Translator) -> None:
    subject = Subject.of(ready, "Der alte Mann liest ein Buch.", None)
    weights = subject.attention(method="weights", words=True, stacks=["cross"]).stacks["cross"]
    effect = subject.attention(method="erasure", words=True, stacks=["cross"]).stacks["cross"]

    def at(maps: Any, target: str, source: str) -> float:
        """In the last head of layer 1; erasure has only one matrix."""
        return float(maps.weights[0, -1, maps.rows.index(target), maps.columns.index(source)])

    assert abs(at(effect, "book", "ein")) < 0.03
    assert min(at(weights, *pair) for pair in (("old", "Der"), ("man", "alte"), ("book", "ein"))) > 0.85
    assert_says("Can attention mislead?", shown(at(weights, "book", "ein"), 2), shown(at(effect, "book", "Buch"), 2))
