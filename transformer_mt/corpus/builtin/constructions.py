"""The constructions: small functions, each with an example beside it, and the rows of the scenes and the patterns."""

from collections.abc import Callable
from functools import cache
from typing import Any

from transformer_mt.corpus.builtin.clauses import (
    add_circumstances,
    adverb,
    at,
    being,
    clause,
    infinitive,
    is_deed,
    location,
    profession,
    quality,
    with_infinitive,
)
from transformer_mt.corpus.builtin.lexicon import Entity, Noun, ProperName, Verb, table
from transformer_mt.corpus.builtin.meaning import (
    JOINERS,
    Adverbial,
    Clause,
    Infinitive,
    Joined,
    Name,
    Nominal,
    NounPhrase,
    Prepositional,
    Pronoun,
    Quality,
    Relative,
    RelativePronoun,
    Sentence,
)
from transformer_mt.corpus.builtin.notation import Chooser, Reader
from transformer_mt.corpus.builtin.sampler import FEW, Sampler

Construction = Callable[[Sampler], Sentence]


def statement(sampler: Sampler) -> Sentence:
    """Der Zug kommt um acht Uhr an."""
    return Sentence(clause(sampler))


def reordered(sampler: Sampler) -> Sentence:
    """Morgen gehen wir ins Kino. Diesen Film habe ich gesehen."""
    node = clause(sampler, before=False)
    slots = ("time", "sentence") if node.particle else ("time", "sentence", "place")
    firsts: list[object] = [part for part in node.adverbials if part.slot in slots]
    if isinstance(node.object, NounPhrase) and node.object.determiner in ("der", "dieser") and not node.verb.swap:
        firsts.append(node.object)
    if not firsts:
        node.adverbials.append(adverb(sampler, "sentence", "past" if node.tense == "past" else "state"))
        firsts.append(node.adverbials[-1])
    return Sentence(node, first=sampler.one_of(firsts))


def yes_no_question(sampler: Sampler) -> Sentence:
    """Kommst du morgen?"""
    node = clause(sampler, before=False, negations=0.04)
    if node.particle in ("noch nie", "noch nicht", "nicht mehr"):
        node.particle = "schon" if node.tense == "past" else ""
    return Sentence(node, "question")


def request(sampler: Sampler) -> Sentence:
    """Können Sie mir bitte den Schlüssel geben?"""
    subject = sampler.as_subject(Pronoun(sampler.addressee))
    node = clause(sampler, subject=subject, fits=_asked_for, tense="present", negations=0)
    node.tense, node.particle = sampler.weighted({"können": 4.0, "könnte": 2.0, "würde": 0.6}), ""
    node.please = sampler.chance(0.5)
    return Sentence(node, "question")


def _asked_for(verb: Verb) -> bool:
    """What one asks somebody to do."""
    return verb.command and bool(verb.object) and not verb.reflexive and "person" not in verb.object.split()


def question_of_place_or_time(sampler: Sampler) -> Sentence:
    """Wo wohnst du? Wann kommt der Zug an? Warum weinst du?"""
    asked = sampler.weighted({"wo": 2.0, "wann": 2.0, "warum": 2.0, "wie": 1.0, "wohin": 1.0, "woher": 0.5})
    needs = {"wo": "place", "wohin": "goal", "woher": "origin", "wie": "manner"}.get(asked)
    node = clause(
        sampler,
        fits=lambda verb: not needs or (bool(getattr(verb, needs)) and not verb.takes),
        before=False,
        negations=0.25 if asked == "warum" else 0.0,
        extras=0.2,
        tense="present" if asked == "woher" else "",
    )
    if asked == "warum" or node.particle == "noch nie":
        node.particle = ""
    places = (
        ("place", "goal", "path")
        if asked in ("wo", "wohin", "woher")
        else {"wann": ("time", "frequency")}.get(asked, ())
    )
    manner = ("manner",) if asked == "wie" else ()
    node.adverbials = [part for part in node.adverbials if part.slot not in (*places, *manner)]
    if asked == "wann":
        node.particle = ""
    node.adverbials.append(Adverbial(sampler.words.adverbs["question"][asked]))
    return Sentence(node, "question", node.adverbials[-1])


def question_of_role(sampler: Sampler) -> Sentence:
    """Was machst du? Wer hat das Buch gelesen? Wen kennst du? Wem hilfst du?"""
    verb = sampler.verb(lambda verb: bool(verb.object) and not verb.takes and not verb.named)
    people = "person" in verb.object.split()
    if sampler.can_act(verb) and sampler.chance(0.35) and not verb.subject_is:
        node = clause(sampler, verb=verb, subject=Pronoun("wer"), negations=0)
        return Sentence(node, "question", node.subject)
    node = clause(sampler, verb=verb, before=False, negations=0)
    if not (people or verb.anything) or verb.governs or node.recipient is not None:
        return Sentence(node, "question")
    node.object, node.particle = Pronoun("wer" if people else "was"), ""
    node.adverbials = [part for part in node.adverbials if part.slot != "company"]
    return Sentence(node, "question", node.object)


def which(sampler: Sampler) -> Sentence:
    """Welches Buch liest du? Wie viele Kinder hast du?"""
    verb = sampler.verb(
        lambda verb: bool(verb.object) and verb.object_is == "either" and not (verb.governs or verb.takes)
    )
    node = clause(sampler, verb=verb, before=False, negations=0)
    nouns = [
        noun for noun in sampler.objects_of(verb) if isinstance(noun, Noun) and not noun.mass and not noun.plural_only
    ]
    if not nouns:
        return Sentence(node, "question")
    determiner = sampler.weighted({"welcher": 2.0, "wie viele": 1.0})
    node.object = NounPhrase(sampler.fair(nouns), determiner, determiner == "wie viele")
    node.adverbials = [part for part in node.adverbials if part.slot != "company"]
    return Sentence(node, "question", node.object)


def command(sampler: Sampler) -> Sentence:
    """Öffne bitte das Fenster!"""
    sampler.as_subject(Pronoun(sampler.addressee))
    node = infinitive(sampler, fits=lambda verb: verb.command)
    node.subject = Pronoun(sampler.addressee)
    node.please = sampler.addressee == "Sie" or sampler.chance(0.35)
    node.negated = (
        not node.please
        and sampler.chance(0.15)
        and isinstance(node.object, (NounPhrase, type(None)))
        and (not isinstance(node.object, NounPhrase) or node.object.determiner in ("der", "dieser", "mein"))
        and not node.in_slot("manner")
    )
    return Sentence(node, "command")


def answer(sampler: Sampler) -> Sentence:
    """Ja, ich komme. Nein, das ist mein Bruder."""
    opening: Any = sampler.weighted({"Ja": 3.0, "Nein": 2.0})
    node = clause(
        sampler,
        subject=sampler.as_subject(sampler.pronoun(before=True)),
        extras=0.4,
        negations=0.6 if opening == "Nein" else 0,
    )
    if opening == "Nein" and not (node.negated or node.particle in ("noch nicht", "nicht mehr")):
        opening = "Ja"
    return Sentence(node, opening=opening)


def addressed(sampler: Sampler) -> Sentence:
    """Anna, kommst du? Entschuldigung, wo ist der Bahnhof?"""
    sentence = sampler.weighted(
        {yes_no_question: 2.0, request: 1.5, question_of_place_or_time: 1.0, somewhere_asked: 1.0}
    )(sampler)
    if sampler.addressee == "du" and sampler.chance(0.5):
        sentence.opening = Name(_name(sampler.fair(sampler.select("Anna Lena Maria Paul Peter Tim"))))
    else:
        sentence.opening = sampler.weighted({"Entschuldigung": 3.0, "Hallo": 1.0})
    return sentence


def _noun(entity: Entity) -> Noun:
    assert isinstance(entity, Noun)
    return entity


def _name(entity: Entity) -> ProperName:
    assert isinstance(entity, ProperName)
    return entity


# ---- to be


def described(sampler: Sampler) -> Sentence:
    """Der Kaffee ist kalt. Ist deine Schwester krank? Wie alt ist der Hund?"""
    adjective = sampler.fair([entry for entry in sampler.words.adjectives.values() if entry.predicate])
    before = sampler.chance(0.7)
    subject = _bearer(sampler, sampler.select(adjective.suits), before=before)
    node = being(sampler, subject, quality(sampler, adjective))
    if before:
        return Sentence(node)
    if (
        sampler.chance(0.25)
        and adjective.graded
        and adjective.key in ("alt", "groß", "lang", "teuer", "weit")
        and not isinstance(subject, Pronoun)
    ):
        node.predicate, node.negated, node.particle, node.adverbials = Quality(adjective, "wie"), False, "", []
        return Sentence(node, "question", node.predicate)
    if node.in_slot("time") and sampler.chance(0.5) and node.tense != "future":
        return Sentence(node, first=node.in_slot("time")[0])
    return Sentence(node, "question")


def _bearer(sampler: Sampler, entities: list[Entity], *, before: bool) -> Nominal:
    if any("person" in entity.kind_set for entity in entities) and sampler.chance(0.55):
        return sampler.as_subject(sampler.pronoun(before=before))
    entity = sampler.fair(entities)
    phrase = sampler.entity(entity, subject=True)
    if isinstance(phrase, NounPhrase):
        phrase.adjectives = ()
    return sampler.as_subject(phrase)


def compared(sampler: Sampler) -> Sentence:
    """Mein Bruder ist größer als Anna. Der Hund ist so groß wie die Katze."""
    adjective = sampler.fair([entry for entry in sampler.words.adjectives.values() if entry.compares])
    kind = sampler.one_of([item for item in adjective.compares.split() if not item.startswith("-")])
    entities = sampler.select(" ".join([kind, *(item for item in adjective.compares.split() if item.startswith("-"))]))
    if len(entities) < 2:
        return described(sampler)
    first = sampler.as_subject(sampler.entity(sampler.fair(entities), subject=True))
    others = [entity for entity in entities if entity is not getattr(first, "noun", getattr(first, "name", None))]
    if not others:
        return described(sampler)
    other = sampler.entity(sampler.fair(others))
    for phrase in (first, other):
        if isinstance(phrase, NounPhrase):
            phrase.adjectives = ()
    return Sentence(
        Clause(sampler.words.verbs["sein"], first, predicate=Quality(adjective, than=other, equal=sampler.chance(0.3)))
    )


def occupation(sampler: Sampler) -> Sentence:
    """Meine Schwester ist Ärztin."""
    people = "Mutter Schwester Tante Tochter Freundin Anna Maria Vater Bruder Onkel Sohn Freund Paul Peter Nachbarin"
    subject: Nominal = sampler.pronoun(before=True)
    if sampler.chance(0.6):
        subject = sampler.entity(sampler.fair(sampler.select(people)))
    node = Clause(sampler.words.verbs["sein"], subject, predicate=profession(sampler, subject))
    node.negated = sampler.chance(0.1)
    return Sentence(node)


def identity(sampler: Sampler) -> Sentence:
    """Das ist mein Bruder. Ist das dein Buch?"""
    noun = sampler.fair(
        sampler.select("relative thing clothing pet room dwelling Freund Freundin Lehrer Lehrerin Chef")
    )
    phrase = sampler.entity(noun)
    if isinstance(phrase, NounPhrase) and (phrase.plural or phrase.determiner == "dieser"):
        return described(sampler)
    node = Clause(sampler.words.verbs["sein"], Pronoun("das"), predicate=phrase)
    node.tense = sampler.weighted({"present": 5.0, "past": 0.6})
    node.negated = sampler.chance(0.15)
    return Sentence(node, "question" if sampler.chance(0.25) and not node.negated else "statement")


def somewhere(sampler: Sampler) -> Sentence:
    """Das Buch ist in der Küche. Meine Eltern sind zu Hause."""
    if sampler.chance(0.5):
        subject = sampler.somebody(pronouns=0.5)
        place = location(sampler, Clause(sampler.words.verbs["sein"]), "place")
    else:
        things = [
            noun
            for noun in sampler.select("small luggage clothing reading kitchenware Hund Katze")
            if isinstance(noun, Noun)
        ]
        subject = sampler.as_subject(sampler.entity(sampler.fair(things), subject=True))
        spots = [noun for noun in sampler.select("luggage furniture room fridge") if isinstance(noun, Noun)]
        spot = sampler.fair(
            [noun for noun in spots if (noun.spot or noun.place) and noun is not getattr(subject, "noun", None)]
        )
        assert isinstance(spot, Noun)
        place = at(sampler, spot, "spot" if spot.spot else "place")
    return Sentence(being(sampler, subject, place))


def somewhere_asked(sampler: Sampler) -> Sentence:
    """Wo ist der Bahnhof? Wo sind meine Schuhe?"""
    nouns = sampler.select("small luggage clothing pet relative station building public home person -figure")
    subject = sampler.entity(sampler.fair(nouns), subject=True)
    if isinstance(subject, NounPhrase):
        subject.adjectives = ()
    where = Adverbial(sampler.words.adverbs["question"]["wo"])
    node = Clause(sampler.words.verbs["sein"], subject, predicate=where)
    node.tense = sampler.weighted({"present": 6.0, "past": 0.7})
    return Sentence(node, "question", where)


def existence(sampler: Sampler) -> Sentence:
    """Es gibt hier ein Café. Gibt es Milch?"""
    if sampler.chance(0.5):
        things = sampler.select("building eatery shop station green sight Problem Brücke")
        place: Adverbial | Prepositional = at(sampler, sampler.fair(sampler.select("settlement town")), "place")
        if sampler.chance(0.4):
            place = Adverbial(sampler.words.adverbs["place"][sampler.one_of(("hier", "dort"))])
    else:
        things = sampler.select("drink food dish baked fruit")
        place = location(sampler, Clause(sampler.words.verbs["essen"]), "place")
    noun = sampler.fair([thing for thing in things if isinstance(thing, Noun)])
    assert isinstance(noun, Noun)
    node = Clause(sampler.words.verbs["geben (es)"], Pronoun("es"), sampler.noun_phrase(noun, "indefinite"))
    node.tense = sampler.weighted({"present": 5.0, "past": 1.0})
    if sampler.chance(0.7):
        node.adverbials.append(place)
    assert isinstance(node.object, NounPhrase)
    node.negated = node.object.determiner in ("ein", "") and sampler.chance(0.25)
    return Sentence(node, "question" if sampler.chance(0.3) and not node.negated else "statement")


# ---- pictures


def picture(sampler: Sampler, parts: int = 0) -> Sentence:
    """Ein Mann in einem blauen Hemd sitzt auf einer Bank, und zwei Kinder spielen im Park."""
    first, *others = (_seen(sampler) for _ in range(parts or int(sampler.weighted({1: 8.0, 2: 1.5, 3: 0.6}))))
    joined = [Joined("," if place < len(others) - 1 else "und", node) for place, node in enumerate(others)]
    return Sentence(first, joined=tuple(joined))


_LOOKS = ("jung", "alt", "klein (Kinder)", "groß (Menschen)", "blond")


def _seen(sampler: Sampler) -> Clause:
    """What one sees somebody do."""
    verb = sampler.verb(lambda verb: verb.seen)
    noun = sampler.fair(sampler.select("figure"))
    assert isinstance(noun, Noun)
    subject = sampler.noun_phrase(noun, "indefinite", plurals=0.3, adjectives=0.0, subject=True)
    looks = [
        sampler.words.adjectives[key]
        for key in _LOOKS
        if noun in sampler.words.select(sampler.words.adjectives[key].suits)
    ]
    if looks and sampler.chance(0.3):
        subject.adjectives = (sampler.fair(looks),)
    if subject.determiner in ("viele", "einige", "") and not noun.plural_only:
        subject.determiner = sampler.fair(FEW[:3])
    if not subject.plural and sampler.chance(0.35):
        subject.attribute = sampler.clothes()
    node = Clause(verb, sampler.as_subject(subject))
    if verb.object:
        entity = sampler.fair(sampler.objects_of(verb))
        node.object = sampler.object(verb, entity)
        if isinstance(node.object, Name) or "person" in entity.kind_set:
            node.object = NounPhrase(_noun(sampler.fair(sampler.select("figure"))), "ein")
        elif isinstance(node.object, NounPhrase) and isinstance(entity, Noun) and verb.object_is == "either":
            node.object = sampler.noun_phrase(entity, "indefinite", number=verb.object_number)
    add_circumstances(sampler, node, 1.2)
    node.adverbials = [part for part in node.adverbials if part.slot not in ("company", "manner")]
    for part in node.adverbials:
        if (
            isinstance(part, Prepositional)
            and isinstance(part.object, NounPhrase)
            and not part.bare
            and sampler.chance(0.5)
        ):
            phrase = part.object
            if (
                phrase.determiner in ("der", "dieser")
                and not phrase.plural
                and not phrase.noun.mass
                and "known" not in phrase.noun.kind_set
            ):
                phrase.determiner = "ein"
    return node


# ---- infinitives


def help_to(sampler: Sampler) -> Sentence:
    """Kannst du mir helfen, den Brief zu übersetzen?"""
    verb = sampler.words.verbs["helfen"]
    tense = sampler.weighted(
        {"können": 5.0, "past": 2.0, "present": 1.5, "wollen": 1.0, "möchten": 1.0, "könnte": 1.0, "müssen": 0.6}
    )
    asked = tense in ("können", "könnte", "present") and sampler.chance(0.75)
    subject = sampler.as_subject(Pronoun(sampler.addressee)) if asked else sampler.somebody(pronouns=0.7)
    node = Clause(verb, subject, sampler.person(pronouns=0.75), tense=tense)
    node.please = asked and sampler.chance(0.15)
    with_infinitive(sampler, node, "bare", fits=_helped_with, extras=0.3)
    assert isinstance(node.complement, Infinitive)
    inner = node.complement.clause
    inner.recipient = None
    inner.adverbials = [part for part in inner.adverbials if part.slot not in ("company", "manner")]
    return Sentence(node, "question" if asked else "statement")


def _helped_with(verb: Verb) -> bool:
    """What one helps somebody do."""
    return verb.command and bool(verb.object) and not verb.reflexive and "person" not in verb.object and not verb.swap


def try_to(sampler: Sampler) -> Sentence:
    """Ich versuche, Deutsch zu lernen."""
    options = [verb for verb in sampler.words.verbs.values() if "zu" in verb.complements.split() and not verb.reflexive]
    verb = sampler.fair(options)
    tense = sampler.weighted({"past": 2.0, "present": 2.0} | ({"modal": 1.0} if is_deed(verb) else {}))
    node = Clause(verb, sampler.somebody(pronouns=0.7), tense="wollen" if tense == "modal" else tense)
    with_infinitive(sampler, node, "zu", extras=0.4)
    return Sentence(node)


def judged(sampler: Sampler) -> Sentence:
    """Es ist wichtig, Deutsch zu lernen."""
    keys = ("wichtig", "schwierig", "schön (Tage)", "leicht", "gut", "langweilig")
    node = Clause(
        sampler.words.verbs["sein"],
        Pronoun("es"),
        predicate=quality(sampler, sampler.words.adjectives[sampler.fair(keys)]),
    )
    node.tense = sampler.weighted({"present": 4.0, "past": 1.0})
    return Sentence(with_infinitive(sampler, node, "zu", fits=lambda verb: verb.gern, extras=0.3))


# ---- relative clauses


def relative(sampler: Sampler) -> Sentence:
    """Der Mann, dem ich geholfen habe, wartet auf den Bus."""
    sentence = Sentence(clause(sampler, negations=0.03, extras=0.3))
    node = sentence.clause
    phrases = [
        part
        for part in (node.subject, node.object)
        if isinstance(part, NounPhrase) and part.determiner in ("der", "ein", "") and part.possessor is None
    ]
    if not phrases or node.recipient is not None or node.tense == "gern":
        return sentence
    phrase = sampler.one_of(phrases)
    phrase.relative = _relative(sampler, phrase)
    return sentence


def _relative(sampler: Sampler, phrase: NounPhrase) -> Relative | None:
    """A clause in which the noun is subject or object, where a verb is found that it suits."""
    noun, pronoun = phrase.noun, RelativePronoun(phrase)
    owner = sampler.owner
    as_subject = sampler.chance(0.45)
    pool = sampler.relative_verbs()
    for _ in range(20):
        verb = sampler.one_of(pool)
        if verb.takes or verb.swap or verb.subject_is or verb.named or verb.reflexive == "dative":
            continue
        if as_subject and noun in sampler.words.select(verb.subject):
            sampler.owner = ""
            node = clause(sampler, verb=verb, subject=pronoun, negations=0.05, extras=0.4)
            sampler.owner = owner
            return Relative(node, pronoun)
        if (
            not as_subject
            and sampler.anybody_can(verb)
            and noun in sampler.objects_of(verb)
            and verb.object_is != "own"
            and not verb.recipient
        ):
            subject = (
                sampler.as_subject(sampler.pronoun(before=True))
                if sampler.chance(0.7)
                else sampler.somebody(pronouns=0)
            )
            tense = "past" if verb.aspect != "state" and "past" not in verb.without_set and sampler.chance(0.75) else ""
            node = clause(sampler, verb=verb, subject=subject, tense=tense, negations=0.03, extras=0.2)
            node.object = pronoun
            if phrase.determiner == "" and not phrase.plural:
                phrase.determiner = "der"
            if node.takes_kein or node.tense == "gern":
                node.negated, node.tense = False, "present"
            sampler.owner = owner
            return Relative(node, pronoun)
    return None


# ---- rows


@cache
def _table(name: str) -> dict[str, Any]:
    return table(name)


def scene(sampler: Sampler) -> Sentence:
    """Ich bin müde, weil ich nicht geschlafen habe."""
    row = sampler.fair_row(_table("scenes")["scene"])
    first, second = sampler.one_of(row["first"]), sampler.one_of(row["second"])
    reader = Reader(_chooser(sampler), _letters(sampler, row, first))
    joiner, english = row["join"], row.get("english", "")
    if (
        JOINERS.get(joiner, {}).get("first")
        and sampler.chance(0.35)
        and "command" not in first
        and "question" not in first
    ):
        before = Joined(joiner, _read(reader, second), english)
        return Sentence(_read(reader, first), before=before)
    main = _read(reader, first)
    joined = [Joined(joiner, _read(reader, second), english)]
    if "third" in row and sampler.chance(0.6):
        third = _read(reader, sampler.one_of(row["third"]))
        joined.append(Joined(row["join2"], third, within=row.get("within", False)))
    form = next((form for form in ("command", "question") if form in first.split("; ")), "statement")
    return Sentence(main, form, joined=tuple(joined))


def pattern(sampler: Sampler) -> Sentence:
    """Was kostet das Buch? Es ist acht Uhr. Die Kinder lieben ihre Mutter."""
    row = sampler.fair_row(_table("patterns")["pattern"])
    text = sampler.one_of(row["say"])
    reader = Reader(_chooser(sampler), _letters(sampler, row, text))
    node = _read(reader, text)
    front = row.get("front", "")
    first = node.adverbials[-1] if front == "adverbial" else getattr(node, front) if front else None
    form = row.get("form", "statement")
    if form == "question" and not front:
        form = "question" if sampler.chance(0.3) else "statement"
    return Sentence(node, form, first)


def _chooser(sampler: Sampler) -> Chooser:
    """Any noun of a kind, of those that go with the verb where there are such."""

    def choose(kind: str, verb: Verb | None) -> Entity:
        found = sampler.select("person -figure" if kind == "name" else kind)
        if kind == "name":
            found = [entity for entity in found if isinstance(entity, ProperName)]
        fitting = set(sampler.objects_of(verb)) if verb is not None and verb.object else set(found)
        return sampler.fair([entity for entity in found if entity in fitting] or found)

    return choose


def _read(reader: Reader, text: str) -> Clause:
    return reader.clause("; ".join(item for item in text.split("; ") if item not in ("command", "question")))


def _letters(sampler: Sampler, row: dict[str, Any], first: str) -> dict[str, Nominal]:
    """Whom and what the letters of a scene stand for."""
    letters: dict[str, Nominal] = {}
    taken: set[str] = set()
    for letter in "ABCX":
        options = row.get(letter)
        if options is None and letter in "AB":
            letters[letter] = sampler.acquaintance() if letter == "A" else sampler.other_than(letters["A"])
            if letter == "A" and "command" in first.split("; "):
                letters[letter] = sampler.as_subject(Pronoun(sampler.addressee))
        elif options is not None:
            found = [option for option in _cast(options) if option not in taken]
            text = sampler.one_of(found)
            taken.add(text)
            reader = Reader(_chooser(sampler), dict(letters))
            reader.owner = sampler.owner or "er"
            nominal = reader.nominal(text)
            letters[letter] = sampler.as_subject(nominal) if letter == "A" else nominal
    return letters


def _cast(options: str | list[str]) -> list[str]:
    """The options that a letter has, where @name stands for those of a cast."""
    listed = [options] if isinstance(options, str) else options
    casts = _table("scenes")["casts"]
    return [part for option in listed for part in (_cast(casts[option[1:]]) if option.startswith("@") else [option])]


CONSTRUCTIONS: dict[Construction, float] = {
    statement: 14,
    reordered: 5,
    yes_no_question: 4,
    request: 1.5,
    question_of_place_or_time: 3.5,
    question_of_role: 3,
    which: 1,
    command: 3,
    answer: 2,
    addressed: 1,
    described: 6,
    compared: 1.5,
    occupation: 0.8,
    identity: 1.5,
    somewhere: 2,
    somewhere_asked: 0.8,
    existence: 2,
    picture: 7,
    help_to: 4,
    try_to: 2,
    judged: 1,
    relative: 5,
    scene: 10,
    pattern: 6,
}
