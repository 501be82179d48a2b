"""The choice of the log-probability below which translations are doubtful."""

import numpy as np

from transformer_mt.corpus.pairs import Pairs
from transformer_mt.evaluation.evaluate import find_poorest
from transformer_mt.runs.doubt import Doubt
from transformer_mt.translation.translator import Translator

# Pairs to translate; the least chrF of a right translation; the share of right translations to give up; and the fewest
# right translations to choose by.
PAIRS = 500
RIGHT = 70.0
SHARE = 0.01
FEWEST = 50


def choose_doubt(translator: Translator, held_out: Pairs) -> Doubt:
    """The mean ln p per token that 1 % of the right translations of held-out pairs stay below.

    Right translations, because their number differs: a strong model makes almost no mistakes on validation data, a weak
    one mostly mistakes. Right is a chrF of 70 with a reference, which other words for the same thing often reach. Each
    model needs its own threshold, since its size, its label smoothing and its data move all probabilities. With fewer
    than `FEWEST` right translations, the lowest of them is chance, and the default remains. The pairs must fit into
    the model.
    """
    pairs = held_out[:: -(-len(held_out) // PAIRS)]
    best = [ranked[0] for ranked in translator.translate([pair.source for pair in pairs], split=False)]
    poorest = find_poorest([one.text for one in best], pairs, count=len(pairs))
    right = [best[poor.number - 1].mean_log_probability for poor in poorest if poor.chrf >= RIGHT]
    if len(right) < FEWEST:
        return Doubt(right=len(right))
    return Doubt(threshold=min(0.0, round(float(np.quantile(right, SHARE)), 3)), right=len(right))
