"""Transcripts: only what commands print is replaced."""

from transcripts import transcript


def test_lines_before_the_first_command_stay_and_old_output_goes() -> None:
    found = transcript("# First:\n$ echo one\nold\n$ echo two\n", width=80)
    assert found == "# First:\n$ echo one\none\n$ echo two\ntwo\n"
