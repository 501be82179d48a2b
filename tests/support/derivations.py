"""Derivations written by hand: short names for the nodes, with the lexicon looked up.

Statement(clause("wir", "übersetzen", np("dieser", "Satz"), time="morgen", tense="future"))
"""

from transformer_mt.corpus.builtin.circumstances import OCCASIONS
from transformer_mt.corpus.builtin.clauses import (
    Clause,
    Complement,
    Experience,
    Identity,
    ModalVerb,
    Predicate,
    Quality,
    Role,
    Tense,
)
from transformer_mt.corpus.builtin.german import PRONOUNS
from transformer_mt.corpus.builtin.lexicon import lexicon
from transformer_mt.corpus.builtin.phrases import (
    Adverbial,
    AdverbPhrase,
    Both,
    ClockTime,
    Name,
    Nominal,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    RelativePronoun,
    There,
)
from transformer_mt.corpus.builtin.subordination import Infinitive, RelativeClause, Subordinate


def np(
    determiner: str,
    noun: str,
    *,
    plural: bool = False,
    adjective: str | None = None,
    comparative: bool = False,
    possessor: NounPhrase | Name | None = None,
) -> NounPhrase:
    """A noun phrase: np("dieser", "Satz"), np("drei", "Buch", plural=True), np("", "Milch")."""
    described = lexicon().adjectives[adjective] if adjective else None
    entry = lexicon().nouns[noun]
    return NounPhrase(entry, determiner, plural or entry.plural_only, described, comparative, possessor)


def nominal(key: str | Nominal) -> Nominal:
    """A pronoun or a name by its key; any other nominal as it is."""
    if not isinstance(key, str):
        return key
    return Pronoun(key) if key in PRONOUNS else Name(lexicon().names[key])


def adverb(key: str) -> AdverbPhrase:
    """An adverb or fixed phrase by its key; of those in several slots the one that is no manner."""
    found = [group[key] for group in lexicon().adverbs.values() if key in group]
    return AdverbPhrase(found[0])


def place(noun: str | NounPhrase, role: str = "place") -> PrepositionalPhrase:
    """Where ("place", "spot") or where to ("goal", "laid"): the noun's own prepositions, the article if only named."""
    words = lexicon()
    if isinstance(noun, str) and noun in words.names:
        town = Name(words.names[noun])
        to_town = role == "goal"
        return PrepositionalPhrase("nach" if to_town else "in", "dative", "to" if to_town else "in", town, role)
    phrase = np("der", noun) if isinstance(noun, str) else noun
    german, english = phrase.noun.prepositions[{"laid": "spot"}.get(role, role)]
    towards = role == "laid" or (role == "goal" and german != "zu")
    slot = "goal" if role in ("goal", "laid") else "place"
    return PrepositionalPhrase(german, "accusative" if towards else "dative", english, phrase, slot)


def name(key: str) -> Name:
    """A proper name."""
    return Name(lexicon().names[key])


def ago(numeral: str, period: str) -> PrepositionalPhrase:
    """So long ago: ago("drei", "Woche")."""
    return PrepositionalPhrase("vor", "dative", "ago", np(numeral, period, plural=True), "time", after=True)


def at_clock(numeral: str) -> PrepositionalPhrase:
    """At so many o'clock."""
    return PrepositionalPhrase("um", "accusative", "at", ClockTime(numeral), "time")


def on_occasion(preposition: str, event: str) -> PrepositionalPhrase:
    """After, before or during an event: nach, vor, während."""
    case, english = OCCASIONS[preposition]
    return PrepositionalPhrase(preposition, case, english, np("der", event), "time")


_COMPANY = {"mit": ("dative", "with"), "ohne": ("accusative", "without"), "für": ("accusative", "for")}


def company(preposition: str, person: str | Nominal) -> PrepositionalPhrase:
    """With, without or for somebody."""
    case, english = _COMPANY[preposition]
    return PrepositionalPhrase(preposition, case, english, nominal(person), "company")  # type: ignore[arg-type]


def clause(
    subject: str | Nominal | None,
    verb: str,
    object: str | Nominal | None = None,
    *adverbials: str | Adverbial,
    to: str | Nominal | None = None,
    predicate: Predicate | None = None,
    complement: Complement | None = None,
    tense: Tense = "present",
    modal: ModalVerb | None = None,
    experience: Experience | None = None,
    negated: bool = False,
    progressive: bool = False,
    gladly: bool = False,
    please: bool = False,
) -> Clause:
    """A clause with its words by name; `to` is the recipient."""
    return Clause(
        verb=lexicon().verbs[verb],
        subject=None if subject is None else nominal(subject),
        object=None if object is None else nominal(object),
        recipient=None if to is None else nominal(to),
        predicate=predicate,
        adverbials=tuple(adverb(item) if isinstance(item, str) else item for item in adverbials),
        complement=complement,
        tense=tense,
        modal=modal,
        experience=experience,
        negated=negated,
        progressive=progressive,
        gladly=gladly,
        please=please,
    )


def quality(
    adjective: str, degree: str | None = None, *, than: str | Nominal | None = None, equal: bool = False
) -> Quality:
    """An adjective as predicate."""
    compared = None if than is None else nominal(than)
    return Quality(lexicon().adjectives[adjective], degree, compared, equal)  # type: ignore[arg-type]


def there_is(what: NounPhrase, *adverbials: str | Adverbial, tense: Tense = "present") -> Clause:
    """Es gibt."""
    return clause(There(what), "geben (es)", what, *adverbials, tense=tense)


def with_relative(phrase: NounPhrase, relative: Clause, role: str) -> NounPhrase:
    """The phrase with a relative clause in which it plays `role`: subject, object or recipient."""
    pronoun = RelativePronoun(phrase)
    setattr(relative, role, pronoun)
    phrase.relative = RelativeClause(relative, pronoun)
    return phrase


__all__ = [
    "Both",
    "Identity",
    "Infinitive",
    "Role",
    "Subordinate",
    "adverb",
    "ago",
    "at_clock",
    "clause",
    "company",
    "name",
    "nominal",
    "np",
    "on_occasion",
    "place",
    "quality",
    "there_is",
    "with_relative",
]
