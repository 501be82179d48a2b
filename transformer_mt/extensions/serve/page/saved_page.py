"""The page for one sentence pair in a single file: the same modules, joined, with saved answers instead of a server."""

import base64
import gzip
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transformer_mt.extensions.serve.page import page_files
from transformer_mt.text.terminal import escaped_json

_IMPORT = re.compile(r'^import (?:\{[\w,\s]+\} from )?"\./(\w+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
# Comments on their own lines, blank lines and indentation: a quarter of the modules.
_UNREAD = re.compile(r"^ *(?://.*|/\*\*[\s\S]*?\*/)\n|^ +|^\n", re.MULTILINE)


def saved_page(answers: Sequence[Mapping[str, Any]], *, language: str | None = None) -> bytes:
    """Build the page; each answer has an `answer`, its `route`, and the values `asked` that select it.

    Its content security policy allows only its own style and script, by checksum, and no requests. `language` is as in
    `page_language`.
    """
    files = page_files(language)
    style = files["page.css"]
    script = "".join(_joined("app.js", files, set()))
    icon = _base64(files["icon.svg"].encode())
    data = _base64(gzip.compress(escaped_json(answers, compact=True).encode(), mtime=0))
    policy = (
        '<meta http-equiv="Content-Security-Policy" content="'
        f"default-src 'none'; script-src {_sum(script)}; style-src {_sum(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'\">"
    )
    page = files["index.html"]
    for before, after in {
        '<meta charset="utf-8">': f'<meta charset="utf-8">\n    {policy}',
        "/page/icon.svg": f"data:image/svg+xml;base64,{icon}",
        '<link rel="stylesheet" href="/page/page.css">': f"<style>{style}</style>",
        '<script type="module" src="/page/app.js"></script>': (
            f'<script type="application/gzip" id="saved">{data}</script>\n<script type="module">{script}</script>'
        ),
    }.items():
        assert page.count(before) == 1, before
        page = page.replace(before, after)
    return page.encode()


def _joined(name: str, files: Mapping[str, str], seen: set[str]) -> Iterator[str]:
    """Yield a module after its imports, each once, without import and export statements and comments."""
    name = "saved.js" if name == "server.js" else name
    if name not in seen:
        seen.add(name)
        text = files[name]
        for other in _IMPORT.findall(text):
            yield from _joined(other, files, seen)
        yield _EXPORT.sub("", _UNREAD.sub("", _IMPORT.sub("", text)))


def _sum(text: str) -> str:
    """The source expression of a content security policy for an element with this text."""
    return f"'sha256-{_base64(hashlib.sha256(text.encode()).digest())}'"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
