"""The command line. `main` is where the process begins; it handles signals, then runs a command of `app`.

A command is one file with its name: it parses and prints, and imports torch only when it runs.

    options, search_options, sentence    options that several commands share
    load                                 the run that a command works with
    lines, prompt                        lines in and out of `tmt translate`
    check, training_display              `tmt train --check`; what training shows
    terminal, signals                    stdout and stderr; Ctrl-C and its kind
"""
