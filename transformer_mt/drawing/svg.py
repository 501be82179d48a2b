"""What all pictures in SVG 1.1 share: the file, text in it, and pages that are light or dark as their reader wishes."""

import re
from collections.abc import Sequence
from html import escape

from rich.cells import cell_len

from transformer_mt.views.text import escape_controls

FONT = 12
# What a terminal cell of text takes at the most in common sans-serif fonts.
_LETTER = 0.62 * FONT
# What XML 1.0 has no way to write; control characters are pictures by then.
_NO_XML = re.compile("[\ufffe\uffff]")


def document(
    body: Sequence[str], *, width: int | float, height: int | float, title: str, description: str, light: str, dark: str
) -> str:
    """A whole file with title and description for screen readers, and the rules of style of light and of dark pages.

    The rules say how a `page`, which lies below the body, is filled.
    """
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    style = f"text{{font:{FONT}px sans-serif}}{light}@media(prefers-color-scheme:dark){{{dark}}}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title description">',
        f'<title id="title">{escaped(title)}</title>',
        f'<desc id="description">{escaped(description)}</desc>',
        f"<style>{style}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        *body,
        "</svg>",
    ]
    return "\n".join([*lines, ""])


def escaped(text: str) -> str:
    """Text for an element: nothing in it commands a viewer, reorders what it shows, or is taken for markup."""
    return escape(_visible(text), quote=False)


def text_width(text: str) -> float:
    """How wide the text is at the most."""
    return cell_len(_visible(text)) * _LETTER


def _visible(text: str) -> str:
    return _NO_XML.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", escape_controls(text))
