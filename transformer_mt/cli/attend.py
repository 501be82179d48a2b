"""`tmt attend`: the attention matrices of a sentence, as text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transformer_mt.cli.options import (
    DEFAULT_DEVICE,
    Device,
    Head,
    History,
    Json,
    Layer,
    LookedAt,
    Model,
    Npz,
    Quiet,
    Stack,
    Target,
)
from transformer_mt.cli.search_options import SearchOptions, with_search_options
from transformer_mt.errors import InputError
from transformer_mt.names import lookup

if TYPE_CHECKING:
    from transformer_mt.inspection.maps import AttentionMaps

ALL, MEAN = "all", "mean"


@with_search_options("beam", "length_penalty", "sample", "temperature", "top_k", "top_p", "seed")
def attend(
    sentence: LookedAt = None,
    model: Model = None,
    target: Target = None,
    stack: Stack = None,
    layer: Layer = None,
    head: Head = None,
    *,
    search: SearchOptions,
    history: History = False,
    device: Device = DEFAULT_DEVICE,
    as_json: Json = False,
    npz: Npz = None,
    quiet: Quiet = False,
) -> None:
    """Translate a sentence and print where the model looked: target tokens down the side, source tokens across.

    \b
    Examples:
      tmt attend
      tmt attend "Kannst du mir helfen?" --layer 2 --head all
      tmt attend "Der Hund schläft." --target "The dog sleeps." --stack decoder
      tmt attend --json
      tmt attend --history

    Without a sentence it takes the showcase of the built-in corpus, or the first validation sentence of moderate
    length of any other. A row says where the model looked while it wrote the row's token; its numbers sum to 1. A dot
    stands where nothing may be attended to. --json prints one object: source, target, never_seen, and stacks with rows,
    columns and weights[layer][head][row][column].

    --history plays what tmt train --watch kept of a sentence, a matrix of the cross-attention for each validation, on
    a terminal one in place of the other; --json prints frames, each with step, loss, source, translation,
    target, rows, columns, weights and the entropies of all heads. Rows are those of the reference where it is known.

    Words of the sentence that were never in the training data are named on stderr, and in never_seen, which is null
    where the run does not know its words. --quiet leaves out this and other remarks.
    """
    from transformer_mt.cli.looking import deliver, open_subject, require_attention
    from transformer_mt.inspection.maps import attend_pair

    if history:
        from transformer_mt.cli.history import show_history

        given = {"SENTENCE": sentence, "--target": target, "--stack": stack, **search.given}
        show_history(model, layer=layer, head=head, given=given, as_json=as_json, npz=npz)
        return
    for option, value in {"--stack": stack, "--layer": layer, "--head": head}.items():
        if as_json and value is not None:
            raise InputError(f"{option}: --json prints all stacks, layers and heads; leave one of the two out")
    subject = open_subject(sentence, target, model=model, search=search, device=device, quiet=quiet)
    require_attention(subject)
    maps = attend_pair(subject.model, subject.tokenizer, subject.source, subject.target)

    def text() -> None:
        _print_maps(maps, stack=stack or "cross", layer=layer or ALL, head=head or MEAN)

    deliver(maps, subject, text, as_json=as_json, npz=npz, quiet=quiet)


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
