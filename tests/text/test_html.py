import re
from html.parser import HTMLParser

from transformer_mt.text.html import html_matrix


class Elements(HTMLParser):
    """The names of the elements of a text, in order, and whether each closes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_texts_are_escaped_and_isolated() -> None:
    evil = "</td><script>alert(1)</script><img src=x onerror=alert(1)>\x1b\u202e"
    text = html_matrix([[1.0]], [evil], [evil], title=evil)
    found = Elements(text)
    assert found.open == []
    assert set(found.names) == {"table", "caption", "tr", "th", "td", "bdi"}
    assert "<bdi>&lt;/td&gt;" in text
    assert text.count("␛⟨U+202E⟩</bdi>") == 3


def colours(text: str) -> list[str]:
    return re.findall(r"rgb\(([^)]+)\); color: \w+", text)


def test_matrix_is_shaded_by_a_common_scale_and_sign() -> None:
    text = html_matrix([[0.0, 2.0], [-4.0, float("nan")]], ["a", "b"], ["c", "d"], title="t")
    assert colours(text) == ["255, 255, 255", "144, 178, 214", "178, 24, 43"]
    assert re.findall(r">(-?\d\.\d\d)<", text) == ["0.00", "2.00", "-4.00"]
    assert text.count("<td></td>") == 1
    assert "color: white" in text
    assert colours(html_matrix([[float("nan")]], ["a"], ["b"], title="")) == []
