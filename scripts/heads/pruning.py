"""A run without its least important heads (Michel et al. 2019, §4)."""

from collections.abc import Callable, Iterator
from pathlib import Path

from transformer_mt.batching.encoded_pairs import EncodedPairs, encode_pairs
from transformer_mt.config.sections import TransformerConfig
from transformer_mt.corpus.pairs import Pairs
from transformer_mt.evaluation.evaluate import compare_texts, evaluate
from transformer_mt.evaluation.intervals import estimate
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.head_names import HeadName
from transformer_mt.models.head_mask import head_names, without_heads
from transformer_mt.runs.directory import Run
from transformer_mt.runs.doubt import DOUBT
from transformer_mt.runs.weights import weights_of
from transformer_mt.training.fine_tuning import init_from_run
from transformer_mt.translation.translator import Translator
from transformer_mt.views.head_importance import ByHead, mean_gradients, normalised_gradients, sentence_losses
from transformer_mt.views.rendering import table_lines


def by_loss(translator: Translator, pairs: Pairs) -> ByHead:
    """The summed loss without each head, in nats."""
    model, encoded = translator.model.network, encoded_for(translator, pairs)
    return without_each(translator, lambda: sentence_losses(model, encoded).sum())


def by_bleu(translator: Translator, pairs: Pairs) -> ByHead:
    """−BLEU without each head. Translates all pairs once per head."""
    return without_each(translator, lambda: -evaluate(translator, pairs).bleu)


def without_each(translator: Translator, measure: Callable[[], float]) -> ByHead:
    """A figure without each head."""
    model, figures = translator.model.network, {}
    for name in head_names(model):
        with without_heads(model, [name]):
            figures[name] = float(measure())
    return figures


def encoded_for(translator: Translator, pairs: Pairs) -> EncodedPairs:
    """The pairs in the model's tokens."""
    return encode_pairs(pairs, translator.model.tokenizer, max_length=translator.model.network.max_length)


def best_texts(translator: Translator, pairs: Pairs) -> list[str]:
    """The best translations of the pairs' sources."""
    return [best.text for best, *_ in translator.translate([pair.source for pair in pairs])]


# How much each head matters.
IMPORTANCE: dict[str, Callable[[Translator, Pairs], ByHead]] = {
    "unnormalised": lambda translator, pairs: mean_gradients(translator.model.network, encoded_for(translator, pairs)),
    "gradient": lambda translator, pairs: normalised_gradients(
        translator.model.network, encoded_for(translator, pairs)
    ),
    "exact": by_loss,
    "bleu": by_bleu,
}


def prune_run(translator: Translator, pairs: Pairs, *, count: int, method: str, path: Path) -> Iterator[str]:
    """Write a copy of the translator's run to `path` with the `count` heads that matter least added to its head mask.

    Yields lines with the heads and both scores. Raises `InputError` if the path exists, if the model is not a
    transformer, or if no head would remain.
    """
    opened = translator.model
    config, names = opened.config, head_names(opened.network)
    if path.exists():
        raise InputError(path, "exists", "choose another directory")
    if not isinstance(config.model, TransformerConfig):
        raise InputError("prune", f"the heads of a {config.model.kind} model cannot be masked", "give another run")
    if count >= len(names):
        raise InputError("prune", f"{count} of {len(names)} heads cannot be removed", "keep one")
    importance = IMPORTANCE[method](translator, pairs)
    pruned = sorted(sorted(names, key=lambda name: importance[name])[:count], key=names.index)
    scores = list(_score_lines(translator, pairs, pruned))  # before writing, since this may fail
    attention = config.model.attention
    masked = attention.model_copy(update={"head_mask": (*attention.head_mask, *map(str, pruned))})
    model = config.model.model_copy(update={"attention": masked})
    source = Run(opened.path)
    changes = {"model": model, "init_from": init_from_run(source.path)}
    run = Run.create(path, config.model_copy(update=changes), opened.tokenizer, source.data(), source.words())
    run.save_model(weights_of(opened.network))
    run.save_beside(DOUBT, source.doubt())
    yield f"{path}: a run without {count} of {len(names)} heads"
    yield from (f"off: {', '.join(map(str, pruned))}", "", *scores)


def _score_lines(translator: Translator, pairs: Pairs, pruned: list[HeadName]) -> Iterator[str]:
    model, encoded = translator.model.network, encoded_for(translator, pairs)
    losses, texts = [sentence_losses(model, encoded)], [best_texts(translator, pairs)]
    with without_heads(model, pruned):
        losses.append(sentence_losses(model, encoded))
        texts.append(best_texts(translator, pairs))
    language = translator.model.config.data.target_language
    before, after = (
        one["bleu"] for one in compare_texts(texts, [pair.translations for pair in pairs], language=language)
    )
    bleu = (before.text(), after.text(), after.change(before.score))
    tokens = encoded.target_lengths.double().numpy()
    figures = (estimate(each, tokens).text(4) for each in (*losses, losses[1] - losses[0]))
    rows = zip(("before", "after", "change"), figures, bleu, strict=True)
    yield from table_lines(rows, headings=("", "loss, nats per token", "BLEU"), right=(1, 2))
    yield "± is the 95 % interval over sentences"
