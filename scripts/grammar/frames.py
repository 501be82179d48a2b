"""Frames: verb phrases of frames.toml, used in every person, tense and form by the rows of uses.toml."""

from typing import Any

from grammar import meaning as m
from grammar.clauses import bears_negation
from grammar.lexicon import lexicon, table
from grammar.notation import Reader, form_of
from grammar.sampler import Sampler

_TABLES = table("uses")
_WHEN: dict[str, dict[str, Any]] = _TABLES["when"]
_PEOPLE = ("told", "asked", "others", "third", "we")
_LISTS = [row | {"of": {*map(str.strip, row["of"].split(","))}} for row in _TABLES["list"]]

# A row with its verb for each verb phrase of a group, and for each alternative of the item with the most.
FRAMES: list[dict[str, Any]] = []
for group in table("frames")["frames"]:
    for text in group["say"]:
        items = [item.split(" / ") for item in text.split("; ")]
        most = max(items, key=len)
        for chosen in most:
            said = [[chosen] if item is most else item for item in items]
            options = [option for item in said for option in item]
            verb = next(lexicon().verbs[option] for option in options if option in lexicon().verbs)
            lists = [row for row in _LISTS if row["of"] & {verb.key, *" ".join(options).replace(verb.key, "").split()}]
            aspect = next((row["aspect"] for row in lists if "aspect" in row), verb.aspect)
            bars = set(_TABLES["without"][aspect].split()).difference(*(row.get("may", "").split() for row in lists))
            bars = bars.union(*(row.get("without", "").split() for row in (group, *lists)), ["help"] * ("own " in text))
            FRAMES.append({"say": said, "group": group, "verb": verb, "aspect": aspect, "bars": bars})


def _fitting(use: dict[str, Any]) -> list[dict[str, Any]]:
    barred = set(use.get("bars", "").split())
    anybody = use.get("subject", "told") in _PEOPLE
    return [row for row in FRAMES if barred.isdisjoint(row["bars"]) and (anybody or "subject" not in row["group"])]


USES = {place: use | {"frames": _fitting(use)} for place, use in enumerate(_TABLES["use"])}
_WEIGHTS = {place: use.get("weight", 1.0) for place, use in USES.items()}


def framed(sampler: Sampler) -> m.Sentence:
    """Hast du den Müll schon rausgebracht? Ich glaube, dass er heute das Bad putzen muss."""
    use = USES[sampler.weighted(_WEIGHTS)]
    frame = sampler.fair(use["frames"])
    main, join = (sampler.one_of(use.get(name, [""])) for name in ("main", "join"))
    form = form_of(main) if main else use.get("form", "statement")
    starts = form == "statement" and (not main or main.startswith("A"))  # where Sie would be read as they
    subject = _subject(sampler, frame["group"], use.get("subject", "told"), starts=starts)
    reader = Reader(sampler.of_kind, {"A": subject, "C": m.Pronoun(sampler.addressee)})
    sampler.as_subject(subject)
    before = reader.clause(main) if main else None
    node, when = _clause(sampler, reader, frame, use)
    if before is not None:
        return behind(before, m.Joined(join, node), form)
    if join:
        others = [row for row in use["frames"] if row["group"] is frame["group"] and row["verb"] is not frame["verb"]]
        if not others:
            return m.Sentence(node)
        second, _ = _clause(sampler, reader, sampler.fair(others), use | {"when": [when]}, timed=False)
        second.simple = when == "often"
        return m.Sentence(node, joined=(m.Joined(join, second),))
    if "asks" in use:
        node.adverbials.append(m.Adverbial(sampler.words.adverbs["question"][sampler.one_of(use["asks"])]))
        return m.Sentence(node, form, node.adverbials[-1])
    clear = m.subject_key(node.subject) != "sie, plural"  # which could be Sie after the verb
    times = node.in_slot("time") if clear and sampler.chance(use.get("front", 0)) else []
    return m.Sentence(node, form, node.subject if use.get("subject") == "who" else next(iter(times), None))


def behind(main: m.Clause, joined: m.Joined, form: str) -> m.Sentence:
    """The sentence in which a clause follows the main one; infinitives become part of the main clause."""
    if joined.row.get("order", "") in m.INFINITIVES:
        main.complete(joined.joiner, joined.clause)
        return m.Sentence(main, form)
    return m.Sentence(main, form, joined=(joined,))


def _clause(
    sampler: Sampler, reader: Reader, frame: dict[str, Any], use: dict[str, Any], *, timed: bool = True
) -> tuple[m.Clause, str]:
    """The frame with subject A, and its time expression."""
    options = _TABLES["aspects"][frame["aspect"]]
    options = {name: options.get(name, 1.0) for name in use.get("when", options)}
    barred = frame["bars"] | set(use.get("never", "").split())
    fitting = {
        name: weight for name, weight in options.items() if barred.isdisjoint((*_WHEN[name]["bars"].split(), name))
    }
    when = sampler.weighted(fitting or options)
    text = "; ".join(map(sampler.one_of, frame["say"]))
    times = Reader(sampler.of_kind).clause(f"er; {text}").in_slot("time", "frequency")  # time expressions of its own
    clocks = [part for part in times if isinstance(getattr(part, "object", None), m.Clock)]
    finished = times and when in ("done", "pending")
    when = "usual" if clocks and when in ("now", "planned", "soon", "state") else "past" if finished else when
    rule = _WHEN[when]
    free = timed and use.get("timed", True) and "time" not in frame["bars"] and not times
    time = sampler.one_of(rule["times"]) if free else ""
    time = time if set(time.split()).isdisjoint(text.replace(";", "").split()) else ""  # morgen früh früh
    usual = when != "often" or time or times
    also = sampler.one_of(rule.get("also", [""])) if sampler.chance(use.get("also", 0)) else ""
    said = [item for item in ("A", text, time, also, sampler.one_of(rule["say"]) if usual else "") if item]
    node = reader.clause("; ".join(said))
    formal = use.get("form") == "command" and sampler.addressee == "Sie"
    node.please = formal or sampler.chance(use.get("please", 0))
    if not (time or also or node.please or "negated" in frame["bars"]) and sampler.chance(use.get("negated", 0)):
        node.negated |= bears_negation(node, when)
    return node, when


def _subject(sampler: Sampler, group: dict[str, Any], kind: str, *, starts: bool) -> m.Nominal:
    """One of the group's subjects, or a person."""
    if "subject" in group:
        return Reader(sampler.of_kind).nominal(sampler.one_of(group["subject"]))
    options = _TABLES["subjects"][kind]
    said = sampler.weighted({**options, "addressee": 0} if starts and sampler.addressee == "Sie" else options)
    said = sampler.addressee if said == "addressee" else said
    if said.startswith("@"):
        said = sampler.fair(_TABLES["casts"][said[1:]])
    return Reader(sampler.of_kind).nominal(said)
