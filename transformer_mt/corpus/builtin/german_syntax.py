"""German syntax: noun phrases, and clauses by the rows of `order.toml`."""

from collections import defaultdict
from collections.abc import Iterator

from transformer_mt.corpus.builtin import german
from transformer_mt.corpus.builtin.lexicon import CLOSED, Case, table
from transformer_mt.corpus.builtin.meaning import (
    PARTICLES,
    Adverbial,
    Both,
    Clause,
    Clock,
    Infinitive,
    Joined,
    Name,
    Nominal,
    NounPhrase,
    Predicate,
    Prepositional,
    Pronoun,
    Quality,
    RelativePronoun,
    Sentence,
    ends_subordinate,
    fixed_noun,
    german_person,
    is_light,
    is_new,
    joiner_row,
    relative_of,
    subject_key,
)
from transformer_mt.corpus.builtin.words import Origin, Word, attach, mark, root_of, spell

_ORDER: dict[str, list[str]] = {name: row.split() for name, row in table("order")["german"].items()}
_JOINER_WORDS = {
    "verb_last": ("SCONJ", "mark"),
    "linker_second": ("ADV", "advmod"),
    "verb_second": ("CCONJ", "cc"),
}
_POSTPOSITIONS = frozenset(("entlang", "hinauf", "hinunter"))
# A part of a clause: itself, its place, its relation to the verb, and its words.
Part = tuple[object, str, str, list[Word]]


# ---- sentences


def sentence(node: Sentence) -> list[Word]:
    """The sentence without its opening and its final mark."""
    if node.before:
        said = clause(node.clause, "verb_first")
        root = root_of(said)
        said = [*attach(_with_joiner(node.before), root, "advcl"), mark(","), *said]
    else:
        order, first = "verb_second", node.first or node.clause.subject or node.clause.object
        if node.form == "command":
            order, first = "command", None
        elif node.form == "question" and node.first is None:
            order, first = "verb_first", None
        said = clause(node.clause, order, first)
        root = root_of(said)
    for place, joined in enumerate(node.joined):
        said += joined_clause(joined, root, comma=ends_subordinate(node, place))
    return said


def joined_clause(joined: Joined, head: Word, *, comma: bool) -> list[Word]:
    """A clause behind another, with its comma (none before und and oder)."""
    row = joiner_row(joined.joiner)
    relation = "ccomp" if row.get("complement") else "advcl" if row["order"] == "verb_last" else "conj"
    commas = [] if joined.joiner in ("und", "oder") and not comma else [mark(",")]
    return [*commas, *attach(_with_joiner(joined), head, relation)]


def _with_joiner(joined: Joined) -> list[Word]:
    order = joiner_row(joined.joiner)["order"]
    part_of_speech, relation = _JOINER_WORDS[order]
    order = "verb_last" if joined.within else order
    said = clause(joined.clause, order, joined.clause.subject if order == "verb_second" else None)
    if joined.joiner == ",":
        return said
    joiner = Word(joined.joiner, part_of_speech, ((joined, "joiner"),), root_of(said), relation)
    return [joiner, *said]


# ---- clauses


def clause(node: Clause, order: str, first: object = None) -> list[Word]:
    """A clause whose parts stand where the row `order` puts them; `first` goes to the front."""
    kein: Origin | None = (node, "not") if node.takes_kein else None
    finite, end, main = _verbs(node, order)
    described = _words(node.predicate, kein) if node.predicate is not None else []
    if described and node.verb.infinitive in ("sein", "werden") and node.verb.key == "sein":
        head = root_of(described)
        main.head, main.relation, main.part_of_speech = head, "cop", "AUX"
        for word in finite + end:
            word.head = head
    else:
        head = main
        attach(described, head, "xcomp")
    places: defaultdict[str, list[Word]] = defaultdict(list, finite=finite, end_verb=end)
    for part, place, relation, said in _parts(node, order, kein):
        if relation:
            attach(said, head, relation)
        places["front" if part is not None and part is first else place] += said
    places["front" if node.predicate is not None and node.predicate is first else "predicate"] += described
    return [word for place in _ORDER[order] for word in places[place]]


def _verbs(node: Clause, order: str) -> tuple[list[Word], list[Word], Word]:
    """The finite verb, what stands at the end of a main clause, and the full verb among them."""
    verb = node.verb
    speech, both = "AUX" if verb.key == "sein" else "VERB", ((node, "finite"), (node, "verb"))
    finite: list[Word] = []
    if order == "infinitive":
        *to, form = german.zu_infinitive(verb)
        main = Word(form, speech, ((node, "verb"),) if to else ((node, "verb"), (node, "to")))
        return [], [*(Word("zu", "PART", ((node, "to"),), main, "mark") for _ in to), main], main
    person = german_person(node.subject) if node.subject else "3s"
    tense = "preterite" if node.tense in ("past", "perfect") and german.has_preterite(verb) else node.tense
    row = CLOSED["verb_groups"][tense]["german"].split()
    auxiliary, _, form = row[0].partition(".")
    if order == "command" or len(row) == 1:
        text = german.imperative(verb, person) if order == "command" else german.finite(verb, form, person)
        main = Word(text, speech, both)
        if order == "verb_last":
            main.text = verb.prefix + main.text
            return [main], [], main
        return [main], attach(spell(verb.prefix, "ADP", *both[1:]), main, "compound:prt"), main
    last = german.participle(verb) if row[1] == "V.participle" else german.infinitive(verb)
    main = Word(last, speech, both[1:])
    finite = [
        Word(german.finite(verb.aux if auxiliary == "AUX" else auxiliary, form, person), "AUX", both[:1], main, "aux")
    ]
    return finite, [main], main


def _parts(node: Clause, order: str, kein: Origin | None) -> Iterator[Part]:
    """The parts of the clause beside verb and predicate."""
    key = node.subject.key if isinstance(node.subject, Pronoun) else ""
    if node.subject is not None and order != "infinitive" and (order != "command" or key == "Sie"):
        place = "light_subject" if is_light(node.subject) else "object" if node.verb.swap else "subject"
        said = nominal(node.subject, "nominative")
        relation = "expl" if key == "es" and node.verb.subject == "" else "nsubj"
        yield node.subject, place, relation, said + _relative(node.subject, root_of(said))
    yield from _objects(node, None if fixed_noun(node.verb) else kein)
    if node.please:
        yield None, "please", "discourse", [Word("bitte", "INTJ", ((node, "please"),))]
    if "gern" in node.tense:
        yield None, "gladly", "advmod", [Word("gern", "ADV", ((node, "gladly"),))]
    yield from _small_words(node, kein)
    for adverbial in node.adverbials:
        relation = "advmod" if isinstance(adverbial, Adverbial) else "obl"
        said = _words(adverbial)
        yield adverbial, adverbial.slot, relation, said
        if isinstance(adverbial, Prepositional) and relative_of(adverbial.object) is not None:
            noun = next(word for word in said if (adverbial.object, "noun") in word.origins)
            yield adverbial, "after", "", _relative(adverbial.object, noun)
    if node.verb.fixed:
        yield from _fixed(node, kein)
    if node.complement is not None:
        yield None, "after", "xcomp" if isinstance(node.complement, Infinitive) else "ccomp", _complement(node)


def _objects(node: Clause, kein: Origin | None) -> Iterator[Part]:
    verb = node.verb
    if node.object is not None:
        relation = "iobj" if verb.case == "dative" else "obj"
        if verb.governs:
            preposition = Word(verb.governs, "ADP", ((node, "preposition"),))
            said = prepositional(preposition, node.object, verb.case)
            noun = root_of(said)
            yield node.object, "prepositional", "obl", said
        else:
            place = "light" if is_light(node.object) else "new_object" if is_new(node.object) else "object"
            said = nominal(node.object, verb.case, kein)
            noun = root_of(said)
            yield node.object, place, relation, said
        yield node.object, "after", "", _relative(node.object, noun)
    if verb.reflexive:
        form = german.reflexive(subject_key(node.subject), "dative" if verb.reflexive == "dative" else "accusative")
        before = node.subject is not None and not (is_light(node.subject) or isinstance(node.subject, RelativePronoun))
        yield None, "reflexive" if before else "light", "expl:pv", spell(form, "PRON", (node, "verb"), (node, "self"))
    if node.recipient is not None:
        place = "light" if is_light(node.recipient) else "recipient"
        said = nominal(node.recipient, "dative")
        noun = root_of(said)
        yield node.recipient, place, "iobj", said
        yield node.recipient, "after", "", _relative(node.recipient, noun)


def _small_words(node: Clause, kein: Origin | None) -> Iterator[Part]:
    """Nicht, and words such as schon and noch."""
    row = PARTICLES.get(node.particle, {})
    if node.particle and not row.get("german_end"):
        said = [Word(word, "ADV", ((node, "particle"),)) for word in row.get("german", node.particle).split()]
        for word in said[1:]:
            word.head, word.relation = said[0], "fixed"
        yield None, "progressive" if row.get("progressive") else "particle", "advmod", said
    if (node.negated or row.get("negates")) and kein is None:
        yield None, "not", "advmod", [Word("nicht", "PART", ((node, "not"),))]
    if row.get("german_end"):
        place = "particle_end" if kein is None else "remainder"
        yield None, place, "advmod", [Word(row["german_end"], "ADV", ((node, "particle"),))]


def _fixed(node: Clause, kein: Origin | None) -> Iterator[Part]:
    origin = (node, "verb")
    noun = fixed_noun(node.verb)
    if noun is not None:
        where = german.column(noun, plural=noun.plural_only)
        said = spell(node.verb.fixed, "NOUN", origin)
        article = [Word(german.determiner("kein", "accusative", where), "DET", (kein,), said[0], "det")] if kein else []
        yield None, "new_object", "obj", [*article, *said]
    else:
        yield None, "predicate", "compound:prt", spell(node.verb.fixed, "ADV", origin)


def _complement(node: Clause) -> list[Word]:
    complement = node.complement
    if isinstance(complement, Infinitive):
        return [mark(","), *clause(complement.clause, "infinitive"), mark(",")]
    assert complement is not None
    return [mark(","), *_with_joiner(complement), mark(",")]


# ---- what stands in them


def _words(node: Predicate, kein: Origin | None = None) -> list[Word]:
    """A predicate or adverbial."""
    match node:
        case Quality():
            return _quality(node)
        case Adverbial():
            return _adverb(node)
        case Prepositional():
            return prepositional(Word(node.preposition, "ADP", ((node, "preposition"),)), node.object, node.case)
    return nominal(node, "nominative", kein)


def _adverb(node: Adverbial) -> list[Word]:
    """Its words, linked one by one with the English ones where there are as many."""
    german_words, english_words = node.adverb.key.split(), node.adverb.english.split()
    one_by_one = len(german_words) == len(english_words)
    said = [
        Word(text, "ADV", ((node, f"word {place if one_by_one else 0}"),)) for place, text in enumerate(german_words)
    ]
    for word in said[:-1]:
        word.head, word.relation = said[-1], "advmod"
    if node.degree:
        said.insert(0, Word(node.degree, "ADV", ((node, "degree"),), said[-1], "advmod"))
    return said


def _quality(node: Quality) -> list[Word]:
    """The uninflected adjective with its degree or measure, and what it is compared with."""
    compared = node.than is not None and not node.equal
    text = german.comparative(node.adjective) if compared else node.adjective.german
    main = Word(text, "ADJ", ((node, "adjective"),))
    said = [main]
    if node.degree:
        said.insert(0, Word(node.degree, "ADV", ((node, "degree"),), main, "advmod"))
    if node.measure is not None:
        said = [*attach(nominal(node.measure, "accusative"), main, "obl"), main]
    if node.than is not None:
        than = Word("wie" if node.equal else "als", "CCONJ", ((node, "than"),))
        other = nominal(node.than, "nominative")
        attach([than], root_of(other), "case")
        attach(other, main, "obl")
        said = [*([Word("so", "ADV", ((node, "as"),), main, "advmod")] if node.equal else []), main, than, *other]
    return said


def nominal(node: Nominal, case: Case, kein: Origin | None = None) -> list[Word]:
    """A nominal in a case, without its relative clause; kein takes up the negation of the clause."""
    match node:
        case Pronoun(key):
            return [Word(german.pronoun(key, case), "PRON", ((node, "pronoun"),))]
        case RelativePronoun(antecedent):
            where = german.column(antecedent.noun, plural=antecedent.plural)
            return [Word(german.relative_pronoun(case, where), "PRON", ((node, "relative"),))]
        case Name(name):
            ending = "" if case != "genitive" else "’" if name.key.endswith(("s", "x", "z")) else "s"
            said = [Word(name.key + ending, "PROPN", ((node, "noun"),))]
            if name.article:
                article = german.determiner("der", case, "f" if name.article == "die" else "m")
                said.insert(0, Word(article, "DET", (), said[0], "det"))
            return said
        case Clock(hour, half):
            return _clock(node, hour, half=half)
        case Both():
            return _both(node, case)
    return _noun_phrase(node, case, kein)


def _clock(node: Clock, hour: str, *, half: bool) -> list[Word]:
    if half:
        numeral = Word(hour, "NUM", ((node, "numeral"),))
        return [Word("halb", "ADJ", ((node, "half"),), numeral, "amod"), numeral]
    clock = Word("Uhr", "NOUN", ((node, "clock"),))
    return [Word(hour, "NUM", ((node, "numeral"),), clock, "nummod"), clock]


def _both(node: Both, case: Case) -> list[Word]:
    first, *others = (nominal(part, case) for part in node.parts)
    root, said = root_of(first), first
    for place, other in enumerate(others):
        last = place == len(others) - 1
        joint = Word(node.joiner, "CCONJ", ((node, "and"),), root_of(other), "cc") if last else mark(",")
        said = [*said, joint, *attach(other, root, "conj")]
    return said


def _noun_phrase(node: NounPhrase, case: Case, kein: Origin | None) -> list[Word]:
    """Determiner, adjectives, noun, genitive, attribute; a name in the genitive replaces the determiner."""
    where = german.column(node.noun, plural=node.plural)
    noun = Word(german.noun(node.noun, case, plural=node.plural), "NOUN", ((node, "noun"),))
    key = "kein" if kein and node.possessor is None else node.determiner
    said: list[Word] = []
    if isinstance(node.possessor, Name):
        said += attach(nominal(node.possessor, "genitive"), noun, "nmod:poss")
        key = ""
    elif form := german.determiner(key, case, where):
        row = german.DETERMINERS.get(key)
        relation = "nummod" if row is None else "det:poss" if row.get("possessive") else "det"
        origins: tuple[Origin, ...] = ((node, "determiner"), kein) if kein else ((node, "determiner"),)
        said += spell(form, "NUM" if row is None else "DET", *origins)
        attach(said, noun, relation)
    for adjective in node.adjectives:
        form = german.adjective(adjective, key, case, where, compared=node.comparative)
        said.append(Word(form, "ADJ", ((node, adjective.key),), noun, "amod"))
    said.append(noun)
    if node.possessor is not None and not isinstance(node.possessor, Name):
        said += attach(nominal(node.possessor, "genitive"), noun, "nmod")
    if node.attribute is not None:
        said += attach(_words(node.attribute), noun, "nmod")
    return said


def _relative(node: Nominal, noun: Word) -> list[Word]:
    """The relative clause of a nominal between commas, or nothing."""
    relative = relative_of(node)
    if relative is None:
        return []
    said = clause(relative.clause, "verb_last", relative.front)
    for word in said:
        if word.text and any(isinstance(part, RelativePronoun) for part, _ in word.origins):
            word.antecedent = noun
    return [mark(","), *attach(said, noun, "acl:relcl"), mark(",")]


def prepositional(preposition: Word, governed: Nominal, case: Case) -> list[Word]:
    """A preposition and what it governs: im for in dem, unless a relative clause needs the article's stress."""
    said = nominal(governed, case)
    if not preposition.text:  # ein Glas Wasser
        return said
    contracted = CLOSED["contractions"].get(f"{preposition.text} {said[0].text}")
    if contracted and len(said) > 1 and relative_of(governed) is None:
        said[0] = Word(contracted, "ADP", preposition.origins + said[0].origins, said[0].head, "case")
        return said
    preposition.head, preposition.relation = root_of(said), "case"
    return [*said, preposition] if preposition.text in _POSTPOSITIONS else [preposition, *said]
