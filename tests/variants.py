"""One spelling of every entry of the tables of attention; a new entry fails its tests until it is given one here."""

GRAPH_EXAMPLES = {
    "complete": "complete",
    "causal": "causal",
    "band": "band(2)",
    "strided": "strided(3)",
    "fixed": "fixed(4, 1)",
    "grid": "grid(3)",
    "edges": "edges(0, 1, 0, 3, 2, 0, 2, 1, 4, 1, 4, 4)",
}

POSITION_EXAMPLES = {
    "none": "none",
    "sinusoidal": "sinusoidal",
    "relative": "relative(2)",
    "rotary": "rotary",
}

SHARING_EXAMPLES = {
    "independent": "independent",
    "collaborative": "collaborative(4)",
}
