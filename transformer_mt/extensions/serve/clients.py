"""Answers in LibreTranslate's form, so that its clients work."""

from collections.abc import Sequence
from itertools import chain, islice

from transformer_mt.config.changed_search import changed_search
from transformer_mt.extensions.serve.questions import ClientQuestion, TranslateTexts
from transformer_mt.extensions.serve.served_runs import ServedRun
from transformer_mt.ground.errors import InputError
from transformer_mt.text.terminal import JsonObject
from transformer_mt.translation.translator import Ranked, Translator


def list_languages(served: ServedRun, _: ClientQuestion) -> list[JsonObject]:
    """Each language of the model, with the targets it can be translated to."""
    directions = served.translator.model.config.data.directions()
    codes = dict.fromkeys((*directions.values(), *directions))
    return [
        {"code": code, "name": code, "targets": [to for to, source in directions.items() if source == code]}
        for code in codes
    ]


def translate_texts(served: ServedRun, asked: TranslateTexts) -> JsonObject:
    """Translate each line of each text; a text of one sentence has alternatives.

    The source `auto` is the model's, with confidence 0, because nothing is detected. Raises `InputError` for
    other languages, and for a sentence that is too long.
    """
    directions = served.translator.model.config.data.directions()
    source = directions.get(asked.target)
    if source is None or asked.source not in (source, "auto"):
        possible = " or ".join(f"{source} to {target}" for target, source in directions.items())
        raise InputError("source, target", "not the languages of the model", f"ask for {possible}")
    translator = Translator.of(served.translator.model.toward(asked.target))
    search = changed_search(translator.search, {"n_best": 1 + asked.alternatives})
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    lines = [text.split("\n") for text in texts]
    prepared = translator.model.prepare.lines(list(chain(*lines)), split=True)
    ranked = iter(translator.translate_prepared(list(enumerate(prepared)), search))
    of_texts = [list(islice(ranked, len(each))) for each in lines]
    found = [_translated_text(of_lines) for of_lines in of_texts]
    answer: JsonObject = {
        "translatedText": [best for best, *_ in found],
        "doubtful": [any(best.is_doubtful for best, *_ in of_lines) for of_lines in of_texts],
    }
    if asked.alternatives:
        answer["alternatives"] = [others for _, *others in found]
    if asked.source == "auto":
        answer["detectedLanguage"] = [{"confidence": 0.0, "language": source} for _ in found]
    return {key: value[0] for key, value in answer.items()} if isinstance(asked.q, str) else answer


def _translated_text(of_lines: Sequence[Ranked]) -> list[str]:
    """Join the translations of the lines of a text; a line of several sentences has only one."""
    return ["\n".join(line.text for line in each) for each in zip(*of_lines, strict=False)]
