"""Parts of speech, relations and heads of whole sentences, annotated by hand."""

import tomllib
from pathlib import Path

import pytest

from grammar.realise import realise
from grammar.tests.derivations import derivation
from grammar.trees import Tree
from transformer_mt.text.words import words

_HERE = Path(__file__)
TREES: list[dict[str, str]] = tomllib.loads(_HERE.with_name("trees.toml").read_text(encoding="utf-8"))["tree"]
ROWS = {
    row["german"]: row
    for rows in tomllib.loads(_HERE.with_name("gold_pairs.toml").read_text(encoding="utf-8")).values()
    for row in rows
}


def annotated(text: str, tree: Tree) -> str:
    """The sentence in the notation of the file."""
    said = []
    for word, node in zip(words(text), tree, strict=True):
        antecedent = [] if node.antecedent is None else [str(node.antecedent + 1)]
        told = [word, node.part_of_speech, node.relation, str(node.head + 1), *antecedent]
        said.append(word if node.relation == "punct" else "/".join(told))
    return " ".join(said)


@pytest.mark.parametrize("row", TREES, ids=[row["sentence"] for row in TREES])
def test_tree_is_that_of_universal_dependencies(row: dict[str, str]) -> None:
    pair = realise(derivation(ROWS[row["sentence"]]))
    assert pair.structure is not None
    assert annotated(pair.source, pair.structure[0]) == row["german"]
    assert annotated(pair.target, pair.structure[1]) == row["english"]
    assert " ".join(f"{i + 1}-{j + 1}" for i, j in pair.links or ()) == row["links"]


def test_a_contraction_is_one_node_that_both_english_words_are_linked_with() -> None:
    pair = realise(derivation({"says": "der Kind+pl; spielen (children); in der Garten"}))
    assert pair.structure is not None
    german, english = words(pair.source), words(pair.target)
    place = german.index("im")
    assert pair.structure[0][place][:2] == ("ADP", "case")
    assert [english[j] for i, j in pair.links or () if i == place] == ["in", "the"]


def test_reversed_pair_has_its_structure_reversed() -> None:
    pair = realise(derivation({"says": "ich; sehen; der Hund"}))
    assert pair.structure is not None
    assert pair.reversed().structure == (pair.structure[1], pair.structure[0])
    assert pair.reversed().reversed() == pair
