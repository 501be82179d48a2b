"""bertviz draws all attention of a translation: python view_attention.py EXPORT SENTENCE TRANSLATION OUT.html.

(pip install bertviz transformers)
"""

import sys
from pathlib import Path

import torch
from bertviz import head_view
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder, sentence, translation, page = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager")
source, written = (tokenizer(text, return_tensors="pt")["input_ids"] for text in (sentence, translation))
target = torch.cat((torch.tensor([[model.config.decoder_start_token_id]]), written[:, :-1]), dim=1)
found = model(input_ids=source, decoder_input_ids=target, output_attentions=True)
view = head_view(
    encoder_attention=found.encoder_attentions, decoder_attention=found.decoder_attentions,
    cross_attention=found.cross_attentions, encoder_tokens=tokenizer.convert_ids_to_tokens(source[0]),
    decoder_tokens=tokenizer.convert_ids_to_tokens(target[0]), html_action="return",
)  # fmt: skip
Path(page).write_text(view.data, "utf-8")
print(f"{len(found.cross_attentions)} layers of cross-attention, {tuple(found.cross_attentions[0].shape)}")
