"""inseq attributes a translation to its source: python attribute_translation.py EXPORT SENTENCE OUT.html.

(pip install inseq)
"""

import sys
from pathlib import Path

import inseq

folder, sentence, page = sys.argv[1:]
model = inseq.load_model(folder, "saliency", tokenizer=folder)
found = model.attribute(sentence, attributed_fn="logit", show_progress=False)
Path(page).write_text(found.show(return_html=True, display=False), "utf-8")
attribution = found.sequence_attributions[0].aggregate()
print(found.info["generated_texts"][0])
for token, row in zip(attribution.source, attribution.source_attributions, strict=True):
    print(f"{token.token:>12}  {' '.join(f'{number:.2f}' for number in row.tolist())}")
