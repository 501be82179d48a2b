"""English syntax: the parts specific to English."""

from collections.abc import Set

from typing_extensions import override

from grammar import english, german
from grammar import meaning as m
from grammar.german import DETERMINERS, PRONOUNS
from grammar.lexicon import CLOSED, Case
from grammar.syntax import Language, Places, Short, make_copula
from grammar.words import Origin, Said, Word, attach, before, mark, root_of, spell

_HOURS = {"eins": 1} | {german.WORDS[hour]: hour for hour in range(1, 13)}
_ENGLISH_HOURS = ["twelve", "one", *list(CLOSED["numerals"].values())[:11]]


class English(Language):
    """English: the subject before the verb, do in questions and with not."""

    name = "english"
    plain_case: Case = "accusative"
    copula = "be"
    relative_order = "declarative"
    order_key = "english_order"
    strands = True
    graded = staticmethod(english.graded)

    # ---- clauses

    def _verbs(self, node: m.Clause, holds: Set[str], places: Places) -> tuple[Word, Word | None]:
        """Place the verb group: operator, not, other auxiliaries, verb and its fixed words."""
        base, *rest = node.verb.english.split()
        dated = holds.isdisjoint(("nonfinite", "command"))
        tense = self._choices["tense"](holds) or node.tense
        tense = CLOSED["reported"].get(tense, tense) if node.reported else tense  # past, in reported speech
        group = CLOSED["verb_groups"][tense]["english"].split() if dated else ["V.base"]
        group = ["V.ing"] if "gerund" in holds else group
        negated = "not" in holds and not holds >= {"verb.exists", "kein"}
        has_operator = group[1:2] != ["to"] and (len(group) > 1 or (base == "be" and dated))
        if not has_operator and ("question" in holds or (negated and "nonfinite" not in holds)):
            (first, form), has_operator = group[0].split("."), True
            group = [f"do.{form}", f"{first}.base", *group[1:]]  # do not want, does he read
        said = [self._verb_word(node, part) for part in group]
        to = group.index("to") if "to" in group else 0
        main, top = said[-1], said[to - 1] if to else None  # want, supposed: take the verb with to
        for place, word in enumerate(said[:-1]):
            word.head = top if place < to else main
        if "passive" in holds:  # is being repaired, has to be repaired
            said[-2].relation = "aux:pass"
        if top is not None:
            top.head, top.relation, top.part_of_speech = None, "root", "VERB"
        if len(group) == 1 or "command" in holds:
            main.origins += ((node, "finite"),)
        if holds >= {"command", "verb.lassen", "object.wir"}:
            main.text, main.origins = f"{main.text}'s", (*main.origins, (node.object, "pronoun"))
        if has_operator:
            places["operator"] = [said.pop(0)]
        places["auxiliaries"], places["verb"] = said[:-1], said[-1:]
        if negated:
            places["not"] = self._not(node, places["operator"] if "question" not in holds else [], top or main)
        if "infinitive" in holds:
            places["to"] = [Word("to", "PART", ((node, "to"),), main, "mark")]
        if rest:  # be hungry, have breakfast
            speech = "ADJ" if base in ("be", "get") else "ADV" if node.verb.preposition else "NOUN"
            told = spell(" ".join(rest), speech, (node, "verb"), relation="dep")
            main = make_copula(main, told[0], places) if base == "be" else main
            places["verb"] += told if base == "be" else attach(told, main, "advmod" if speech == "ADV" else "obj")
        return main, top

    def _verb_word(self, node: m.Clause, part: str) -> Word:
        """A word of a verb group; like is linked with gern, the others with the German finite verb."""
        verb, (word, _, form) = node.verb, part.partition(".")
        there_is = verb.exists
        agrees = node.object if there_is else node.english_subject  # there are two dogs
        person = "3s" if verb.named or agrees is None else m.person(agrees, "english")
        if word == "V":
            word = verb.english.split()[0]
            text = english.verb_form(word, verb.past, form, person)
            return Word(text, "AUX" if word == "be" and not there_is else "VERB", ((node, "verb"),))
        role = "gladly" if "gern" in node.tense and word in ("like", "prefer", "rather", "to") else "finite"
        speech, relation = ("PART", "mark") if word == "to" else ("AUX", "aux")
        ongoing = [(node, "particle")] if word == "be" and "progressive" in node.small_word else []
        return Word(english.verb_form(word, "", form, person), speech, ((node, role), *ongoing), relation=relation)

    def _not(self, node: m.Clause, operator: Said, head: Word) -> Said:
        """Not, which nichts includes together with the object; cannot is one word."""
        origin: Origin = (node, "not") if node.says_nicht else (node.english_object, "pronoun")
        if operator and operator[0].text == "can":
            operator[0].text, operator[0].origins = "cannot", (*operator[0].origins, (node, "not"))
            return []
        return [Word("not", "PART", (origin,), head, "advmod")]

    @override
    def _predicate(self, node: m.Clause) -> m.Predicate | None:
        """Includes a person's name: My name is Anna."""
        return (node.object or node.adverbials[0]) if node.verb.named else node.predicate

    @override
    def _role(self, node: m.Clause, role: str, nominal: m.Nominal, case: Case, negated: m.Clause | None) -> Said:
        """There for es gibt; my name for heißen; how much for was with kosten."""
        verb = node.verb
        if role == "subject" and verb.exists:
            return [Word("there", "PRON", ((nominal, "pronoun"),))]
        if role == "subject" and verb.named:
            return before(self._possessor(nominal), [Word("name", "NOUN", ((node, "verb"),))], "nmod:poss")
        if role == "object" and verb.asks and isinstance(nominal, m.Pronoun) and nominal.key == "was":
            return spell(verb.asks, "ADV", (nominal, "pronoun"))
        return super()._role(node, role, nominal, case, negated)

    @override
    def _relative(self, node: m.Predicate, noun: Word) -> Said:
        """The man I know, the house we live in: without whom, and without that if a preposition is stranded."""
        said = super()._relative(node, noun)
        unsaid = [word for word in said if word.text == "whom" or any(case.head is word for case in said)]
        unsaid = [word for word in unsaid if word.antecedent is noun]
        for word in said:
            if word.head is not None and word.head in unsaid:
                word.head, word.relation = word.head.head, "obl"
        return [word for word in said if word not in unsaid]

    # ---- phrases

    def _short(self, node: Short, case: Case, negated: m.Clause | None) -> Said:
        """I, me; not … anyone; who, whom, that; Anna; eight o'clock, half past seven."""
        match node:
            case m.Pronoun(key, said):
                forms = PRONOUNS[said or key]["english"].split()
                other = case != "nominative" and ("reflexive" in PRONOUNS[key] or negated is not None)
                return [Word(forms[other], "PRON", ((node, "pronoun"),))]
            case m.RelativePronoun(antecedent):
                text = "that" if "person" not in m.traits(antecedent) else "who" if case == "nominative" else "whom"
                return [Word(text, "PRON", ((node, "relative"),))]
            case m.Name(name):
                return self._name(node, name.english)
        less = CLOSED["clock"][node.form].get("less", 0)  # seven of halb acht, 8 of 20 Uhr
        hour = str(int(node.hour) - less) if node.hour.isdecimal() else node.hour.replace(".", ":")
        hour = _ENGLISH_HOURS[_HOURS[node.hour] - less] if node.hour in _HOURS else hour
        numeral, unit = self._clock(node, hour)
        return [*numeral, *attach(unit, root_of(numeral), "advmod")]

    def _prepositional(self, node: m.Prepositional) -> Said:
        """In the park; by train; three days ago."""
        said = self.phrase(node.object, "accusative")
        if node.bare:
            said = [word for word in said if word.relation != "det"]
        preposition = attach(spell(node.english, "ADP", (node, "preposition")), root_of(said), "case")
        return [*said, *preposition] if node.after else [*preposition, *said]

    def _noun_phrase(self, node: m.NounPhrase, case: Case, negated: m.Clause | None) -> Said:
        """Determiner, adjectives, noun, attribute, relative clause, with 's or of for the possessor."""
        possessive = node.owner is not None or "possessive" in DETERMINERS[node.determiner]
        text = node.noun.owned if possessive else ""
        row = DETERMINERS[node.determiner]
        alone = node.noun.alone and ("capital" in row or not node.adjectives) and row.get("alone", "")
        text = alone.split()[node.plural].replace("|", " ") if alone else text
        text = text or node.noun.numbered * bool(node.label) or english.noun(node.noun, plural=m.english_plural(node))
        origins = ((node, "noun"), (node, "determiner"))[: 1 + bool(alone)]
        described = spell(text, "PRON" if alone else "NOUN", *origins, relation="compound", last=True)
        noun = described[-1]
        for adjective in reversed(node.adjectives):
            text = english.graded(adjective, node.grade)
            text = adjective.with_ein if adjective.with_ein and node.determiner == "ein" else text
            said = spell(text, "ADJ", (node, adjective.key), relation="advmod", last=True)
            comma = [mark(",")] if node.listed and adjective is not node.adjectives[-1] else []
            attach(said, noun, "amod")
            described = [*described, *said] if alone else [*said, *comma, *described]
        if node.label is not None:
            number = self.phrase(node.label, "accusative")
            number[0].origins += ((node, "noun"),) * (text == "-")  # in 1998: im Jahr 1998
            described = number if text == "-" else [*described, *attach(number, noun, "nummod")]
            noun = described[0]
        if _is_ordinal(node):
            described.insert(-1, Word("of", "ADP", ((node, "noun"),), noun, "case"))
        said = [] if alone else self._determiner(node, described[0].text, noun, negated)
        said += described
        if node.attribute is not None and node.attribute.english != "'s":
            said += attach(self._prepositional(node.attribute), noun, "nmod")
        if node.owner is not None and not _takes_s(node.owner):
            of = [Word("of", "ADP", ((node.owner, "determiner"),))]
            said += attach(before(of, self.phrase(node.owner, "accusative"), "case"), noun, "nmod")
        return [*said, *self._relative(node, noun)]

    def _determiner(self, node: m.NounPhrase, following: str, noun: Word, negated: m.Clause | None) -> Said:
        origin = (node, "determiner")
        if node.owner is not None and _takes_s(node.owner):
            return attach(self._possessor(node.owner), noun, "nmod:poss")
        row, in_english = DETERMINERS[node.own or node.determiner], node.noun.in_english
        text = row["english"].split()[m.english_plural(node)].replace("|", " ")
        denied = negated if "indefinite" in m.traits(node) else None
        if denied is not None and denied.verb.exists:
            text = "no"  # there is no milk
        elif in_english == "pair" and node.determiner == "ein" and not node.own:
            text = "a pair of"
        elif text == "-":
            plain = denied is None or denied.predicate is node or denied.verb.object_is in ("generic", "bare")
            text = "the" if in_english == "the" else "" if plain else "any"  # does not play cards; not … any milk
        elif text == "a":
            says_article = any(adjective.with_ein for adjective in node.adjectives)  # another book
            text = "" if says_article else english.article(following)
        elif text == "the" and (node.label or (in_english == "bare" and not _is_ordinal(node))):
            text = ""
        speech, relation = ("PRON", "nmod:poss") if "possessive" in row else ("DET", "det")
        if "numeral" in row:
            speech, relation = "NUM", "nummod"
        return attach(spell(text, speech, origin), noun, relation)

    def _possessor(self, owner: m.Nominal) -> Said:
        """My, Anna's, the children's."""
        if isinstance(owner, m.Pronoun):
            own = DETERMINERS[german.possessive(m.subject_key(owner))]["english"].split()[0]
            return [Word(own, "PRON", ((owner, "pronoun"),))]
        said = self.phrase(owner, "accusative")
        said[-1].text += "'s"
        return said


def _is_ordinal(node: m.NounPhrase) -> bool:
    """Whether this is a day of a month in words: the third of May, but 3 May."""
    return "month" in node.noun.kind_set and any(not entry.english.isdecimal() for entry in node.adjectives)


def _takes_s(owner: m.Nominal) -> bool:
    """Anna's book, the children's; but the book of my parents."""
    if isinstance(owner, m.NounPhrase) and m.english_plural(owner):
        return "person" in m.traits(owner) and not english.noun(owner.noun, plural=True).endswith("s")
    return "person" in m.traits(owner)


ENGLISH = English()
