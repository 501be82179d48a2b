"""The page's files: within their budget, readable, and such that they can be joined into one file."""

import re
from importlib.resources import files

import pytest

FILES = {file.name: file.read_text("utf-8") for file in files("transformer_mt.page").iterdir() if file.is_file()}
MODULES = {name: text for name, text in FILES.items() if name.endswith(".js")}
# The most that all files may have together.
LINES, BYTES = 2_200, 120_000

IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+\.js)";$')
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


def imports(name: str) -> dict[str, set[str]]:
    lines = [line for line in MODULES[name].splitlines() if line.startswith(("import", "export {", "export *"))]
    found = [IMPORT.match(line) for line in lines]
    assert all(found), f"{name}: an import that a joining script would not know"
    return {one[2]: set(one[1].split(", ")) for one in found if one}


def test_the_files_keep_to_their_budget() -> None:
    assert sum(text.count("\n") for text in FILES.values()) <= LINES
    assert sum(len(text.encode()) for text in FILES.values()) <= BYTES


def test_modules_joined_without_imports_would_not_collide() -> None:
    declared = [name for text in MODULES.values() for name in DECLARED.findall(text)]
    assert sorted(declared) == sorted(set(declared))


@pytest.mark.parametrize("name", MODULES)
def test_an_import_is_exported_and_used_and_never_leads_back(name: str) -> None:
    for other, names in imports(name).items():
        exported = set(re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", MODULES[other], re.MULTILINE))
        assert names <= exported
        body = MODULES[name].partition("\n\n")[2]
        assert all(re.search(rf"\b{used}\b", body.partition("\n\n")[2] or body) for used in names)
    seen: set[str] = set()
    waiting = list(imports(name))
    while waiting:
        if (other := waiting.pop()) not in seen:
            seen.add(other)
            waiting += imports(other)
    assert name not in seen


@pytest.mark.parametrize("name", MODULES)
def test_an_export_is_imported_somewhere(name: str) -> None:
    used_by_tests = {"METHODS"}
    exported = set(re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", MODULES[name], re.MULTILINE))
    used = {one for other in MODULES for one in imports(other).get(name, ())}
    assert exported <= used | used_by_tests, f"{name}: only tests use {exported - used}"


@pytest.mark.parametrize("name", FILES)
def test_nothing_would_be_fetched_from_elsewhere_or_refused_by_the_policy(name: str) -> None:
    text = FILES[name].replace("http://www.w3.org/2000/svg", "")
    assert "://" not in text
    assert not re.search(
        r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function)|style=|\son\w+=\"", text
    )
    assert all(len(line) <= 120 for line in text.splitlines())


def test_only_one_module_talks_to_the_server() -> None:
    assert [name for name, text in MODULES.items() if re.search(r"\bfetch\(|XMLHttpRequest|sessionStorage", text)] == [
        "server.js"
    ]
