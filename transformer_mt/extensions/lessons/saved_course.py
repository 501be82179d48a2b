"""The whole course in one file, as `tmt page` saves a sentence: with all answers that its stops need."""

from transformer_mt.extensions.lessons.course import Course, answer_lessons
from transformer_mt.extensions.serve.answers import views
from transformer_mt.extensions.serve.page.saved_page import saved_page
from transformer_mt.extensions.serve.saved_answers import saved, saved_answers, view_answer
from transformer_mt.ground.head_names import HeadName
from transformer_mt.runs.directory import READY
from transformer_mt.translation.translator import Translator
from transformer_mt.views.subject import DEFAULT_METHOD, Subject

# For stops without a sentence.
EXAMPLE = "Der Hund läuft durch den Park."


def course_page(course: Course, *, stop: int, language: str | None = None) -> bytes:
    """The page, open at a stop, with the answers of the ready model, in a language of `page_language`.

    Raises `InputError` for a sentence too long.
    """
    translator = Translator.load(READY, device="cpu")
    answers = [saved("lessons", answer_lessons(course))]
    subjects: dict[str, Subject] = {}
    for attempt in (one.attempt for one in course.stops):
        sentence = attempt.sentence or EXAMPLE
        subject = subjects[sentence] = subjects.get(sentence) or Subject.of(translator, sentence, None)
        if attempt.head and "explain" in views():
            head = HeadName.parse(attempt.head, key="try.head")._asdict()
            answers.append(saved("explain", view_answer("explain", subject, **head), source=subject.source, **head))
    for sentence, subject in subjects.items():
        listed, translated, *others = saved_answers(
            subject, translator.model.config.search, is_given=False, method=DEFAULT_METHOD, words=True
        )
        listed["answer"]["runs"][0]["beginning"] |= {"view": "course", "stop": stop}
        translated["asked"]["source"] = sentence
        for one in others:
            one["asked"]["source"] = subject.source
        answers += [listed, translated, *others]
    return saved_page(answers, language=language)
