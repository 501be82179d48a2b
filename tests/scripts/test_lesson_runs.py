"""The terminal's tables follow from the stored curves."""

from lesson_runs import tables

from transformer_mt.extensions.lessons.course import stored_curves


def test_stored_tables_are_those_of_the_stored_curves() -> None:
    stored = stored_curves()
    assert stored["tables"] == tables(stored)
