"""Syntax: how a derivation is realised. Shared by both languages; each language adds the rest."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Set
from functools import cache
from typing import Any, NamedTuple

from grammar import meaning as m
from grammar.german import COORDINATION, PRONOUNS
from grammar.lexicon import CLOSED, Adjective, Case, Choice, Entry, table
from grammar.words import Said, Word, attach, before, going_on, mark, root_of, spell

Places = defaultdict[str, Said]
Short = m.Pronoun | m.RelativePronoun | m.Name | m.Clock


class Part(NamedTuple):
    """A part of a clause: its node, place, relation to the verb, and words, `stay` of which are stranded."""

    node: object
    place: str
    relation: str
    said: Said
    stay: int = 0


class Language(ABC):
    """Realises derivations; the rows of `order.toml` put the parts of clauses in their places."""

    name: str
    copula: str
    plain_case: Case  # of predicates and compared nominals
    relative_order: str
    order_key: str  # of joiners: the key with the order of the joined clause, if not that of relative clauses
    strands: bool  # whether prepositions governed by a verb are stranded: whom I am waiting for
    graded: Callable[[Adjective, str], str]

    def __init__(self) -> None:
        rows: dict[str, str] = table("order")[self.name]

        def places(row: str) -> list[str]:
            return [place for part in row.split() for place in (places(rows[part]) if part in rows else [part])]

        self._orders = {name: places(row) for name, row in rows.items()}
        self._roles = {
            role: {key: Choice(*text.split(", ")) for key, text in row.items()}
            for role, row in table("parts")[self.name].items()
        }
        self._asked = frozenset[str]().union(*(choice.asks for row in self._roles.values() for choice in row.values()))
        self._said_roles = cache(self._chosen)
        self._choices = {name: Choice(*options) for name, options in table("parts")["choices"][self.name].items()}

    # ---- sentences

    def sentence(self, node: m.Sentence) -> Said:
        """The sentence without its final mark."""
        said = self.clause(node.clause, *self._main_order(node))
        root = last = root_of(said)
        if node.before is not None:
            said = before([*self.joined(node.before), mark(",")], said, "advcl")
        for place, joined in enumerate(node.joined):
            comma = [mark(",")] if self.name in joined.row["comma"] or node.resumes(place) else []
            added, head = self.joined(joined), last if joined.within else root
            earlier = node.goes_on(place, english=self.name == "english")
            if earlier is not None:
                keep = (earlier.says_nicht and joined.joiner != "sondern") or joined.clause.says_nicht
                keep = keep or (joined.within and not self.strands)
                added, full = going_on(added, said, last, joined.clause.subject, keep=keep)
                head = full or head
            last = root_of(added)
            said += [*comma, *attach(added, head, _relation(joined))]
        return [*self._asides(node.opening, root), mark(","), *said, mark(","), *self._asides(node.ending, root)]

    def _asides(self, parts: tuple[Any, ...], root: Word) -> Said:
        """The parts before or after a sentence, between commas: Hallo Anna; oder."""
        said: Said = []
        for part in parts:
            name = self.phrase(part, "nominative") if isinstance(part, m.Name) else []
            words = name or spell(self.closed("openings", part), "INTJ", (parts, part))
            said += attach(words, root, "vocative" if name else "discourse")
        return said

    def joined(self, node: m.Joined) -> Said:
        """A clause with the word that joins it to another."""
        part_of_speech, relation, _ = CLOSED["joining"][node.row["order"]].split()
        order = self.relative_order if node.within else node.row.get(self.order_key, self.relative_order)
        starts = node.clause.subject if order == "verb_second" else node.clause.asked if node.joiner == "?" else None
        said = self.clause(node.clause, order, starts)
        return before(spell(node.row.get(self.name, node.joiner), part_of_speech, (node, "joiner")), said, relation)

    def _main_order(self, node: m.Sentence) -> tuple[str, object]:
        """The order of the main clause, and its first part if that has a place of its own."""
        first, clause = node.first, node.clause
        follows = {
            "before": node.before,
            "first": first is not None,
            "middle": isinstance(first, m.Adverbial) and first.adverb.middle,
            "subject_asked": first is not None and first is clause.english_subject,
        }
        holds = {node.form, getattr(first, "slot", ""), *(name for name, value in follows.items() if value)}
        order = self._choices["order"](holds)
        fronts = {"first": first, "theme": first or clause.subject or clause.object}
        return order, fronts.get(self._choices["front"](holds | {order}))

    # ---- clauses

    def clause(self, node: m.Clause, order: str, first: object = None) -> Said:
        """A clause with its parts in the places of the row `order`; `first` goes to the front."""
        places: Places = defaultdict(list)
        holds = m.facts(node, order, english=self.name == "english")
        head, top = self._verbs(node, holds, places)
        predicate = self._predicate(node)
        if predicate is not None:
            described = self.phrase(predicate, self.plain_case, node if self._choices["negates"](holds) else None)
            if getattr(node.verb, self.name) == self.copula:
                head = make_copula(head, root_of(described), places)
                if self.relative_order == "verb_last":  # Das ist das Buch, das ich suche.
                    places["after"] += self._relative(predicate, head)
            else:
                attach(described, head, "xcomp")
        if top is None:
            top = head
        else:
            head.head, head.relation = top, "xcomp"
        for part in self._parts(node, holds):
            if part.relation:
                attach(part.said, top if part.relation in ("nsubj", "expl", "advmod") else head, part.relation)
            if part.node is not None and part.node is first:
                places["front"] += part.said[part.stay :]
                places[part.place] += part.said[: part.stay]
            else:
                places[part.place] += part.said
        if predicate is not None:
            places["front" if predicate is first else "predicate"] += described
        return [word for place in self._orders[order] if place in places for word in places[place]]

    def _predicate(self, node: m.Clause) -> m.Predicate | None:
        return node.predicate

    def _chosen(self, holds: frozenset[str]) -> dict[str, dict[str, Any]]:
        """For each realised role, the choices of its row."""
        chosen = {role: {key: choice(holds) for key, choice in row.items()} for role, row in self._roles.items()}
        return {role: row for role, row in chosen.items() if row["place"] not in ("", "-")}

    def _parts(self, node: m.Clause, holds: Set[str]) -> list[Part]:
        """The parts of the clause other than verb and predicate."""
        found: list[Part] = []
        for role, row in self._said_roles(self._asked & holds).items():
            negated = node if role == "object" and self._choices["negates"](holds) else None
            found += self._part(node, role, row, negated)
        for adverbial in (part for part in node.adverbials if part is not self._predicate(node)):
            adverb = adverbial.adverb if isinstance(adverbial, m.Adverbial) else None
            place = self._choices["place"](node.verb.facts | adverbial.facts) or adverbial.slot
            stranded = self.strands and isinstance(getattr(adverbial, "object", None), m.RelativePronoun | m.Pronoun)
            stay = len(getattr(adverbial, "english", "").split()) if stranded else 0  # who … with
            said = self.phrase(adverbial, self.plain_case)
            found.append(Part(adverbial, place, "advmod" if adverb else "obl", said, stay))
            if adverb and adverb.stranded:  # where … from
                found.append(Part(None, "end", "compound:prt", spell(adverb.stranded, "ADP", (adverbial, "word 0"))))
        if node.complement is not None:
            row, said = node.complement.row, self.joined(node.complement)
            place = "predicate" if not row["comma"] else "to_do" if row["order"] in m.INFINITIVES else "after"
            said = self._set_off(said) if row["comma"] else said  # lass mich schlafen
            found.append(Part(None, place, _relation(node.complement), said))
        return found

    def _part(self, node: m.Clause, role: str, row: dict[str, Any], negated: m.Clause | None) -> list[Part]:
        """A nominal in its role, with its preposition and relative clause; or a word."""
        place, relation = row["place"], row["relation"]
        origins = [(node, origin) for origin in row.get("origin", role).split()]
        if "of" not in row:
            own = PRONOUNS["Sie" if node.subject is None else m.subject_key(node.subject)]
            text = row["text"].format(node=node, verb=node.verb, own=own)
            return [Part(None, place, relation, spell(text, row["speech"], *origins))]
        nominal = getattr(node, row["of"])
        said = self._role(node, role, nominal, row["case"], negated)
        relative = self._relative(nominal, root_of(said)) if "relative" in row else []
        preposition = spell(row.get("preposition", "").format(verb=node.verb), "ADP", *origins)
        stay = len(preposition) if self.strands else 0
        found = Part(nominal, place, relation, self._governed(preposition, said, nominal), stay)
        return [found, Part(nominal, row["relative"].format(place=place), "", relative)] if relative else [found]

    def _role(self, node: m.Clause, role: str, nominal: m.Nominal, case: Case, negated: m.Clause | None) -> Said:
        """A nominal in its role in a clause."""
        return self.phrase(nominal, case, negated)

    def _governed(self, preposition: Said, said: Said, governed: m.Predicate) -> Said:
        """A nominal with its preposition, if there is one."""
        return before(preposition, said, "case")

    def _set_off(self, clause: Said) -> Said:
        """A subordinate clause with its commas, if the language uses them."""
        return clause

    def _relative(self, node: m.Predicate, noun: Word) -> Said:
        """The relative clause of a nominal, or nothing."""
        relative = node.relative if isinstance(node, m.NounPhrase) else None
        if relative is None:
            return []
        said = self.clause(relative.clause, self.relative_order, relative.front)
        for word in said:
            if any(isinstance(part, m.RelativePronoun) for part, _ in word.origins):
                word.antecedent = noun
        return self._set_off(attach(said, noun, "acl:relcl"))

    # ---- phrases

    def closed(self, name: str, key: str) -> str:
        """A word of a closed class; a row that is a string is the English word, and its key the German one."""
        row = CLOSED[name][key]
        word: str = (row if isinstance(row, dict) else {"english": row}).get(self.name, key)
        return word

    def phrase(self, node: m.Predicate, case: Case, negated: m.Clause | None = None) -> Said:
        """A nominal in a case, or another predicate; expresses the negation of the clause `negated`."""
        match node:
            case m.Both():
                return self._both(node, case, negated)
            case m.NounPhrase():
                return self._noun_phrase(node, case, negated)
            case m.Prepositional():
                return self._prepositional(node)
            case m.Adverbial():
                return self._adverb(node)
            case m.Quality():
                return self._quality(node)
        return self._short(node, case, negated)

    def _clock(self, node: m.Clock, hour: str) -> tuple[Said, Said]:
        """Viertel nach acht, quarter past eight; 20 and Uhr, 8 and pm."""
        lead, _, unit = CLOSED["clock"][node.form][self.name].partition("{}")
        numeral = Word(hour, "NUM", ((node, "numeral"), *(() if unit else ((node, "unit"),))))
        said = before(spell(lead, "ADV", (node, "lead")), [numeral], "advmod")
        return said, spell(unit, "NOUN" if unit == " Uhr" else "ADV", (node, "unit"))

    def _adverb(self, node: m.Adverbial) -> Said:
        """Its words, with an optional degree."""
        speech = "PRON" if node.adverb.pronoun == self.name else "ADV"
        said = spell(getattr(node.adverb, self.name), speech, relation="advmod", last=True)
        return before(self._degree(node), _one_by_one(said, node, node.adverb), "advmod")

    def _name(self, node: m.Name, text: str) -> Said:
        """A name, or a number used as a name."""
        speech = "NUM" if text[0].isdecimal() else "PROPN"
        return _one_by_one(spell(text, speech, relation="flat"), node, node.name)

    def _degree(self, node: m.Adverbial | m.Quality) -> Said:
        return spell(self.closed("degrees", node.degree), "ADV", (node, "degree")) if node.degree else []

    def _quality(self, node: m.Quality) -> Said:
        """The adjective with its degree or measure, and its comparison."""
        row = CLOSED["comparison"][self.name]
        text = row.get(node.grade, "{}").format(self.graded(node.adjective, node.grade))
        text = row.get(f"degree {node.degree}", "{1}").format(text.split()[0], text)
        said = spell(text, "ADJ", (node, "adjective"), relation="advmod", last=True)
        main = said[-1]
        if node.grade == "superlative":  # am, the
            said[0].part_of_speech, said[0].relation = row["most"].split()
        said = before(self._degree(node), said, "advmod")
        if node.measure is not None:
            said = before(self.phrase(node.measure, "accusative"), said, row["measure"])
        if node.than is not None:
            than = Word(row["than" if node.grade else "as"], row["part_of_speech"], ((node, "than"),))
            other = before([than], self.phrase(node.than, self.plain_case), "case")
            said += attach(other, main, "obl")
        return said

    def _both(self, node: m.Both, case: Case, negated: m.Clause | None) -> Said:
        """Milk, bread and eggs; keine Milch und kein Brot: no milk or bread, negated by a single any."""
        row = COORDINATION[node.joiner]
        first, last = row.get(f"{self.name}_denied" if negated else "", row[self.name]).split("…")
        denied = [negated, *[negated if self.name == "german" else None] * len(node.parts)]
        phrases = [self.phrase(part, case, denial) for part, denial in zip(node.parts, denied, strict=False)]
        head = root_of(phrases[0])
        said = before(spell(first, "CCONJ", (node, "first")), phrases[0], "cc")
        for phrase in phrases[1:]:
            joiner = spell(last, "CCONJ", (node, "and")) if phrase is phrases[-1] else []
            comma = [mark(",")] if not joiner or self.name in row.get("comma", "") else []
            said += [*comma, *attach(before(joiner, phrase, "cc"), head, "conj")]
        return said

    # ---- left to each language: the verbs (returns the full verb and, if another verb takes it with to, that one) …

    @abstractmethod
    def _verbs(self, node: m.Clause, holds: Set[str], places: Places) -> tuple[Word, Word | None]: ...

    # … and the forms of words.

    @abstractmethod
    def _short(self, node: Short, case: Case, negated: m.Clause | None) -> Said: ...
    @abstractmethod
    def _prepositional(self, node: m.Prepositional) -> Said: ...
    @abstractmethod
    def _noun_phrase(self, node: m.NounPhrase, case: Case, negated: m.Clause | None) -> Said: ...


def _one_by_one(said: Said, node: m.Node, entry: Entry) -> Said:
    """The words of an entry, linked one by one with those of the other language if their numbers are equal."""
    one_by_one = len(entry.key.split()) == len(entry.english.split())
    for place, word in enumerate(said):
        word.origins = ((node, f"word {place if one_by_one else 0}"),)
    return said


def _relation(node: m.Joined) -> str:
    """The relation of a clause to the clause it is joined to."""
    return "ccomp" if "complement" in node.row else CLOSED["joining"][node.row["order"]].split()[2]


def make_copula(verb: Word, predicate: Word, places: Places) -> Word:
    """Make the predicate the head of a clause with sein or be, and move the verb's dependents to it."""
    for word in (word for said in places.values() for word in said):
        if word.head is verb:
            word.head = predicate
    verb.head, verb.relation, verb.part_of_speech = predicate, "cop", "AUX"
    return predicate
