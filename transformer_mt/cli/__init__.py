"""The command line. The process starts in `main`, which handles signals and runs a command of `app`.

Each command has a file of its name that parses options and prints. It imports torch only when it runs.

    options, sentence                    options shared by several commands
    open_model                           the run a command works with; remarks about its input
    line_io                              input and output lines of `tmt translate`
    training_display                     log lines and progress bar of training
    terminal, signals                    stdout and stderr; Ctrl-C and other signals
"""
