"""`tmt align`: link the words of a sentence and its translation."""

from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from transformer_mt.cli.options import (
    HeadOption,
    Input,
    LayerOption,
    LookedAt,
    ModelOption,
    TargetFile,
    TargetOption,
    files_of_pairs,
)
from transformer_mt.cli.sentence import SentenceOptions, emit, load_sentence, with_sentence_options
from transformer_mt.cli.terminal import result
from transformer_mt.ground.errors import InputError
from transformer_mt.text.terminal import escaped_json

if TYPE_CHECKING:
    from transformer_mt.runs.alignment import AlignmentHeads
    from transformer_mt.translation.model import Model as OpenedModel

_PAIRS_AT_A_TIME = 1_000


@with_sentence_options
def align(
    sentence: LookedAt = None,
    model: ModelOption = None,
    target: TargetOption = None,
    layer: LayerOption = None,
    head: HeadOption = None,
    input: Input = None,
    target_file: TargetFile = None,
    *,
    options: SentenceOptions,
) -> None:
    """Link the words of a sentence and its translation by attention.

    \b
    Examples:
      tmt align
      tmt align "Der Hund schläft." --target "The dog sleeps."
      tmt align --input letters.de --target-file letters.en > links.txt

    The first line has the links in Pharaoh format: source and target word numbers, from 0. Then come both sentences
    with numbered words; brackets show the source words of each target word. Punctuation has no links. By default, tmt
    averages the heads that aligned best at the end of training.
    """
    from transformer_mt.cli.line_io import read_pairs
    from transformer_mt.cli.open_model import open_translator
    from transformer_mt.corpus.cleaning import normalized_pair
    from transformer_mt.corpus.pairs import SentencePair
    from transformer_mt.links.align import align_pairs
    from transformer_mt.views.align import alignment_lines
    from transformer_mt.views.serialise import to_json

    if files := files_of_pairs(input, target_file):
        if sentence is not None:
            raise InputError("--input", "reads pairs from files", "leave out SENTENCE")
        translator = open_translator(model, options, device=options.device, to=options.to)
        chosen = _chosen(translator.model, layer, head)
        with closing(read_pairs(*files, translator)) as pairs:
            while part := list(map(normalized_pair, islice(pairs, _PAIRS_AT_A_TIME))):
                for alignment in align_pairs(translator.model.network, translator.model.tokenizer, part, chosen):
                    result(escaped_json(to_json(alignment)) if options.as_json else alignment.pharaoh)
        return
    subject = load_sentence(sentence, target, model=model, options=options)
    chosen = _chosen(subject.model, layer, head)
    pair = SentencePair(subject.source, subject.target)
    (alignment,) = align_pairs(subject.network, subject.model.tokenizer, [pair], chosen)
    emit(alignment, lambda _: alignment_lines(alignment), subject=subject, options=options)


def _chosen(model: "OpenedModel", layer: str | None, head: str | None) -> "AlignmentHeads":
    """The heads chosen by `--layer` and `--head`, or the run's alignment heads."""
    from transformer_mt.cli.open_model import alignment_heads
    from transformer_mt.links.align import cross_heads
    from transformer_mt.models.head_mask import EVERY, heads_at
    from transformer_mt.runs.alignment import AlignmentHeads

    names = cross_heads(model.network)
    if not names or (layer is None and head is None):
        return alignment_heads(model)
    return AlignmentHeads(heads=tuple(heads_at(names, layer=layer, head=head, every=EVERY)), chosen_by="given")
