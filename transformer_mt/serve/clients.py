"""Answers in LibreTranslate's form, so that its clients work."""

from transformer_mt.config.changed_search import changed_search
from transformer_mt.errors import InputError
from transformer_mt.serve.answers import Answer
from transformer_mt.serve.questions import ClientQuestion, TranslateTexts
from transformer_mt.serve.served_runs import ServedRun


def list_languages(served: ServedRun, _: ClientQuestion) -> list[Answer]:
    """The source language with its target, and the target language, which has none."""
    data = served.translator.model.config.data
    targets = {data.source_language: [data.target_language], data.target_language: []}
    return [{"code": code, "name": code, "targets": targets[code]} for code in targets]


def translate_texts(served: ServedRun, asked: TranslateTexts) -> Answer:
    """Translate each line of each text; a text of one sentence has alternatives.

    The source `auto` is the model's, with confidence 0, because nothing is detected. Raises `InputError` for
    other languages, and for a sentence that is too long.
    """
    translator, data = served.translator, served.translator.model.config.data
    if asked.source not in (data.source_language, "auto") or asked.target != data.target_language:
        remedy = f"ask for {data.source_language} to {data.target_language}"
        raise InputError("source, target", "not the languages of the model", remedy)
    search = changed_search(translator.search, {"n_best": 1 + asked.alternatives})
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    lines = translator.model.prepare.lines("\n".join(texts).split("\n"), split=True)
    ranked = iter(translator.translate_prepared(list(enumerate(lines)), search))
    found = []
    for text in texts:
        together = zip(*[next(ranked) for _ in text.split("\n")], strict=False)  # several sentences have only a best
        found.append(["\n".join(line.text for line in each) for each in together])
    answer: Answer = {"translatedText": [each[0] for each in found]}
    if asked.alternatives:
        answer["alternatives"] = [each[1:] for each in found]
    if asked.source == "auto":
        answer["detectedLanguage"] = [{"confidence": 0.0, "language": data.source_language} for _ in found]
    return {key: value[0] for key, value in answer.items()} if isinstance(asked.q, str) else answer
