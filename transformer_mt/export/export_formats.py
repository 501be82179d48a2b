"""The programs that a model can be exported to."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch

from transformer_mt.errors import InputError
from transformer_mt.export.ctranslate2_engine import CTranslate2Engine
from transformer_mt.export.ctranslate2_package import import_ctranslate2, require_quantization
from transformer_mt.export.ctranslate2_weights import model_files
from transformer_mt.export.model_card import hub_metadata, model_card
from transformer_mt.export.parity import Parity
from transformer_mt.export.supported import require_supported
from transformer_mt.export.transformers_engine import TransformersEngine, import_transformers
from transformer_mt.export.transformers_tokenizer import tokenizer_files
from transformer_mt.export.transformers_weights import POSSIBLE, generation_config, model_config, weights
from transformer_mt.models.transformer import Transformer
from transformer_mt.runs.directory import TOKENIZER
from transformer_mt.text import normalize as normalization
from transformer_mt.text.terminal import escape_controls
from transformer_mt.translation.engine import Engine
from transformer_mt.translation.model import Model

Files = dict[str, bytes]
# The files of a converted model, and the engine that translates with them.
Converted = tuple[Files, Engine]


@dataclass(frozen=True)
class ExportFormat:
    """A program to export to, and the names of its files.

    `require` raises `MachineError` if the program is not installed, and `InputError` for a quantization it lacks.
    `convert` raises `InputError` for a model that the program does not support. `describe` adds files for the reader.
    """

    files: frozenset[str]
    require: Callable[[str | None], None]
    convert: Callable[[Model, str | None], Converted]
    describe: Callable[[Model, Parity], Files]


_SCRIPT = '''\
"""Translates its arguments or stdin: python translate.py "Ein Satz." (pip install ctranslate2 sentencepiece)"""
import signal, sys, ctranslate2, sentencepiece
from normalize import normalize
for name in {"SIGINT", "SIGPIPE"} & set(dir(signal)): signal.signal(getattr(signal, name), signal.SIG_DFL)
for stream in (sys.stdin, sys.stdout): stream.reconfigure(encoding="utf-8", errors="replace")
folder, too_long = __file__.removesuffix("translate.py"), 0
pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}tokenizer.model")
translator = ctranslate2.Translator(folder)
for number, text in enumerate(sys.argv[1:] or sys.stdin, 1):
    read, written = pieces.encode(normalize(text), out_type=str), []
    if len(read) > MOST:
        print(f"sentence {number}: {len(read)} tokens, the model takes at most MOST; split it", file=sys.stderr)
        too_long = 2
    elif read:  # the model would invent a translation of nothing
        found = translator.translate_batch([TAG + read], beam_size=BEAM, max_decoding_length=LONGEST)
        written = found[0].hypotheses[0]
    print(pieces.decode(written), flush=True)
sys.exit(too_long)
'''


def _require_ctranslate2(quantization: str | None) -> None:
    require_quantization(quantization)
    import_ctranslate2()


def _to_ctranslate2(model: Model, quantization: str | None) -> Converted:
    tokens = model.tokenizer.pieces(range(model.tokenizer.size))
    longest = model.config.model.max_length
    files = model_files(model.network, model.config.model, tokens, quantization=quantization)
    return files, CTranslate2Engine(files, tokens=tokens, max_length=longest, device="cpu", quantization=quantization)


def _with_script(model: Model, parity: Parity) -> Files:
    """The vocabulary, and a script that translates without tmt."""
    config, tokenizer = model.config, model.tokenizer
    longest = min(config.search.max_length, config.model.max_length) - 1
    most = config.model.max_length - 1 - len(tokenizer.tag)  # without the end symbol
    tag = tokenizer.pieces(tokenizer.tag)
    script = _SCRIPT
    for name, value in (("MOST", most), ("BEAM", config.search.beam), ("LONGEST", longest), ("TAG", tag)):
        script = script.replace(name, repr(value))
    return {
        TOKENIZER: tokenizer.serialized,
        "translate.py": script.encode(),
        "normalize.py": Path(normalization.__file__).read_bytes(),
    }


def _require_transformers(quantization: str | None) -> None:
    if quantization is not None:
        raise InputError("quantization", "transformers stores none", "export to ctranslate2, or leave it out")
    import_transformers()


def _to_transformers(model: Model, quantization: str | None) -> Converted:
    config = model.config
    network = model.network
    require_supported(config.model, POSSIBLE, by="transformers")
    assert isinstance(network, Transformer)
    longest = config.model.max_length
    tables = {
        "config.json": model_config(config.model, vocabulary_size=model.tokenizer.size),
        "generation_config.json": generation_config(config),
        **tokenizer_files(model.tokenizer, max_length=longest),
    }
    files = {name: f"{json.dumps(table, ensure_ascii=False, indent=1)}\n".encode() for name, table in tables.items()}
    files["model.safetensors"] = safetensors.torch.save(weights(network, config.model), {"format": "pt"})
    return files, TransformersEngine(files, max_length=longest)


_USE = """\
```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained("."), AutoModelForSeq2SeqLM.from_pretrained(".")
batch = tokenizer(["A sentence."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```

Give it one sentence at a time, and no empty text: for that, `generate` invents a translation. tmt also splits lines
into sentences and restores capitals; this model does not."""

_LABELS = """

To train it further, leave out `{tag}` in labels. `tokenizer(text_target=…)` has no way to do that, but this has:

```python
labels = [[*ids, tokenizer.eos_token_id] for ids in tokenizer(targets, add_special_tokens=False)["input_ids"]]
```"""


def _with_card(model: Model, parity: Parity) -> Files:
    found = parity.beam
    scores = ""
    if found.bleu:
        of = f"{parity.pairs} validation pairs, beam {found.beam}, {found.signature}"
        scores = f"- scores: BLEU {found.bleu[0]:.2f} ({of})\n"
    assert model.run
    tag = "".join(model.tokenizer.pieces(model.tokenizer.tag))
    use = _USE + (_LABELS.format(tag=escape_controls(tag)) if tag else "")
    card = model_card(model.run, use=use, precision="float32", scores=scores)
    return {"README.md": (hub_metadata(model.config.data) + card).encode()}


_TO_TRANSFORMERS = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
FORMATS = {
    "ctranslate2": ExportFormat(
        frozenset(("config.json", "model.bin", "shared_vocabulary.json", TOKENIZER, "translate.py", "normalize.py")),
        _require_ctranslate2, _to_ctranslate2, _with_script,
    ),
    "transformers": ExportFormat(
        frozenset((*_TO_TRANSFORMERS, "model.safetensors", "README.md")),
        _require_transformers, _to_transformers, _with_card,
    ),
}  # fmt: skip
