"""Objects shown in a notebook."""


def require_brief(*shown: object) -> None:
    """Check that each `repr` is one short line that begins with the class."""
    for one in shown:
        assert len(repr(one)) <= 500, type(one)
        assert "\n" not in repr(one)
        assert repr(one).startswith(f"{type(one).__name__}(")
