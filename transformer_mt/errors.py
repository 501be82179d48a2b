"""The errors a person can cause or meet, each with the exit code that `tmt` ends with.

A message reads `<file, line or option>: what is wrong; what to do`. Everything else that is raised is a bug of ours.
"""


class TmtError(Exception):
    """Base of every error that `tmt` reports in one line instead of a traceback."""

    exit_code = 2


class InputError(TmtError):
    """The user's input is wrong: a configuration, an option, a file's content. Exit code 2."""


class EnvironmentProblem(TmtError):  # noqa: N818 - `EnvironmentError` is taken by Python
    """The machine cannot do it: no network, no such device, a full disk, a damaged file. Exit code 3."""

    exit_code = 3


class Diverged(TmtError):  # noqa: N818 - said as it is
    """Training met a number that is not finite. Exit code 4."""

    exit_code = 4
