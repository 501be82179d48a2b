"""The page's files: within their budget, readable, and joinable into one file."""

import base64
import gzip
import hashlib
import json
import re

import pytest

from transformer_mt.extensions.serve.page import page_files
from transformer_mt.extensions.serve.page.saved_page import saved_page

# The files that a browser loads; Python has its budget in `test_packages.py`.
FILES = page_files()
MODULES = {name: text for name, text in FILES.items() if name.endswith(".js")}
# In a saved page, the second replaces the first.
SERVER, SAVED = "server.js", "saved.js"
# The budget of all files together.
LINES, BYTES = 3_450, 160_000

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


@pytest.mark.parametrize("other", [SERVER, SAVED])
def test_joined_modules_do_not_collide(other: str) -> None:
    declared = [name for module, text in MODULES.items() if module != other for name in DECLARED.findall(text)]
    assert sorted(declared) == sorted(set(declared))


def test_saved_page_joins_modules_after_their_imports() -> None:
    page = saved_page([{"route": "</script><!--", "answer": "\u2028 ü"}]).decode()
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert json.loads(gzip.decompress(base64.b64decode(data))) == [{"route": "</script><!--", "answer": "\u2028 ü"}]
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    first = {name: DECLARED.search(text) for name, text in MODULES.items() if name != SERVER}
    placed = {name: script.index(found[0].removeprefix("export ")) for name, found in first.items() if found}
    assert placed.keys() == MODULES.keys() - {SERVER, "extensions.js"}
    assert not re.search(r"^( |//|/\*)", script, re.MULTILINE)
    for name in placed:
        used = {SAVED if other == SERVER else other for other in imports(name)} - {"extensions.js"}
        assert all(placed[other] < placed[name] for other in used)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style == FILES["page.css"]
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    sums = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert policy == [
        f"default-src 'none'; script-src 'sha256-{sums[0]}'; style-src 'sha256-{sums[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    ]
    assert page.index(policy[0]) < page.index("<style>") < page.index("<script")
    assert "/page/" not in page


@pytest.mark.parametrize("name", MODULES)
def test_imports_exist_are_used_and_have_no_cycles(name: str) -> None:
    for other, names in imports(name).items():
        exported = set(re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", MODULES[other], re.MULTILINE))
        assert names <= exported
        body = IMPORT.sub("", MODULES[name])
        assert all(re.search(rf"\b{used}\b", body.partition("\n\n")[2] or body) for used in names)
    seen: set[str] = set()
    waiting = list(imports(name))
    while waiting:
        if (other := waiting.pop()) not in seen:
            seen.add(other)
            waiting += imports(other)
    assert name not in seen


@pytest.mark.parametrize("name", MODULES)
def test_exports_are_imported_somewhere(name: str) -> None:
    exported = set(re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", MODULES[name], re.MULTILINE))
    used = {one for other in MODULES for one in imports(other).get(SERVER if name == SAVED else name, ())}
    assert exported <= used, f"{name}: only tests use {exported - used}"


@pytest.mark.parametrize("name", FILES)
def test_page_loads_nothing_from_elsewhere(name: str) -> None:
    text = FILES[name].replace("http://www.w3.org/2000/svg", "")
    assert "://" not in text
    assert not re.search(
        r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function)|style=|\son\w+=\"", text
    )
    assert all(len(line) <= 120 for line in text.splitlines())


def test_only_one_module_sends_requests() -> None:
    assert [name for name, text in MODULES.items() if re.search(r"\bfetch\(|XMLHttpRequest|sessionStorage", text)] == [
        "server.js"
    ]
