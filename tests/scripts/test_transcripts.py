"""Only command output is replaced in transcripts."""

from transcripts import transcript


def test_replaces_only_old_output() -> None:
    found = transcript("# First:\n$ echo one\nold\n$ echo two\n", width=80)
    assert found == "# First:\n$ echo one\none\n$ echo two\ntwo\n"
