from rich.text import Text

from transformer_mt.drawing.layout import beside


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


def test_blocks_stand_beside_each_other_as_far_as_they_fit() -> None:
    blocks = [[Text("aaaa"), Text("a")], [Text("bb")], [Text("cccc")]]
    assert plain(beside(blocks, width=16)) == ["aaaa   bb   cccc", "a"]
    assert plain(beside(blocks, width=15)) == ["aaaa   bb", "a", "", "cccc"]
    assert plain(beside(blocks, width=3)) == ["aaaa", "a", "", "bb", "", "cccc"]
