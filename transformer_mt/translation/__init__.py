"""From a model to translations: search over token ids, and the `Translator` from text to text."""
