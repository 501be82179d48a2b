"""The page that `tmt serve` delivers: HTML, JavaScript modules and CSS, without a build step.

`app.js` has the state, the requests that follow from it, and the elements that show it. `tabs.js` has the tabs, each
with its requests and elements; extensions add their own. `translation.js`, `choices.js`, `heads.js` and `learning.js`
draw from an answer and callbacks; they use `words.js` (two lines and their links), `matrix.js`, `shades.js`,
`controls.js` (sliders and choices), `keyboard.js` and `dom.js`. Only `server.js` sends requests. In a saved page,
`saved.js` replaces it; `saved_page.py` joins all modules there.
"""

import os
import tomllib
from pathlib import Path

from transformer_mt.ground.plugins import extensions
from transformer_mt.ground.registry import lookup
from transformer_mt.text.terminal import JsonObject, escaped_json

# The kinds of files that the page consists of.
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
LANGUAGES = Path(__file__).parents[1] / "languages"
# The environment variable with the language of the page; `--language` sets it.
LANGUAGE = "TMT_LANGUAGE"


def page_language(code: str | None = None) -> JsonObject:
    """A language of the page, by default that of the environment: its code, and the texts of its file.

    Raises `InputError` for an unknown code.
    """
    ours = {path.stem: path for path in sorted(LANGUAGES.glob("*.toml"))}
    code = code or os.environ.get(LANGUAGE) or "en"
    return {"code": code} | tomllib.loads(lookup(ours, code, key="--language").read_text("utf-8"))


def page_files(language: str | None = None) -> dict[str, str]:
    """The files of the page by name: its own, the modules of extensions, `extensions.js`, which imports these, and
    `language.js`, the texts of `page_language`.
    """
    scripts = [path for extension in extensions().values() for path in extension.scripts]
    own = [path for path in Path(__file__).parent.iterdir() if path.suffix in KINDS]
    return {path.name: path.read_text("utf-8") for path in [*scripts, *own]} | {
        "extensions.js": "".join(f'import "./{path.name}";\n' for path in scripts),
        "language.js": f"export const LANGUAGE = {escaped_json(page_language(language), compact=True)};\n",
    }
