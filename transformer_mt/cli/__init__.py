"""The command line. `main` is where the process begins; it handles signals, then runs a command of `app`.

A command is one file with its name: it parses and prints, and imports torch only when it runs.

    options, sentence                    options that several commands share
    load                                 the run that a command works with
    lines                                lines in and out of `tmt translate`
    training_display                     the lines and the progress bar of training
    terminal, signals                    stdout and stderr; Ctrl-C and its kind
"""
