"""`tmt attend`: the attention matrices of a sentence, as text."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from transformer_mt.cli.options import DEFAULT_DEVICE, Device, Json, Model, Quiet
from transformer_mt.cli.search_options import SearchOptions, with_search_options
from transformer_mt.config.sections import DataConfig
from transformer_mt.corpus.pairs import words
from transformer_mt.errors import InputError, TmtError
from transformer_mt.names import lookup

if TYPE_CHECKING:
    from transformer_mt.inspection.maps import AttentionMaps

ALL, MEAN = "all", "mean"
# Words and punctuation marks of a sentence that is worth a look and fits on a screen.
MODERATE = range(5, 13)


@with_search_options("beam", "length_penalty", "sample", "temperature", "top_k", "top_p", "seed")
def attend(
    sentence: Annotated[
        str | None,
        typer.Argument(metavar="SENTENCE", help="What to translate. [one of the run's corpus]", show_default=False),
    ] = None,
    model: Model = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="TEXT", help="Look at this translation instead of the model's own."),
    ] = None,
    stack: Annotated[
        str | None, typer.Option("--stack", metavar="NAME", help="cross, encoder or decoder. [cross]")
    ] = None,
    layer: Annotated[
        str | None, typer.Option("--layer", metavar="N", help="A layer counted from 1, or all. [all]")
    ] = None,
    head: Annotated[
        str | None, typer.Option("--head", metavar="N", help="A head counted from 1, mean, or all. [mean]")
    ] = None,
    *,
    search: SearchOptions,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Translate a sentence and print where the model looked: target tokens down the side, source tokens across.

    \b
    Examples:
      tmt attend
      tmt attend "Kannst du mir helfen?" --layer 2 --head all
      tmt attend "Der Hund schläft." --target "The dog sleeps." --stack decoder
      tmt attend --json

    Without a sentence it takes the showcase of the built-in corpus, or the first validation sentence of moderate
    length of any other. A row says where the model looked while it wrote the row's token; its numbers sum to 1. A dot
    stands where nothing may be attended to. --json prints one object: source, target, never_seen, and stacks with rows,
    columns and weights[layer][head][row][column].

    Words of the sentence that were never in the training data are named on stderr, and in never_seen, which is null
    where the run does not know its words. --quiet leaves out this and other remarks.
    """
    from transformer_mt.cli.load import open_run
    from transformer_mt.cli.never_seen import NeverSeen
    from transformer_mt.cli.terminal import result
    from transformer_mt.inspection.maps import attend_pair

    for option, value in {"--stack": stack, "--layer": layer, "--head": head}.items():
        if as_json and value is not None:
            raise InputError(f"{option}: --json prints all stacks, layers and heads; leave one of the two out")
    if target is not None:
        search.refuse("--target gives the translation, so none is looked for; leave one of the two out")
    run = open_run(model, search, device=device, quiet=quiet)
    translator = run.translator
    if not translator.model.attention_stacks():
        raise InputError(f"{run.path}: this model has no attention to show; give one that has with --model")
    text = sentence if sentence is not None else example(run.config.data)
    if not text.strip():
        raise InputError("SENTENCE: empty; give a sentence to look at")
    if target is None:
        target = translator.translate([text], place=lambda _: "SENTENCE")[0][0].text
    maps = attend_pair(translator.model, translator.tokenizer, text, target)
    unseen = NeverSeen(run.path)
    never_seen = unseen.look_at(text)
    if as_json:
        result(json.dumps(maps.to_json() | {"never_seen": never_seen}, ensure_ascii=False))
    else:
        _print_maps(maps, stack=stack or "cross", layer=layer or ALL, head=head or MEAN)
    if not quiet:
        unseen.say()


def example(data: DataConfig) -> str:
    """The sentence to show when none is given. Raises `InputError` where the run's corpus has none any more."""
    from transformer_mt.corpus.load import load_corpus
    from transformer_mt.corpus.source import BUILTIN

    if data.corpus == BUILTIN:
        return showcase(data.source_language)
    try:
        pairs = load_corpus(data).splits["validation"]
    except (TmtError, KeyError) as error:
        reason = "it has no validation split" if isinstance(error, KeyError) else str(error)
        raise InputError(f"SENTENCE: there is none to take from the run's corpus ({reason}); give a sentence") from None
    moderate = (pair.source for pair in pairs if len(words(pair.source)) in MODERATE)
    return next(moderate, pairs[0].source)


def showcase(language: str) -> str:
    """The sentence to show when none is given, in the run's source language."""
    from transformer_mt.corpus.builtin import SHOWCASE, SHOWCASE_TRANSLATION

    sentences = {"de": SHOWCASE, "en": SHOWCASE_TRANSLATION}
    if language not in sentences:
        raise InputError(f"SENTENCE: there is no showcase in {language!r}; give a sentence")
    return sentences[language]


def _print_maps(maps: "AttentionMaps", *, stack: str, layer: str, head: str) -> None:
    from transformer_mt.cli.terminal import literal_console, result, result_lines
    from transformer_mt.inspection.rendering import map_title, render_legend, render_map, shading_for

    console = literal_console()
    shading = shading_for(console)
    chosen = lookup(maps.stacks, stack, key="--stack")
    layers, heads = chosen.weights.shape[:2]
    numbers = list(_numbers(layer, head, layers=layers, heads=heads))  # mistakes come before the first line
    result(maps.source, maps.target)
    for layer_number, head_number in numbers:
        result("")
        result_lines(
            render_map(
                chosen.matrix(layer_number - 1, None if head_number is None else head_number - 1),
                title=map_title(stack, layer=layer_number, layers=layers, head=head_number, heads=heads),
                rows=chosen.rows,
                columns=chosen.columns,
                width=console.width,
                shading=shading,
            )
        )
    result("")
    result_lines(render_legend(width=console.width, shading=shading))


def _numbers(layer: str, head: str, *, layers: int, heads: int) -> Iterator[tuple[int, int | None]]:
    """The layers and heads to print, counted from 1; None for the mean over heads."""
    for number in _chosen(layer, layers, option="--layer", words=(ALL,)):
        if head == MEAN:
            yield number, None
        else:
            yield from ((number, one) for one in _chosen(head, heads, option="--head", words=(MEAN, ALL)))


def _chosen(text: str, count: int, *, option: str, words: tuple[str, ...]) -> list[int]:
    """The numbers that an option asks for. Raises `InputError` that says what there is."""
    if text == ALL:
        return list(range(1, count + 1))
    if text.isdecimal() and 1 <= int(text) <= count:
        return [int(text)]
    there_is = " or ".join([f"a number from 1 to {count}", *words])
    raise InputError(f"{option}: there is no {text!r}; give {there_is}")
