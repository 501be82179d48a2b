"""Answers in LibreTranslate's form, so that its clients work."""

from transformer_mt.config.changed_search import changed_search
from transformer_mt.extensions.serve.questions import ClientQuestion, TranslateTexts
from transformer_mt.extensions.serve.served_runs import ServedRun
from transformer_mt.ground.errors import InputError
from transformer_mt.text.terminal import JsonObject
from transformer_mt.translation.translator import Translator


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
    lines = translator.model.prepare.lines("\n".join(texts).split("\n"), split=True)
    ranked = iter(translator.translate_prepared(list(enumerate(lines)), search))
    found = []
    doubtful = []
    for text in texts:
        together = list(zip(*[next(ranked) for _ in text.split("\n")], strict=False))  # several have only a best
        found.append(["\n".join(line.text for line in each) for each in together])
        doubtful.append(any(line.is_doubtful for line in together[0]))
    answer: JsonObject = {"translatedText": [each[0] for each in found], "doubtful": doubtful}
    if asked.alternatives:
        answer["alternatives"] = [each[1:] for each in found]
    if asked.source == "auto":
        answer["detectedLanguage"] = [{"confidence": 0.0, "language": source} for _ in found]
    return {key: value[0] for key, value in answer.items()} if isinstance(asked.q, str) else answer
