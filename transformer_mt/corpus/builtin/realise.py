"""From a derivation to a linked, annotated sentence pair."""

from transformer_mt.corpus.builtin import english_syntax, german_syntax
from transformer_mt.corpus.builtin.lexicon import CLOSED
from transformer_mt.corpus.builtin.meaning import Name, Sentence
from transformer_mt.corpus.builtin.words import Origin, Word, attach, links, mark, root_of, spell, text_of, tidy, tree
from transformer_mt.corpus.pairs import SentencePair

_MARKS = {"statement": ".", "question": "?", "command": "!"}


def realise(sentence: Sentence) -> SentencePair:
    """The pair with its links and both structures, written with care."""
    final = _MARKS[sentence.form]
    german = [*tidy(_opened(sentence, german_syntax.sentence(sentence), german=True)), mark(final)]
    english = [*tidy(_opened(sentence, english_syntax.sentence(sentence), german=False)), mark(final)]
    return SentencePair(
        text_of(german), text_of(english), links(german, english), structure=(tree(german), tree(english))
    )


def _opened(sentence: Sentence, said: list[Word], *, german: bool) -> list[Word]:
    """What stands before the sentence and a comma: Ja; Entschuldigung; Anna."""
    opening = sentence.opening
    if opening is None:
        return said
    if isinstance(opening, Name):
        name = opening.name
        words = spell(name.key if german else name.english, "PROPN", (opening, "noun"), relation="flat")
        return [*attach(words, root_of(said), "vocative"), mark(","), *said]
    origin: Origin = (sentence, "opening")
    words = spell(opening if german else CLOSED["openings"][opening], "INTJ", origin)
    return [*attach(words, root_of(said), "discourse"), mark(","), *said]
