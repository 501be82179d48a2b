"""Looking inside a model. Each view is one module: its data, as a dataclass, and its lines of text.

Read `maps` (attention of a pair over tokens and words), `matrix` (drawing in a terminal), then `attend`.

    attend, methods    the matrices of `tmt attend`, also as graphs; attribution methods besides weights
    align              links as lines of text
    head_importance, agreement    what a head is worth; whether its weights agree with erasure
    translate          the beam's tree and alternatives
    corpus             the content of a corpus, for `tmt data`

Shared: `subject` (the pair under inspection, and its JSON), `request` (what a request names), `serialise` (dataclasses
as JSON and arrays), `rendering` (escaping untrusted text, tables, wrapping).
"""
