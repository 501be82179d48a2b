"""`tmt serve`: a local web page for your runs."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from transformer_mt.cli.options import DEFAULT_DEVICE, RUNS, Device, Quiet
from transformer_mt.cli.terminal import note, result, warn
from transformer_mt.ground.errors import InputError


def serve(
    directory: Annotated[Path | None, Argument(metavar="DIR", help="A folder of runs, or a run. [runs]")] = None,
    model: Annotated[list[Path] | None, Option(metavar="DIR", help="Serve only this run; repeatable.")] = None,
    port: Annotated[
        int | None, Option(metavar="N", min=0, max=65_535, help="0 is any free port. [first free from 8420]")
    ] = None,
    host: Annotated[str, Option(metavar="ADDRESS", help="Other addresses are open to other machines.")] = "127.0.0.1",
    language: Annotated[str | None, Option(metavar="CODE", help="Language of the page and the course. [en]")] = None,
    open: Annotated[bool, Option("--open", help="Open the page in a browser.")] = False,
    device: Device = DEFAULT_DEVICE,
    quiet: Quiet = False,
) -> None:
    """Open your models in the browser: translate, and look inside.

    \b
    Examples:
      tmt serve
      tmt serve --open
      tmt serve --model runs/one --model runs/other --port 9000

    Prints the address once the newest run is loaded; only requests with its key are answered. The key is new at every
    start, or that of the environment variable TMT_KEY. A run in training uses its newest weights. The page works
    offline. Clients of LibreTranslate work too. Ctrl-C stops the server.
    """
    import torch

    from transformer_mt.extensions.serve.page import LANGUAGE
    from transformer_mt.extensions.serve.server import PageServer, is_open_to_others, listen
    from transformer_mt.ground.device import choose_device
    from transformer_mt.runs.directory import READY, Run
    from transformer_mt.runs.listing import list_runs

    if directory and model:
        raise InputError("--model", "DIR also says which runs to serve", "give one of them")
    folder = directory or RUNS
    if directory and not folder.is_dir():
        raise InputError(folder, "no such directory", "give one with runs")
    if language:
        os.environ[LANGUAGE] = language
    chosen = [Run.open(path).path for path in model or ()]

    def places() -> Sequence[Path]:
        own = list_runs(folder) if folder.is_dir() else []
        own += [READY] * (READY.is_file() and (directory is None or len(own) > 0))
        return chosen or own

    processor = str(choose_device(device))
    # Leaves a processor for a browser. torch's threads spin, so if one is preempted, all wait. With two processors, the
    # first translation of a newly opened page took 0.5 s with two threads and 0.13 s with one.
    torch.set_num_threads(max(1, torch.get_num_threads() - 1))
    with listen(host, port) as listening:
        server = PageServer(places, listening=listening, device=processor, opens=next(iter(chosen), None))
        problems = server.warm_up(folder if not model else ", ".join(map(str, model)))
        note(*(f"left out: {problem}" for problem in problems))
        if is_open_to_others(listening):
            warn(f"--host {host}: open to other machines, and unencrypted: anyone who reads the traffic gets the key")
        result(server.address)
        print(end="", flush=True)  # a reader of a pipe waits for the address
        if open:
            import webbrowser

            webbrowser.open(server.address)
        server.run()
