"""The page that `tmt serve` delivers: HTML, JavaScript modules and CSS, without a build step.

`app.js` has the state, the requests that follow from it, and the elements that show it. `tabs.js` has the tabs, each
with its requests and elements; extensions add their own. `translation.js`, `choices.js`, `heads.js` and `learning.js`
draw from an answer and callbacks; they use `words.js` (two lines and their links), `matrix.js`, `shades.js`,
`keyboard.js` and `dom.js`. Only `server.js` sends requests. In a saved page, `saved.js` replaces it; `saved_page.py`
joins all modules there.
"""

from importlib.resources import files
from pathlib import Path

from transformer_mt.ground.plugins import extensions

# The kinds of files that the page consists of.
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def page_files() -> dict[str, str]:
    """The files of the page by name: its own, the modules of extensions, and `extensions.js`, which imports these."""
    every = [file for file in files(__package__).iterdir() if Path(file.name).suffix in KINDS]
    own = {file.name: file.read_text("utf-8") for file in every}
    scripts = [path for extension in extensions().values() for path in extension.scripts]
    added = {path.name: path.read_text("utf-8") for path in scripts}
    return added | own | {"extensions.js": "".join(f'import "./{name}";\n' for name in added)}
