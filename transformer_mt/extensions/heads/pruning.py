"""Pruning: a run without its least important heads (Michel et al. 2019, §4)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from transformer_mt.batching.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.config.sections import Config, TransformerConfig
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.errors import InputError
from transformer_mt.evaluation import Interval, compare_texts
from transformer_mt.head_names import HeadName
from transformer_mt.intervals import Estimate, estimate
from transformer_mt.models.head_mask import head_names, without_heads
from transformer_mt.registry import lookup
from transformer_mt.runs.directory import Run, require_new
from transformer_mt.runs.doubt import DOUBT
from transformer_mt.runs.weights import weights_of
from transformer_mt.translation.translator import Translator
from transformer_mt.views.head_importance import IMPORTANCE, best_texts, sentence_losses
from transformer_mt.views.rendering import table_lines


@dataclass(frozen=True)
class ModelScores:
    """The loss of references in nats per target token, and BLEU of translations, over the measured sentences."""

    loss: Estimate
    bleu: Interval


@dataclass(frozen=True)
class Pruning:
    """The result of pruning: the heads turned off, the number of heads before, and the importance of each.

    Also the scores before and after, and the change in loss; BLEU `after` has the p-value of the change.
    """

    pruned: tuple[HeadName, ...]
    heads: int
    importance: Mapping[HeadName, float]
    before: ModelScores
    after: ModelScores
    loss_change: Estimate


def prune_run(
    source: Run, config: Config, translator: Translator, pairs: Pairs, *, count: int, method: str, path: Path
) -> Pruning:
    """Write a copy of `source` to `path` with the `count` heads that matter least for the pairs added to its head mask.

    Except for the mask, its configuration is `config`. No pair may be too long. Raises `InputError` if the path exists
    and is not an empty directory, if the model is not a transformer, or if `count` is 0 or not below the number of
    heads.
    """
    model = translator.model.network
    tokenizer = translator.model.tokenizer
    require_new(path)
    if not isinstance(config.model, TransformerConfig):
        raise InputError("prune", f"the heads of a {config.model.kind} model cannot be masked", "give another run")
    names = head_names(model)
    if not 0 < count < len(names):
        raise InputError("prune", f"{count} of {len(names)} heads cannot be removed", "give at least 1, and keep one")
    encoded = encode_pairs(pairs, tokenizer, max_length=model.max_length)
    importance = lookup(IMPORTANCE, method, key="importance")(model, encoded)
    least = sorted(names, key=lambda name: importance[name])[:count]
    pruned = tuple(sorted(least, key=names.index))
    attention = config.model.attention
    masked = attention.model_copy(update={"head_mask": (*attention.head_mask, *map(str, pruned))})
    config = config.model_copy(update={"model": config.model.model_copy(update={"attention": masked})})
    scores = _scores(translator, pairs, encoded, pruned)  # before writing, since this may fail
    run = Run.create(path, config, tokenizer, source.data(), source.words())
    run.save_model(weights_of(model))
    run.save_beside(DOUBT, source.doubt())
    return Pruning(pruned, len(names), importance, *scores)


def _scores(
    translator: Translator, pairs: Pairs, encoded: EncodedPairs, pruned: Collection[HeadName]
) -> tuple[ModelScores, ModelScores, Estimate]:
    model = translator.model.network
    tokens = encoded.target_lengths.double().numpy()
    before = sentence_losses(model, encoded)
    texts = best_texts(translator, pairs)
    with without_heads(model, pruned):
        after = sentence_losses(model, encoded)
        others = best_texts(translator, pairs)
    language = translator.model.config.data.target_language
    references = [pair.translations for pair in pairs]
    whole, less = compare_texts([texts, others], references, language=language)["bleu"]
    scores = ModelScores(estimate(before, tokens), whole), ModelScores(estimate(after, tokens), less)
    return *scores, estimate(after - before, tokens)


def pruning_lines(pruning: Pruning, path: Path, *, width: int) -> Iterator[str]:
    """Yield lines with the heads turned off, and both scores before and after."""
    yield f"{path}: a run without {len(pruning.pruned)} of {pruning.heads} heads"
    yield f"off: {', '.join(map(str, pruning.pruned))}"
    yield ""
    before = pruning.before
    after = pruning.after
    rows = [(title, of.loss.text(4), of.bleu.text()) for title, of in (("before", before), ("after", after))]
    rows.append(("change", pruning.loss_change.text(4), after.bleu.change(before.bleu.score)))
    yield from table_lines(rows, headings=("", "loss, nats per token", "BLEU"), right=(1, 2), width=width)
    yield "± is the 95 % interval over sentences"
