"""Mutation testing: draw faults from the package at random, one at a time, and see whether a test fails.

    python scripts/draw_faults.py --seed 1 --count 40 [--packages attention models] [--skip 3 7] [--list]
    python scripts/draw_faults.py --seed 1 --count 20 --packages .js serve/guard

Each mutant is a copy of the checkout with a changed operator, constant or condition, or a dropped statement. A Python
mutant runs the quick tests of its package, and if it survives, all tests. A JavaScript mutant runs all tests of the
page; without a Chromium, it always survives. `--skip` names equivalent mutants, and draws others instead.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = "transformer_mt"
OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.And: "or", ast.Or: "and",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
# JavaScript: text without code, and places that can be changed
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[(= ])/(?![/* ])[^\n]*?[^\\]/|^import[^;]*;""",
    re.DOTALL | re.MULTILINE,
)
SCRIPT_OPERATORS = {
    "===": "!==", "!==": "===", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "??": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "?": "|| true ?",
}  # fmt: skip
PLACES = re.compile(
    r"""(?P<operator>(?<=\s)(?:[=!]==|&&|\|\||\?\?|[<>]=?|[-+*/%?])(?=\s))
    |(?P<condition>(?<=\bif\ \().*(?=\)\ {$))
    |(?P<number>(?<![\w.#$])\d+(?:\.\d+)?\b)
    |(?P<truth>\b(?:true|false)\b)
    |(?P<statement>
        (?<=[;{}]\n)\ +(?!\ |(?:return|const|let|if|for)\b)(?:throw\ .*|(?:await\ )?[\w.?!]+(?:\(.*\)|\ [-+*]?=\ .*));$
    )""",
    re.VERBOSE | re.MULTILINE,
)


class Fault(NamedTuple):
    """Bytes `first` to before `last` of a file, and their replacement."""

    path: Path
    first: int
    last: int
    text: str

    def shown(self) -> str:
        """The place, and both texts."""
        content = self.path.read_bytes()
        line = 1 + content[: self.first].count(b"\n")
        before = " ".join(content[self.first : self.last].decode().split())
        return f"{self.path.relative_to(ROOT / PACKAGE)}:{line}: {before[:90]} -> {self.text[:90]}"


def faults(path: Path) -> Iterator[Fault]:
    """Yield every possible fault of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        for first, last, new in script_places(text):
            yield Fault(path, len(text[:first].encode()), len(text[:last].encode()), new)
        return
    rows = [0]
    for row in text.encode().splitlines(keepends=True):
        rows.append(rows[-1] + len(row))
    for node, new in places(ast.parse(text)):
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        yield Fault(path, rows[node.lineno - 1] + node.col_offset, rows[node.end_lineno - 1] + node.end_col_offset, new)


def script_places(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and end of each place in JavaScript, and its replacement."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", "_", found[0]), text)
    position = 0
    while place := PLACES.search(code, position):
        old, (first, last) = text[place.start() : place.end()], place.span()
        position = first + 1 if place["condition"] or place["statement"] else last  # there are places inside
        if place["operator"]:
            yield first, last, SCRIPT_OPERATORS[old]
        elif place["number"]:
            yield first, last, str(float(old) + 1 if "." in old else int(old) + 1)
        elif place["truth"]:
            yield first, last, "false" if old == "true" else "true"
        else:
            yield first, last, f"!({old})" if place["condition"] else ""


def places(module: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield each node in Python that can be changed, and its replacement."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AnnAssign):  # type annotations have no behaviour
            waiting += [node.value] if node.value else []
            continue
        if isinstance(node, ast.FunctionDef):
            waiting += [*node.body, *(default for default in [*node.args.defaults, *node.args.kw_defaults] if default)]
            continue
        waiting += ast.iter_child_nodes(node)
        match node:
            case ast.Compare(left, [operator], [right]) | ast.BinOp(left, operator, right):
                yield node, f"({ast.unparse(left)}) {OPERATORS.get(type(operator), '+')} ({ast.unparse(right)})"
            case ast.BoolOp(operator, values):
                yield node, f" {OPERATORS[type(operator)]} ".join(f"({ast.unparse(value)})" for value in values)
            case ast.If(test) | ast.IfExp(test):
                yield test, f"not ({ast.unparse(test)})"
            case ast.Constant(bool(value)):
                yield node, str(not value)
            case ast.Constant(int(value) | float(value)):
                yield node, str(value + 1)
            case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise():
                yield node, "pass"


def change(copy: Path, fault: Fault) -> None:
    """Write the fault into a copy of the checkout."""
    content = fault.path.read_bytes()
    changed = content[: fault.first] + fault.text.encode() + content[fault.last :]
    (copy / fault.path.relative_to(ROOT)).write_bytes(changed)


def notices(copy: Path, *arguments: str, seconds: int = 1_800) -> bool:
    """Whether a test fails or the tests time out."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return True
    return run.returncode not in (0, 5)  # all passed, no tests


def tried(fault: Fault) -> str:
    """The tests that notice the fault: its package's, all, or none."""
    module, every = fault.path.relative_to(ROOT / PACKAGE), ("-n", "2", "-m", "slow or not slow")
    depth = 2 if module.parts[0] == "extensions" else 1
    package = [ROOT.joinpath("tests", *module.parts[:depth]), ROOT / "tests" / f"test_{module.stem}.py"]
    own = [str(path.relative_to(ROOT)) for path in package if path.exists()]
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "checkout"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "runs_*"))
        change(copy, fault)
        if module.suffix == ".js":
            page = Path("tests/extensions/serve/page")
            views = [page / "test_javascript.py", page / f"test_{module.stem}.py"]
            first = [str(view) for view in views if (ROOT / view).exists()]
            # Shorter timeouts: a hanging page blocks its test forever.
            seen = notices(copy, *first, *every, seconds=300) or notices(copy, str(page), *every, seconds=600)
            return "noticed by its package" if seen else "NOT NOTICED"
        if own and notices(copy, *own):
            return "noticed by its package"
        return "noticed by all tests" if notices(copy, *every) else "NOT NOTICED"


def main() -> None:
    """Draw mutants, run the tests, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--packages", nargs="*", default=[""])
    parser.add_argument("--skip", nargs="*", type=int, default=[])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    paths = sorted(path for kind in ("*.py", "*.js") for path in (ROOT / PACKAGE).rglob(kind))
    chosen = [path for path in paths if any(package in str(path) for package in options.packages)]
    found = [fault for path in chosen for fault in faults(path)]
    drawn = random.Random(options.seed).sample(found, options.count + len(options.skip))
    seen = 0
    for number, fault in enumerate(drawn, 1):
        result = "equivalent" if number in options.skip else "" if options.list else tried(fault)
        seen += result.startswith("noticed")
        print(f"{number:3} {fault.shown()}  {result}", flush=True)
    print(f"{seen} of {options.count} noticed")


if __name__ == "__main__":
    main()
