"""Random choices: words in noun phrases that suit each other, each word about equally often.

Every choice among words is balanced: draw two and take the one used less so far. weights.toml has the frequencies of
phrase types. A sentence has one addressee (du, ihr or Sie) throughout.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import TypeVar

from grammar import meaning as m
from grammar.german import PRONOUNS, WORDS, possessive
from grammar.lexicon import Adjective, Entity, Noun, ProperName, Verb, lexicon, matches, table

T = TypeVar("T")
WEIGHTS, TIMES = table("weights"), table("times")
# Pronouns of the same first or second person; a sentence uses only one of each group.
_SAME_PERSON = {key: group for group in (("ich", "wir"), ("du", "ihr", "Sie")) for key in group}
_SEVERAL = ("wir", "ihr", "sie, plural")
_OF_SEVERAL = ("unser", "euer", "ihr, plural")
# Possessives that would be the subject's own, or indistinguishable from it.
_MISTAKABLE = {"er": "sein ihr", "es": "sein ihr", "sie": "sein ihr", "Sie": "ihr", "sie, plural": "sein ihr"}
EVERYDAY_PEOPLE: str = WEIGHTS["everyday_people"]
ACQUAINTANCES: str = WEIGHTS["acquaintances"]


@cache
def traits(verb: Verb) -> frozenset[str]:
    """The traits of a verb: the keys it sets, the values of some, and properties derived from several."""
    anybody = "person" in verb.subject.split()
    subjects = lexicon().select(verb.subject) if verb.subject else ()
    derived = {
        "anybody": anybody,
        "acts": any("person" in entity.kind_set for entity in subjects),
        "deed": anybody and verb.aspect != "state" and "infinitive" not in verb.without_set,
        "governs": verb.governs,
    }
    set_keys = {key for key, value in (vars(verb) | derived).items() if value}
    return frozenset(set_keys | {verb.case, verb.aspect, verb.object_is, f"reflexive_{verb.reflexive}"})


@cache
def verbs_with(wanted: str) -> list[Verb]:
    """The verbs with these traits that every construction may use."""
    verbs = [verb for verb in lexicon().verbs.values() if verb.weight and verb.subject and not verb.named]
    return [verb for verb in verbs if verb.takes not in ("quality", "profession") and matches(wanted, traits(verb))]


@cache
def adjectives_with(wanted: str) -> list[Adjective]:
    """The adjectives that set these keys."""
    entries = lexicon().adjectives.values()
    traits_of = wanted.replace("-", "").split()
    return [entry for entry in entries if matches(wanted, {key for key in traits_of if getattr(entry, key)})]


def _counted(noun: Noun) -> tuple[bool, ...]:
    return noun.mass, noun.both, noun.plural_only


@cache
def determiner_weights(noun: Noun, number: str, definiteness: str) -> dict[str, float]:
    """The determiners that suit a noun in the singular, in the plural, or uncounted."""
    tables, unfit = WEIGHTS["determiners"][number], WEIGHTS["unfit"]
    special = [kind for kind in ("relative", "companion", "body", "known") if kind in noun.kind_set & tables.keys()]
    options = tables[special[0] if special and definiteness != "indefinite" else definiteness]
    excluded = {*unfit.get(noun.in_english, ()), *(unfit["shared"] if noun.shared else ())}
    excluded |= {key for kind in noun.kind_set & unfit.keys() for key in unfit[kind]}
    fitting = {key: weight for key, weight in options.items() if key not in excluded}
    return fitting | ({"von": 0.5} if noun.part_of and "von" in options else {})


class Sampler:
    """Random words in random phrases; `allowed` says which pairs of verb and object may be used.

    With `unseen`, it includes nouns and names excluded from training.
    """

    def __init__(self, random: Random, allowed: Callable[[Verb, Entity], bool], *, unseen: bool = False) -> None:
        self.random = random
        self.words = lexicon()
        self.unseen = unseen
        self.addressee = "du"
        self.owner = ""  # the pronoun for the subject of the current clause
        self.actor: Entity | None = None  # that subject's entity
        self.asking = False  # whether the clause is a question, which does not ask about one's own people
        self._used: Counter[object] = Counter()
        self._selected: dict[str, list[Entity]] = {}
        self._pools = {
            name: [one for one in pool if unseen or not one.unseen] for name, pool in self.words.pools.items()
        }
        self.objects = {
            verb: [noun for noun in self.select(verb.object) if allowed(verb, noun)]
            for verb in self.words.verbs.values()
        }
        self.describing: defaultdict[Entity, list[Adjective]] = defaultdict(list)
        for adjective in self.words.adjectives.values():
            for entity in self.words.select(adjective.suits) if adjective.before and not adjective.definite else ():
                self.describing[entity].append(adjective)

    def new_sentence(self) -> None:
        """Choose the addressee of the sentence."""
        self.addressee = self.weighted(WEIGHTS["addressee"])
        self.owner = ""

    # ---- plain choices

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.random.random() < probability

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options, uniformly."""
        return options[int(self.random.random() * len(options))]

    def weighted(self, options: Mapping[T, float]) -> T:
        """A key, with a probability proportional to its weight."""
        point = self.random.random() * sum(options.values())
        *others, last = options
        for key in others:
            point -= options[key]
            if point < 0:
                return key
        return last

    def fair(self, options: Sequence[T]) -> T:
        """One of the options, preferring those used less; a relative counts as several uses."""
        first, second = self.one_of(options), self.one_of(options)
        keys = [id(option) if isinstance(option, dict) else option for option in (first, second)]
        chosen = int(self._used[keys[0]] > self._used[keys[1]])
        self._used[keys[chosen]] += 20 if "relative" in getattr(keys[chosen], "kind_set", ()) else 1
        return second if chosen else first

    # ---- words

    def verb(self, wanted: str | list[str] = "") -> Verb:
        """One of these verbs, or a verb with the wanted traits and none after a minus, in proportion to its weight."""
        if isinstance(wanted, list):
            return self.words.verbs[self.fair(wanted)]
        options = verbs_with(wanted)
        chosen = min(self.one_of(options), self.one_of(options), key=lambda verb: self._used[verb] / verb.weight)
        self._used[chosen] += 1
        return chosen

    def adjective(self, wanted: str | list[str]) -> Adjective:
        """One of these adjectives, or one with the wanted keys and none after a minus."""
        entries = self.words.adjectives
        return entries[self.fair(wanted)] if isinstance(wanted, list) else self.fair(adjectives_with(wanted))

    def select(self, wanted: str) -> list[Entity]:
        """The nouns and names that `wanted` lists, as far as they may be shown."""
        if wanted not in self._selected:
            found = self.words.select(wanted) if wanted else ()
            self._selected[wanted] = [entity for entity in found if self.unseen or not entity.unseen]
        return self._selected[wanted]

    def noun(self, wanted: str, *having: str) -> Noun:
        """A noun that `wanted` lists and that has all these keys."""
        nouns = [noun for noun in self.select(wanted) if isinstance(noun, Noun)]
        return self.fair([noun for noun in nouns if all(getattr(noun, key) for key in having)])

    def of_kind(self, kind: str, verb: Verb | None) -> Entity | str:
        """A noun or name of a kind, if possible one that suits the verb; `name` means a person's name.

        Also the text of a time of times.toml, or a name from pools and numbers, such as "f surname", "street 1-99".
        """
        if kind in TIMES:
            return self.one_of(TIMES[kind])
        if kind.split()[0] in self.words.pools or kind[0].isdecimal():
            return self.copied(kind)
        found = self.select("person -figure -title" if kind == "name" else kind)
        if kind == "name":
            found = [entity for entity in found if isinstance(entity, ProperName)]
        fitting = self.objects[verb] if verb else []
        return self.fair([entity for entity in found if entity in fitting] or found)

    def copied(self, kinds: str) -> ProperName:
        """A name spelled alike in both languages, from the pools and numbers that `kinds` lists: Anna Becker, 214."""
        drawn = [self._number(kind) if kind[0].isdecimal() else self.fair(self._pools[kind]) for kind in kinds.split()]
        key, english = (" ".join(getattr(name, side) for name in drawn) for side in ("key", "english"))
        first, unseen = drawn[0], any(name.unseen for name in drawn)
        row = {"english": english, "kind": first.kind, "gender": first.gender, "article": first.article}
        return ProperName(key, row | {"unseen": unseen})

    def _number(self, wanted: str) -> ProperName:
        """A number: 2-99; 10-90/5 in steps of five; 05-95 with two digits; w as a word, d in digits, else either."""
        bounds, _, step = wanted.rstrip("wd").partition("/")
        low, _, high = bounds.partition("-")
        number = self.random.randrange(int(low), int(high or low) + 1, int(step or 1))
        words = wanted[-1] == "w" or (wanted[-1] != "d" and number in WORDS and self.chance(0.5))
        text = WORDS[number] if words else str(number).zfill(len(low))
        return ProperName(text, {"english": text})

    def renamed(self, sentence: m.Sentence) -> m.Sentence:
        """The sentence with pool names for some of its people and towns."""
        chosen: dict[ProperName, ProperName] = {}
        for node in m.parts(sentence):
            if isinstance(node, m.Name) and self.words.names.get(node.name.key) is node.name:
                if node.name not in chosen:
                    chosen[node.name] = self._other(node.name, alone=node in (*sentence.opening, *sentence.ending))
                node.name = chosen[node.name]
        return sentence

    def _other(self, name: ProperName, *, alone: bool) -> ProperName:
        title = name.key.partition(" ")[0]
        pool = title if title in self.words.pools else WEIGHTS["pools"].get(name.gender + name.kind[:1])
        if not pool or name.unseen or self.chance(0.6):
            return name
        full = pool == title or (name.gender != "n" and not alone and self.chance(0.12))
        return self.copied(f"{pool} surname" if full else pool)

    # ---- people

    def subject(self, verb: Verb, place: str = "first") -> m.Nominal:
        """A subject that suits the verb; `place` says how pronouns are distinguished: first, behind, asked."""
        people = "acts" in traits(verb)
        asked = people and place == "asked"
        sorts = {"several": verb.subject_is, "anything": verb.subject_anything, "asked": asked, "people": people}
        kind = self.weighted(WEIGHTS["subjects"][next((sort for sort, holds in sorts.items() if holds), "things")])
        if kind == "wir" and place == "asked":  # wollen wir …? is shall we …?
            kind = "sie, plural"
        if kind == "pronoun":
            return self.pronoun(place)
        if kind in PRONOUNS:
            return m.Pronoun(kind)
        if kind == "two" and "anybody" in traits(verb):
            friends = self.select(f"Bruder Schwester {ACQUAINTANCES}")
            first = self.fair(friends)
            second = m.called(self.fair([entity for entity in friends if entity is not first]), "mein")
            with_me = place == "first" and self.chance(0.5)
            return m.Both((m.called(first, "mein"), m.Pronoun("ich") if with_me else second))
        kinds = ((EVERYDAY_PEOPLE if kind == "person" else kind) for kind in verb.subject.split())
        found = self.fair(self.select(" ".join(kinds) if self.chance(0.97) else verb.subject))
        return self.entity(found, adjectives=0 if place == "asked" else 0.03)

    def as_subject(self, nominal: m.Nominal) -> m.Nominal:
        """Record the nominal as the subject of the current clause, and return it."""
        self.owner = m.subject_key(nominal)
        self.actor = m.entity_of(nominal)
        return nominal

    @property
    def _girl(self) -> bool:
        """Whether the subject is das Mädchen, whose sein is her."""
        return self.owner == "es" and self.actor is not None and self.actor.key == "Mädchen"

    def pronoun(self, place: str = "first") -> m.Pronoun:
        """A personal pronoun as subject."""
        chosen = self.weighted(WEIGHTS["pronouns"][place])
        if chosen == "addressee" and self.addressee == "Sie" and place == "first":
            return self.pronoun(place)
        return m.Pronoun(self.addressee if chosen == "addressee" else chosen)

    def object_pronoun(self) -> m.Pronoun:
        """A personal pronoun as object, of another person than the subject."""
        taken: tuple[str, ...] = _SAME_PERSON.get(self.owner, ())
        second = () if self.addressee == "Sie" else (self.addressee,)
        taken += ("sie",) if self.owner.startswith("sie") else ()  # sie lädt sie ein
        return m.Pronoun(self.one_of([key for key in ("ich", "er", "sie", "wir", *second) if key not in taken]))

    def person(self, wanted: str = "person -figure", *, pronouns: float) -> m.Nominal:
        """A person other than the subject."""
        if self.chance(pronouns):
            return self.object_pronoun()
        return self.entity(self.fair(self._others(self.select(wanted))))

    def _others(self, entities: Sequence[Entity]) -> list[Entity]:
        """Entities that go with the subject: not the same, no two names (Fragt Jan Martin?), no two parents."""
        kinds = self.actor.kind_set if self.actor else frozenset()
        unfit = {"name", "person"} if {"name", "person"} <= kinds else {"parent"} if "parent" in kinds else {""}
        return [one for one in entities if one is not self.actor and not one.kind_set >= unfit] or list(entities)

    def acquaintance(self, other: m.Nominal | None = None) -> m.Nominal:
        """A person in a scene (a pronoun, name, relative or friend) who is distinguishable from the other."""
        key = m.subject_key(other) if other else ""
        taken = _SAME_PERSON.get(key, ())
        while True:
            known, pronoun = m.called(self.fair(self.select(ACQUAINTANCES)), "mein"), self.pronoun()
            found = pronoun if self.chance(0.8 if other is None else 0.35 if taken else 0) else known
            if m.subject_key(found) not in (key, *taken):
                return found

    # ---- noun phrases

    def entity(self, entity: Entity, *, adjectives: float = 0.03, plurals: float = 0.06) -> m.Nominal:
        """The entity as someone or something known: Anna, mein Vater, der Zug."""
        if isinstance(entity, ProperName):
            return m.Name(entity)
        return self.noun_phrase(entity, "definite", adjectives=adjectives, plurals=plurals)

    def noun_phrase(
        self,
        noun: Noun,
        definiteness: str = "either",
        *,
        number: str = "",
        plurals: float = 0.12,
        adjectives: float = 0.06,
    ) -> m.NounPhrase:
        """A noun with a determiner that suits it and sometimes an adjective."""
        if definiteness == "bare" or noun.kind_set & {"language", "sport"}:
            return m.NounPhrase(noun, "", noun.plural_only or number == "plural")
        alone = noun.in_english in ("pair", "plural", "bare") or noun.kind_set & {"parent", "body"}
        single = noun.mass or noun.both or alone
        plurals = 0.9 if "paired" in noun.kind_set else plurals
        plural = noun.plural_only or number == "plural" or (not (single or number) and self.chance(plurals))
        uncounted = noun.mass or (noun.both and definiteness != "definite" and self.chance(0.4))
        form = "mass" if uncounted else "plural" if plural else "singular"
        determiner = self.weighted(determiner_weights(noun, form, definiteness))
        phrase = m.NounPhrase(noun, determiner, form == "plural")
        if determiner == "few":
            phrase.determiner = self.few()
        elif determiner == "mein":
            one = bool(noun.kind_set & {"body", "glasses", "clothing", "datum"})
            phrase.determiner = self.possessive(0.6 if "person" in noun.kind_set else 0.96, one=one)
            phrase.own = "ihr" if phrase.determiner == "sein" and self._girl else ""  # das Mädchen und seine Mutter
        elif determiner == "von" and noun.part_of:
            phrase.determiner, phrase.possessor = "der", m.NounPhrase(self.noun(noun.part_of))
        elif determiner == "von":
            others = "" if "person" in noun.kind_set else "parent Nachbar Nachbarin Lehrerin"
            owner = self.fair(self.select(f"name -town -country {others}"))
            phrase.determiner, phrase.possessor = "der", m.called(owner, "mein")
        if adjectives and noun.in_english != "bare" and determiner != "dieser":
            phrase.adjectives = self._described(noun, phrase.determiner)
        return phrase

    def few(self) -> str:
        """A low numeral, mostly two."""
        return self.weighted(WEIGHTS["few"])

    def _described(self, noun: Noun, determiner: str) -> tuple[Adjective, ...]:
        """Sometimes a distinguishing adjective: alt, neu, rot."""
        sort = next(kind for kind in ("anyone", "person", "thing") if kind in noun.kind_set or kind == "thing")
        row = WEIGHTS["described"][sort]
        fitting = [adjective for adjective in self.describing[noun] if adjective.key in row["by"]]
        often = row["known"] if determiner in ("der", "mein") else row["new"]
        return (self.fair(fitting),) if fitting and self.chance(often) else ()

    def possessive(self, mostly: float = 0.75, *, one: bool = False) -> str:
        """A possessive, `mostly` the subject's own, and never ambiguous; with `one`, only of a single owner."""
        unfit: tuple[str, ...] = _OF_SEVERAL if one else ()
        own = PRONOUNS.get(self.owner, {}).get("own", "")
        if own and own not in unfit and self.chance(mostly):
            return str(own)
        second = () if self.addressee == "Sie" else (PRONOUNS[self.addressee]["own"],)
        unfit += tuple(_MISTAKABLE.get(self.owner, "").split())
        first = () if self.asking and not self.owner else ("mein", "mein", "mein", "unser")
        options = (*first, *second, *second, "sein", "ihr")
        return self.one_of([option for option in options if option not in unfit])

    # ---- objects

    def object(
        self, verb: Verb, entity: Entity | None = None, *, known: bool = False, habitual: bool = False
    ) -> m.Nominal:
        """An object that suits the verb, definite if `known`."""
        if entity is None and verb.anything and not verb.governs and self.chance(0.12):
            pronouns = WEIGHTS["objects"]
            return m.Pronoun(self.weighted(pronouns.get(verb.object_is, pronouns["anything"])))
        chosen = entity or self.fair(self._others(self.objects[verb]))
        if "person" in chosen.kind_set and entity is None and self.chance(0.45):
            return self.object_pronoun()
        if isinstance(chosen, ProperName):
            return m.Name(chosen)
        if verb.takes == "amount" or (chosen.measure and not chosen.both):
            return m.NounPhrase(chosen, self.few(), plural=True)
        number = verb.object_number
        if number == "each":  # several people wear several coats
            number = "plural" if self.owner in _SEVERAL else "singular"
        if verb.object_is == "own":
            own = possessive(self.owner or "er")
            worn = "body" in chosen.kind_set or ("clothing" in chosen.kind_set and self.chance(0.5))
            said = "der" if worn else own
            return m.NounPhrase(chosen, said, number == "plural", own="ihr" if self._girl else own)
        if verb.object_is == "the":
            return m.NounPhrase(chosen, "der", number == "plural" or chosen.plural_only)
        if verb.object_is == "generic":
            return self._generic(chosen)
        definiteness = "bare" if verb.object_number == "each" and number == "plural" else verb.object_is
        familiar = "person" in chosen.kind_set or verb.case == "dative"
        familiar = familiar or (known and not chosen.kind_set & {"food", "drink", "dish"})
        if definiteness == "either" and familiar:
            definiteness = "definite"
        elif habitual and verb.object_is not in ("definite", "bare") and number in ("", "singular"):  # gern Romane
            return m.NounPhrase(chosen, "", plural=not (chosen.mass or chosen.both))
        return self.noun_phrase(chosen, definiteness, number="singular" if known and not number else number)

    def with_others(self, verb: Verb, thing: m.Nominal) -> m.Nominal:
        """The thing, sometimes with others of its kind: Brot und Käse; eine Jacke, ein Hemd und eine Hose."""
        if not isinstance(thing, m.NounPhrase) or thing.determiner not in WEIGHTS["listed_behind"]:
            return thing
        first, listed = thing.noun, self.select(WEIGHTS["listed"])
        kinds = first.kind_set & set(WEIGHTS["listed"].split())
        nouns = [noun for noun in self.objects[verb] if noun in listed and noun.kind_set & kinds and noun is not first]
        alike = [noun for noun in nouns if isinstance(noun, Noun) and _counted(noun) == _counted(first)]
        some = self.random.sample(alike, self.weighted({1: 3, 2: 1})) if len(alike) > 1 and first in listed else []
        return m.Both((thing, *(replace(thing, noun=noun, adjectives=()) for noun in some))) if some else thing

    def _generic(self, noun: Noun) -> m.NounPhrase:
        """A thing to like or hate: Kaffee, Hunde, das Buch."""
        general = noun.mass or noun.kind_set & {"animal", "food", "drink", "fruit", "vegetable"}
        if general:
            return m.NounPhrase(noun, "", plural=not (noun.mass or noun.both))
        return self.noun_phrase(noun, "definite", number="" if noun.plural_only else "singular", adjectives=0.05)
