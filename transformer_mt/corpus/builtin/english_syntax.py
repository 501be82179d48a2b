"""English syntax: noun phrases, and clauses by the rows of `order.toml`."""

from collections import defaultdict
from collections.abc import Iterator

from transformer_mt.corpus.builtin import english
from transformer_mt.corpus.builtin.german import DETERMINERS, NUMERALS, PRONOUNS, has_preterite
from transformer_mt.corpus.builtin.lexicon import CLOSED, table
from transformer_mt.corpus.builtin.meaning import (
    DEGREES,
    JOINERS,
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
    Relative,
    RelativePronoun,
    Sentence,
    ends_subordinate,
    english_person,
    english_plural,
    is_indefinite,
    is_light,
    is_person,
    joiner_row,
    relative_of,
    subject_key,
)
from transformer_mt.corpus.builtin.words import Origin, Word, attach, mark, root_of, spell

_ORDER: dict[str, list[str]] = {name: row.split() for name, row in table("order")["english"].items()}
_JOINER_WORDS = {"verb_last": ("SCONJ", "mark"), "linker_second": ("ADV", "advmod"), "verb_second": ("CCONJ", "cc")}
# A part of a clause: itself, its place, its relation to the verb, and its words.
Part = tuple[object, str, str, list[Word]]


# ---- sentences


def sentence(node: Sentence) -> list[Word]:
    """The sentence without its opening and its final mark."""
    order = {"statement": "declarative", "question": "question", "command": "command"}[node.form]
    if order == "question" and node.first is not None and node.first is english_subject(node.clause):
        order = "declarative"
    said = clause(node.clause, order, node.first if _starts_english(node) else None)
    root = root_of(said)
    if node.before:
        said = [*attach(_with_joiner(node.before), root, "advcl"), mark(","), *said]
    for place, joined in enumerate(node.joined):
        said += joined_clause(joined, root, comma=ends_subordinate(node, place))
    return said


def _starts_english(node: Sentence) -> bool:
    """Questions start with what is asked; statements with adverbs of time and of the whole sentence alone."""
    if isinstance(node.first, Adverbial) and node.first.adverb.middle:
        return False
    return node.form == "question" or getattr(node.first, "slot", "") in ("time", "sentence")


def joined_clause(joined: Joined, head: Word, *, comma: bool) -> list[Word]:
    """A clause behind another, with a comma where its joiner wants one."""
    row = joiner_row(joined.joiner)
    relation = "ccomp" if row.get("complement") else "advcl" if row["order"] == "verb_last" else "conj"
    commas = [mark(",")] if comma or row.get("comma") or joined.joiner == "," else []
    return [*commas, *attach(_with_joiner(joined), head, relation)]


def _with_joiner(joined: Joined) -> list[Word]:
    row = joiner_row(joined.joiner)
    part_of_speech, relation = _JOINER_WORDS[row["order"]]
    said = clause(joined.clause, "declarative", simple=row.get("simple", False))
    joiner = spell(joined.english or row["english"], part_of_speech, (joined, "joiner"))
    if not joiner:
        return said
    return [*attach(joiner, root_of(said), relation), *said]


# ---- clauses


def english_subject(node: Clause) -> Nominal | None:
    """The subject: where the two languages see it the other way round (gefallen, like) the German object."""
    return node.object if node.verb.swap else node.subject


def english_object(node: Clause) -> Nominal | None:
    """The object, likewise; what heißen names is a predicate."""
    return node.subject if node.verb.swap else node.object


def clause(node: Clause, order: str, first: object = None, *, simple: bool = False) -> list[Word]:
    """A clause whose parts stand where the row `order` puts them; `first` goes to the front."""
    places: defaultdict[str, list[Word]] = defaultdict(list)
    described = [] if node.predicate is None else _words(node.predicate, negated=node.negated)
    rest = _rest(node)
    main, top = _verbs(node, order, places, inverted=order == "question", simple=simple)
    head = main
    if node.verb.english.split()[0] == "be" and (described or rest):
        head = root_of(described or rest)
        _make_copula(main, head, places)
    else:
        attach(described, main, "xcomp")
        attach(rest, main, "obj")
    if top is not None:
        head.head, head.relation = top, "xcomp"
    places["verb"] += rest
    for part, place, relation, said in _parts(node, order, first):
        if relation:
            attach(said, top if top is not None and relation in ("nsubj", "expl", "advmod") else head, relation)
        places["front" if part is not None and part is first else place] += said
    places["front" if node.predicate is not None and node.predicate is first else "predicate"] += described
    return [word for place in _ORDER[order] for word in places[place]]


def _make_copula(main: Word, head: Word, places: dict[str, list[Word]]) -> None:
    """The predicate is what a clause with to be depends on."""
    for said in places.values():
        for word in said:
            if word.head is main:
                word.head = head
    main.head, main.relation, main.part_of_speech = head, "cop", "AUX"


def _rest(node: Clause) -> list[Word]:
    """What belongs to the English verb and follows it: (be) hungry, (have) breakfast."""
    base, *rest = node.verb.english.split()
    return spell(" ".join(rest), "ADJ" if base in ("be", "get") else "NOUN", (node, "verb"), relation="dep")


def english_tense(node: Clause, *, simple: bool) -> str:
    """The verb group of the English clause; what somebody said is reported in the past."""
    tense = _direct_tense(node, simple=simple)
    reported: str = CLOSED["reported"].get(tense, tense)
    return reported if node.reported else tense


def _direct_tense(node: Clause, *, simple: bool) -> str:
    """Where the German has its present or its perfect, English has two tenses each."""
    if node.verb.infinitive == "möchten":
        return "wish"
    if node.tense == "past" and PARTICLES.get(node.particle, {}).get("perfect") and not has_preterite(node.verb):
        return "perfect"
    if node.tense != "present" or node.verb.english.split()[0] == "be":
        return node.tense
    if PARTICLES.get(node.particle, {}).get("progressive"):
        return "progressive"
    repeated = bool(node.in_slot("frequency")) or any(
        isinstance(part, Adverbial) and part.adverb.tenses & {"habit"} for part in node.adverbials
    )
    timed = node.verb.timetable and any(isinstance(getattr(part, "object", None), Clock) for part in node.adverbials)
    lasting = node.verb.aspect in ("state", "habit")
    ahead = any(isinstance(part, Adverbial) and part.adverb.tenses == {"future"} for part in node.adverbials)
    if node.verb.ahead and ahead and not simple:
        return "future"
    return "present" if simple or lasting or repeated or timed or node.takes_kein or node.simple else "progressive"


def _is_negated(node: Clause) -> bool:
    negative = isinstance(english_object(node), Pronoun) and "negative" in PRONOUNS[english_object(node).key]  # type: ignore[union-attr]
    return node.negated or negative or bool(PARTICLES.get(node.particle, {}).get("negates"))


def _verbs(
    node: Clause, order: str, places: dict[str, list[Word]], *, inverted: bool, simple: bool
) -> tuple[Word, Word | None]:
    """Put the verb group in its places; return the full verb, and the verb that takes it with to, if one does."""
    base, past = node.verb.english.split()[0], node.verb.past
    as_finite, as_verb = (node, "finite"), (node, "verb")
    speech = "AUX" if base == "be" else "VERB"
    negation = _is_negated(node) and not (node.verb.key == "geben (es)" and node.takes_kein)
    if order in ("infinitive", "command"):
        main = Word(base, speech, (as_verb, as_finite))
        places["verb"].append(main)
        if negation and order == "command":
            places["operator"].append(Word("do", "AUX", (), main, "aux"))
        places["not"] += _not(node, main) if negation else []
        return main, None
    agrees = node.object if node.verb.key == "geben (es)" else english_subject(node)
    person = "3s" if node.verb.named or agrees is None else english_person(agrees)
    row = CLOSED["verb_groups"][english_tense(node, simple=simple)]["english"].split()
    tense = row[0].partition(".")[2]
    needs_operator = inverted or negation
    if len(row) == 1:
        main = Word(base, speech, (as_verb,))
        if base == "be" or not needs_operator:
            main.text, main.origins = english.finite(base, past, tense, person), (as_finite, as_verb)
            places["operator" if base == "be" else "verb"].append(main)
        else:
            places["operator"].append(Word(english.finite("do", "", tense, person), "AUX", (as_finite,), main, "aux"))
            places["verb"].append(main)
        places["not"] += _not(node, main) if negation else []
        return main, None
    forms = {"base": base, "ing": english.progressive(base), "participle": english.participle(base, past)}
    main = Word(forms[row[-1].partition(".")[2]], speech, (as_verb,))
    top = _auxiliaries(node, row[:-1], person, places, main, needs_operator=needs_operator)
    places["verb"].append(main)
    places["not"] += _not(node, top or main) if negation else []
    if places["not"] and not inverted and places["operator"][0].text == "can":
        places["operator"] = [Word("cannot", "AUX", (*places["operator"][0].origins, (node, "not")), main, "aux")]
        places["not"] = []
    return main, top


def _auxiliaries(
    node: Clause, row: list[str], person: str, places: dict[str, list[Word]], main: Word, *, needs_operator: bool
) -> Word | None:
    """The words before the full verb; the first is the operator unless it is a full verb itself, as in want to."""
    gladly = ((node, "gladly"),) if "gern" in node.tense else ((node, "finite"),)
    said: list[Word] = []
    for place, part in enumerate(row):
        base, _, tense = part.partition(".")
        text = english.finite(base, "", tense, person) if tense else base  # type: ignore[arg-type]
        origins = ((node, "finite"), (node, "progressive")) if base == "be" and node.tense == "present" else gladly
        origins = (
            ((node, "finite"),) if place == 0 and base in ("be", "would") and "progressive" not in row else origins
        )
        said.append(Word(text, "PART" if base == "to" else "AUX", origins, main, "mark" if base == "to" else "aux"))
    full = [word for word, part in zip(said, row, strict=True) if row[-1] == "to" and part.partition(".")[0] in _FULL]
    top = full[0] if full else None
    if top is not None:
        top.part_of_speech, top.head, top.relation = "VERB", None, "root"
        for word in said:
            if word.text != "to" and word is not top:
                word.head = top
    if top is said[0] and needs_operator:
        base, _, tense = row[0].partition(".")
        top.text = base
        places["operator"].append(Word(english.finite("do", "", tense, person), "AUX", ((node, "finite"),), top, "aux"))  # type: ignore[arg-type]
        places["auxiliaries"] += said
    elif top is said[0]:
        places["auxiliaries"] += said
    else:
        places["operator"].append(said[0])
        places["auxiliaries"] += said[1:]
    return top


_FULL = frozenset(("have", "want", "like", "allowed", "supposed"))


def _not(node: Clause, head: Word) -> list[Word]:
    origin = (english_object(node), "pronoun") if not _says_nicht(node) else (node, "not")
    return [Word("not", "PART", (origin,), head, "advmod")]


def _says_nicht(node: Clause) -> bool:
    return node.negated or bool(PARTICLES.get(node.particle, {}).get("negates"))


def _parts(node: Clause, order: str, first: object) -> Iterator[Part]:
    """The parts of the clause beside its verbs and predicate."""
    if order in ("declarative", "question"):
        yield from _subject(node)
    yield from _objects(node, first)
    row = PARTICLES.get(node.particle, {})
    if order == "question" and node.particle == "schon" and node.tense == "past":
        row = {"end": "yet"}
    for place in ("middle", "end"):
        if place in row:
            yield None, place, "advmod", spell(row[place], "ADV", (node, "particle"))
    for adverbial in node.adverbials:
        if isinstance(adverbial, Adverbial) and adverbial.adverb.stranded:
            yield None, "end", "advmod", spell(adverbial.adverb.stranded, "ADP", (adverbial, "word 0"))
    if node.please:
        yield None, "please" if order == "command" else "middle", "discourse", spell("please", "INTJ", (node, "please"))
    for adverbial in node.adverbials:
        relation = "advmod" if isinstance(adverbial, Adverbial) else "obl"
        in_the_middle = isinstance(adverbial, Adverbial) and adverbial.adverb.middle
        place = "before_not" if in_the_middle else "middle" if adverbial.slot == "frequency" else adverbial.slot
        said = _words(adverbial)
        if node.verb.named and adverbial is first:  # wie heißt du: what is your name
            said[0].text = "what"
        yield adverbial, place, relation, said
    if node.complement is not None:
        relation = "xcomp" if isinstance(node.complement, Infinitive) else "ccomp"
        yield None, "after", relation, _complement(node.complement)


def _subject(node: Clause) -> Iterator[Part]:
    subject = english_subject(node)
    if node.verb.key == "geben (es)":
        yield subject, "subject", "expl", [Word("there", "PRON", ((subject, "pronoun"),))]
    elif node.verb.named and subject is not None:
        name = Word("name", "NOUN", ((node, "verb"),))
        yield subject, "subject", "nsubj", [*attach(_possessor(subject), name, "nmod:poss"), name]
    elif subject is not None:
        expletive = isinstance(subject, Pronoun) and subject.key == "es" and node.verb.subject == ""
        yield subject, "subject", "expl" if expletive else "nsubj", nominal(subject, subject=True)


def _objects(node: Clause, first: object) -> Iterator[Part]:
    verb, thing = node.verb, english_object(node)
    recipient = node.recipient
    light = is_light(thing) and not verb.preposition
    if recipient is not None:
        to = verb.recipient_preposition or ("to" if light else "")
        said = nominal(recipient)
        if to:
            said = [*attach(spell(to, "ADP", (recipient, "to")), root_of(said), "case"), *said]
        yield recipient, "to_recipient" if to else "recipient", "obl" if to else "iobj", said
    if verb.particle:
        place = "to_recipient" if verb.particle_last else "verb_particle"
        yield None, place, "compound:prt", spell(verb.particle, "ADP", (node, "verb"))
    if verb.reflexive_english:
        key = subject_key(english_subject(node)) if node.subject is not None else "du"
        yield None, "light", "obj", spell(PRONOUNS[key]["myself"], "PRON", (node, "self"))
    if thing is None:
        return
    origins = ((node, "preposition"),) if verb.governs else ((node, "preposition"), (node, "verb"))
    preposition = spell(verb.preposition, "ADP", *origins)
    said = nominal(thing, negated=_is_negated(node) and "gern" not in node.tense, existence=verb.key == "geben (es)")
    if isinstance(thing, Pronoun) and thing.key == "was" and verb.asks:
        said = spell(verb.asks, "ADV", (thing, "pronoun"))
    if thing is first:  # the preposition stays behind: what are you waiting for?
        attach(preposition, root_of(said), "case")
        yield thing, "front", "obl" if preposition else "obj", said
        yield None, "object", "", preposition
    elif preposition:
        yield thing, "object", "obl", [*attach(preposition, root_of(said), "case"), *said]
    else:
        yield thing, "light" if light else "object", "obj", said


def _complement(complement: Infinitive | Joined) -> list[Word]:
    if isinstance(complement, Joined):
        return _with_joiner(complement)
    said = clause(complement.clause, "infinitive")
    if complement.bare:
        return said
    main = next(word for word in said if (complement.clause, "verb") in word.origins)
    to = Word("to", "PART", ((complement.clause, "to"),), root_of(said), "mark")
    place = said.index(main)
    return [*said[:place], to, *said[place:]]


# ---- what stands in them


def _words(node: Predicate, *, negated: bool = False) -> list[Word]:
    """A predicate or adverbial."""
    match node:
        case Quality():
            return _quality(node)
        case Adverbial():
            return _adverb(node)
        case Prepositional():
            return _prepositional(node)
    return nominal(node, negated=negated)


def _adverb(node: Adverbial) -> list[Word]:
    german_words, english_words = node.adverb.key.split(), node.adverb.english.split()
    one_by_one = len(german_words) == len(english_words)
    said = [
        Word(text, "ADV", ((node, f"word {place if one_by_one else 0}"),)) for place, text in enumerate(english_words)
    ]
    if not one_by_one:
        for word in said:
            word.origins = tuple((node, f"word {place}") for place in range(len(german_words)))
    for word in said[:-1]:
        word.head, word.relation = said[-1], "advmod"
    if node.degree:
        said.insert(0, Word(DEGREES[node.degree], "ADV", ((node, "degree"),), said[-1], "advmod"))
    return said


def _prepositional(node: Prepositional) -> list[Word]:
    said = nominal(node.object)
    if node.bare and isinstance(node.object, NounPhrase):
        said = [word for word in said if word.relation != "det"]
    preposition = attach(spell(node.english, "ADP", (node, "preposition")), root_of(said), "case")
    return [*said, *preposition] if node.after else [*preposition, *said]


def _quality(node: Quality) -> list[Word]:
    compared = node.than is not None and not node.equal
    main_text = english.comparative(node.adjective) if compared else node.adjective.english
    described = spell(main_text, "ADJ", (node, "adjective"))
    *before, main = described
    main.head, main.relation = None, "root"
    for word in before:
        word.head, word.relation = main, "advmod"
    said = described
    if node.degree:
        said = [Word(DEGREES[node.degree], "ADV", ((node, "degree"),), main, "advmod"), *said]
    if node.measure is not None:
        said = [*attach(nominal(node.measure), main, "obl:npmod"), *said]
    if node.than is not None:
        than = Word("as" if node.equal else "than", "ADP", ((node, "than"),))
        other = nominal(node.than)
        attach([than], root_of(other), "case")
        attach(other, main, "obl")
        said = [*([Word("as", "ADV", ((node, "as"),), main, "advmod")] if node.equal else []), *said, than, *other]
    return said


def nominal(node: Nominal, *, subject: bool = False, negated: bool = False, existence: bool = False) -> list[Word]:
    """A nominal with its relative clause; under `negated`, any for no article, anything for nothing.

    Of what there is not, no is said.
    """
    match node:
        case Pronoun(key):
            forms = PRONOUNS["es" if node.thing else key]["english"].split()
            form = forms[0 if subject or not (negated or "reflexive" in PRONOUNS[key]) else 1]
            return [Word(form, "PRON", ((node, "pronoun"),))]
        case RelativePronoun(antecedent):
            text = ("who" if subject else "whom") if is_person(antecedent) else "that"
            return [Word(text, "PRON", ((node, "relative"),))]
        case Name(name):
            return _proper(name.english, (node, "noun"))
        case Clock(hour, half):
            return _clock(node, hour, half=half)
        case Both():
            return _both(node, subject=subject)
    return _noun_phrase(node, negated=negated, existence=existence)


def _proper(text: str, origin: Origin) -> list[Word]:
    return spell(text, "PROPN", origin, relation="flat")


def _clock(node: Clock, hour: str, *, half: bool) -> list[Word]:
    numeral = Word(NUMERALS[hour], "NUM", ((node, "numeral"),))
    if not half:
        return [numeral, Word("o'clock", "ADV", ((node, "clock"),), numeral, "advmod")]
    before = list(NUMERALS.values())
    numeral.text = before[before.index(NUMERALS[hour]) - 1] if hour != "zwei" else "one"
    said = spell("half past", "ADP", (node, "half"))
    return [*attach(said, numeral, "case"), numeral]


def _both(node: Both, *, subject: bool) -> list[Word]:
    first, *others = (nominal(part, subject=subject) for part in node.parts)
    root, said = root_of(first), first
    for place, other in enumerate(others):
        last = place == len(others) - 1
        text = JOINERS[node.joiner]["english"]
        joint = Word(text, "CCONJ", ((node, "and"),), root_of(other), "cc") if last else mark(",")
        said = [*said, joint, *attach(other, root, "conj")]
    return said


def _noun_phrase(node: NounPhrase, *, negated: bool, existence: bool) -> list[Word]:
    """Determiner, adjectives, noun, attribute, relative clause, with 's or of for the possessor."""
    owned = node.noun.owned and (node.possessor is not None or DETERMINERS.get(node.determiner, {}).get("possessive"))
    text = node.noun.owned if owned else english.noun(node.noun, plural=english_plural(node))
    *compound, noun = spell(text, "NOUN", (node, "noun"))
    noun.head, noun.relation = None, "root"
    for word in compound:
        word.head, word.relation = noun, "compound"
    described = [*_adjectives(node, noun), *compound, noun]
    if negated and existence and is_indefinite(node):
        determiner = [Word("no", "DET", ((node, "determiner"),), noun, "det")]
    else:
        determiner = _determiner(node, described[0].text, noun, negated=negated)
    said = [*determiner, *described]
    if node.attribute is not None:
        said += attach(_words(node.attribute), noun, "nmod")
    if node.possessor is not None and not is_person(node.possessor):
        owner = nominal(node.possessor)
        said += attach(
            [Word("of", "ADP", ((node.possessor, "determiner"),), root_of(owner), "case"), *owner], noun, "nmod"
        )
    relative = relative_of(node)
    if relative is not None:
        said += _relative(relative, noun)
    return said


def _adjectives(node: NounPhrase, noun: Word) -> list[Word]:
    said: list[Word] = []
    for adjective in node.adjectives:
        text = english.comparative(adjective) if node.comparative else adjective.english
        if adjective.with_ein and node.determiner == "ein":
            text = adjective.with_ein
        words = spell(text, "ADJ", (node, adjective.key))
        words[-1].head, words[-1].relation = noun, "amod"
        for word in words[:-1]:
            word.head, word.relation = words[-1], "advmod"
        said += words
    return said


def _determiner(node: NounPhrase, following: str, noun: Word, *, negated: bool) -> list[Word]:
    origin = (node, "determiner")
    if node.possessor is not None and is_person(node.possessor):
        return attach(_possessor(node.possessor), noun, "nmod:poss")
    if node.determiner in NUMERALS:
        prefix = "a " if node.determiner in ("hundert", "tausend") else ""
        return attach(spell(prefix + NUMERALS[node.determiner], "NUM", origin), noun, "nummod")
    row = DETERMINERS[node.own or node.determiner]
    text = row["english"].split()[english_plural(node)].replace("|", " ")
    if node.noun.in_english == "pair" and node.determiner == "ein":
        text = "a pair of"
    elif text == "-":
        text = "the" if node.noun.in_english == "the" else "any" if negated and is_indefinite(node) else ""
    elif text == "a":
        text = english.article(following)
        if any(adjective.with_ein for adjective in node.adjectives):
            return []
    elif node.noun.in_english == "bare" and text == "the":
        text = ""
    relation = "nmod:poss" if row.get("possessive") else "det"
    return attach(spell(text, "PRON" if row.get("possessive") else "DET", origin), noun, relation)


def _possessor(owner: Nominal) -> list[Word]:
    """My, Anna's, the children's."""
    if isinstance(owner, Pronoun):
        own = DETERMINERS[PRONOUNS[subject_key(owner)].get("own", "sein")]["english"].split()[0]
        return [Word(own, "PRON", ((owner, "pronoun"),))]
    said = nominal(owner)
    said[-1].text = english.possessive(said[-1].text)
    return said


def _relative(relative: Relative, noun: Word) -> list[Word]:
    node, front = relative.clause, relative.front
    said = clause(node, "declarative", None if front is english_subject(node) else front)
    for word in said:
        if any(isinstance(part, RelativePronoun) for part, _ in word.origins):
            word.antecedent = noun
    return attach(said, noun, "acl:relcl")
