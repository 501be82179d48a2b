"""Looking inside a model. A view is one file: its data, a dataclass, and its lines of text.

Read `maps` (the attention of a pair over pieces and words), `matrix` (the picture in a terminal), then `attend`.

    attend, methods    the matrices of `tmt attend`, also as graphs; other numbers than weights
    align              links as lines of text
    explain, lens      one row of a head step by step; what each decoder layer would write
    heads, head_importance, faithfulness    the figures of many sentences
    translate, plot    the beam's tree and alternatives; the curves of `tmt plot`, and pictures by matplotlib
    corpus             the content of a corpus, `tmt data`

What they share: `subject` (the pair that is looked at, and its JSON), `serialise` (a dataclass as JSON and as arrays),
`rendering` (untrusted text made safe, tables, wrapped lines).
"""
