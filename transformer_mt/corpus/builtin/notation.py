"""The notation in which rows of data write derivations: "A; lesen; ein interessant Buch; im Park; past".

A clause is a list of items. Verbs, adverbs, tenses and small words are named by their keys; a nominal is a determiner (0
for none, own for the subject's possessive), adjectives and a noun in citation form, "+pl" for the plural, <kind> for any
noun of a kind. The first nominal is the subject, the next the object or, with to, the recipient; A and B are people, at
the second mention a pronoun. A preposition and a nominal are an adverbial.
"""

from collections.abc import Callable
from functools import cache

from transformer_mt.corpus.builtin.german import DETERMINERS, NUMERALS, PRONOUNS
from transformer_mt.corpus.builtin.lexicon import CLOSED, Adjective, Adverb, Case, Entity, Noun, Verb, lexicon
from transformer_mt.corpus.builtin.meaning import (
    PARTICLES,
    Adverbial,
    Clause,
    Clock,
    Name,
    Nominal,
    NounPhrase,
    Prepositional,
    Pronoun,
    Quality,
    subject_key,
    taken_up,
)

_PREPOSITIONS = CLOSED["prepositions"]
_DEGREES = CLOSED["degrees"]
_GROUPS = CLOSED["verb_groups"]
_PAST_MODALS = {"können": "konnte", "müssen": "musste", "wollen": "wollte", "dürfen": "durfte", "sollen": "sollte"}

# What chooses where a row leaves a choice: a noun of a kind, a person for a letter, a place for a verb.
Chooser = Callable[[str, Verb | None], Entity]


class Reader:
    """Reads clauses; `people` are those that the letters stand for, and are pronouns once they have been mentioned."""

    def __init__(self, choose: Chooser, letters: dict[str, Nominal] | None = None) -> None:
        self._choose = choose
        self._letters = letters or {}
        self._verb: Verb | None = None
        self._known: dict[str, Nominal] = {}
        self.owner = "er"

    def clause(self, text: str) -> Clause:
        """The clause that `text` writes. Raises `ValueError` for an item that is none."""
        items = [item.strip() for item in text.split(";")]
        verbs = lexicon().verbs
        verb = next((verbs[item] for item in items if item in verbs and item not in _GROUPS), None)
        verb = verb or next((verbs[item] for item in items if item in verbs), None)
        if verb is None:
            raise ValueError(f"no verb in {text!r}")
        node = Clause(verb)
        self._verb = verb
        items.remove(verb.key)
        for item in items:
            self._add(node, item)
        return node

    def _add(self, node: Clause, item: str) -> None:
        if item == "nicht":
            node.negated = True
        elif item in ("könnte", "würde") or (item in _GROUPS and item not in ("gern",)):
            node.tense = _combined(node.tense, item)
        elif item == "gern":
            node.tense = "würde gern" if node.tense == "würde" else "gern"
        elif item == "bitte":
            node.please = True
        elif item in ("habit", "reported"):
            node.simple, node.reported = node.simple or item == "habit", node.reported or item == "reported"
        elif item.startswith("@"):
            node.adverbials.append(self._circumstance(node, item))
        elif item in PARTICLES:
            node.particle = item
        elif (adverb := _adverb(item, node)) is not None:
            node.adverbials.append(adverb)
        elif (quality := self._quality(item)) is not None:
            node.predicate = quality
        elif item.partition(" ")[0] in _PREPOSITIONS and " " in item:
            node.adverbials.append(self._prepositional(node, item))
        elif item.startswith("to "):
            node.recipient = self.nominal(item[3:])
        else:
            self._role(node, self.nominal(item))

    def _role(self, node: Clause, nominal: Nominal) -> None:
        """The next role that is free: subject, predicate of to be, object."""
        if node.subject is None:
            node.subject = nominal
            self.owner = subject_key(nominal)
        elif node.verb.key in ("sein", "werden", "bleiben"):
            node.predicate = nominal
        else:
            if isinstance(nominal, NounPhrase) and nominal.determiner == "kein":
                nominal.determiner = "" if nominal.plural or nominal.noun.mass else "ein"
                node.negated = True
            node.object = nominal

    def _quality(self, item: str) -> Quality | None:
        adjectives = lexicon().adjectives
        degree, _, rest = item.partition(" ")
        if item in adjectives:
            return Quality(adjectives[item])
        if degree in _DEGREES and rest in adjectives:
            return Quality(adjectives[rest], degree)
        if " als " in item and item.partition(" als ")[0] in adjectives:
            adjective, _, other = item.partition(" als ")
            return Quality(adjectives[adjective], than=self.nominal(other))
        if item.startswith("so ") and " wie " in item:
            adjective, _, other = item.removeprefix("so ").partition(" wie ")
            return Quality(adjectives[adjective], than=self.nominal(other), equal=True)
        if item.endswith(" Jahr alt"):
            return Quality(adjectives["alt"], measure=self._noun_phrase(item.split()[:-1]))
        return None

    def nominal(self, text: str) -> Nominal:
        """A nominal by itself."""
        if text in self._letters:
            thing = self._known.get(text) or self._letters[text]
            self._known[text] = taken_up(thing)
            return thing
        if text in PRONOUNS:
            return Pronoun(text)
        if text in lexicon().names:
            return Name(lexicon().names[text])
        owner, owned, rest = text.partition("'s ")
        if owned:
            return self._noun_phrase([PRONOUNS[subject_key(self._letters[owner])].get("own", "sein"), *rest.split()])
        words = text.split()
        if len(words) == 1 and text.startswith("<"):
            entity = self._choose(text[1:-1], self._verb)
            return NounPhrase(entity, "") if isinstance(entity, Noun) else Name(entity)
        if words[0] == "halb" or (words[-1] == "Uhr" and (words[0].isdecimal() or words[0] in NUMERALS)):
            hour = words[1] if words[0] == "halb" else words[0]
            if hour.isdecimal():
                hour = list(NUMERALS)[int(hour) - 2]
            return Clock(hour, half=words[0] == "halb")
        return self._noun_phrase(words)

    def _noun_phrase(self, words: list[str]) -> NounPhrase:
        contents: Prepositional | None = None
        for place, word in enumerate(words[:-1]):
            noun = lexicon().nouns.get(word)
            if noun is not None and (noun.holds or noun.of):  # ein Glas Wasser, eine Gruppe von Kindern
                inside = self._noun_phrase(["0", words[-1]])
                contents = Prepositional("von" if noun.of else "", "dative", "of", inside, "attribute")
                words = words[: place + 1]
        determiner, *middle, last = words
        if determiner == "zu":
            determiner, *middle = "zu viel", *middle[1:]
        determiner = {"0": "", "own": PRONOUNS[self.owner].get("own", "sein")}.get(determiner, determiner)
        if determiner not in DETERMINERS and determiner not in NUMERALS:
            raise ValueError(f"{' '.join(words)!r} starts with no determiner")
        key = last.removesuffix("+pl")
        chosen = self._choose(key[1:-1], self._verb) if key.startswith("<") else lexicon().nouns[key]
        if not isinstance(chosen, Noun):
            raise ValueError(f"{key} is a name, in {' '.join(words)!r}")
        noun = chosen
        adjectives: tuple[Adjective, ...] = tuple(lexicon().adjectives[word] for word in middle)
        plural = last.endswith("+pl") or noun.plural_only or determiner in NUMERALS or determiner in ("viele", "alle")
        return NounPhrase(noun, determiner, plural, adjectives, attribute=contents)

    def _prepositional(self, node: Clause, item: str) -> Prepositional:
        preposition, _, rest = item.partition(" ")
        governed = self.nominal(rest)
        noun = governed.noun if isinstance(governed, NounPhrase) else None
        return prepositional(preposition, governed, goal=bool(node.verb.goal) and _leads(preposition, noun))

    def _circumstance(self, node: Clause, item: str) -> Prepositional:
        """@clock, @weekday, @month, @place, @goal: any that suits."""
        role = item[1:]
        if role == "clock":
            return prepositional("um", Clock(self._choose_hour()))
        entity = self._choose(getattr(node.verb, role) if role in ("place", "goal") else role, None)
        if not isinstance(entity, Noun):
            return prepositional("nach" if role == "goal" else "in", Name(entity), goal=role == "goal")
        preposition = getattr(entity, role if role in ("place", "goal") else "when").split()[0]
        return prepositional(preposition, NounPhrase(entity), goal=role == "goal")

    def _choose_hour(self) -> str:
        return next(key for key, english in NUMERALS.items() if english == "eight")


def _leads(preposition: str, noun: Noun | None) -> bool:
    return preposition in ("zu", "nach") or (noun is not None and noun.goal.split()[:1] == [preposition])


def prepositional(preposition: str, governed: Nominal, *, goal: bool = False) -> Prepositional:
    """A preposition with what it governs, translated as the noun wants it."""
    row = _PREPOSITIONS[preposition]
    case: Case = row["goal"] if goal and "goal" in row else row["case"]
    along = isinstance(governed, NounPhrase) and governed.noun.path.startswith(preposition + " ")
    if along:
        case = "accusative"
    noun = governed.noun if isinstance(governed, NounPhrase) else None
    english: str = row["english"]
    slot = {"mit": "company", "für": "company", "ohne": "company", "wegen": "reason"}.get(preposition, "place")
    if isinstance(governed, Clock):
        return Prepositional(preposition, case, "at", governed, "time")
    if isinstance(governed, NounPhrase) and noun is not None:
        for role in ("when", "goal") if goal else ("when", "place", "spot", "path", "origin"):
            german, _, translated = getattr(noun, role).partition(" | ")[0].partition(" ")
            if german == preposition:
                slot = {"when": "time", "goal": "goal", "path": "path", "origin": "goal"}.get(role, "place")
                return Prepositional(preposition, case, translated, governed, slot, _is_bare(governed, role))
        if preposition == "mit" and "ride" in noun.kind_set and not governed.adjectives:
            return Prepositional(preposition, case, "by", governed, slot, bare=True)
    return Prepositional(preposition, case, "to" if goal else english, governed, "goal" if goal else slot)


def _is_bare(phrase: NounPhrase, role: str) -> bool:
    """Whether English has no article where German has: at school, to work."""
    plain = phrase.determiner == "der" and not phrase.adjectives
    return plain and role in phrase.noun.bare.split()


def _combined(tense: str, item: str) -> str:
    """Past and a modal verb together are the modal verb's preterite."""
    for one, other in ((tense, item), (item, tense)):
        if one == "past" and other in _PAST_MODALS:
            return _PAST_MODALS[other]
        if one == "past" and other == "progressive":
            return "past progressive"
    return "würde gern" if tense == "gern" and item == "würde" else item


def _adverb(item: str, node: Clause) -> Adverbial | None:
    """The adverb of that key, perhaps with a degree; of those in several slots, manner where the verb takes it."""
    degree, _, key = item.partition(" ")
    if item in _adverbs() or degree not in _DEGREES:
        degree, key = "", item
    found = _adverbs().get(key, ())
    manner = [entry for entry in found if entry.slot == "manner" and key in node.verb.manner.split()]
    if not found or (key in lexicon().adjectives and not manner and node.verb.infinitive in ("sein", "werden")):
        return None
    return Adverbial((manner or list(found))[0], degree)


@cache
def _adverbs() -> dict[str, tuple[Adverb, ...]]:
    found: dict[str, tuple[Adverb, ...]] = {}
    for group in lexicon().adverbs.values():
        for key, entry in group.items():
            found[key] = (*found.get(key, ()), entry)
    return found
