import io

import pytest
from rich.console import Console

from transformer_mt.cli.training_display import LiveDisplay
from transformer_mt.config.sections import TrainingConfig
from transformer_mt.runs.checkpoints import Progress
from transformer_mt.training.reports import Validation, ValidationReport, WindowReport
from transformer_mt.training.trainer import Trainer

WILD = "xyz" * 200
REPEATED = "the the of " * 90


class Halfway(Trainer):
    """A trainer that has nothing to train, and stands somewhere."""

    def __init__(self) -> None:
        self.config, self.progress = TrainingConfig(), Progress(step=50)

    def share_done(self) -> float:
        return 0.25


def picture(*translations: str, height: int = 24, width: int = 80, validations: int = 11) -> list[str]:
    """The lines of the display after so many validations, the last of which has these translations."""
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    display = LiveDisplay(console, Halfway())
    display.show(WindowReport(50, 0, 7.5, 1e-4, 12_345.0))
    samples = tuple((f"ein Satz {number}", f"a sentence {number}", text) for number, text in enumerate(translations))
    for number in range(validations):
        display.show(ValidationReport(number, 0, Validation(3.5, 0.25, 9.5, samples), True, 0, 1.0))
    return ["".join(part.text for part in line).rstrip() for line in console.render_lines(display._picture())]


@pytest.mark.parametrize("height", [10, 16, 24, 50])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_wild_translations_leave_room_for_all_there_is(height: int, width: int) -> None:
    lines = picture(WILD, REPEATED, "日本" * 300, height=height, width=width)
    assert len(lines) < height
    text = "\n".join(lines)
    for number in range(3):
        assert f"ein Satz {number}" in text
    assert "translation now" in text
    assert "…" in text


def test_what_fits_is_shown_whole() -> None:
    text = "\n".join(picture("Der Hund.", "Die Katze schläft."))
    assert "…" not in text
    assert "Die Katze schläft." in text
    assert text.count("best") == 8


def test_a_lower_terminal_shows_fewer_validations() -> None:
    assert "\n".join(picture("a", "b", "c", height=12)).count("best") == 4


def test_translations_command_no_terminal() -> None:
    assert "\x1b" not in "\n".join(picture("\x1b[2J", height=24))
