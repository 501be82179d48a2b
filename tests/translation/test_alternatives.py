import pytest
import torch
from support.engines import small_tokenizer, translator_of
from support.table_model import TableModel

from transformer_mt.config.sections import SearchConfig
from transformer_mt.tokenizer.symbols import BOS, EOS, PAD, UNK
from transformer_mt.translation.alternatives import find_alternatives
from transformer_mt.translation.translator import Translator

SOURCE = "The old dog has a house."


@pytest.fixture(scope="module")
def translator() -> Translator:
    tokenizer = small_tokenizer()
    model = TableModel(vocabulary=tokenizer.size, seed=3, scale=3.0, max_length=31)
    search = SearchConfig(beam=2, max_length=7)
    return translator_of(model, tokenizer, search=search)


@pytest.mark.parametrize("search", [SearchConfig(beam=2, max_length=7), SearchConfig(sample=True, max_length=7)])
def test_probabilities_match_teacher_forcing(translator: Translator, search: SearchConfig) -> None:
    ((best, *_),) = translator.translate([SOURCE], search)
    found = find_alternatives(translator.model, translator.model.prepare.sentence(SOURCE), best, count=3)
    tokenizer = translator.model.tokenizer
    ids = [*tokenizer.ids(best.tokens), EOS]
    source = torch.tensor([[*tokenizer.encode(SOURCE), EOS]])
    probabilities = translator.model.network(source, torch.tensor([[BOS, *ids[:-1]]]))[0].softmax(dim=-1)
    assert [one.chosen.token for one in found] == [*best.tokens, *tokenizer.pieces([EOS])]
    for place, (one, token) in enumerate(zip(found, ids, strict=True)):
        assert one.chosen.probability == pytest.approx(float(probabilities[place, token]))
        possible = {i: float(p) for i, p in enumerate(probabilities[place]) if i not in (token, PAD, UNK, BOS)}
        likeliest = sorted(possible, key=lambda i: -possible[i])[:3]
        assert [other.token for other in one.others] == tokenizer.pieces(likeliest)
        assert [other.probability for other in one.others] == pytest.approx([possible[i] for i in likeliest])
