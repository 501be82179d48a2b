"""A tiny trained run and the command line, for the tests of commands."""

import signal

from support.command_line import tmt as tmt
from support.workplace import data as data
from support.workplace import home as home
from support.workplace import on_run as on_run
from support.workplace import own_run as own_run
from support.workplace import recurrent as recurrent
from support.workplace import terminal as terminal
from support.workplace import trained as trained
from support.workplace import workplace as workplace

# Child processes inherit ignored signals, for example from nohup or a shell's background jobs.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
