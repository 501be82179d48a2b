"""How a number in a terminal is shaded: by characters or by colours, and the legend that says so."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from rich.console import Console
from rich.style import Style
from rich.text import Text
from typing_extensions import override

from transformer_mt.drawing.glyphs import UNICODE, Glyphs, glyphs_for
from transformer_mt.drawing.layout import NARROWEST, stripped, words_of, wrap_words
from transformer_mt.drawing.numbers import Scale
from transformer_mt.views.text import format_weight

# What one number takes: a shade or a space, three characters of number, and a space.
CELL = 5


@dataclass(frozen=True, slots=True)
class Shading(ABC):
    """How a number is shaded: by its size, whatever its sign. From each of the `levels` on the next shade holds."""

    shares: ClassVar[tuple[float, ...]]

    glyphs: Glyphs = UNICODE
    scale: Scale = field(default_factory=Scale)

    @property
    def levels(self) -> tuple[float, ...]:
        """In the numbers' own unit."""
        return tuple(share * self.scale.largest for share in self.shares)

    @abstractmethod
    def shaded(self, number: float) -> Text:
        """The number in `CELL` columns."""

    @abstractmethod
    def shade(self, number: float, *, width: int) -> Text:
        """The shade alone in that many columns; where the number is negative, that can be seen too."""

    def cell(self, number: float | None) -> Text:
        """The shaded number; a dot for None, which may not be attended to."""
        return Text(f" {self.glyphs.masked}".ljust(CELL)) if number is None else self.shaded(number)

    def small_cell(self, number: float | None, *, width: int) -> Text:
        """The same without a number."""
        return Text(self.glyphs.masked.ljust(width)) if number is None else self.shade(number, width=width)

    def level(self, number: float) -> int:
        """How many levels the number reaches."""
        return sum(abs(number) >= level for level in self.levels)

    def printed(self, number: float) -> str:
        """The number in three characters, in the scale's unit."""
        return format_weight(number / self.scale.unit)


class Blocks(Shading):
    """Shade characters in front of the numbers: plain text, for files and terminals without colour."""

    shares = (0.05, 0.25, 0.5, 0.75)

    @override
    def shaded(self, number: float) -> Text:
        """For example `▒.42`."""
        return Text(f"{self.glyphs.shades[self.level(number)]}{self.printed(number)} ")

    @override
    def shade(self, number: float, *, width: int) -> Text:
        ramp = self.glyphs.negative if number < 0.0 else self.glyphs.shades
        return Text(ramp[self.level(number)] * width)


class Colours(Shading):
    """Backgrounds from near black over blue and green to yellow, each with black or white numbers on it.

    Lightness rises from shade to shade, so they stay in order for colour-blind readers and on a grey projector. Both
    colours of a cell are set, so the terminal's own theme does not matter. They are from the 256-colour palette.
    """

    shares = (0.05, 0.15, 0.3, 0.5, 0.75)
    styles = tuple(
        Style.parse(f"color({number}) on color({background})")
        for number, background in ((250, 234), (231, 18), (231, 24), (16, 36), (16, 148), (16, 226))
    )

    @override
    def shaded(self, number: float) -> Text:
        return Text(f" {self.printed(number)} ", style=self.styles[self.level(number)])

    @override
    def shade(self, number: float, *, width: int) -> Text:
        level = self.level(number)
        return Text(("-" if number < 0.0 and level else " ") * width, style=self.styles[level])


def shading_for(console: Console, *, scale: Scale | None = None) -> Shading:
    """Colours where the console shows any, else blocks: off a terminal, under NO_COLOR, on one without colours."""
    kind = Colours if console.color_system and not console.no_color else Blocks
    return kind(glyphs_for(console.encoding), scale or Scale())


def render_legend(*, width: int, shading: Shading, masked: bool) -> list[Text]:
    """What the shades mean, and the sign of cells that are masked, in lines of at most `width` cells."""
    shades = [stripped(shading.cell(level)) for level in shading.levels]
    return wrap_words(
        [*words_of("shades from"), *shades, *_remarks(shading, masked=masked)], width=max(width, NARROWEST)
    )


def render_compact_legend(*, width: int, shading: Shading, masked: bool, negative: bool) -> list[Text]:
    """The same for shades without numbers, and how those of negative numbers look where there are any."""
    words = words_of("shades from")
    for level in shading.levels:
        words.append(Text.assemble(shading.shade(level, width=2), f" {shading.printed(level).strip()}"))
    if negative:
        words += [*words_of("below zero"), *(shading.shade(-level, width=2) for level in shading.levels)]
    return wrap_words([*words, *_remarks(shading, masked=masked)], width=max(width, NARROWEST))


def _remarks(shading: Shading, *, masked: bool) -> list[Text]:
    scale = shading.scale
    words = words_of(f"in units of {scale.unit:g}") if scale.unit != 1.0 else []
    return words + (words_of(f"and {shading.glyphs.masked} where nothing may be attended to") if masked else [])
