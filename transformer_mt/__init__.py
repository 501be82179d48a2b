"""`tmt`: train a translation Transformer in the terminal, translate with it, and look inside its attention."""
