"""Looking inside a model. Each view is one module: its data, as a dataclass, and its lines of text.

Read `maps` (attention of a pair over tokens and words), `matrix` (drawing in a terminal), then `attend`.

    attend, methods    the matrices of `tmt attend`, also as graphs; attribution methods besides weights
    align              links as lines of text
    explain, lens      one row of a head step by step; the guess of each decoder layer
    heads, head_importance, agreement    statistics over many sentences
    translate, plot    the beam's tree and alternatives; the curves of `tmt plot`, and figures by matplotlib
    corpus             the content of a corpus, for `tmt data`

Shared: `subject` (the pair under inspection, and its JSON), `serialise` (dataclasses as JSON and arrays), `rendering`
(escaping untrusted text, tables, wrapping).
"""
