"""Meaning: the nodes of a derivation, which both languages say. Nodes are compared by identity."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from transformer_mt.corpus.builtin.german import DETERMINERS, NUMERALS, PRONOUNS, Person
from transformer_mt.corpus.builtin.lexicon import CLOSED, Adjective, Adverb, Case, Noun, ProperName, Verb, lexicon

PARTICLES = CLOSED["particles"]
JOINERS = CLOSED["joiners"]
_THIRD_PERSON = {"m": "er", "f": "sie", "n": "es"}


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


Nominal = Pronoun | RelativePronoun | Name | NounPhrase | Both | Clock


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


Predicate = Quality | Nominal | Adverbial | Prepositional


@dataclass(eq=False)
class Clause:
    """A verb with its roles and circumstances, and how it is said.

    `tense` names a verb group of the closed classes; `particle` is schon, noch, noch nicht …; `simple` asks for the
    English simple present, as in clauses with wenn; `reported` for the tense of what was said.
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
    def small_word(self) -> dict[str, Any]:
        """What the closed classes say of its particle."""
        row: dict[str, Any] = PARTICLES.get(self.particle, {})
        return row

    @property
    def says_nicht(self) -> bool:
        """True if it is negated, by itself or by its particle."""
        return self.negated or "negates" in self.small_word

    @property
    def takes_kein(self) -> bool:
        """True where kein says the negation: the object, predicate or fixed noun is indefinite."""
        if not self.says_nicht or "gern" in self.tense:
            return False
        direct = self.object if not self.verb.governs else None
        return fixed_noun(self.verb) is not None or is_indefinite(direct) or is_indefinite(self.predicate)

    @property
    def impersonal(self) -> bool:
        """True where es stands for nothing: Es regnet."""
        return isinstance(self.subject, Pronoun) and self.subject.key == "es" and self.verb.subject == ""

    @property
    def english_subject(self) -> Nominal | None:
        """The subject; where the two languages see it the other way round (gefallen, like), the German object."""
        return self.object if self.verb.swap else self.subject

    @property
    def english_object(self) -> Nominal | None:
        """The object, likewise."""
        return self.subject if self.verb.swap else self.object


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

    @property
    def row(self) -> dict[str, Any]:
        """What the closed classes say of the joiner; question words join as ob does."""
        english = self.english
        if self.joiner not in JOINERS:
            english = lexicon().adverbs["question"][self.joiner].english
        row: dict[str, Any] = JOINERS.get(self.joiner, JOINERS["ob"])
        return row | {"english": english} if english else row


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

    def resumes(self, place: int) -> bool:
        """True if the clause joined at `place` resumes the main clause behind a subordinate one."""
        subordinate = place and self.joined[place - 1].row["order"] == "verb_last"
        return bool(subordinate) and not self.joined[place].within


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
        case Pronoun(key):
            return key if "reflexive" in PRONOUNS[key] else "er"
        case RelativePronoun(antecedent):
            return subject_key(antecedent)
        case NounPhrase(plural=True) | Both():
            return "sie, plural"
        case NounPhrase(named) | Name(named):
            return _THIRD_PERSON[named.gender]
    return "er"


def taken_up(nominal: Nominal) -> Nominal:
    """The pronoun by which a nominal is taken up."""
    if isinstance(nominal, Pronoun):
        return Pronoun(nominal.key, nominal.thing)
    key = subject_key(nominal)
    thing = isinstance(nominal, NounPhrase) and not nominal.noun.kind_set & {"person", "pet"}
    return Pronoun(key, thing and key != "sie, plural")


def fixed_noun(verb: Verb) -> Noun | None:
    """The noun among the fixed words of a verb that kein negates: Hunger haben, keinen Hunger haben."""
    found = lexicon().nouns.get(verb.fixed)
    return found if found is not None and found.fixed_noun else None


def relative_of(nominal: object) -> Relative | None:
    """The relative clause of a noun phrase."""
    return nominal.relative if isinstance(nominal, NounPhrase) else None


def is_light(nominal: object) -> bool:
    """True for the pronouns that stand at the front of the German middle field."""
    return isinstance(nominal, Pronoun) and "new" not in PRONOUNS[nominal.key]


def is_indefinite(nominal: object) -> bool:
    """True for what is negated by kein."""
    if not isinstance(nominal, NounPhrase) or nominal.possessor is not None:
        return False
    return "indefinite" in DETERMINERS.get(nominal.determiner, ())


def is_new(nominal: object) -> bool:
    """True for what stands behind manner and place: Er hat in der Stadt drei Bücher gekauft."""
    match nominal:
        case Pronoun(key):
            return "new" in PRONOUNS[key]
        case Both(parts):
            return all(map(is_new, parts))
        case NounPhrase(determiner=key):
            return is_indefinite(nominal) or key in NUMERALS or "new" in DETERMINERS[key]
    return False


def is_person(nominal: Nominal) -> bool:
    """True for people, who are who and whom and take 's."""
    match nominal:
        case NounPhrase(noun):
            return "person" in noun.kind_set
        case Name(name):
            return name.kind == "person"
    return isinstance(nominal, (Pronoun, Both))
