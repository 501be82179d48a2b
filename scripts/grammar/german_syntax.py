"""German syntax: the parts specific to German."""

from collections.abc import Set

from typing_extensions import override

from grammar import german
from grammar import meaning as m
from grammar.lexicon import CLOSED, Case
from grammar.syntax import Language, Part, Places, Short
from grammar.words import Origin, Said, Word, attach, before, mark, spell


class German(Language):
    """German: the finite verb second or last, the rest of the verb at the end."""

    name = "german"
    plain_case: Case = "nominative"
    copula = "sein"
    relative_order = "verb_last"
    order_key = "order"
    strands = False
    graded = staticmethod(german.graded)

    # ---- clauses

    def _verbs(self, node: m.Clause, holds: Set[str], places: Places) -> tuple[Word, Word | None]:
        """Place the finite verb and the words at the end of the clause."""
        verb, as_finite, as_verb = node.verb, (node, "finite"), (node, "verb")
        main = Word("", "AUX" if verb.key == "sein" else "VERB", (as_verb,))
        if "nonfinite" in holds:
            bare = "plain_infinitive" in holds
            *zu, main.text = [verb.prefix + verb.infinitive] if bare else german.zu_infinitive(verb)
            places["end_verb"] = [*(Word(text, "PART", ((node, "to"),), main, "mark") for text in zu), main]
            main.origins = (as_verb,) if zu else (as_verb, (node, "to"))
            return main, None
        person = m.person(node.subject, "german") if node.subject else "3s"
        tense = self._choices["tense"](holds) or node.tense
        first, *others = CLOSED["verb_groups"][tense]["german"].split()
        auxiliary, _, form = first.partition(".")
        if "command" not in holds and others:
            forms = {"V.participle": [german.participle(verb)], "V.zu": german.zu_infinitive(verb)}
            *zu, main.text = forms.get(others[0], [verb.prefix + verb.infinitive])
            text = german.finite(verb.aux if auxiliary == "AUX" else auxiliary, form, person)
            said = [text, *others[1:]]  # ist … worden, muss … werden: the last one forms the passive
            words = [Word(text, "AUX", (as_finite,), main, "aux") for text in said]
            words[-1].relation += ":pass" if "passive" in holds else ""
            marks = [Word(text, "PART", ((node, "to"),), main, "mark") for text in zu]
            places["finite"], places["end_verb"] = words[:1], [*marks, main, *words[1:]]
            return main, None
        said_by = verb if auxiliary == "V" else auxiliary  # ich muss nach Hause
        main.text = german.imperative(verb, person) if "command" in holds else german.finite(said_by, form, person)
        main.origins, places["finite"] = (as_finite, as_verb), [main]
        if said_by is not verb:
            return main, None
        if "verb_last" in holds:
            main.text = verb.prefix + main.text
        else:
            places["end_verb"] = attach(spell(verb.prefix, "ADP", as_verb), main, "compound:prt")
        return main, None

    @override
    def _parts(self, node: m.Clause, holds: Set[str]) -> list[Part]:
        """Adds the noun of Hunger haben: keinen Hunger haben."""
        found, noun = super()._parts(node, holds), node.verb.fixed_noun
        if noun is not None:
            kein = german.determiner("kein", "accusative", "plural" if noun.plural_only else noun.gender)
            article = [Word(kein, "DET", ((node, "not"),))] if node.takes_kein else []
            said = before(article, spell(node.verb.fixed, "NOUN", (node, "verb")), "det")
            found.append(Part(None, "new_object", "obj", said))
        return found

    def _set_off(self, clause: Said) -> Said:
        """A subordinate clause between commas."""
        return [mark(","), *clause, mark(",")]

    # ---- phrases

    def _short(self, node: Short, case: Case, negated: m.Clause | None) -> Said:
        """Ich, mich; (der Mann,) der, den; Anna, Annas, die Schweiz; acht Uhr, Viertel nach acht."""
        match node:
            case m.Pronoun(key):
                return [Word(german.pronoun(key, case), "PRON", ((node, "pronoun"),))]
            case m.RelativePronoun(m.NounPhrase(noun, plural=plural)):
                text = german.relative_pronoun(case, "plural" if plural else noun.gender)
                return [Word(text, "PRON", ((node, "relative"),))]
            case m.Name(name):
                text = name.key if case == "nominative" else german.inflected(name.key, "Name")
                text = german.inflected(text, "Genitiv, Name") if case == "genitive" else text
                article = german.determiner("der", case, "f" if name.article == "die" else "m") if name.article else ""
                return before(spell(article, "DET"), self._name(node, text), "det")
        said, unit = self._clock(node, node.hour)
        return before(said, unit, "nummod") if unit else said

    def _prepositional(self, node: m.Prepositional) -> Said:
        """A preposition, if there is one (ein Glas Wasser), and its object."""
        said = self.phrase(node.object, node.case)
        preposition = spell(self.closed("prepositions", node.preposition), "ADP", (node, "preposition"))
        return self._governed(preposition, said, node.object)

    @override
    def _governed(self, preposition: Said, said: Said, governed: m.Predicate) -> Said:
        """Im for in dem, unless a relative clause needs the article's stress; den Fluss entlang."""
        text = preposition[0].text if preposition else ""
        if text and isinstance(governed, m.Pronoun) and governed.key in ("es", "das", "was"):  # darauf, womit
            word = ("wo" if governed.key == "was" else "da") + ("r" if text[0] in "aäuüoöei" else "") + text
            return [Word(word, "ADV", (*preposition[0].origins, *said[0].origins))]
        contracted = CLOSED["contractions"].get(f"{text} {said[0].text}")
        if contracted and len(said) > 1 and getattr(governed, "relative", None) is None:
            said[0] = Word(contracted, "ADP", (*preposition[0].origins, *said[0].origins), said[0].head, "case")
            return said
        joined = super()._governed(preposition, said, governed)
        return [*joined[1:], joined[0]] if "behind" in german.PREPOSITIONS.get(text, ()) else joined

    def _noun_phrase(self, node: m.NounPhrase, case: Case, negated: m.Clause | None) -> Said:
        """Determiner, adjectives, noun, genitive, attribute; a name in the genitive replaces the determiner."""
        where: german.Column = "plural" if node.plural else node.noun.gender
        alone, capital = node.noun.alone and not node.adjectives, "capital" in german.DETERMINERS[node.determiner]
        noun = Word(german.noun(node.noun, case, plural=node.plural), "NOUN", ((node, "noun"),))
        key = node.determiner
        origins: list[Origin] = [(node, "determiner")]
        owner = [] if node.possessor is None else self.phrase(node.possessor, "genitive")
        if isinstance(node.possessor, m.Name):
            key, said = "", attach(owner, noun, "nmod:poss")
        else:
            if negated is not None and "indefinite" in m.traits(node):
                key, origins = "kein", [*origins, (negated, "not")]
            row = german.DETERMINERS[key]
            speech, relation = ("NUM", "nummod") if "numeral" in row else ("DET", "det")
            relation += ":poss" if "possessive" in row else ""
            said = attach(spell(german.determiner(key, case, where, alone=alone), speech, *origins), noun, relation)
        for adjective in node.adjectives:
            said += [mark(",")] if node.listed and adjective is not node.adjectives[0] else []
            form = german.adjective(adjective, key, case, where, grade=node.grade)
            form = form.capitalize() if capital and not adjective.indeclinable else form  # etwas Neues
            said.append(Word(form, "ADJ", ((node, adjective.key),), noun, "amod"))
        if node.noun.alone:  # meiner, der rote: the last word stands for the noun
            noun, said[-1].origins = said[-1], (*said[-1].origins, (node, "noun"))
            noun.part_of_speech = "PRON" if alone else "ADJ"
            for word in said:
                word.head, word.relation = (None, "root") if word is noun else (noun, word.relation)
        else:
            said.append(noun)
        if node.label is not None:
            said += attach(self.phrase(node.label, "nominative"), noun, "nummod")
        if not isinstance(node.possessor, m.Name):
            said += attach(owner, noun, "nmod")
        if node.attribute is not None:
            said += attach(self._prepositional(node.attribute), noun, "nmod")
        return said


GERMAN = German()
