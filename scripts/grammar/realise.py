"""Turn a derivation into a linked, annotated sentence pair."""

from grammar.english_syntax import ENGLISH
from grammar.german_syntax import GERMAN
from grammar.meaning import Sentence
from grammar.trees import ParsedPair
from grammar.words import links, mark, text_of, tidy, tree

_MARKS = {"statement": ".", "question": "?", "tag": "?", "command": "!"}


def realise(sentence: Sentence) -> ParsedPair:
    """The pair with its links and both structures, fully punctuated and capitalised."""
    german, english = (
        [*tidy(language.sentence(sentence)), mark(_MARKS[sentence.form])] for language in (GERMAN, ENGLISH)
    )
    structure = tree(german), tree(english)
    return ParsedPair(text_of(german), text_of(english), links(german, english), structure=structure)
