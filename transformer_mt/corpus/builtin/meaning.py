"""Meaning: the nodes of a derivation, which both languages say, and what one can tell of them."""

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Any, dataclass_transform

from transformer_mt.corpus.builtin.german import (
    DETERMINERS,
    JOINERS,
    PARTICLES,
    PREPOSITIONS,
    PRONOUNS,
    Person,
    has_preterite,
)
from transformer_mt.corpus.builtin.lexicon import Adjective, Adverb, Case, Entity, Noun, ProperName, Verb, lexicon

_THIRD_PERSON = {"m": "er", "f": "sie", "n": "es"}


@dataclass_transform(eq_default=False)
class Node:
    """A part of a derivation, a data class; nodes are compared by identity."""

    def __init_subclass__(cls) -> None:
        dataclass(eq=False)(cls)


# ---- nominals


class Pronoun(Node):
    """A pronoun of the closed class, by its German nominative: ich, "sie, plural", wer, nichts, das."""

    key: str
    thing: bool = False  # er and sie are it in English


class RelativePronoun(Node):
    """The pronoun of a relative clause."""

    antecedent: "NounPhrase"


class Name(Node):
    """A proper name."""

    name: ProperName


class NounPhrase(Node):
    """A noun and what stands with it; the determiner is a key of the closed class or a numeral, "" for none."""

    noun: Noun
    determiner: str = "der"
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    comparative: bool = False
    possessor: "Nominal | None" = None
    attribute: "Prepositional | None" = None
    own: str = ""  # the possessive that English says for the German article: die Hand heben, raise one's hand
    relative: "Relative | None" = None


class Relative(Node):
    """A relative clause; `front` is the part of it that holds the relative pronoun."""

    clause: "Clause"
    front: object


class Both(Node):
    """Two nominals joined by und or oder."""

    parts: "tuple[Nominal, Nominal]"
    joiner: str = "und"


class Clock(Node):
    """A time of day: acht Uhr, eight o'clock; halb acht, half past seven."""

    hour: str
    half: bool = False


Nominal = Pronoun | RelativePronoun | Name | NounPhrase | Both | Clock

# ---- what is said of them, and circumstances


class Adverbial(Node):
    """An adverb or fixed phrase of the lexicon, perhaps with very or too."""

    adverb: Adverb
    degree: str = ""

    @property
    def slot(self) -> str:
        """Its place in the sentence."""
        return self.adverb.slot


class Prepositional(Node):
    """A preposition of each language and what it governs; `slot` is its place in the sentence."""

    preposition: str
    english: str
    object: Nominal
    slot: str = "place"
    bare: bool = False  # English without a determiner: by train
    after: bool = False  # English behind its object: three days ago

    @property
    def case(self) -> Case:
        """The German case: of a goal or path in den Park, where the preposition has two."""
        row = PREPOSITIONS[self.preposition]
        case: Case = row.get("goal", row["case"]) if self.slot in ("goal", "path") else row["case"]
        return case


class Quality(Node):
    """An adjective as predicate: müde, sehr müde, größer als …, so groß wie …, zwanzig Jahre alt."""

    adjective: Adjective
    degree: str = ""
    than: Nominal | None = None
    equal: bool = False
    measure: NounPhrase | None = None


Predicate = Quality | Nominal | Adverbial | Prepositional

# ---- clauses


class Clause(Node):
    """A verb with its roles and circumstances, and how it is said."""

    verb: Verb
    subject: Nominal | None = None
    object: Nominal | None = None
    recipient: Nominal | None = None
    predicate: Predicate | None = None
    adverbials: list[Adverbial | Prepositional] = field(default_factory=list)
    complement: "Joined | None" = None
    tense: str = "present"  # a verb group of the closed classes
    particle: str = ""  # schon, noch, noch nicht …
    negated: bool = False
    please: bool = False
    simple: bool = False  # in the English simple present, as after wenn
    reported: bool = False  # in the tense of what was said

    def in_slot(self, *slots: str) -> list[Adverbial | Prepositional]:
        """The adverbials that stand in these slots."""
        return [adverbial for adverbial in self.adverbials if adverbial.slot in slots]

    @property
    def small_word(self) -> dict[str, Any]:
        """What the closed classes say of its particle."""
        return PARTICLES.get(self.particle, {})

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
        return fixed_noun(self.verb) is not None or "indefinite" in traits(direct) | traits(self.predicate)

    @property
    def english_subject(self) -> Nominal | None:
        """The subject; where the two languages see it the other way round (gefallen, like), the German object."""
        return self.object if self.verb.swap else self.subject

    @property
    def english_object(self) -> Nominal | None:
        """The object, likewise."""
        return self.subject if self.verb.swap else self.object


class Joined(Node):
    """A clause and what joins it to another: a word, or zu and bare for an infinitive with and without "to"."""

    joiner: str
    clause: Clause
    english: str = ""  # where it is not the usual translation
    within: bool = False  # und that goes on with the subordinate clause before it

    @property
    def row(self) -> dict[str, Any]:
        """What the closed classes say of the joiner; question words join as ob does."""
        row, english = JOINERS.get(self.joiner), self.english
        if row is None:
            row, english = JOINERS["ob"], lexicon().adverbs["question"][self.joiner].english
        return row | {"english": english} if english else row


class Sentence(Node):
    """A main clause as statement, question or command, and the clauses joined to it."""

    clause: Clause
    form: str = "statement"
    first: object = None  # the part that the German starts with or that is asked for
    before: Joined | None = None  # a subordinate clause that opens the sentence
    joined: tuple[Joined, ...] = ()
    opening: str | Name | None = None  # what stands before a comma, in both languages: Ja; Anna

    def resumes(self, place: int) -> bool:
        """True if the clause joined at `place` resumes the main clause behind a subordinate one."""
        orders = [joined.row["order"] for joined in self.joined[: place + 1]]
        return orders[-2:-1] == ["verb_last"] != orders[-1:] and not self.joined[place].within


def parts(node: Node) -> Iterator[Node]:
    """The node and every node below it."""
    yield node
    for value in vars(node).values() if not isinstance(node, RelativePronoun) else ():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, Node):
                yield from parts(part)


def facts(node: Clause, order: str) -> Set[str]:
    """What the choices of parts.toml may ask of a clause that is said in an order."""
    verb, particle, thing = node.verb, node.small_word, node.english_object
    adverbs = [part.adverb for part in node.adverbials if isinstance(part, Adverbial)]
    phrases = [part for part in node.adverbials if isinstance(part, Prepositional)]
    ahead = any(adverb.tenses == {"future"} for adverb in adverbs)
    clock = any(isinstance(part.object, Clock) for part in phrases) or any(word.key == "wann" for word in adverbs)
    follows = {
        "nonfinite": order.endswith("infinitive"),
        "nicht": node.says_nicht,
        "not": node.says_nicht or "negative" in traits(thing),
        "kein": node.takes_kein,
        "gladly": "gern" in node.tense,
        "please": node.please,
        "particle": node.particle,
        "exists": verb.key == "geben (es)",
        "impersonal": getattr(node.subject, "key", "") == "es" and not verb.subject,
        "fixed_noun": fixed_noun(verb),
        "wish": verb.infinitive == "möchten",
        "preterite": has_preterite(verb),
        "so_far": "perfect" in particle or any(adverb.perfect for adverb in adverbs),
        "since": any("perfect" in PREPOSITIONS[part.preposition] for part in phrases),
        "be": verb.english.split()[0] == "be",
        "will": verb.ahead and ahead,
        "timetable": verb.timetable and (ahead or clock),
        "repeated": any(adverb.tenses & {"habit", "repeated"} for adverb in adverbs),
        "nothing": node.takes_kein and getattr(node.object, "determiner", "") != "ein",
        "usual": node.simple,
    }
    found = {order, node.tense, verb.case, verb.aspect, node.particle.replace(" ", "_")} | verb.traits
    found.update((f"particle.{key}" for key in particle), (name for name, value in follows.items() if value))
    for role in ("subject", "object", "recipient", "english_subject", "english_object"):
        if (nominal := getattr(node, role)) is not None:
            told = (getattr(nominal, "key", ""), type(nominal).__name__, *traits(nominal) & {"light", "new"})
            found.update((role,), (f"{role}.{trait}" for trait in told))
    return found


# ---- nominals of nouns and names


def called(entity: Entity, determiner: str = "der") -> Nominal:
    """The nominal that names the entity: Anna, der Hund, die Eltern."""
    return Name(entity) if isinstance(entity, ProperName) else NounPhrase(entity, determiner, entity.plural_only)


def entity_of(node: object) -> Entity | None:
    """The noun or the name that a part of a derivation has."""
    return node.noun if isinstance(node, NounPhrase) else node.name if isinstance(node, Name) else None


# ---- what one can tell of a nominal


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


def person(nominal: Nominal, language: str) -> Person:
    """The person and number of a verb whose subject this is; the police are several in English."""
    nominal = nominal.antecedent if isinstance(nominal, RelativePronoun) else nominal
    if isinstance(nominal, NounPhrase) and language == "english":
        return "3p" if english_plural(nominal) else "3s"
    row = PRONOUNS[nominal.key if isinstance(nominal, Pronoun) else subject_key(nominal)]
    return row.get(f"{language}_person") or row.get("person", "3s")


def english_plural(node: NounPhrase) -> bool:
    """Whether the English noun is plural: Polizei is police, Haare are hair, a Hose is a pair of trousers."""
    return {"plural": True, "pair": True, "mass": False}.get(node.noun.in_english, node.plural)


def taken_up(nominal: Nominal) -> Pronoun:
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


def traits(nominal: object) -> Set[str]:
    """What the lexicon and the closed classes say of it: person, pet … of a noun; light, new, indefinite of its words.

    Light pronouns stand at the front of the German middle field; what is new stands behind manner and place: Er hat in
    der Stadt drei Bücher gekauft. What is indefinite is negated by kein.
    """
    match nominal:
        case Pronoun(key):
            return PRONOUNS[key].keys() | {"person"}
        case NounPhrase(noun, determiner, possessor=owner):
            return _kinds(noun) | (DETERMINERS[determiner].keys() if owner is None else frozenset())
        case Both((first, second)):
            return traits(first) & traits(second) | {"person"}
    return _kinds(entity) if (entity := entity_of(nominal)) else frozenset()


def _kinds(entity: Entity) -> Set[str]:
    """The kinds of a noun or name; whoever stands in a picture or has a profession is a person in every sentence."""
    people = {"person"} if entity.kind_set & {"figure", "profession"} else frozenset()
    return entity.kind_set | people
