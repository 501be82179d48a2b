"""Where sentence pairs come from: the built-in grammar, hub data sets, local files; cleaning and its report."""
