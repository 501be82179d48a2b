"""Texts that try to control a terminal, a browser or Graphviz, or to look like something else."""

from hypothesis import strategies as st

HOSTILE_TEXTS = (
    "\x1b[31mred",
    "[red]x[/red]",
    "\u202egnol",
    "<script>alert(1)</script>",
    "</text></svg>",
    "&lt;&amp;&#x202e;",
    '"]; evil [label="',
    "\\",
    '\\"',
    "\\N\\G\\l",
    "a\nb\r\tc",
    "]]>--><!--",
    "\ufffe\uffff\x00",
    "\ud800",
    "日本語",
    "e\u0301",
    "\u0301",
    "",
)

hostile_texts = st.one_of(st.sampled_from(HOSTILE_TEXTS), st.text(max_size=12))
