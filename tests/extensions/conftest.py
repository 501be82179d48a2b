"""A tiny trained run and the command line; a small Transformer and a tokenizer for the tests of views."""

from support.command_line import tmt as tmt
from support.small_model import model as model
from support.small_model import tokenizer as tokenizer
from support.workplace import data as data
from support.workplace import home as home
from support.workplace import on_run as on_run
from support.workplace import own_run as own_run
from support.workplace import recurrent as recurrent
from support.workplace import terminal as terminal
from support.workplace import trained as trained
from support.workplace import workplace as workplace
