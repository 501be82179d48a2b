import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
import torch
from support.command_line import PAIRS, SIZES, Tmt, settings

from transformer_mt.cli.looking import example, showcase
from transformer_mt.cli.main import run
from transformer_mt.config.sections import DataConfig
from transformer_mt.config.toml import load_config
from transformer_mt.errors import InputError
from transformer_mt.models.build import build_model
from transformer_mt.runs.directory import Run
from transformer_mt.runs.weights import weights_of

SOURCE, TARGET = PAIRS[0]
CELL = re.compile(r"[ ░▒▓█](?:1\.0|\.\d\d)")
TRANSFORMER_KEYS = {"model.feedforward", "model.attention.heads"}
STACKS = ("encoder", "decoder", "cross")


def rows(lines: list[str]) -> list[list[float]]:
    """The numbers of all lines that have any, of maps that are not folded."""
    found = [[float(cell[1:]) for cell in CELL.findall(line)] for line in lines if not line.startswith("shades")]
    return [numbers for numbers in found if numbers]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("head", ["mean", "all", "2"])
def test_every_printed_row_sums_to_one(stack: str, head: str, trained: str, tmt: Tmt) -> None:
    outcome = tmt(
        "attend", "--model", trained, SOURCE, "--target", TARGET, "--stack", stack, "--head", head, "--layer", "1"
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[:2] == [SOURCE, TARGET]
    titles = [line for line in outcome.lines if "attention, layer" in line]
    assert len(titles) == (2 if head == "all" else 1)
    printed = rows(outcome.lines[2:])
    assert printed
    for row in printed:
        assert sum(row) == pytest.approx(1.0, abs=0.005 * len(row) + 0.01)


@pytest.mark.parametrize("stack", STACKS)
def test_every_row_of_the_json_sums_to_one(stack: str, trained: str, tmt: Tmt) -> None:
    found = json.loads(tmt("attend", "--model", trained, "--json", SOURCE, "--target", TARGET).out)
    assert list(found) == ["source", "target", "stacks", "never_seen"]
    assert (found["source"], found["target"]) == (SOURCE, TARGET)
    assert set(found["stacks"]) == set(STACKS)
    maps = found["stacks"][stack]
    assert len(maps["weights"]) == 1
    assert len(maps["weights"][0]) == 2
    for head in maps["weights"][0]:
        assert len(head) == len(maps["rows"])
        for number, row in enumerate(head):
            assert len(row) == len(maps["columns"])
            assert sum(weight or 0.0 for weight in row) == pytest.approx(1.0, abs=1e-3)
            if stack == "decoder":
                assert [weight is None for weight in row] == [column > number for column in range(len(row))]
            else:
                assert None not in row


def test_what_may_not_be_attended_to_is_a_dot(trained: str, tmt: Tmt) -> None:
    options = ("--model", trained, SOURCE, "--target", "The dog")
    size = len(json.loads(tmt("attend", *options, "--json").out)["stacks"]["decoder"]["rows"])
    lines = tmt("attend", *options, "--stack", "decoder").lines
    dots = [line.count("·") for line in lines if CELL.search(line) and not line.startswith("shades")]
    assert dots == list(range(size - 1, -1, -1))


def test_on_a_narrow_terminal_maps_are_folded(trained: str, tmt: Tmt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    outcome = tmt("attend", "--model", trained, " ".join([SOURCE] * 3), "--target", TARGET)
    assert max(map(len, outcome.lines[2:])) <= 40
    assert re.search(r"^columns 1–\d+ of \d+$", outcome.out, re.MULTILINE)


def test_off_a_terminal_there_are_no_commands_to_one(trained: str, tmt: Tmt) -> None:
    assert "\x1b" not in tmt("attend", "--model", trained, SOURCE, "--target", TARGET).out


def test_colours_on_a_terminal(trained: str, terminal: Callable[..., tuple[int, str]]) -> None:
    code, screen = terminal("attend", "--model", trained, SOURCE, "--target", "The dog")
    assert code == 0
    assert "\x1b[38;5;" in screen


def test_no_color_is_respected(
    trained: str, terminal: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    code, screen = terminal("attend", "--model", trained, SOURCE, "--target", "The dog")
    assert code == 0
    assert "38;5;" not in screen
    assert CELL.search(screen)


def test_without_a_sentence_it_shows_one_of_the_corpus_and_the_models_own_translation(trained: str, tmt: Tmt) -> None:
    lines = tmt("attend", "--model", trained).lines
    assert lines[:2] == [SOURCE, *tmt("translate", "--model", trained, SOURCE).lines]


def corpus_of(*sources: str) -> DataConfig:
    """A corpus in the working directory whose validation sentences are these."""
    Path("corpus").mkdir()
    for split in ("train", "validation"):
        lines = (json.dumps({"de": source, "en": "yes"}) + "\n" for source in sources)
        Path(f"corpus/{split}.jsonl").write_text("".join(lines))
    return DataConfig(corpus=str(Path("corpus").absolute()))


def test_the_sentence_is_the_first_of_moderate_length() -> None:
    assert example(corpus_of("Ja.", " ".join(["Wort"] * 30), "Der alte Hund schläft.", "Der alte Mann schläft.")) == (
        "Der alte Hund schläft."
    )


def test_without_one_of_moderate_length_it_is_the_first() -> None:
    assert example(corpus_of("Ja.", "Nein.")) == "Ja."


def test_of_the_builtin_corpus_it_is_the_showcase() -> None:
    data = DataConfig(source_language="de", target_language="en")  # as every run has them
    assert example(data) == showcase("de") == "Kannst du mir helfen, diesen Satz zu übersetzen?"


def test_without_the_corpus_a_sentence_is_asked_for() -> None:
    gone = corpus_of("Ja.")
    Path("corpus/validation.jsonl").unlink()
    with pytest.raises(InputError) as caught:
        example(gone)
    assert str(caught.value).startswith("SENTENCE: there is none to take from the run's corpus (")
    assert str(caught.value).endswith("); give a sentence")
    Path("corpus/train.jsonl").unlink()
    Path("corpus").rmdir()
    with pytest.raises(InputError, match=r"^SENTENCE: .*corpus: no such file or folder; .*\); give a sentence$"):
        example(gone)


def test_what_a_person_writes_cannot_command_the_terminal(trained: str, tmt: Tmt) -> None:
    outcome = tmt("attend", "--model", trained, "a\x1b[31m\n[b]b", "--target", "\x9bc\u202ed")
    assert outcome.code == 0
    assert not {"\x1b", "\x9b", "\u202e"} & set(outcome.out)
    assert outcome.lines[:2] == ["a␛[31m␊[b]b", "⟨U+009B⟩c⟨U+202E⟩d"]


@pytest.fixture(scope="module")
def without_attention(home: Path) -> str:
    """A recurrent run without attention."""
    path = home / "without_attention"
    sizes = [f"--set={key}={value}" for key, value in SIZES.items() if key not in TRANSFORMER_KEYS]
    kind = ["--set=model.kind=recurrent", "--set=model.score=none"]
    assert run(["train", "--data", str(home / "data"), "--run-dir", str(path), *kind, *sizes]) == 0
    return str(path)


@pytest.mark.parametrize("options", [[], ["--json"], ["--stack", "encoder"]])
def test_a_model_without_attention_is_one_line(options: list[str], without_attention: str, tmt: Tmt) -> None:
    outcome = tmt("attend", "--model", without_attention, SOURCE, *options)
    expected = f"tmt: error: {without_attention}: this model has no attention to show; give one that has with --model\n"
    assert (outcome.code, outcome.out, outcome.err) == (2, "", expected)
    assert tmt("translate", "--model", without_attention, SOURCE).code == 0


def test_showcase_is_in_the_source_language() -> None:
    german = showcase("de")
    english = showcase("en")
    assert german != english
    with pytest.raises(InputError, match=r"^SENTENCE: there is no showcase in 'fr'; give a sentence$"):
        showcase("fr")


@pytest.fixture(scope="module")
def deeper(home: Path) -> str:
    """A run of three layers and two heads in either stack, with random weights so large that no two maps are alike."""
    config = load_config(None, [*settings(model__encoder_layers="3", model__decoder_layers="3")[1::2]])
    tokenizer = Run.open(home / "run").tokenizer()
    torch.manual_seed(1)
    model = build_model(config.model, vocabulary_size=tokenizer.size)
    run = Run.create(home / "deeper", config, tokenizer, Run.open(home / "run").data(), None)
    run.save_model({name: 4 * tensor for name, tensor in weights_of(model).items()})
    return str(run.path)


@pytest.mark.parametrize("stack", STACKS)
def test_every_printed_map_is_that_of_its_layer_and_head(stack: str, deeper: str, tmt: Tmt) -> None:
    pair = ("--model", deeper, f"{SOURCE} {SOURCE}", "--target", f"{TARGET} {TARGET}")
    weights = json.loads(tmt("attend", *pair, "--json").out)["stacks"][stack]["weights"]
    names = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}
    assert (len(weights), len(weights[0])) == (3, 2)

    def assert_printed(layer: int, head: int, lines: list[str]) -> None:
        expected = [[weight for weight in row if weight is not None] for row in weights[layer - 1][head - 1]]
        assert lines[0] == f"{names[stack]}, layer {layer} of 3, head {head} of 2"
        assert [pytest.approx(row, abs=0.00501) for row in expected] == rows(lines)

    printed = tmt("attend", *pair, "--stack", stack, "--head", "all").out.split("\n\n")[1:-1]
    maps = [text.splitlines() for text in printed]
    assert len(maps) == 6
    for (layer, head), lines in zip(product((1, 2, 3), (1, 2)), maps, strict=True):
        assert_printed(layer, head, lines)
    assert len({str(rows(lines)) for lines in maps}) == 6
    one = tmt("attend", *pair, "--stack", stack, "--layer", "3", "--head", "1").out.split("\n\n")[1:-1]
    assert one == [printed[4]]


@pytest.mark.parametrize("stack", STACKS)
def test_the_mean_is_over_the_heads_of_its_layer(stack: str, deeper: str, tmt: Tmt) -> None:
    pair = ("--model", deeper, f"{SOURCE} {SOURCE}", "--target", f"{TARGET} {TARGET}")
    weights = json.loads(tmt("attend", *pair, "--json").out)["stacks"][stack]["weights"]
    printed = tmt("attend", *pair, "--stack", stack, "--head", "mean").out.split("\n\n")[1:-1]
    assert len(printed) == 3
    for (first, second), text in zip(weights, printed, strict=True):
        both = [zip(*both, strict=True) for both in zip(first, second, strict=True)]
        mean = [[(one + other) / 2 for one, other in row if one is not None] for row in both]
        assert [pytest.approx(row, abs=0.00501) for row in mean] == rows(text.splitlines())
