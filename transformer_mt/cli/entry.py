"""Where the process `tmt` begins: signals are handled before anything else is imported."""

import os

INTERRUPTED = 130


def main() -> None:
    """Run `tmt` with the arguments of the process and exit."""
    try:
        from transformer_mt.cli.signals import leave_on_signals

        leave_on_signals()
    except KeyboardInterrupt:  # what Python itself makes of SIGINT until then
        os._exit(INTERRUPTED)
    from transformer_mt.cli.main import main

    main()
