"""Lines, statements and syntax nodes by package, modules with one importer, and the reading path.

python scripts/count_lines.py [CHECKOUT]
"""

import ast
import sys
from collections import Counter
from pathlib import Path

READING_PATH = (
    *("attention/worked_example", "models/layers", "models/transformer", "models/seq2seq", "models/blocks"),
    *("attention/multihead", "attention/projections", "attention/scores", "attention/positions"),
)


def lines(paths: list[Path]) -> int:
    """Lines as counted by `wc -l`."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def statements(paths: list[Path]) -> int:
    """The number of `ast.stmt` nodes."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in paths)
    return sum(isinstance(node, ast.stmt) for tree in trees for node in ast.walk(tree))


def nodes(paths: list[Path]) -> int:
    """The number of syntax nodes (`ast.walk`), as used in budgets."""
    return sum(1 for path in paths for _ in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def importers(paths: dict[str, Path]) -> Counter[str]:
    """For each module, the number of modules that import it, at any level."""
    count: Counter[str] = Counter()
    for name, path in paths.items():
        imported: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        count.update((imported & paths.keys()) - {name})
    return count


def main(root: Path) -> None:
    """Print the tables."""
    package = root / "transformer_mt"
    grammar = package / "corpus" / "builtin"  # former place of the grammar; only the reader of its pairs counts
    files = [path for path in sorted(package.rglob("*.py")) if path.parent != grammar or path.stem == "__init__"]
    packages: dict[str, list[Path]] = {}
    for path in files:
        packages.setdefault(path.relative_to(package).parts[0].removesuffix(".py"), []).append(path)
    print(f"{'package':<16}{'files':>7}{'lines':>8}{'statements':>12}{'nodes':>10}")
    for name, paths in [*packages.items(), ("package", files)]:
        print(f"{name:<16}{len(paths):>7}{lines(paths):>8,}{statements(paths):>12,}{nodes(paths):>10,}")
    for folder in ("tests", "scripts"):
        paths = [path for path in (root / folder).rglob("*.py") if "grammar" not in path.relative_to(root).parts]
        print(f"{folder:<16}{len(paths):>7}{lines(paths):>8,}{statements(paths):>12,}{nodes(paths):>10,}")
    modules = {".".join(path.relative_to(root).with_suffix("").parts): path for path in files}
    single = [name for name, number in importers(modules).items() if number == 1 and not name.endswith("__init__")]
    print(f"\nmodules with one importer: {len(single)} of {len(modules)}")
    print(*(f"  {name.removeprefix('transformer_mt.')}" for name in sorted(single)), sep="\n")
    reading = [package / f"{name}.py" for name in READING_PATH]
    print(f"reading path, worked example to positions: {lines(reading):,} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1])
