"""Packing a run: what a person needs to translate with it and to look inside, in one file."""

from transformer_mt.runs.checkpoints import newest_progress
from transformer_mt.runs.checksums import LOADED, sha256
from transformer_mt.runs.directory import CONFIG, MODEL, TOKENIZER, Run
from transformer_mt.runs.model_card import model_card
from transformer_mt.runs.packed import CARD, PROGRESS, packed
from transformer_mt.runs.weights import converted, digest, pack, weights_of

PRECISIONS = ("bfloat16", "float32")
_USE = "A translation model of tmt: `tmt translate --model FILE`, `tmt serve --model FILE`."


def pack_run(run: Run, *, precision: str = "bfloat16") -> bytes:
    """The content of a packed run, with its weights in `bfloat16` or `float32`.

    Raises `InputError` before the first validation and `MachineError` if a file of the run is damaged.
    """
    weights = converted(weights_of(run.network()), precision)
    files = run.small_files()
    sums = {name: sha256(files[name]) for name in (CONFIG, TOKENIZER)}
    sums[LOADED] = digest(converted(weights, "float32"))
    card = model_card(run, use=_USE, precision=precision).encode()
    state = newest_progress(run).model_dump_json().encode()
    return packed({CARD: card, **files, PROGRESS: state, MODEL: pack(weights, sums)})
