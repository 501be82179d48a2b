"""The built-in corpus: German–English sentence pairs, made by a small synchronous grammar.

A derivation (the nodes of `meaning`) says itself in both languages: `parts.toml` chooses what stands in a clause and
where, by what `meaning.facts` tells of it; `order.toml` orders the places; `german_syntax` and `english_syntax` join
the words, and `german` and `english` inflect them. Words that come from the same part are linked. The words are in
the TOML files, the closed classes and the rules of inflection in `closed.toml`. `sampler` and `clauses` fill
derivations with words that suit each other; `constructions`, the rows of scenes and patterns and the phrasebook are
what is said; `variation` says some of it in another way; `splits` divides it.

A German sentence has one English translation, which can be told from the sentence alone; `references` adds what else is
right. These rules hold:

Tenses     What becomes of the German tense is a row of `parts.toml` each, with an example; how tenses and modals are
           said, a verb group of `closed.toml`. Perfect and preterite are the simple past: ging, ist gegangen, went.
           What was said or thought in the past is reported in it. What is not so is in the past in English (wenn ich
           Zeit hätte, if I had time). Helfen takes no "to".
Pronouns   Er, sie and es that take up a thing are it. Du, ihr, Sie and man are you; a sentence speaks to one of them.
Possessors Ihr is her, of several people their; Ihr is your. People take 's, things and plurals in -s of.
Negation   Nicht is not, uncontracted; cannot is one word. Kein is not … a, not … any; of what there is not, no. Nichts
           and niemand as objects are not … anything, not … anyone.
Clauses    Relative pronouns are who and whom for people, that for all else; a preposition that the verb governs stays
           behind. Weil and denn are because, als when, wenn if, ob whether; das is that, dieser this.
Order      Only adverbs of time and of the whole sentence start the English where they start the German.
Particles  Ja, doch, halt, eben, denn and mal, which English does not say, have neither a word nor a link there.
Marks      The English has its capital and its mark, whatever the German lacks; "…" at its end is "…" on both sides.
Links      Marks have none. Do is linked with the German finite verb, both parts of a separable verb with the English
           one, kein with not and its determiner, gerade with be. Without a link is only what the other language does
           not say.
Structure  Universal Dependencies' parts of speech and basic relations; a contraction such as im is one node; a relative
           pronoun also knows its antecedent.
"""

from grammar.splits import generate_corpus

__all__ = ["generate_corpus"]
