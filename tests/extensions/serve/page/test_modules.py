"""The page's files: within their budget, readable, and joinable into one file."""

import base64
import gzip
import json
import re
from collections import Counter

import pytest

from transformer_mt.extensions.serve.page import page_files
from transformer_mt.extensions.serve.page.saved_page import saved_page

# The files that a browser loads; Python has its budget in `test_packages.py`.
FILES = page_files()
MODULES = {name: text for name, text in FILES.items() if name.endswith(".js")}
# In a saved page, the second replaces the first.
SERVER, SAVED = "server.js", "saved.js"
# The budget of all files together.
LINES, BYTES = 3_477, 170_230

IMPORT = re.compile(r'^import (?:\{([\w,\s]+)\} from )?"\./(\w+\.js)";$', re.MULTILINE)
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


def imports(name: str) -> dict[str, set[str]]:
    lines = [line for line in MODULES[name].splitlines() if line.startswith(("import", "export {", "export *"))]
    found = IMPORT.findall(MODULES[name])
    assert len(found) == len(lines), f"{name}: an import that a joining script would not know"
    assert len({other for _, other in found}) == len(found), f"{name}: two imports of one module"
    return {other: {*re.findall(r"\w+", names)} for names, other in found}


def test_files_keep_to_their_budget() -> None:
    assert sum(text.count("\n") for text in FILES.values()) <= LINES
    assert sum(len(text.encode()) for text in FILES.values()) <= BYTES


def test_saved_page_has_all_modules_and_loads_nothing() -> None:
    answers = [{"route": "</script><!--", "answer": "\u2028 ü"}]
    page = saved_page(answers).decode()
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert json.loads(gzip.decompress(base64.b64decode(data))) == answers
    assert not re.search(r"^(import|export| |//|/\*)", script, re.MULTILINE)
    first = {name: DECLARED.search(text) for name, text in MODULES.items() if name != SERVER}
    assert [name for name, found in first.items() if found and found[1] not in script] == []
    assert FILES["page.css"] in page
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert re.sub("sha256-[^']+", "", policy) == (
        "default-src 'none'; script-src ''; style-src ''; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert page.index(policy) < page.index("<style>") < page.index("<script")
    assert "/page/" not in page


def test_joined_modules_declare_each_name_once() -> None:
    begun = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+|\{[^}]*\}|\[[^]]*\])", re.MULTILINE)
    texts = [text for name, text in MODULES.items() if name != SERVER]
    declared = Counter(name for text in texts for found in begun.findall(text) for name in re.findall(r"\w+", found))
    assert [name for name, count in declared.items() if count > 1] == []


@pytest.mark.parametrize("name", MODULES)
def test_imports_are_used_and_exports_imported(name: str) -> None:
    body = IMPORT.sub("", MODULES[name]).partition("\n\n")[2] or MODULES[name]
    assert [used for names in imports(name).values() for used in names if not re.search(rf"\b{used}\b", body)] == []
    exported = set(re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", MODULES[name], re.MULTILINE))
    used = {one for other in MODULES for one in imports(other).get(SERVER if name == SAVED else name, ())}
    assert exported <= used, f"{name}: only tests use {exported - used}"


@pytest.mark.parametrize("name", FILES)
def test_page_loads_nothing_from_elsewhere(name: str) -> None:
    text = re.sub(r"http://www\.w3\.org/(2000/svg|1998/Math/MathML)", "", FILES[name])
    made = r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function)|style=|\son\w+=\"|://"
    assert not re.search(made, text)
    assert name == SERVER or not re.search(r"\bfetch\(|XMLHttpRequest|sessionStorage", text)
    assert all(len(line) <= 120 for line in text.splitlines())
