"""Meaning: the nodes of a derivation, which both languages realise, and their properties."""

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, dataclass_transform

from grammar.german import COORDINATION, DETERMINERS, JOINERS, PARTICLES, PREPOSITIONS, PRONOUNS, Person
from grammar.lexicon import Adjective, Adverb, Case, Entity, Noun, ProperName, Verb, lexicon

# Types of fields that are not nodes.
_LEAVES = (str, bool, Verb, Noun, ProperName, Adverb, Adjective, tuple[Adjective, ...])
# The orders of infinitive complements; clauses with um, ohne, statt are circumstances.
INFINITIVES = ("infinitive", "bare_infinitive", "plain_infinitive")
# Attributes of the parts of a clause, and their values if the clause asks for the part.
_ASKED_BY = ("key", "determiner", "degree", "slot")
_ASKING = {"wer", "was", "welcher", "wie_viele", "wie_viel", "wie", "question"}
_THIRD_PERSON = {"m": "er", "f": "sie", "n": "es"}
_TOGETHER = {"ich": "wir", "wir": "wir", "du": "ihr", "ihr": "ihr", "Sie": "Sie"}  # with others: Anna und ich, wir


@dataclass_transform(eq_default=False)
class Node:
    """A part of a derivation, a data class; nodes are compared by identity."""

    below: ClassVar[tuple[str, ...]]  # the fields that hold other nodes

    def __init_subclass__(cls) -> None:
        cls.below = tuple(name for name, kind in cls.__annotations__.items() if kind not in _LEAVES)
        dataclass(eq=False)(cls)


# ---- nominals


class Pronoun(Node):
    """A pronoun of the closed class, by its German nominative: ich, "sie, plural", wer, nichts, das."""

    key: str
    english: str = ""  # the key of its English, if different: es for things; sie, plural for glasses


class RelativePronoun(Node):
    """The pronoun of a relative clause."""

    antecedent: "NounPhrase"


class Name(Node):
    """A proper name."""

    name: ProperName


class NounPhrase(Node):
    """A noun and its modifiers; the determiner is a key of the closed class or a numeral, "" for none."""

    noun: Noun
    determiner: str = "der"
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    grade: str = ""  # of its adjectives: comparative, superlative
    listed: bool = False  # a comma between the adjectives: ein großes, helles Zimmer
    possessor: "Nominal | None" = None
    attribute: "Prepositional | None" = None
    own: str = ""  # the English possessive for a German article: die Hand heben, raise one's hand
    relative: "Relative | None" = None
    label: Name | None = None  # Zimmer 214

    @property
    def owner(self) -> Any:
        """The English possessor; das Auto von meinem Bruder is my brother's car, too."""
        return self.attribute.object if self.attribute and self.attribute.english == "'s" else self.possessor


class Relative(Node):
    """A relative clause; `front` is its part with the relative pronoun."""

    clause: "Clause"
    front: object


class Both(Node):
    """Nominals or adjectives joined by a row of [coordination]: Brot und Käse; müde, aber glücklich."""

    parts: tuple[Any, ...]
    joiner: str = "und"


class Clock(Node):
    """A time of day: acht Uhr, eight o'clock; halb acht, half past seven; `form` is a row of the closed classes."""

    hour: str
    form: str = "Uhr"


Nominal = Pronoun | RelativePronoun | Name | NounPhrase | Both | Clock

# ---- predicates and circumstances


class Adverbial(Node):
    """An adverb or fixed phrase of the lexicon, with an optional degree such as very or too."""

    adverb: Adverb
    degree: str = ""

    @property
    def slot(self) -> str:
        """Its place in the sentence."""
        return self.adverb.slot

    @property
    def facts(self) -> Set[str]:
        """The keys of parts.toml for its clause."""
        return self.adverb.facts


class Prepositional(Node):
    """A preposition of each language and its object; `slot` is its place in the sentence."""

    preposition: str
    english: str
    object: "Nominal | Adverbial"  # bis Freitag, bis morgen
    slot: str = "place"
    bare: bool = False  # English without a determiner: by train
    after: bool = False  # English after its object: three days ago

    @property
    def case(self) -> Case:
        """The German case; the accusative for a goal or path (in den Park) if the preposition takes two."""
        row = PREPOSITIONS[self.preposition]
        case: Case = row.get("goal", row["case"]) if self.slot in ("goal", "path") else row["case"]
        return case

    @property
    def facts(self) -> Set[str]:
        """The keys of parts.toml for its clause."""
        kinds = {f"{self.preposition}_{kind}" for kind in ("", *kinds_of(self.object))}
        return {"since"} if "perfect" in PREPOSITIONS[self.preposition] else kinds | {type(self.object).__name__}


class Quality(Node):
    """An adjective as predicate: müde, sehr müde, größer als …, am größten, so groß wie …, zwanzig Jahre alt."""

    adjective: Adjective
    degree: str = ""
    grade: str = ""  # comparative, superlative
    than: Nominal | None = None
    measure: NounPhrase | None = None


Predicate = Quality | Nominal | Adverbial | Prepositional

# ---- clauses


class Clause(Node):
    """A verb with its roles and circumstances, and its tense, polarity and style."""

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
    reported: bool = False  # in the tense of reported speech
    spoken: str = ""  # ja, doch, mal, denn: not expressed in English

    def in_slot(self, *slots: str) -> list[Adverbial | Prepositional]:
        """The adverbials in these slots."""
        return [adverbial for adverbial in self.adverbials if adverbial.slot in slots]

    def complete(self, joiner: str, clause: "Clause") -> None:
        """Set its complement clause; zu becomes -ing after some verbs."""
        self.complement = Joined("ing" if joiner == "zu" and self.verb.gerund else joiner, clause)

    @property
    def small_word(self) -> dict[str, Any]:
        """The entry of its particle in the closed classes."""
        return PARTICLES.get(self.particle, {})

    @property
    def says_nicht(self) -> bool:
        """Whether it is negated, by itself or by its particle."""
        return self.negated or "negates" in self.small_word

    @property
    def takes_kein(self) -> bool:
        """Whether kein expresses the negation: the object, predicate or fixed noun is indefinite."""
        if not self.says_nicht or "gern" in self.tense:
            return False
        direct = self.object if not self.verb.governs else None
        return self.verb.fixed_noun is not None or "indefinite" in traits(direct) | traits(self.predicate)

    @property
    def asked(self) -> Any:
        """The part asked for: wer, welches Buch, wie alt, wo."""
        told = (self.predicate, self.object, self.recipient, self.subject, *self.adverbials)
        return next((part for part in told if _ASKING & {getattr(part, name, "") for name in _ASKED_BY}), None)

    @property
    def english_subject(self) -> Nominal | None:
        """The subject; for swapped verbs (gefallen, like) the German object."""
        return self.object if self.verb.swap else self.subject

    @property
    def english_object(self) -> Nominal | None:
        """The object; for swapped verbs the German subject."""
        return self.subject if self.verb.swap else self.object


class Joined(Node):
    """A clause and its joiner: a word, or zu and bare for an infinitive with and without "to"."""

    joiner: str
    clause: Clause
    english: str = ""  # if not the usual translation
    within: bool = False  # und continues the subordinate clause before it

    @property
    def row(self) -> dict[str, Any]:
        """The entry of the joiner in the closed classes; question words behave like ob."""
        row, english = JOINERS.get(self.joiner), self.english
        if row is None:
            row, english = JOINERS["ob"], lexicon().adverbs["question"][self.joiner].english
        return row | {"english": english} if english else row


class Sentence(Node):
    """A main clause as statement, question or command, and the clauses joined to it."""

    clause: Clause
    form: str = "statement"
    first: object = None  # the part that starts the German or is asked for
    before: Joined | None = None  # a subordinate clause that opens the sentence
    joined: tuple[Joined, ...] = ()
    opening: tuple[Any, ...] = ()  # parts before an initial comma, in both languages: Ja; Anna; Hallo Anna
    ending: tuple[Any, ...] = ()  # parts after a final comma: Anna; oder

    def resumes(self, place: int) -> bool:
        """Whether the clause joined at `place` resumes the main clause after a subordinate one."""
        orders = [joined.row["order"] for joined in self.joined[: place + 1]]
        return orders[-2:-1] == ["verb_last"] != orders[-1:] and not self.joined[place].within

    def goes_on(self, place: int, *, english: bool) -> Clause | None:
        """The clause before the one at `place`, if its subject is not repeated: Ich heiße Anna und komme her."""
        before = (self.clause, *(joined.clause for joined in self.joined))[place]
        joined, said = self.joined[place], self.joined[place].clause
        taken = taken_up(before.subject) if before.subject else None
        same = taken and said.subject and vars(taken) == vars(said.subject)
        verbs = [verb for verb in (before.verb, said.verb) if verb.swap or verb.exists or (verb.named and english)]
        other = verbs or self.resumes(place)
        return before if same and not other and "shared" in joined.row and self.form == "statement" else None


def parts(node: Node) -> Iterator[Node]:
    """Yield the node and every node below it; the antecedent of a relative pronoun is not below it."""
    yield node
    for name in node.below if not isinstance(node, RelativePronoun) else ():
        value = getattr(node, name)
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, Node):
                yield from parts(part)


def facts(node: Clause, order: str, *, english: bool) -> Set[str]:
    """The keys of parts.toml for a clause in an order."""
    thing = node.english_object if english else node.object
    found = {
        order,
        node.tense.replace(" ", "_"),
        "nonfinite" if order.endswith(("infinitive", "gerund")) else "",
        "passive" if node.tense.startswith("passive") else "",
        "nicht" if node.says_nicht else "",
        "not" if node.says_nicht or "negative" in traits(thing) else "",
        "kein" if node.takes_kein else "",
        "gladly" if "gern" in node.tense else "",
        "please" if node.please else "",
        "impersonal" if not node.verb.subject and getattr(node.subject, "key", "") == "es" else "",
        "indefinite" if getattr(node.object, "determiner", "") == "ein" else "",
        "usual" if node.simple else "",
    }
    found.update(node.verb.facts, _PARTICLE_FACTS[node.particle], *(part.facts for part in node.adverbials))
    subject = node.english_subject if english else node.subject
    for role, nominal in (("subject", subject), ("object", thing), ("recipient", node.recipient)):
        if nominal is not None:
            found |= _role_facts(role, getattr(nominal, "key", type(nominal).__name__), traits(nominal))
    return found


_PARTICLE_FACTS = {
    particle: {particle.replace(" ", "_"), "particle", *(f"particle.{key}" for key in row)}
    for particle, row in PARTICLES.items()
} | {"": set()}


@cache
def _role_facts(role: str, name: str, nominal: frozenset[str]) -> frozenset[str]:
    return frozenset((role, *(f"{role}.{trait}" for trait in (name, *nominal))))


# ---- nominals of nouns and names


def called(entity: Entity, determiner: str = "der") -> Nominal:
    """The nominal for an entity: Anna, der Hund, die Eltern."""
    return Name(entity) if isinstance(entity, ProperName) else NounPhrase(entity, determiner, entity.plural_only)


def kinds_of(node: object) -> Set[str]:
    """The kinds of the noun or name in a part of a derivation, or else the part's type."""
    entity = entity_of(node)
    return entity.kind_set | {entity.key} if entity else {type(node).__name__}


def entity_of(node: object) -> Entity | None:
    """The noun or name in a part of a derivation."""
    return node.noun if isinstance(node, NounPhrase) else node.name if isinstance(node, Name) else None


# ---- properties of nominals


def subject_key(nominal: Nominal | None) -> str:
    """The personal pronoun for a subject."""
    match nominal:
        case Pronoun(key):
            return key if "reflexive" in PRONOUNS[key] else "er"
        case RelativePronoun(antecedent):
            return subject_key(antecedent)
        case NounPhrase(plural=True):
            return "sie, plural"
        case Both(several, joiner):
            keys = [subject_key(part) for part in several]
            if "one" in COORDINATION[joiner]:  # Anna oder Paul kommt
                return keys[-1]
            return next((_TOGETHER[key] for key in ("ich", "wir", "du", "ihr", "Sie") if key in keys), "sie, plural")
        case NounPhrase(named) | Name(named):
            return _THIRD_PERSON[named.gender]
    return "er"


def person(nominal: Nominal, language: str) -> Person:
    """The person and number of a verb with this subject; the police are plural in English."""
    nominal = nominal.antecedent if isinstance(nominal, RelativePronoun) else nominal
    if isinstance(nominal, NounPhrase) and language == "english":
        return "3p" if english_plural(nominal) else "3s"
    key = subject_key(nominal)
    if isinstance(nominal, Pronoun):
        key = (nominal.english if language == "english" else "") or nominal.key
    row = PRONOUNS[key]
    return row.get(f"{language}_person") or row.get("person", "3s")


def english_plural(node: NounPhrase) -> bool:
    """Whether the English noun is plural: Polizei is police, Haare are hair, a Hose is a pair of trousers."""
    return {"plural": True, "pair": True, "mass": False}.get(node.noun.in_english, node.plural)


def taken_up(nominal: Nominal) -> Pronoun:
    """The pronoun that refers back to a nominal."""
    if isinstance(nominal, Pronoun):
        return Pronoun(nominal.key, nominal.english)
    key = subject_key(nominal)
    if isinstance(nominal, NounPhrase) and not nominal.noun.kind_set & {"person", "pet"}:
        return Pronoun(key, "sie, plural" if english_plural(nominal) else "es")
    return Pronoun(key)


def traits(nominal: object) -> frozenset[str]:
    """Its properties: person, pet … of a noun; light, new, indefinite from its words.

    Light pronouns come first in the German middle field; new nominals follow manner and place: Er hat in der Stadt drei
    Bücher gekauft. Indefinite nominals are negated by kein.
    """
    match nominal:
        case Pronoun(key):
            return _PRONOUN_TRAITS[key]
        case NounPhrase(noun, determiner):
            return _noun_traits(noun, None if nominal.possessor is not None else determiner)
        case Name(name):
            return name.kind_set
        case Both(several):
            return frozenset.intersection(*map(traits, several)) - {"light"}
    return frozenset()


_PRONOUN_TRAITS = {key: frozenset(row) | {"person"} for key, row in PRONOUNS.items()}


@cache
def _noun_traits(noun: Noun, determiner: str | None) -> frozenset[str]:
    """The traits of a noun with its determiner; figures and professions are people in every sentence."""
    people = ("person",) if noun.kind_set & {"figure", "profession"} else ()
    return noun.kind_set.union(people, () if determiner is None else DETERMINERS[determiner])
