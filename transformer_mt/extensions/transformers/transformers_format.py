"""The folder that `tmt export --to transformers` writes: what `from_pretrained` reads, and a model card."""

import json
import re

import safetensors.torch

from transformer_mt.config.sections import DataConfig
from transformer_mt.extensions.export.export_formats import Converted, ExportFormat, Files
from transformer_mt.extensions.export.supported import PLAIN, require_supported
from transformer_mt.extensions.transformers.transformers_engine import TransformersEngine, import_transformers
from transformer_mt.extensions.transformers.transformers_tokenizer import tokenizer_files
from transformer_mt.extensions.transformers.transformers_weights import (
    generation_config,
    model_config,
    weights,
)
from transformer_mt.ground.errors import InputError
from transformer_mt.models.transformer import Transformer
from transformer_mt.runs.model_card import model_card
from transformer_mt.text.terminal import escape_controls
from transformer_mt.translation.model import Model


def _require_transformers(quantization: str | None) -> None:
    if quantization is not None:
        raise InputError("quantization", "transformers stores none", "export to ctranslate2, or leave it out")
    import_transformers()


def _to_transformers(model: Model, quantization: str | None) -> Converted:
    config = model.config
    network = model.network
    require_supported(config.model, PLAIN, by="transformers")
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


def _with_card(model: Model) -> Files:
    assert model.run
    tag = "".join(model.tokenizer.pieces(model.tokenizer.tag))
    use = _USE + (_LABELS.format(tag=escape_controls(tag)) if tag else "")
    card = model_card(model.run, use=use, precision="float32")
    return {"README.md": (hub_metadata(model.config.data) + card).encode()}


def hub_metadata(data: DataConfig) -> str:
    """The head of a card on the hub: the languages, if they are codes, and the task."""
    languages = [name for name in (data.source_language, data.target_language) if re.fullmatch("[a-z]{2,3}", name)]
    of_languages = f"language: [{', '.join(languages)}]\n" if languages else ""
    return f"---\n{of_languages}library_name: transformers\npipeline_tag: translation\n---\n\n"


_CONFIGURATIONS = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
FORMAT = ExportFormat(
    frozenset((*_CONFIGURATIONS, "model.safetensors", "README.md")),
    _require_transformers,
    _to_transformers,
    _with_card,
)
