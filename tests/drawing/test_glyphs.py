import io

from rich.console import Console

from transformer_mt.drawing.glyphs import ASCII, UNICODE, glyphs_for
from transformer_mt.drawing.shading import shading_for


def test_glyphs_are_those_of_the_encoding() -> None:
    assert glyphs_for("utf-8") == UNICODE
    assert glyphs_for("utf-16-le").shades == UNICODE.shades
    assert glyphs_for("iso8859-1").shades == ASCII.shades
    assert glyphs_for("latin-1").clean("▁für 日\x1b") == "_für \\u65e5\\u241b"
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    assert shading_for(console).glyphs == glyphs_for("latin-1")
