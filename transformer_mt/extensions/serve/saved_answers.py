"""Precomputed answers about one sentence pair, for a page without a server."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transformer_mt.config.sections import SearchConfig
from transformer_mt.extensions.serve.answers import heads_named, translation_of, views
from transformer_mt.extensions.serve.page.saved_page import saved_page
from transformer_mt.extensions.serve.questions import Attend, first_question, in_request
from transformer_mt.extensions.serve.served_runs import ServedRun, describe_model, printable_name
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.plugins import resolve
from transformer_mt.runs.directory import CHECKPOINTS, saved_steps
from transformer_mt.runs.listing import describe_run
from transformer_mt.text.terminal import JsonObject
from transformer_mt.translation.model import Model
from transformer_mt.translation.translator import Translator
from transformer_mt.views.request import PairRequest
from transformer_mt.views.serialise import to_json
from transformer_mt.views.subject import Subject


def page_of(served: ServedRun, asked: Attend) -> JsonObject:
    """The page of a pair as one file, as `tmt page`; without a target, of the model's own translation."""
    subject = Subject.of(served.translator, asked.source, asked.target or None, without=heads_named(asked.without))
    answers = saved_answers(
        subject, served.translator.search, is_given=bool(asked.target), method=asked.method, words=asked.words
    )
    return {"page": saved_page(answers).decode()}


def saved_answers(
    subject: Subject, search: SearchConfig, *, is_given: bool, method: str, words: bool
) -> list[JsonObject]:
    """The answers that the page needs about a pair, each with its `route` and the values `asked` that select it.

    The page opens with this method, over words or tokens. A given target is a translation with all tokens forced.
    """
    model = subject.model
    off = [str(head) for head in subject.without]
    prefix = list(subject.tokens.written.pieces) if is_given else []
    if is_given:
        search = search.model_copy(update={"max_length": subject.network.max_length})
    listed = _listed(model) | {"example": subject.source, "search": to_json(search.model_dump())}
    listed["beginning"] = {"prefix": prefix, "without": off, "method": method, "words": words, "view": "heads"}

    asked = first_question(listed, subject.source, prefix=prefix, without=off)
    translated = translation_of(Translator.of(model), asked, search, subject.line, subject.read)
    translated |= {"run": listed["run"], "step": model.step}
    answers = [saved("runs", {"runs": [listed]}), saved("translate", translated, prefix=prefix, without=off)]
    for name in listed["methods"]:
        both = [view_answer("attend", subject, method=name, words=each, without=off) for each in (False, True)]
        answers.append(saved("attend", side_by_side(*both), method=name, without=off))
    whole_model = replace(subject, without=(), usual=None)
    return answers + [saved(route, view_answer(route, whole_model)) for route in _routes_of_pairs()]


def saved(route: str, answer: JsonObject, **asked: Any) -> JsonObject:
    """An answer with its route, and the values of the request that select it."""
    return {"route": route, "asked": asked, "answer": answer}


def view_answer(route: str, subject: Subject, **asked: Any) -> JsonObject:
    """The answer of a view, or its error."""
    view = views()[route]
    try:
        question = resolve(view.request)(
            run=printable_name(subject.model.path), source=subject.source, target=subject.target, **asked
        )
        return resolve(view.answer)(subject, question)
    except InputError as error:
        return {"error": str(in_request(error))}


def _routes_of_pairs() -> Iterator[str]:
    """The routes, besides `attend`, of views whose requests need no more than a pair."""
    for route, view in views().items():
        needed = {name for name, key in resolve(view.request).model_fields.items() if key.is_required()}
        if route != "attend" and needed <= {*PairRequest.model_fields}:
            yield route


def side_by_side(over_pieces: JsonObject, over_words: JsonObject) -> JsonObject:
    """Combine two answers of `attend`; `weights` has both matrices of each head next to each other.

    Most words are single tokens, so the matrices share most rows; gzip finds repetitions only within 32 kB.
    """
    both = [over_pieces, over_words]
    weights = {}
    for stack in over_pieces["stacks"]:
        layers = [answer["stacks"][stack].pop("weights") for answer in both]
        weights[stack] = [list(zip(*heads, strict=True)) for heads in zip(*layers, strict=True)]
    return {"both": both, "weights": weights}


def _listed(model: Model) -> JsonObject:
    """The run's entry for the page's list, without transient fields and paths of this machine."""
    assert model.run
    found = describe_run(model.path) | {"run": printable_name(model.path)} | describe_model(model.run)
    for key in ("bytes", "seconds_since", "init_from"):
        found.pop(key, None)
    return found | {"checkpoints": saved_steps(model.path / CHECKPOINTS)}
