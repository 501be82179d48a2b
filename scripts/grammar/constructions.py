"""The constructions: rows of constructions.toml, and functions, each with an example, where a row is not enough."""

from collections.abc import Callable
from typing import Any

from grammar import meaning as m
from grammar.clauses import ROWS, Row, clause, fits
from grammar.frames import behind, framed
from grammar.german import DETERMINERS, JOINERS
from grammar.lexicon import CLOSED, Noun, matches, table
from grammar.notation import Reader, form_of
from grammar.sampler import WEIGHTS, Sampler

Construction = Callable[[Sampler], m.Sentence]
SCENES = table("scenes")
# Entries are drawn uniformly, so each pattern appears as often as its weight, or 1 + one sixth of its sentences.
PATTERNS = [{**row} for row in table("patterns")["pattern"] for _ in range(row.get("weight", 1 + len(row["say"]) // 6))]
DESCRIBED = table("patterns")["described"]


# ---- rows of constructions.toml, pictures


def build(sampler: Sampler, row: Row) -> m.Sentence:
    """The sentence described by a row."""
    form = "question" if sampler.chance(row.asked) else row.form
    node = clause(sampler, row, place="asked" if form == "question" else "behind" if row.first else "first")
    node.negated &= not (row.asked and form == "question")
    return m.Sentence(node, form, _first(sampler, node, row))


def _first(sampler: Sampler, node: m.Clause, row: Row) -> object:
    """The part that comes first, if it is not the subject."""
    if row.asks:
        return _part(node, row.asks)
    if not row.first:
        return None
    topics: list[object] = [*node.in_slot(*row.first.split())]
    thing = node.object
    if isinstance(thing, m.NounPhrase) and thing.determiner in ("der", "dieser") and fits(node.verb, "topic"):
        thing.determiner = sampler.one_of(("der", "dieser"))
        topics.append(thing)
    return sampler.one_of(topics) if topics else None


def _part(node: m.Clause, role: str) -> object:
    """The part with this role in the clause, or else its last adverbial."""
    return getattr(node, role, None) or node.adverbials[-1]


def _from_row(row: Row) -> Construction:
    def construction(sampler: Sampler) -> m.Sentence:
        return build(sampler, row)

    construction.__name__, construction.__doc__ = row.name, row.example
    return construction


def picture(sampler: Sampler, clauses: int = 0) -> m.Sentence:
    """Ein Mann in einem blauen Hemd sitzt auf einer Bank und zwei Kinder spielen im Park."""
    alone, somewhere, there = ROWS["picture"]
    count = clauses or sampler.weighted({1: 9.0, 2: 0.8, 3: 0.2})
    rows = [alone] if count == 1 else [somewhere, *[there] * (count - 1)]
    first, *others = (_seen(sampler, row) for row in rows)
    joined = [m.Joined("," if place < len(others) - 1 else "und", node) for place, node in enumerate(others)]
    return m.Sentence(first, joined=tuple(joined))


def _seen(sampler: Sampler, row: Row) -> m.Clause:
    """An action in a picture, with mostly indefinite nouns."""
    verb = sampler.verb(row.verb)
    figure = _figure(sampler, sampler.noun(verb.seen))
    node = clause(sampler, row, verb=verb, subject=sampler.as_subject(figure))
    if verb.object:
        entity = sampler.fair(sampler.objects[verb])
        if "person" in entity.kind_set:
            people = sampler.select("Mann Frau Kind Junge Mädchen Person Dame")
            others = [noun for noun in people if noun is not sampler.actor]
            node.object = m.called(sampler.fair(others), "ein")
        elif isinstance(entity, Noun) and verb.object_is in ("either", "indefinite") and verb.object_number != "each":
            each = figure.plural and entity.kind_set & {"food", "fruit", "baked"}  # two children eat two apples
            number = verb.object_number or ("plural" if each and not entity.mass else "singular")
            some = "bare" if figure.plural and entity.both else "indefinite"  # two ladies drink juice
            node.object = sampler.noun_phrase(entity, some, number=number, adjectives=0)
        else:
            node.object = sampler.object(verb, entity)
    seen = [part.object for part in node.adverbials if isinstance(part, m.Prepositional) and not part.bare]
    for phrase in (*seen, node.object):
        if isinstance(phrase, m.NounPhrase) and _may_be_new(phrase):
            phrase.determiner = "ein" if sampler.chance(0.8 if phrase is node.object else 0.5) else "der"
    return node


def _may_be_new(phrase: m.NounPhrase) -> bool:
    countable = not phrase.plural and not phrase.noun.mass and "known" not in phrase.noun.kind_set
    owned = "possessive" in DETERMINERS[phrase.determiner] and "body" not in phrase.noun.kind_set
    shown = phrase.possessor is None and not phrase.own  # die Hand heben: raise one's hand
    return countable and shown and (phrase.determiner in ("der", "dieser") or owned)


def _figure(sampler: Sampler, noun: Noun) -> m.NounPhrase:
    """Ein junger Mann in einem blauen Hemd, unless his profession implies his clothes; zwei Kinder."""
    phrase = sampler.noun_phrase(noun, "indefinite", plurals=0.2, adjectives=0)
    looks = [entry for entry in sampler.describing[noun] if entry.key in WEIGHTS["pictures"]["looks"]]
    if looks and sampler.chance(0.3):
        phrase.adjectives = (sampler.fair(looks),)
    if phrase.plural:
        phrase.determiner = sampler.one_of(("viele", "einige", sampler.few())) if noun.plural_only else sampler.few()
    elif matches("figure -profession -player", noun.kind_set) and sampler.chance(0.35):
        phrase.attribute = _clothes(sampler)
    return phrase


def _clothes(sampler: Sampler) -> m.Prepositional:
    """Clothes of a figure: in einem blauen Hemd, mit einem Hut."""
    noun = sampler.noun("clothing glasses luggage", "worn")
    german, _, english = noun.worn.partition(" ")
    determiner = "" if noun.plural_only or noun.mass else "ein"
    phrase = m.NounPhrase(noun, determiner, noun.plural_only, own="ohne" if noun.in_english == "pair" else "")
    colours = [adjective for adjective in sampler.describing[noun] if adjective.colour]
    if colours and sampler.chance(0.75):
        phrase.adjectives = (sampler.fair(colours),)
    return m.Prepositional(german, english, phrase, "attribute")


# ---- rows of scenes.toml and patterns.toml


def scene(sampler: Sampler) -> m.Sentence:
    """Ich bin müde, weil ich nicht geschlafen habe."""
    row = sampler.fair(SCENES["scene"])
    first, second = sampler.one_of(row["first"]), sampler.one_of(row["second"])
    form = form_of(first)
    letters = _letters(sampler, row, form)
    reader = Reader(sampler.of_kind, letters)
    joiner = JOINERS.get(row["join"], {})
    late = " zu" in row["join"] and not isinstance(letters["A"], m.Pronoun)  # Um zu lernen, blieb Anna: too late
    often = 0.12 if " zu" in row["join"] else 0.35
    if joiner.get("first") and not late and form == "statement" and sampler.chance(often):
        before = m.Joined(row["join"], reader.clause(second), row.get("english", ""))
        return m.Sentence(reader.clause(first), before=before)
    main = reader.clause(first)
    sentence = behind(main, m.Joined(row["join"], reader.clause(second), row.get("english", "")), form)
    if "third" in row and sampler.chance(0.6):
        third = m.Joined(row["join2"], reader.clause(sampler.one_of(row["third"])), within=row.get("within", False))
        sentence.joined[0].joiner = "," if row["join"] == row["join2"] == "und" else row["join"]
        sentence.joined += (third,)
    return sentence


def pattern(sampler: Sampler) -> m.Sentence:
    """Was kostet das Buch? Es ist acht Uhr. Die Kinder lieben ihre Mutter."""
    row = sampler.fair(PATTERNS)
    text, front, form = sampler.fair(row["say"]), row.get("front", ""), row.get("form", "statement")
    node = Reader(sampler.of_kind, _letters(sampler, row, form)).clause(text)
    who = getattr(node.subject, "key", getattr(node.subject, "determiner", ""))
    asked = ("du", "ihr", "Sie", "jemand (asked)", "irgendjemand (asked)")
    tells = who in ("ich", "wir", "mein", "unser") or (who not in asked and sampler.chance(0.7))
    if form == "question" and not front and tells and form_of(text) != form:
        form = "statement"
    opening = sampler.one_of(row.get("opening", [[]]))
    return m.Sentence(node, form, _part(node, front) if front else None, opening=tuple(opening))


def relative(sampler: Sampler) -> m.Sentence:
    """Der Mann, dem ich geholfen habe, wartet auf den Bus."""
    row = sampler.fair(DESCRIBED)
    text = sampler.one_of(row["say"])
    form = form_of(text)
    letters = _letters(sampler, row, form)
    phrase = letters["X"]
    assert isinstance(phrase, m.NounPhrase)
    pronoun = m.RelativePronoun(phrase)
    said = Reader(sampler.of_kind, letters | {"X": pronoun}).clause(sampler.one_of(row["relative"]))
    fronts = [part for part in said.adverbials if isinstance(part, m.Prepositional) and part.object is pronoun]
    phrase.relative = m.Relative(said, fronts[0] if fronts else pronoun)
    return m.Sentence(Reader(sampler.of_kind, letters).clause(text), form)


def spoken(sampler: Sampler) -> m.Sentence:
    """Guten Morgen, wie geht es dir? Übrigens, ich komme morgen. Du kommst, oder? Komm her, Anna!"""
    sentence = sampler.weighted(_SPOKEN)(sampler)
    node = sentence.clause
    who = m.subject_key(node.subject) if node.subject else ""
    holds = {sentence.form, who, sampler.addressee + "!", "denied" if node.says_nicht else "affirmed", node.tense}
    holds |= m.facts(node, "", english=False) | {part.slot for part in node.adverbials}
    rows = [row for row in WEIGHTS["asides"] if matches(row["of"], holds)]
    if rows and not (sentence.opening or sentence.before or sentence.joined):
        row = sampler.fair(rows)
        read, parts = Reader(sampler.of_kind).nominal, sampler.one_of(row["say"])
        setattr(sentence, row["where"], tuple(part if part in CLOSED["openings"] else read(part) for part in parts))
        sentence.form = row.get("form", sentence.form)
    return sentence


def _letters(sampler: Sampler, row: dict[str, Any], form: str) -> dict[str, m.Nominal]:
    """The people and things for the letters of a row, all different."""
    letters: dict[str, m.Nominal] = {}
    taken = {"Sie"} if form == "statement" else set()  # would be read as they at the start of a statement
    for letter in "ABCX":
        if letter in row:
            text = sampler.one_of([option for option in _cast(row[letter]) if option not in taken])
            taken.add(text)
            letters[letter] = Reader(sampler.of_kind, letters, owner=sampler.owner or "er").nominal(text)
        elif letter == "A":
            letters[letter] = m.Pronoun(sampler.addressee) if form == "command" else sampler.acquaintance()
        elif letter == "B":
            letters[letter] = sampler.acquaintance(letters["A"])
        if letter == "A":
            sampler.as_subject(letters[letter])
            taken.add(getattr(letters[letter], "key", ""))
    return letters


def _cast(options: str | list[str]) -> list[str]:
    """The options of a letter; @name stands for the options of a cast."""
    if isinstance(options, list):
        return [part for option in options for part in _cast(option)]
    return _cast(SCENES["casts"][options[1:]]) if options.startswith("@") else [options]


_SPOKEN: dict[Construction, float] = {framed: 3, pattern: 4}
CONSTRUCTIONS: dict[Construction, float] = {_from_row(row): row.weight for row in ROWS["construction"]}
CONSTRUCTIONS |= {picture: 3, relative: 4, scene: 18, pattern: 50, framed: 24, spoken: 6}
