"""The built-in corpus: German–English sentence pairs, made by a small synchronous grammar.

One derivation (a tree of the nodes in `phrases`, `clauses`, `subordination` and `sentences`) says itself in both
languages, and words of both that come from the same part of it are linked. `sampler`, `circumstances` and `predicates`
fill derivations with words that suit each other; `simple_sentences`, `complex_sentences` and `relative_sentences` are
the constructions, `constructions` says how often each is used, `splits` divides the corpus. The words are in the TOML
files: a new noun is one line there, a new construction one function and one line in the table.

So that every German sentence has one English translation, which can be told from the sentence alone, these rules hold:

Tenses
    The present is the simple present, with gerade the progressive. Perfect and preterite are the simple past; the past
    of sein, haben and the modals is always the preterite, that of all other verbs the perfect. With schon, noch nicht
    and noch nie the perfect is the present perfect. Werden is will. What lies ahead is never said in the present.
Modal verbs
    können can, could; müssen have to; wollen want to; dürfen be allowed to; sollen should; möchten would like to.
    Gern is like to. After helfen the English infinitive has no "to".
Pronouns
    Er is he, es is it. Before the verb and in subordinate clauses "sie" with a plural verb is they; after the verb
    (in questions, commands, and statements that start with something else) "Sie" is you. As an object sie is her,
    ihr is her. Ihnen and the formal you as an object are not used. Man is you. Things are not taken up by er and sie.
Possessives
    Ihr is her, but in a clause whose subject is the formal Sie it is (written Ihr) your. Their is not used.
Negation
    Nicht is not, uncontracted; cannot is one word. Kein as object is not … a, in the plural and of what cannot be
    counted not … any; with es gibt it is no.
Clauses
    Wenn is if, als is when, ob is whether. Relative pronouns are who and whom for people and that for all else; a
    preposition stays behind in English. Das is that, dieser is this.
Order
    Adverbs of time and of the whole sentence start the English where they start the German; whatever else starts the
    German, the English starts with its subject. The imperative to Sie always has bitte.
Marks
    The English always has its capital and its mark, whatever the German lacks: "." after statements, "?" after
    questions, "!" after commands. Only "…" at the end of the German is "…" at the end of the English.
Links
    Marks have no links. Do is linked with the German finite verb, both parts of a separable verb with the English
    verb, gerade with the English be, kein with not and a. Without links stay only words that the other language does
    not say: the article before a genitive, the article of a profession, zu after helfen.
"""

from transformer_mt.corpus.builtin.kept import kept_corpus
from transformer_mt.corpus.builtin.splits import SHOWCASE, SHOWCASE_TRANSLATION, generate_corpus

__all__ = ["SHOWCASE", "SHOWCASE_TRANSLATION", "generate_corpus", "kept_corpus"]
