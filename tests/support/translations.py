"""Observe the translations made by any part of the program."""

from typing import Any

import pytest

from transformer_mt.translation.translator import Translation, Translator


def noted_translations(patch: pytest.MonkeyPatch) -> list[list[Translation]]:
    """Return a list that collects every translation made by a `Translator` from now on."""
    noted: list[list[Translation]] = []
    translate = Translator.translate

    def noting(*arguments: Any, **options: Any) -> list[list[Translation]]:
        found = translate(*arguments, **options)
        noted.extend(found)
        return found

    patch.setattr(Translator, "translate", noting)
    return noted
