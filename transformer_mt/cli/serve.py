"""`tmt serve`: the page of one's own runs, on this machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from transformer_mt.cli.options import DEFAULT_DEVICE, RUNS, Device, Quiet
from transformer_mt.cli.terminal import note, result, warn
from transformer_mt.errors import InputError

LOCAL = "127.0.0.1"


def serve(
    directory: Annotated[
        Path | None, Argument(metavar="DIR", help="A folder of runs, or a run.", show_default=str(RUNS))
    ] = None,
    model: Annotated[list[Path] | None, Option(metavar="DIR", help="Only this run, or several.")] = None,
    port: Annotated[
        int | None, Option(metavar="N", min=0, max=65_535, help="0 is any free one. [the next free one from 8420]")
    ] = None,
    host: Annotated[
        str, Option(metavar="ADDRESS", help="Where to listen; other machines can reach any address but this one.")
    ] = LOCAL,
    open: Annotated[bool, Option("--open", help="Start a browser with the page.")] = False,
    device: Device = DEFAULT_DEVICE,
    quiet: Quiet = False,
) -> None:
    """Serve a page on which one translates with one's own models and looks into them.

    \b
    Examples:
      tmt serve
      tmt serve --open
      tmt serve --model runs/one --model runs/other --port 9000

    It prints the address, with a key that every request needs, once the newest run is loaded. A run in training answers
    with its newest weights. Nothing is fetched, and nothing written but the report of a fault of tmt. Ctrl-C ends it.
    """
    from transformer_mt.device import choose_device, leave_a_processor
    from transformer_mt.runs.directory import Run
    from transformer_mt.runs.listing import list_runs
    from transformer_mt.serve.server import PageServer, is_open_to_others, listen

    if directory is not None and model:
        raise InputError("--model", "names the runs to serve, and so does DIR", "give one of them")
    folder = directory or RUNS
    if not model and not folder.is_dir():
        raise InputError(folder, "no such directory", "give one that holds runs")
    chosen = [Run.open(path).path for path in model or ()]

    def places() -> Sequence[Path]:
        return chosen or (list_runs(folder) if folder.is_dir() else [])

    processor = str(choose_device(device))
    leave_a_processor()
    with listen(host, port) as listening:
        server = PageServer(places, listening=listening, device=processor)
        problems = server.warm_up(folder if not model else ", ".join(map(str, model)))
        note(*(f"left out: {problem}" for problem in problems))
        if is_open_to_others(listening):
            warn(f"--host {host}: others can reach this; whoever reads along gets the key, as nothing is encrypted")
        result(server.address)
        print(end="", flush=True)  # whoever reads a pipe waits for it
        if open:
            import webbrowser

            webbrowser.open(server.address)
        server.run()
