"""Translation memories: the text of segments, their languages, and errors."""

import tracemalloc
from pathlib import Path

import pytest
from support.data_files import load, texts

from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.source import ColumnChoice
from transformer_mt.extensions.tmx.tmx import TranslationMemory
from transformer_mt.ground.errors import InputError

DOCTYPE = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'


def unit(**texts: str) -> str:
    variants = (f'<tuv xml:lang="{code.replace("_", "-")}">\n<seg>{text}</seg></tuv>' for code, text in texts.items())
    return f"<tu><note>no text</note>{''.join(variants)}</tu>\n"


def tmx(*units: str, source: str = "*all*", doctype: str = DOCTYPE, encoding: str = "UTF-8") -> bytes:
    head = f'<?xml version="1.0" encoding="{encoding}"?>\n{doctype}\n<tmx version="1.4"><header srclang="{source}"/>\n'
    return f"{head}<body>{''.join(units)}</body></tmx>".encode(encoding)


def read(folder: Path, content: bytes, **changes: str) -> list[tuple[str, str]]:
    (folder / "a.tmx").write_bytes(content)
    return texts(load(folder / "a.tmx", need="test", **changes), "test")


def refusal(folder: Path, content: bytes, **changes: str) -> str:
    with pytest.raises(InputError) as caught:
        read(folder, content, **changes)
    return str(caught.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("ein &lt; zwei &amp; &#228;", "ein < zwei & ä"),
        ("<![CDATA[<b>]]>\n  zwei", "<b> zwei"),
        ('Der <bpt i="1">&lt;b&gt;</bpt>Hund<ept i="1">&lt;/b&gt;</ept>.', "Der Hund."),
        ("Der <hi>große <hi>Hund</hi></hi>", "Der große Hund"),
        ("eins<ph>&lt;br&gt;</ph>zwei", "eins zwei"),
        ("Bild<ph>&lt;img alt='<sub>ein <hi>Hund</hi></sub>'&gt;</ph>", "Bild"),
    ],
)
def test_reads_the_text_of_a_segment(tmp_path: Path, segment: str, text: str) -> None:
    assert read(tmp_path, tmx(unit(de=segment, en="x"))) == [(text, "x")]


@pytest.mark.parametrize("encoding", ["UTF-16", "ISO-8859-1"])
def test_reads_the_declared_encoding(tmp_path: Path, encoding: str) -> None:
    assert read(tmp_path, tmx(unit(de="Büsche", en="bushes"), encoding=encoding)) == [("Büsche", "bushes")]


@pytest.mark.parametrize(
    ("source", "changes", "direction"),
    [
        ("*all*", {}, ("de-DE", "en-US")),
        ("EN_us", {}, ("en-US", "de-DE")),
        ("en-US", {"source_language": "de"}, ("de", "en-US")),
        ("*all*", {"source_language": "eng", "target_language": "deu"}, ("eng", "deu")),
    ],
)
def test_the_direction_comes_from_the_configuration_or_the_header(
    tmp_path: Path, source: str, changes: dict[str, str], direction: tuple[str, str]
) -> None:
    path = tmp_path / "a.tmx"
    path.write_bytes(tmx(unit(EN_US="yes", de_DE="ja"), unit(de_de="nein", en_us="no"), source=source))
    corpus = load(path, need="test", **changes)
    assert corpus.languages == direction
    expected = [("ja", "yes"), ("nein", "no")]
    assert texts(corpus, "test") == (expected if direction[0].startswith("de") else [pair[::-1] for pair in expected])


def test_chooses_one_of_several_language_variants(tmp_path: Path) -> None:
    content = tmx(unit(de="Farbe", en_GB="colour", en_US="color"), unit(de="ja", en_US="yes"), unit(fr="oui"))
    assert refusal(tmp_path, content).startswith("a.tmx: has de, en-GB, en-US, fr; set data.source_language and")
    both = {"source_language": "de", "target_language": "en"}
    assert refusal(tmp_path, content, **both).startswith("a.tmx: has en-GB and en-US for en; rename one, or set")
    british = both | {"target_language": "en-GB"}
    assert read(tmp_path, content, **british) == [("Farbe", "colour")]
    assert load(tmp_path / "a.tmx", need="test", **british).reports["test"].found["empty"] == 1
    assert refusal(tmp_path, content, source_language="de", target_language="es").startswith(
        "a.tmx: needs the columns de and es, but has de, en-GB, en-US, fr; set data.source_column"
    )


PAIR = unit(de="ja", en="yes")
REFUSED = {
    "a file": (tmx(PAIR, doctype='<!DOCTYPE tmx [<!ENTITY x SYSTEM "/etc/passwd">]>'), "2: a custom entity, x;"),
    "an entity of the DTD": (tmx(unit(de="B&uuml;sche", en="bushes")), "5: a custom entity, uuml; write the"),
    "an undefined entity": (tmx(unit(de="&x;", en="x"), doctype=""), "5: malformed XML (undefined entity);"),
    "a mismatched end tag": (tmx(PAIR.replace("</seg>", "</sag>", 1)), "5: malformed XML (mismatched tag); correct"),
    "a truncated file": (tmx(PAIR)[:-9], "7: malformed XML (unclosed token)"),
    "nothing": (b"", "1: malformed XML (no element found)"),
    **{
        name: (tmx(PAIR).replace(b"UTF-8", name.encode()), "1: unsupported encoding")
        for name in ("shift_jis", "nonsense")
    },
    "no language": (tmx(PAIR.replace(' xml:lang="en"', "")), "5: a <tuv> without xml:lang; add its language"),
    "a long segment": (tmx(unit(de="ja", en="yes " * 250_001)), "6: more than 1,000,000 characters in one <tu>; split"),
    "a long tag": (tmx(f"<!--{'x' * 2_000_000}-->"), "4: more than 1,000,000 bytes in one tag; correct it"),
    "no units": (tmx(), " no pairs in test; put sentence pairs into it"),
}


@pytest.mark.parametrize("name", [*REFUSED, pytest.param("tags without end", marks=pytest.mark.slow)])
def test_an_invalid_translation_memory_is_an_error_with_its_place(tmp_path: Path, name: str) -> None:
    endless = tmx(unit(de="<ph/>" * 1_000_001, en="x")), "5: more than 1,000,000 characters in one <tu>;"
    content, beginning = REFUSED.get(name, endless)
    assert refusal(tmp_path, content).startswith(f"a.tmx:{beginning}")


@pytest.mark.slow
def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_bytes(tmx(*(unit(de="ja " * 3_000, en="yes " * 3_000) for _ in range(150))))
    memory = TranslationMemory(DataFile.named(tmp_path / "a.tmx"))
    tracemalloc.start()
    try:
        assert sum(1 for _ in memory.pairs(ColumnChoice(("de", "en")))) == 150
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
