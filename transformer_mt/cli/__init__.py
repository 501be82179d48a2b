"""The command line: one thin module a command, and how results are drawn."""
