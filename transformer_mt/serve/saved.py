"""The answers that a page of one sentence pair has in place of a server."""

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal
from typing import Any

from transformer_mt.config.sections import SearchConfig
from transformer_mt.errors import InputError
from transformer_mt.runs.directory import CHECKPOINTS, saved_steps
from transformer_mt.runs.listing import describe_run
from transformer_mt.serve.answers import VIEWS, Answer, translation_of
from transformer_mt.serve.questions import by_keys, first_question
from transformer_mt.serve.runs import ServedRun, describe_model, printable_name
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator
from transformer_mt.views.data import to_json
from transformer_mt.views.maps import PairTokens, Tokens
from transformer_mt.views.matrix import Scale
from transformer_mt.views.sentence import Subject

# Decimals of a number, and digits of the largest one of a step. The page shows four of either at most.
_DECIMALS, _DIGITS = 5, 6

Matrix = list[list[Any]]


def saved_answers(subject: Subject, search: SearchConfig, *, is_given: bool, method: str, words: bool) -> list[Answer]:
    """The answers that the page needs about a pair, each with its `route` and what has to be `asked` for it.

    The page begins with this method, over words or pieces. A target that was given is a translation whose pieces were
    all chosen. Numbers are shortened so that the digits that the page shows stay those of `--json`.
    """
    model, off = subject.model, [str(head) for head in subject.without]
    served, listed = ServedRun(Translator.of(model), _no_checkpoint), _listed(model)
    identity = {"run": listed["run"], "step": model.step}
    search = search.model_copy(update={"max_length": subject.network.max_length} if is_given else {})
    prefix = list(subject.tokens.written.pieces) if is_given else []

    listed |= {"example": subject.source, "search": to_json(search.model_dump())}
    listed["beginning"] = {"prefix": prefix, "without": off, "method": method, "words": words, "view": "heads"}
    changed = {key: value for key, value in search if value != getattr(model.config.search, key)}
    asked = first_question(listed, subject.source, search=changed, prefix=prefix, without=off)
    translated = cut(translation_of(served, asked, subject.line, subject.line.only(subject.number)))
    saved = [
        {"route": "runs", "asked": {}, "answer": {"runs": [listed]}},
        {"route": "translate", "asked": {"prefix": prefix, "without": off}, "answer": identity | translated},
    ]

    def ask(route: str, subject: Subject, **asked: Any) -> Answer:
        kind, compute = VIEWS[route]
        try:
            return compute(subject, kind(run=listed["run"], source=subject.source, target=subject.target, **asked))
        except InputError as error:
            return {"error": by_keys(str(error))}

    for name in listed["methods"]:
        choices = [{"method": name, "words": over_words, "without": off} for over_words in (False, True)]
        over_pieces, over_words = [ask("attend", subject, **choice) for choice in choices]
        for choice, answer in zip(choices, packed(over_pieces, over_words, subject.tokens), strict=True):
            saved.append({"route": "attend", "asked": choice, "answer": answer})
    whole_model = replace(subject, without=(), usual=None)
    explanation = ask("explain", whole_model)
    for stage in explanation.get("stages", ()):
        stage["steps"] = [step | _in_whole_numbers(step["values"]) for step in stage["steps"]]
    answers = {"losses": ask("losses", whole_model), "explain": explanation, "lens": cut(ask("lens", whole_model))}
    return saved + [{"route": route, "asked": {}, "answer": answer} for route, answer in answers.items()]


def _listed(model: Model) -> Answer:
    """The run as the page's list has it, without what is of the moment, or of this machine's folders."""
    assert model.run is not None
    found = describe_run(model.path) | {"run": printable_name(model.path)} | describe_model(model.run)
    for key in ("bytes", "seconds_since", "init_from"):
        found.pop(key, None)
    return found | {"checkpoints": saved_steps(model.path / CHECKPOINTS)}


def _no_checkpoint(step: int) -> Translator:
    raise InputError("checkpoint: a saved page has none; start tmt serve")


def cut(value: Any) -> Any:
    """The value with numbers cut off after `_DECIMALS`, and a 5 for the rest: rounded to fewer they are the same."""
    if isinstance(value, dict):
        return {key: cut(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [cut(entry) for entry in value]
    if not isinstance(value, float) or round(value, _DECIMALS) == value:
        return value
    return float(f"{Decimal(value).quantize(Decimal(1).scaleb(-_DECIMALS), ROUND_DOWN)}5")


def whole(value: Any, decimals: int, unit: float = 1.0) -> Any:
    """Numbers in a unit as whole ones, cut off after these decimals: rounded to fewer they are the same."""
    if isinstance(value, list):
        return [whole(entry, decimals, unit) for entry in value]
    return None if value is None else int(Decimal(value / unit).scaleb(decimals))


def _in_whole_numbers(values: Any) -> dict[str, Any]:
    """The `values` of a step, and their `decimals`; numbers that are whole, and true and false, as they are."""
    numbers = list(_leaves(values))
    if not any(isinstance(number, float) for number in numbers):
        return {"values": values}
    decimals = _DIGITS - 1 - math.floor(math.log10(max(map(abs, numbers)) or 1.0))
    return {"values": whole(values, decimals), "decimals": decimals}


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, list):
        yield from (leaf for value in values for leaf in _leaves(value))
    else:
        yield values


def packed(over_pieces: Answer, over_words: Answer, tokens: PairTokens) -> tuple[Answer, Answer]:
    """Answers of `attend` whose weights are whole numbers: thousandths of the `units` of their heads.

    Masked cells at the end of a row are left out. Over words so are the cells between two words of one piece each, if
    all of the stack are as between these pieces: then `pieces` has for each row and for each column the number of the
    piece, null for a word of several.
    """
    answers = []
    for answer in (over_pieces, over_words):
        stacks = {name: maps | _in_thousandths(maps["weights"]) for name, maps in answer["stacks"].items()}
        answers.append(answer | {"stacks": stacks})
    pieces, words = (answer["stacks"] for answer in answers)
    for name, maps in words.items():
        rows, columns = map(_single_pieces, tokens.sides(name))
        pairs = [(own, of) for own, of in zip(_matrices(maps), _matrices(pieces[name]), strict=True)]
        single = [
            (i, j, r, c) for i, r in enumerate(rows) for j, c in enumerate(columns) if r is not None and c is not None
        ]
        same_units = maps["units"] == pieces[name]["units"]
        if same_units and all(own[i][j] == of[r][c] for own, of in pairs for i, j, r, c in single):
            maps["pieces"] = rows, columns
            for own, _ in pairs:
                own[:] = [
                    [cell for cell, c in zip(row, columns, strict=True) if None in (r, c)]
                    for row, r in zip(own, rows, strict=True)
                ]
    for maps in (*pieces.values(), *words.values()):
        for row in (row for matrix in _matrices(maps) for row in matrix):
            while row and row[-1] is None:
                row.pop()
    return answers[0], answers[1]


def _in_thousandths(weights: list[list[Matrix | None]]) -> dict[str, Any]:
    """The weights of a stack, those of each head in thousandths of the unit in which they are printed."""
    units = [[Scale.of([matrix] if matrix else []).unit for matrix in layer] for layer in weights]
    pairs = (zip(*layer, strict=True) for layer in zip(weights, units, strict=True))
    return {"weights": [[whole(matrix, 3, unit) for matrix, unit in layer] for layer in pairs], "units": units}


def _matrices(maps: dict[str, Any]) -> Iterator[Matrix]:
    return (matrix for layer in maps["weights"] for matrix in layer if matrix is not None)


def _single_pieces(side: Tokens) -> list[int | None]:
    """For each word its piece; None for one of several."""
    pieces: list[list[int]] = [[] for _ in side.words]
    for piece, owners in enumerate(side.words_of_piece):
        for word in owners:
            pieces[word].append(piece if len(owners) == 1 else -1)
    return [own[0] if len(own) == 1 and own[0] >= 0 else None for own in pieces]
