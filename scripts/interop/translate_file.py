"""transformers' `generate` translates a file: python translate_file.py EXPORT FILE (pip install transformers)."""

import sys
from pathlib import Path

from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder, file = sys.argv[1:]
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
batch = tokenizer(Path(file).read_text("utf-8").splitlines(), return_tensors="pt", padding=True)
print(*tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True), sep="\n")
