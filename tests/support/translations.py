"""What any part of the program translates, seen from outside."""

from typing import Any

import pytest

from transformer_mt.translation.translator import Translation, Translator


def noted_translations(patch: pytest.MonkeyPatch) -> list[list[Translation]]:
    """The list to which every translation is added that a `Translator` makes from now on."""
    noted: list[list[Translation]] = []
    translate = Translator.translate

    def noting(*arguments: Any, **options: Any) -> list[list[Translation]]:
        found = translate(*arguments, **options)
        noted.extend(found)
        return found

    patch.setattr(Translator, "translate", noting)
    return noted
