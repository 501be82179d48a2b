"""The folder that `tmt export --to ctranslate2` writes: the model, and a script that translates without tmt."""

from pathlib import Path

from transformer_mt.extensions.ctranslate2.ctranslate2_engine import CTranslate2Engine
from transformer_mt.extensions.ctranslate2.ctranslate2_package import import_ctranslate2, require_quantization
from transformer_mt.extensions.ctranslate2.ctranslate2_weights import model_files
from transformer_mt.extensions.export.export_formats import Converted, ExportFormat, Files
from transformer_mt.runs.directory import TOKENIZER
from transformer_mt.text import normalize as normalization
from transformer_mt.translation.model import Model

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


def _with_script(model: Model) -> Files:
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


FORMAT = ExportFormat(
    frozenset(("config.json", "model.bin", "shared_vocabulary.json", TOKENIZER, "translate.py", "normalize.py")),
    _require_ctranslate2,
    _to_ctranslate2,
    _with_script,
)
