"""The notation for derivations in rows of data: "A; lesen; ein interessant Buch; im Park; past".

A clause is a list of items. Verbs, adverbs, tenses and small words are named by their keys. A nominal is a determiner
(0 for none, own for the subject's possessive), adjectives and a noun in citation form; "+pl" marks the plural, and
<kind> is any noun of a kind. The first nominal is the subject, the next the object or, with to, the recipient. A and B
are people; the second mention is a pronoun. A preposition with a nominal is an adverbial; @kind is any noun of time.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from grammar import german
from grammar import meaning as m
from grammar.german import COORDINATION, DETERMINERS, JOINERS, PARTICLES, PREPOSITIONS, PRONOUNS, WORDS, possessive
from grammar.lexicon import CLOSED, Adjective, Adverb, Choice, Entity, Noun, ProperName, Verb, lexicon

_GROUPS, _DEGREES = CLOSED["verb_groups"], CLOSED["degrees"]
# Lists, at the top level outside brackets: 0 Milch, 0 Brot und 0 Ei+pl.
_OUTSIDE = r"(?![^[]*\])"
_LISTS = {
    joiner: re.compile(rf"{first}(.+?),? {last.strip()}{_OUTSIDE} (.+)")
    for joiner, row in COORDINATION.items()
    for first, last in [row["german"].split("…")]
}
_SIGN = re.compile("([=>])")  # before the English of a preposition
_COMBINED: dict[str, str] = CLOSED["combined"]
_FORMS = ("command", "question")
_FLAGS = {"nicht": "negated", "bitte": "please", "habit": "simple", "reported": "reported"}
SLOTS = {"when": "time", "goal": "goal", "onto": "goal", "origin": "goal", "path": "path"}  # others are places

_NUMBER = re.compile(r"<(\d[^>]*)>|^(?:\d|1[012])(?= Uhr$)")
_HOURS = ("eins", *(WORDS[hour] for hour in range(2, 13)))

# Chooses where a row leaves a choice: a noun or name of a kind that suits the verb, or the text of a time.
Chooser = Callable[[str, Verb | None], Entity | str]


def form_of(text: str) -> str:
    """The form of the sentence whose main clause is `text`."""
    return next((form for form in _FORMS if form in text.split("; ")), "statement")


class Reader:
    """Reads clauses; letters stand for people and things, and become pronouns after their first mention."""

    def __init__(self, choose: Chooser, letters: dict[str, m.Nominal] | None = None, *, owner: str = "er") -> None:
        self._choose = choose
        self._letters = letters or {}
        self._known: dict[str, m.Nominal] = {}
        self._verb: Verb | None = None
        self._girl = False
        self._owner = owner  # the pronoun for the owner of "own" things

    def clause(self, text: str, subject: m.Nominal | None = None) -> m.Clause:
        """The clause written in `text`, with a default subject. Raises `ValueError` if an item is unknown."""
        items = [item for item in text.split("; ") if item not in _FORMS]
        verbs = [lexicon().verbs[item] for item in items if item in lexicon().verbs]
        if not verbs:
            raise ValueError(f"no verb in {text!r}")
        self._verb = min(verbs, key=lambda verb: verb.key in _GROUPS)  # wollen is a full verb only if there is no other
        node = m.Clause(self._verb, subject)
        items.remove(node.verb.key)
        for item in items:
            if ": " not in item:
                self.add(node, item)
        for joiner, _, said in (item.partition(": ") for item in items if ": " in item):
            order = JOINERS[joiner]["order"]  # with lassen, hören and helfen, the object is the agent
            who = None if order == "verb_last" else node.subject if order == "infinitive" else node.object
            node.complete(joiner, self.clause(said.replace(" + ", "; "), who))
        for part in node.adverbials if node.tense.startswith("passive") else ():
            if isinstance(part, m.Prepositional) and part.preposition == "von":
                part.english = "by"
        return node

    def add(self, node: m.Clause, item: str) -> None:
        """Add an item to a clause."""
        first, _, rest = item.partition(" ")
        if item in _FLAGS:
            setattr(node, _FLAGS[item], True)
        elif item in _GROUPS:
            node.tense = _COMBINED.get(f"{node.tense} {item}") or _COMBINED.get(f"{item} {node.tense}", item)
        elif item in PARTICLES:
            node.particle = item
        elif item in CLOSED["spoken"]["words"]:
            node.spoken = item
        elif (adverb := _adverb(_compared(item)[0], node)) is not None:
            _, joiner, other = _compared(item)  # schneller als ich
            node.adverbials += [adverb, *([prepositional(joiner, self.nominal(other))] if other else [])]
        elif (quality := self._quality(item)) is not None:
            node.predicate = quality
        elif item.startswith("@"):
            chosen = self._choose(item[1:], None)  # a noun of time, or a time of times.toml
            if isinstance(chosen, Noun):
                node.adverbials.append(prepositional(chosen.when.split()[0], m.NounPhrase(chosen)))
            for part in chosen.split("; ") if isinstance(chosen, str) else ():
                self.add(node, part)
        elif _SIGN.split(first)[0] in PREPOSITIONS and first != "als" and rest:
            node.adverbials.append(self._behind(first, rest, node.verb))
        elif first == "to":
            node.recipient = self.nominal(rest)
        else:
            self._role(node, self.nominal(item))

    def _behind(self, preposition: str, rest: str, verb: Verb | None = None) -> m.Prepositional:
        """In der Park; an>to mein Eltern: its own English after >, which also marks the case of a goal."""
        preposition, *own = _SIGN.split(preposition)
        adverbs = _adverbs().get(rest)  # bis morgen
        governed = m.Adverbial(adverbs[0]) if adverbs else self.nominal(rest)
        goal = own[:1] == [">"] or (verb is not None and _leads(verb, preposition, governed))
        said = prepositional(preposition, governed, goal=goal)
        return replace(said, english=own[1].replace("|", " "), bare=False) if own else said

    def _role(self, node: m.Clause, nominal: m.Nominal) -> None:
        """Assign the next free role: subject, predicate of to be, object."""
        if node.subject is None:
            node.subject = nominal
            self._owner = m.subject_key(nominal)
            self._girl = isinstance(nominal, m.NounPhrase) and nominal.noun.key == "Mädchen" and not nominal.plural
        elif node.verb.key in ("sein", "werden", "bleiben"):
            node.predicate = nominal
        else:
            if isinstance(nominal, m.NounPhrase) and nominal.determiner == "kein":
                nominal.determiner = "" if nominal.plural or nominal.noun.mass else "ein"
                node.negated = True
            node.object = nominal

    def _quality(self, item: str) -> m.Quality | m.Both | None:
        """Müde; sehr müde; groß als B; so groß wie B; zwanzig Jahr alt; müde, aber glücklich."""
        if (several := _several(item, self._quality)) is not None:
            return several
        if item.endswith(" Jahr alt"):
            return m.Quality(lexicon().adjectives["alt"], measure=self._noun_phrase(self._drawn(item).split()[:-1]))
        said, joiner, other = _compared(item)
        degree, key = _degree(said)
        if key not in _graded():
            return None
        adjective, grade = _graded()[key]
        than = self.nominal(other) if other else None
        return m.Quality(adjective, degree, "comparative" if joiner == "als" else grade, than)

    def nominal(self, text: str) -> m.Nominal:
        """A nominal on its own, or a list of them."""
        if (several := _several(text, self.nominal)) is not None:
            return several
        text, _, inside = text.removesuffix("]").partition(" [")
        if inside:  # der Weg [zu der Bahnhof], der Ende [der Straße]
            phrase, (first, _, rest) = self.nominal(text), inside.partition(" ")
            governs = _SIGN.split(first)[0] in PREPOSITIONS
            role, told = ("attribute", self._behind(first, rest)) if governs else ("possessor", self.nominal(inside))
            setattr(phrase, role, told)
            return phrase
        if text in self._letters:
            thing = self._known.get(text) or self._letters[text]
            self._known[text] = m.taken_up(thing)
            return thing
        if text in PRONOUNS:
            return m.Pronoun(text)
        if text in lexicon().names:
            return m.Name(lexicon().names[text])
        text = self._drawn(text)
        owner, owned, rest = text.partition("'s ")
        if owned and owner not in self._letters:
            return replace(self._noun_phrase(["der", *rest.split()]), possessor=self.nominal(owner))
        if owned:
            return self._noun_phrase([possessive(m.subject_key(self._letters[owner])), *rest.split()])
        words = re.split(r" (?!\()", text)
        if text.startswith("<") and text.endswith(">"):
            named = self._choose(text[1:-1], self._verb)
            assert not isinstance(named, str), text
            return m.called(named, "")
        if words[-1] in _HOURS or (words[-1] == "Uhr" and (words[-2] in _HOURS or words[-2][0].isdecimal())):
            return _clock(words)
        return _called_by(text) if text.replace(" ", "").isdecimal() else self._noun_phrase(words)

    def _drawn(self, text: str) -> str:
        """The text with numbers in place of <2-9>; see `Sampler.copied`."""
        return _NUMBER.sub(lambda found: getattr(self._choose(found[1] or found[0], None), "key", ""), text)

    def _noun_phrase(self, words: list[str]) -> m.NounPhrase:
        nouns, contents = lexicon().nouns, None
        label = _called_by(words.pop()) if len(words) > 2 and words[-1].isdecimal() else None
        for place, word in enumerate(words[:-1]):
            if word in nouns and (nouns[word].holds or nouns[word].of):  # ein Glas Wasser, eine Gruppe von Kindern
                inside = self._noun_phrase(["0", words[-1]])
                contents = m.Prepositional("von" if nouns[word].of else "", "of", inside, "attribute")
                words = words[: place + 1]
        determiner, *middle, last = words
        determiner = {"0": "", "own": possessive(self._owner)}.get(determiner, determiner)
        if determiner not in DETERMINERS:
            raise ValueError(f"{' '.join(words)!r} starts with no determiner")
        key = last.removesuffix("+pl")
        noun = self._choose(key[1:-1], self._verb) if key.startswith("<") else nouns[key]
        if not isinstance(noun, Noun):
            raise ValueError(f"{key} is a name, in {' '.join(words)!r}")
        several = "numeral" in DETERMINERS[determiner] or determiner in ("viele", "alle")
        plural = last != key or noun.plural_only or several
        graded = [_of_sense(word, noun) for word in " ".join(middle).replace(",", " ").split()]
        adjectives, grade = tuple(entry for entry, _ in graded), max([grade for _, grade in graded], default="")
        # das Mädchen und seine Mutter: the girl and her mother
        own = {"man": "dein"}.get(self._owner, "ihr" if self._girl else "") if words[0] == "own" else ""
        listed = "," in " ".join(middle)
        if words[0] == "own" and self._verb and self._verb.reflexive == "dative":  # sich die Zähne putzen
            determiner, own = "der", determiner
        return m.NounPhrase(
            noun, determiner, plural, adjectives, grade, listed, attribute=contents, own=own, label=label
        )


def _several(text: str, read: Callable[[str], object]) -> m.Both | None:
    """The parts of a list, if all of them can be read."""
    for joiner, pattern in _LISTS.items():
        if found := pattern.fullmatch(text):
            parts = [read(part) for part in (*re.split(", " + _OUTSIDE, found[1]), found[2])]
            return None if None in parts else m.Both(tuple(parts), joiner)
    return None


def _called_by(number: str) -> m.Name:
    """A number as a name: Zimmer 214."""
    return m.Name(ProperName(number, {"english": number}))


def _clock(words: list[str]) -> m.Clock:
    """Acht Uhr; acht; Viertel nach acht; 14:30 Uhr; 20 Uhr; ein Uhr is written "eins Uhr"."""
    *lead, hour = words[:-1] if words[-1] == "Uhr" else words
    form = "Uhr" if words[-1] == "Uhr" else " ".join(lead)
    if form == "Uhr" and not hour.isalpha():
        form = "exact" if not hour.isdecimal() else "pm" if int(hour) > 12 else "Uhr"
    return m.Clock("ein" if hour == "eins" and form == "Uhr" else hour, form)


@cache
def _of_sense(word: str, noun: Noun) -> tuple[Adjective, str]:
    """The adjective and its grade, in the sense that suits the noun: klein is small, but little for children."""
    if word[0].isdecimal():  # der 3. Mai
        return Adjective(word, {"english": word.rstrip("."), "indeclinable": True}), ""
    entries, grades = lexicon().adjectives.values(), ("", "comparative", "superlative")
    senses = [(entry, grade) for grade in grades for entry in entries if german.graded(entry, grade) == word]
    return next((sense for sense in senses if noun in lexicon().select(sense[0].suits)), senses[0])


@cache
def _graded() -> dict[str, tuple[Adjective, str]]:
    """The adjectives and their grades as predicates: groß, größer (Menschen), am größten."""
    return {
        form.format(german.graded(entry, grade)) + entry.key.removeprefix(entry.german): (entry, grade)
        for form, grade in (("am {}en", "superlative"), ("{}", "comparative"), ("{}", ""))
        for entry in lexicon().adjectives.values()
    }


def _compared(item: str) -> list[str]:
    """The compared quality, als or wie, and the other side: größer als B, so groß wie B, genauso schnell wie B."""
    said, *other = [item] if item in _adverbs() else re.split(" (als|wie) ", item, maxsplit=1)
    return [re.sub("^so ", "as ", said), *other] if other else [item, "", ""]


def _degree(item: str) -> tuple[str, str]:
    """The degree before an adjective or adverb, and the word itself: sehr müde, ein bisschen später."""
    degree = next((degree for degree in _DEGREES if item.startswith(f"{degree} ")), "")
    return degree, item.removeprefix(degree).strip()


def _leads(verb: Verb, preposition: str, governed: m.Predicate) -> bool:
    """Whether the preposition marks a goal: nach Berlin; ins Kino, if the verb takes a goal."""
    if isinstance(governed, m.NounPhrase):
        goal = (governed.noun.spot if verb.onto else governed.noun.goal).partition(" ")[0]
    else:
        goal = "in" if isinstance(governed, m.Name) and governed.name.article else "nach"
    return bool(verb.goal or verb.onto) and preposition in ("zu", goal)


def prepositional(preposition: str, governed: m.Nominal | m.Adverbial, *, goal: bool = False) -> m.Prepositional:
    """A preposition with its nominal, translated as the noun requires."""
    if isinstance(governed, m.Both):  # in der Küche und der Flur, as in der Küche
        return replace(prepositional(preposition, governed.parts[0], goal=goal), object=governed)
    row = PREPOSITIONS[preposition]
    said, _, slot = Choice(*row.get("of", ()))(m.kinds_of(governed)).rpartition(" ")
    if said:
        return m.Prepositional(preposition, said, governed, slot, after=said == "ago")
    if isinstance(governed, m.NounPhrase):
        noun, plain = governed.noun, governed.determiner == "der" and not governed.adjectives
        for role in ("when", "goal", "spot") if goal else ("when", "place", "spot", "path", "origin"):
            own, _, english = getattr(noun, role).partition(" | ")[0].partition(" ")
            if own == preposition:  # bare: at school, to work
                bare = plain and role in noun.bare.split()
                slot = SLOTS.get(role, "goal" if goal else "place")
                return m.Prepositional(preposition, english, governed, slot, bare)
        if preposition == "mit" and "ride" in noun.kind_set and not governed.adjectives:
            return m.Prepositional(preposition, "by", governed, "company", bare=True)
    if goal or (preposition == "nach" and isinstance(governed, m.Name)):
        return m.Prepositional(preposition, "to", governed, "goal")
    return m.Prepositional(preposition, row["english"], governed, row.get("slot", "place"))


def _adverb(item: str, node: m.Clause) -> m.Adverbial | None:
    """The adverb with this key, with an optional degree; among several slots, manner if the verb takes it."""
    degree, key = _degree(item) if item not in _adverbs() else ("", item)
    found = _adverbs().get(key, [])
    manner = [entry for entry in found if entry.slot == "manner" and key in node.verb.manner.split()]
    if not found or (key in _graded() and not manner and node.verb.infinitive in ("sein", "werden")):
        return None
    return m.Adverbial((manner or found)[0], degree)


@cache
def _adverbs() -> dict[str, list[Adverb]]:
    found: dict[str, list[Adverb]] = {}
    for entry in (entry for group in lexicon().adverbs.values() for entry in group.values()):
        found.setdefault(entry.key, []).append(entry)
    return found
