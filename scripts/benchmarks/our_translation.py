"""Contestant: our own translation.

Arguments: a run directory, a file with one sentence per line, the device, the engine, and optionally a number format to
quantize to. A turn gets the beam, the batch size, the step between sentences, and the longest translation in tokens.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.host import serve, timed
from transformer_mt.config.sections import SearchConfig
from transformer_mt.translation.translator import Translator


def main() -> None:
    """Serve translations."""
    run, path, device, engine, *quantization = sys.argv[1:]
    quantized = quantization[0] if quantization else None
    translator = Translator.load(run, device=device, engine=engine, quantization=quantized)
    sentences = Path(path).read_text("utf-8").splitlines()

    def turn(*, beam: int, batch: int, every: int, longest: int) -> dict[str, Any]:
        chosen = sentences[::every]
        search = SearchConfig(beam=beam, batch_size=batch, max_length=longest)
        return timed(lambda: translated(translator, chosen, search))

    serve(turn)


def translated(translator: Translator, sentences: Sequence[str], search: SearchConfig) -> list[str]:
    """Translate the sentences in one call, or in one call each for batches of one."""
    calls = [sentences] if search.batch_size > 1 else [[sentence] for sentence in sentences]
    return [found[0].text for call in calls for found in translator.translate(call, search)]


if __name__ == "__main__":
    main()
