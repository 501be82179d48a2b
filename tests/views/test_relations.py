"""Which relations can be found in a matrix."""

from transformer_mt.corpus.pairs import Node, SentencePair
from transformer_mt.views.heads import Instance, instances

# „Ich sehe den Hund, der bellt." and "I see the barking dog."; no punctuation here.
SOURCE = (
    Node("PRON", "nsubj", 1),
    Node("VERB", "root", -1),
    Node("DET", "det", 3),
    Node("NOUN", "obj", 1),
    Node("PRON", "nsubj", 5, antecedent=3),
    Node("VERB", "acl:relcl", 3),
)
TARGET = (
    Node("PRON", "nsubj", 1),
    Node("VERB", "root", -1),
    Node("DET", "det", 4),
    Node("ADJ", "amod", 4),
    Node("NOUN", "obj", 1),
)
LINKS = ((0, 0), (1, 1), (2, 2), (3, 4), (4, 3), (5, 3))
PAIR = SentencePair("Ich sehe den Hund der bellt", "I see the barking dog", LINKS, structure=(SOURCE, TARGET))


def found(stack: str, relation: str) -> set[tuple[str, int, int, int]]:
    return {(one.kind[1], *one[1:]) for one in instances(PAIR, stack) if one.kind[0] == relation}


def test_in_the_encoder_both_ends_of_every_relation_are_looked_for() -> None:
    assert found("encoder", "det") == {("head", 2, 3, 1), ("dependent", 3, 2, -1)}
    assert found("encoder", "obj") == {("head", 3, 1, -2), ("dependent", 1, 3, 2)}
    assert not found("encoder", "root")
    assert len(list(instances(PAIR, "encoder"))) == 12


def test_a_pronoun_has_its_antecedent() -> None:
    assert found("encoder", "antecedent") == {("head", 4, 3, -1), ("dependent", 3, 4, 1)}


def test_in_the_decoder_only_words_before_have_been_read() -> None:
    assert found("decoder", "det") == {("dependent", 4, 2, -2)}
    assert found("decoder", "obj") == {("head", 4, 1, -3)}
    assert len(list(instances(PAIR, "decoder"))) == 4


def test_in_cross_attention_a_word_stands_for_the_source_word_it_is_linked_with() -> None:
    assert found("cross", "obj") == {("head", 4, 1, -2), ("dependent", 1, 3, 2)}
    # „der" is linked with the word that „bellt" is linked with.
    assert found("cross", "nsubj") == {("head", 0, 1, 1), ("dependent", 1, 0, -1)}
    assert found("cross", "acl:relcl") == {("head", 3, 3, -2), ("dependent", 4, 5, 2)}


def test_without_trees_nothing_can_be_found() -> None:
    assert list(instances(SentencePair("a", "b", ((0, 0),)), "cross")) == []
    assert Instance(("det", "head"), 2, 3, 1) in list(instances(PAIR, "encoder"))


def test_a_word_may_depend_on_the_first() -> None:
    tree = (Node("VERB", "root", -1), Node("NOUN", "obj", 0))
    assert (("obj", "head"), 1, 0, -1) in list(instances(SentencePair("a b", "c d", structure=(tree, tree)), "encoder"))
