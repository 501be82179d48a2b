"""Faults drawn at random from the package, one at a time, and whether a test notices.

    python scripts/draw_faults.py --seed 1 --count 40 [--rooms attention models] [--skip 3 7] [--list]

Every fault changes a copy of the checkout: an operator, a constant, a condition, or a statement that is dropped. It is
tried on the quick tests of its room, and where these notice nothing on all tests. Faults that change nothing that
anybody could see are named with `--skip`, and others are drawn in their places.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "transformer_mt"
OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.And: "or", ast.Or: "and",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
Fault = tuple[Path, ast.AST, str]


def faults(path: Path) -> Iterator[Fault]:
    """Every place of a module that can be changed, and the text that replaces it."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AnnAssign):  # what is said of types is no behaviour
            waiting += [node.value] if node.value else []
            continue
        if isinstance(node, ast.FunctionDef):
            waiting += [*node.body, *(default for default in [*node.args.defaults, *node.args.kw_defaults] if default)]
            continue
        waiting += ast.iter_child_nodes(node)
        match node:
            case ast.Compare(left, [operator], [right]) | ast.BinOp(left, operator, right):
                yield path, node, f"({ast.unparse(left)}) {OPERATORS.get(type(operator), '+')} ({ast.unparse(right)})"
            case ast.BoolOp(operator, values):
                yield path, node, f" {OPERATORS[type(operator)]} ".join(f"({ast.unparse(value)})" for value in values)
            case ast.If(test) | ast.IfExp(test):
                yield path, test, f"not ({ast.unparse(test)})"
            case ast.Constant(bool(value)):
                yield path, node, str(not value)
            case ast.Constant(int(value) | float(value)):
                yield path, node, str(value + 1)
            case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise():
                yield path, node, "pass"


def change(copy: Path, fault: Fault) -> None:
    """Write the fault into a copy of the checkout."""
    path, node, text = fault
    assert isinstance(node, ast.expr | ast.stmt)
    assert node.end_lineno is not None
    rows = path.read_text(encoding="utf-8").encode().splitlines(keepends=True)
    first, last = rows[node.lineno - 1][: node.col_offset], rows[node.end_lineno - 1][node.end_col_offset :]
    rows[node.lineno - 1 : node.end_lineno] = [first + text.encode() + last]
    (copy / path.relative_to(ROOT)).write_bytes(b"".join(rows))


def notices(copy: Path, *arguments: str) -> bool:
    """True if a test fails, or the tests last too long."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=1_800)
    except subprocess.TimeoutExpired:
        return True
    return run.returncode not in (0, 5)  # all passed, none there


def tried(fault: Fault) -> str:
    """The tests that notice the fault: its room's, all, or none."""
    module = fault[0].relative_to(ROOT / PACKAGE)
    room = [ROOT / "tests" / module.parts[0], ROOT / "tests" / f"test_{module.stem}.py"]
    own = [str(path.relative_to(ROOT)) for path in room if path.exists()]
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "checkout"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "runs_*"))
        change(copy, fault)
        if own and notices(copy, *own):
            return "noticed by its room"
        return "noticed by all tests" if notices(copy, "-n", "2", "-m", "slow or not slow") else "NOT NOTICED"


def main() -> None:
    """Draw, try and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--rooms", nargs="*", default=[""])
    parser.add_argument("--skip", nargs="*", type=int, default=[])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    paths = sorted((ROOT / PACKAGE).rglob("*.py"))
    places = [fault for path in paths if any(room in str(path) for room in options.rooms) for fault in faults(path)]
    drawn = random.Random(options.seed).sample(places, options.count + len(options.skip))
    seen = 0
    for number, fault in enumerate(drawn, 1):
        path, node, text = fault
        place = f"{path.relative_to(ROOT / PACKAGE)}:{getattr(node, 'lineno', 0)}"
        result = "equivalent" if number in options.skip else "" if options.list else tried(fault)
        seen += result.startswith("noticed")
        print(f"{number:3} {place}: {ast.unparse(node)[:90]} -> {text[:90]}  {result}", flush=True)
    print(f"{seen} of {options.count} noticed")


if __name__ == "__main__":
    main()
