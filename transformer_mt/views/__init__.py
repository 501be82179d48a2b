"""Looking inside a model. A view is one file: its data, a dataclass, and its lines of text.

Read `maps` (the tokens, words and attention of a pair), `matrix` (the picture in a terminal), then `attend`.

    attend, methods    the matrices of `tmt attend`, also as graphs; other numbers than weights
    align              which words belong together
    explain, lens      one row of a head step by step; what each decoder layer would write
    heads, head_importance, faithfulness    the figures of many sentences
    search, plot       the beam's tree and alternatives; the curves of `tmt plot`, and pictures by matplotlib
    corpus             the content of a corpus, `tmt data`

What they share: `sentence` (the pair that is looked at, and its JSON), `data` (a dataclass as JSON and as arrays),
`text` (untrusted text made safe, tables, wrapped lines).
"""
