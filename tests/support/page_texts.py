"""The texts in the page's HTML and JavaScript, as keys of the language files."""

import re
from collections.abc import Iterator, Mapping

# What is skipped, then the literals that may be texts.
TOKEN = re.compile(
    r"""(?P<skipped>//[^\n]*|/\*.*?\*/|(?<=[(,=:\[!&|?{};\s])/(?![/*\s])(?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/\\\n\[])+/[a-z]*)"""
    r"""|(?P<quoted>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<template>`)|(?P<opened>\{)|(?P<closed>\})""",
    re.DOTALL,
)
# Before a literal that is a name, not a text.
NAMES = re.compile(
    r"""(class: |button\(|import |from |"data-place": |\.(?:querySelector(?:All)?|closest|matches|getItem|setItem)\("""
    r"""|roving\(.*|viewBox: |preserveAspectRatio: |place: |selector = |WITH_MODEL = |place \? )$"""
)
PROSE = re.compile(r"[A-Za-z]{2,}[:,;.]? [a-zA-Z]|^[ (←]*[A-Z][a-z]{2,}")
# The texts between tags, and labels.
HTML = re.compile(r'(?:>|aria-label=")([^<>"]*[a-zA-Z]{2}[^<>"]*)(?=[<"])')


def texts_of(files: Mapping[str, str]) -> set[str]:
    """All texts of the page: texts with values, texts in the HTML, and literals that look like prose."""
    scripts = [text for name, text in files.items() if name.endswith(".js") and name != "language.js"]
    return {text for script in scripts for text in of_script(script)} | of_html(files["index.html"])


def of_html(text: str) -> set[str]:
    return {spaced(found) for found in HTML.findall(text)}


def of_script(script: str) -> Iterator[str]:
    plurals = re.findall(r'plural\(.*?, "(\w+)"\)', script)
    yield from (f"{{0}} {thing}{ending}" for thing in plurals for ending in ("", "s"))
    for before, text, is_say in literals(script):
        if is_say or (PROSE.search(text) and not NAMES.search(before)):
            yield spaced(text)


def words_of(files: Mapping[str, str]) -> set[str]:
    """All literals of the scripts, texts or not."""
    return {spaced(text) for name, script in files.items() if name.endswith(".js") for _, text, _ in literals(script)}


def literals(script: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each literal: the line before it, its text with numbered values, and whether `say` translates it."""
    at = 0
    waiting: tuple[str, str, int] | None = None  # a string that the next one may continue
    while found := TOKEN.search(script, at):
        at = found.end()
        line = script[script.rfind("\n", 0, found.start()) + 1 : found.start()]
        if found["quoted"]:
            text = re.sub(r"\\(.)", r"\1", found["quoted"][1:-1])
            if waiting and re.fullmatch(r"\s*\+\s*", script[waiting[2] : found.start()]):
                waiting = (waiting[0], waiting[1] + text, at)
                continue
            if waiting:
                yield (*waiting[:2], False)
            waiting = (line, text, at)
        elif found["template"]:
            text, inner, at = template(script, at)
            yield line, text, line.endswith("say")
            for one in inner:
                yield from literals(one)
    if waiting:
        yield (*waiting[:2], False)


def template(script: str, at: int) -> tuple[str, list[str], int]:
    """The text of a template that begins here, its values as code, and its end."""
    text, values = "", list[str]()
    while script[at] != "`":
        if script.startswith("${", at):
            end = closing(script, at + 2)
            text += f"{{{len(values)}}}"
            values.append(script[at + 2 : end])
            at = end + 1
        else:
            text += script[at]
            at += 1
    return text, values, at + 1


def closing(script: str, at: int) -> int:
    """The place of the brace that closes the one before this place."""
    depth = 1
    while found := TOKEN.search(script, at):
        at = template(script, found.end())[2] if found["template"] else found.end()
        depth += bool(found["opened"]) - bool(found["closed"])
        if not depth:
            return found.start()
    raise ValueError("no closing brace")


def spaced(text: str) -> str:
    return " ".join(text.split())
