from transformer_mt.drawing.faithfulness_text import faithfulness_lines
from transformer_mt.inspection.faithfulness import Agreement, Faithfulness
from transformer_mt.inspection.intervals import Estimate


def agreement(method: str, layer: int | None, head: int | None, correlation: float) -> Agreement:
    first = Estimate(0.5, 0.25, 0.75)
    return Agreement(method, layer, head, Estimate(correlation, correlation - 0.125, 1.0), first, sentences=7)


def test_the_table_has_a_line_for_each_layers_mean_and_for_the_best_head() -> None:
    of_heads = [("weights", 1, None, 0.25), ("weights", 1, 1, 0.0), ("weights", 1, 2, 0.5), ("weights", 2, None, 0.125)]
    of_heads += [("weights", 2, 1, 0.25), ("weights", 2, 2, -0.25)]
    whole = [("rollout", None, None, 0.375), ("shuffled", None, None, -0.5)]
    lines = [*faithfulness_lines(Faithfulness(tuple(agreement(*one) for one in (*of_heads, *whole)), sentences=11))]
    assert max(map(len, lines)) <= 80
    assert "in 11 sentences" in lines[0]
    assert lines[5:] == [
        "method      layer      head    tau      interval   first      interval",
        "weights         1      mean  0.25   0.12 to 1.00    0.50  0.25 to 0.75",
        "weights         2      mean  0.12   0.00 to 1.00    0.50  0.25 to 0.75",
        "weights         1   best: 2  0.50   0.38 to 1.00    0.50  0.25 to 0.75",
        "rollout                      0.38   0.25 to 1.00    0.50  0.25 to 0.75",
        "shuffled                    -0.50  -0.62 to 1.00    0.50  0.25 to 0.75",
    ]
