"""Rephrasings that keep the translation: the preterite for the perfect, modal particles."""

from grammar import meaning as m
from grammar.lexicon import CLOSED
from grammar.sampler import WEIGHTS, Sampler


def varied(sampler: Sampler, sentence: m.Sentence) -> m.Sentence:
    """The sentence, sometimes in written style: Er ging nach Hause, weil er müde war."""
    if sentence.form == "statement" and sampler.chance(WEIGHTS["preterite"]):
        _tell(sentence)
    if sampler.chance(WEIGHTS["particle"]):
        _chat(sampler, sentence)
    return sentence


def _chat(sampler: Sampler, sentence: m.Sentence) -> None:
    """Make a sentence colloquial: Wo warst du denn? Komm doch mal! Das ist ja schön."""
    node, form = sentence.clause, sentence.form
    requested = form == "question" and node.tense in ("können", "könnte", "würde")
    form = "asked" if requested or node.please else form
    told = node.particle or node.in_slot("sentence", "frequency") or sentence.opening or sentence.before
    new = form == "statement" and "new" in m.traits(node.subject)  # Ein Mann lacht.
    put_off = form in ("asked", "command") and (node.negated or node.in_slot("time"))
    if not (told or new or put_off or "preterite" in node.tense):
        node.spoken = sampler.weighted(WEIGHTS["spoken"].get(form, {"": 1}))


def _tell(sentence: m.Sentence) -> None:
    """Put a statement into the preterite if all of it is past and addresses no one."""
    joined = [part for part in m.parts(sentence) if isinstance(part, m.Joined)]
    untold = [part.clause for part in joined if part.clause.reported or "infinitive" in part.row["order"]]
    told = [part for part in m.parts(sentence) if isinstance(part, m.Clause) and part not in untold]
    if not sentence.opening and all(map(_is_told, told)):
        for node in told:
            node.tense = CLOSED["written"][node.tense]


def _is_told(node: m.Clause) -> bool:
    spoken = m.subject_key(node.subject) in ("du", "ihr", "Sie") or node.particle or node.please
    today = [part for part in node.adverbials if isinstance(part, m.Adverbial) and part.adverb.key.startswith("heute")]
    recent = today or any("so_far" in part.facts for part in node.adverbials)
    return node.tense in CLOSED["written"] and not spoken and not recent
