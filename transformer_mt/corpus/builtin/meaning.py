"""Meaning: the nodes of a derivation, which both languages say. Nodes are compared by identity."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Union

from transformer_mt.corpus.builtin.german import DETERMINERS, NUMERALS, PRONOUNS, Person
from transformer_mt.corpus.builtin.lexicon import CLOSED, Adjective, Adverb, Case, Noun, ProperName, Verb, lexicon

PARTICLES = CLOSED["particles"]
JOINERS = CLOSED["joiners"]
DEGREES: dict[str, str] = CLOSED["degrees"]


@dataclass(eq=False)
class Pronoun:
    """A pronoun of the closed class, by its German nominative: ich, "sie, plural", wer, nichts, das.

    Er and sie are it in English where they stand for a thing.
    """

    key: str
    thing: bool = False


@dataclass(eq=False)
class RelativePronoun:
    """The pronoun of a relative clause."""

    antecedent: "NounPhrase"


@dataclass(eq=False)
class Name:
    """A proper name."""

    name: ProperName


@dataclass(eq=False)
class NounPhrase:
    """Determiner, adjectives, noun, possessor, a phrase that describes it, a relative clause.

    The determiner is a key of the closed class or a numeral, "" for none.
    """

    noun: Noun
    determiner: str = "der"
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    comparative: bool = False
    possessor: "Nominal | None" = None
    attribute: "Prepositional | None" = None
    own: str = ""  # the possessive that English says for the German article: die Hand heben, raise one's hand
    relative: "Relative | None" = None


@dataclass(eq=False)
class Relative:
    """A relative clause; `front` is the part of it that holds the relative pronoun."""

    clause: "Clause"
    front: object


@dataclass(eq=False)
class Both:
    """Several nominals joined by und or oder."""

    parts: "tuple[Nominal, ...]"
    joiner: str = "und"


@dataclass(eq=False)
class Clock:
    """A time of day: acht Uhr, eight o'clock; halb acht, half past seven."""

    hour: str
    half: bool = False


Nominal = Union[Pronoun, RelativePronoun, Name, NounPhrase, Both, Clock]


@dataclass(eq=False)
class Adverbial:
    """An adverb or fixed phrase of the lexicon, perhaps with very or too."""

    adverb: Adverb
    degree: str = ""

    @property
    def slot(self) -> str:
        """Its place in the sentence."""
        return self.adverb.slot


@dataclass(eq=False)
class Prepositional:
    """A preposition of each language and what it governs; `slot` is its place in the sentence."""

    preposition: str
    case: Case
    english: str
    object: Nominal
    slot: str = "place"
    bare: bool = False  # English without a determiner: by train
    after: bool = False  # English behind its object: three days ago


@dataclass(eq=False)
class Quality:
    """An adjective as predicate: müde, sehr müde, größer als …, so groß wie …, zwanzig Jahre alt."""

    adjective: Adjective
    degree: str = ""
    than: Nominal | None = None
    equal: bool = False
    measure: NounPhrase | None = None


Predicate = Union[Quality, Nominal, Adverbial, Prepositional]


@dataclass(eq=False)
class Clause:
    """A verb with its roles and circumstances, and how it is said.

    `tense` names a verb group of the closed classes; `particle` schon, noch, noch nicht …; `simple` asks for the English
    simple present, as in clauses with wenn; `reported` for the tense of what was said.
    """

    verb: Verb
    subject: Nominal | None = None
    object: Nominal | None = None
    recipient: Nominal | None = None
    predicate: Predicate | None = None
    adverbials: list[Adverbial | Prepositional] = field(default_factory=list)
    complement: "Joined | Infinitive | None" = None
    tense: str = "present"
    particle: str = ""
    negated: bool = False
    please: bool = False
    simple: bool = False
    reported: bool = False

    def in_slot(self, *slots: str) -> list[Adverbial | Prepositional]:
        """The adverbials that stand in these slots."""
        return [adverbial for adverbial in self.adverbials if adverbial.slot in slots]

    @property
    def takes_kein(self) -> bool:
        """True where kein says the negation: the object, predicate or fixed noun is indefinite."""
        if not (self.negated or PARTICLES.get(self.particle, {}).get("negates")) or "gern" in self.tense:
            return False
        if fixed_noun(self.verb):
            return True
        direct = self.object if not self.verb.governs else None
        return is_indefinite(direct) or is_indefinite(self.predicate)


@dataclass(eq=False)
class Infinitive:
    """A clause with zu, or behind helfen and in the English of few other verbs without "to"."""

    clause: Clause
    bare: bool = False


@dataclass(eq=False)
class Joined:
    """A clause and the word that joins it to another."""

    joiner: str
    clause: Clause
    english: str = ""  # where it is not the usual translation
    within: bool = False  # und that goes on with the subordinate clause before it


@dataclass(eq=False)
class Sentence:
    """A main clause as statement, question or command, and the clauses joined to it.

    `first` is the part that the German starts with or that is asked for; `before` a subordinate clause that opens the
    sentence; `opening` what stands before a comma, in both languages: Ja; Anna.
    """

    clause: Clause
    form: str = "statement"
    first: object = None
    before: Joined | None = None
    joined: tuple[Joined, ...] = ()
    opening: "str | Name | None" = None


Node = Union[Sentence, Clause, Infinitive, Joined, Nominal, Adverbial, Prepositional, Quality]


def parts(node: object) -> Iterator[object]:
    """The node and every node below it."""
    yield node
    for value in vars(node).values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if type(part).__module__ == __name__ and not isinstance(node, RelativePronoun):
                yield from parts(part)


def german_person(nominal: Nominal) -> Person:
    """The person and number of a German verb whose subject this is."""
    match nominal:
        case Pronoun(key):
            person: Person = PRONOUNS[key].get("person", "3s")
            return person
        case RelativePronoun(antecedent):
            return german_person(antecedent)
        case NounPhrase(plural=True) | Both():
            return "3p"
    return "3s"


def english_person(nominal: Nominal) -> Person:
    """The same for English: everyone is singular, man is you, the police are several."""
    match nominal:
        case Pronoun(key):
            person: Person = PRONOUNS[key].get("english_person", german_person(nominal))
            return person
        case RelativePronoun(antecedent):
            return english_person(antecedent)
        case NounPhrase():
            return "3p" if english_plural(nominal) else "3s"
    return german_person(nominal)


def english_plural(node: NounPhrase) -> bool:
    """Whether the English noun is plural: Polizei is police, Haare are hair, a Hose is a pair of trousers."""
    return {"plural": True, "pair": True, "mass": False}.get(node.noun.in_english, node.plural)


def subject_key(nominal: Nominal | None) -> str:
    """The personal pronoun that could stand for a subject."""
    match nominal:
        case Pronoun(key) if key in PRONOUNS:
            return key if "reflexive" in PRONOUNS[key] else "er"
        case RelativePronoun(antecedent):
            return subject_key(antecedent)
        case NounPhrase(plural=True) | Both():
            return "sie, plural"
        case NounPhrase(noun):
            return {"m": "er", "f": "sie", "n": "es"}[noun.gender]
        case Name(name):
            return {"m": "er", "f": "sie", "n": "es"}[name.gender]
    return "er"


def fixed_noun(verb: Verb) -> Noun | None:
    """The noun among the fixed words of a verb that kein negates: Hunger haben, keinen Hunger haben."""
    found = lexicon().nouns.get(verb.fixed)
    return found if found is not None and found.fixed_noun else None


def relative_of(nominal: object) -> Relative | None:
    """The relative clause of a noun phrase."""
    return nominal.relative if isinstance(nominal, NounPhrase) else None


def joiner_row(key: str) -> dict[str, Any]:
    """What the closed classes say of a joiner; question words join as ob does."""
    if key in JOINERS:
        row: dict[str, Any] = JOINERS[key]
        return row
    return {"english": lexicon().adverbs["question"][key].english, "order": "verb_last", "complement": True}


def ends_subordinate(sentence: Sentence, place: int) -> bool:
    """Whether the joined clause at `place` goes on with the main clause behind a subordinate one, whose comma it takes."""
    before = sentence.joined[place - 1] if place else None
    return (
        before is not None and joiner_row(before.joiner)["order"] == "verb_last" and not sentence.joined[place].within
    )


def taken_up(nominal: Nominal) -> Nominal:
    """The pronoun by which a nominal is taken up."""
    if isinstance(nominal, Pronoun):
        return Pronoun(nominal.key, nominal.thing)
    key = subject_key(nominal)
    named = isinstance(nominal, NounPhrase) and not nominal.noun.kind_set & {"person", "pet"}
    return Pronoun(key, thing=named and key in ("er", "sie", "es"))


def is_light(nominal: object) -> bool:
    """True for the pronouns that stand at the front of the German middle field."""
    return isinstance(nominal, Pronoun) and "new" not in PRONOUNS[nominal.key]


def is_indefinite(nominal: object) -> bool:
    """True for what is negated by kein."""
    if not isinstance(nominal, NounPhrase) or nominal.possessor is not None:
        return False
    return bool(DETERMINERS.get(nominal.determiner, {}).get("indefinite"))


def is_new(nominal: object) -> bool:
    """True for what stands behind manner and place: Er hat in der Stadt drei Bücher gekauft."""
    if isinstance(nominal, Pronoun):
        return "new" in PRONOUNS[nominal.key]
    if isinstance(nominal, Both):
        return all(map(is_new, nominal.parts))
    if not isinstance(nominal, NounPhrase):
        return False
    return is_indefinite(nominal) or nominal.determiner in NUMERALS or "new" in DETERMINERS[nominal.determiner]


def is_person(nominal: Nominal) -> bool:
    """True for people, who are who and whom and take 's."""
    match nominal:
        case NounPhrase(noun):
            return "person" in noun.kind_set
        case Name(name):
            return name.kind == "person"
    return isinstance(nominal, (Pronoun, Both))
