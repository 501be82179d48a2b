"""Packages import only from earlier packages, keep within one cap, and load torch only when needed."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = "transformer_mt"
ROOT = Path(__file__).parents[1] / PACKAGE

# In order: a package imports only from earlier ones.
# fmt: off
PACKAGES = (
    "ground", "text", "config", "corpus", "tokenizer", "batching", "attention", "models", "runs", "links",
    "translation", "evaluation", "training", "views", "cli", "extensions", "__main__",
)
# fmt: on

# The most syntax nodes (`ast.walk`) of the core and of the extensions, so that folding code into fewer lines gains
# nothing. They only fall: whoever adds code removes as much, or leaves the new thing outside as a plugin.
CORE, EXTENSIONS = 124_630, 39_920

PLACE = {name: place for place, name in enumerate(PACKAGES)}
# The public API may import from any package.
PUBLIC_API = "__init__"

MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}

# Loading torch or datasets takes seconds, too long for `tmt --help` or a mistyped option. This covers all modules that
# `cli.main` imports at start-up; modules imported inside commands are exempt.
SLOW = {"torch", "datasets"}
QUICK = [name for name in MODULES if name.split(".")[1:2] in (["config"], ["corpus"])]
# The same holds for translating with another engine.
QUICK += [f"{PACKAGE}.{name}" for name in ("cli.main", "cli.open_model", "cli.line_io", "translation.model")]


def owner(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports(module: str, tree: ast.AST, *, everywhere: bool) -> Iterator[str]:
    """The modules that `tree` imports, anywhere or only at import time."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import; write the full name"
            assert node.module is not None
            yield node.module
            # The imported name may itself be a module.
            yield from (name for alias in node.names if (name := f"{node.module}.{alias.name}") in MODULES)
        elif everywhere or not waits(node):
            yield from imports(module, node, everywhere=everywhere)


def waits(node: ast.AST) -> bool:
    """Whether the body of this node does not run at import time."""
    only_for_types = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    return only_for_types or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


@cache
def parse(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def at_import(module: str) -> set[str]:
    """Everything that importing `module` imports, directly or indirectly."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            parents = [name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1)]
            waiting += parents
            if name in MODULES:
                waiting += imports(name, parse(name), everywhere=False)
    return seen


@pytest.mark.parametrize("module", [module for module in MODULES if owner(module) != PUBLIC_API])
def test_a_package_imports_only_from_earlier_packages(module: str) -> None:
    assert owner(module) in PLACE, f"{module}: add the package to PACKAGES"
    for imported in imports(module, parse(module), everywhere=True):
        if imported.split(".")[0] == PACKAGE and owner(imported) not in (owner(module), PUBLIC_API):
            assert PLACE[owner(imported)] < PLACE[owner(module)], f"{module} imports {imported}"


def test_core_and_extensions_keep_within_their_caps() -> None:
    nodes = {True: 0, False: 0}
    for module in MODULES:
        nodes[owner(module) == "extensions"] += sum(1 for _ in ast.walk(parse(module)))
    assert nodes[False] <= CORE
    assert nodes[True] <= EXTENSIONS


@pytest.mark.parametrize("module", QUICK)
def test_light_modules_do_not_load_torch_or_datasets(module: str) -> None:
    assert not at_import(module) & SLOW


def test_import_analysis_agrees_with_python() -> None:
    tree = ast.parse(
        "import a.b\nif True:\n    import c\nclass D:\n    import e\n"
        "def f():\n    import g\nfrom transformer_mt import text\nif TYPE_CHECKING:\n    import h\n"
    )
    top = {"a.b", "c", "e", PACKAGE, f"{PACKAGE}.text"}
    assert set(imports("", tree, everywhere=False)) == top
    assert set(imports("", tree, everywhere=True)) == top | {"g", "h"}
