import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.text.sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["Guten Morgen.", "Wie geht es dir?", "Gut!"],
        ["Am 3. Mai kommt Dr. Müller.", "Er bleibt zwei Tage."],
        ["Das ist z. B. Wasser.", "Ja, d. h. nein."],
        ["J. S. Bach lebte in Leipzig.", "Mr. Smith doesn't."],
        ["kannst du mir helfen?", "ich bin neu hier!", "danke"],
        ['"Hilfe!" rief er.', "Dann ging er."],
        ["Er sagte: „Ich komme.“", "(Sie lachte.)", "»Nein!«", "Gut."],
        ["Ich…", "Ich weiß nicht...", "Wirklich?!", "Ja."],
        ["Es war 1990.", "Dann kam er.", "12 Leute warteten."],
        ["Er wohnt in www.x.de und zahlt 3.50 Euro. und geht"],
        ["... Ja"],
        ["Ça va ?", "Oui."],
        ["We meet on Oct. 5 at noon.", "Room no. 5 is free.", "Zimmer Nr. 7 auch."],
        ["He said no.", "Five left."],
        ["Er ist 30. Sie auch."],
        ["Er ist 30!", "Wirklich...?", "ja, A!", "Das sind approx. Hundert."],
        ["Der Hund schläft"],
        [],
    ],
)
def test_a_line_is_its_sentences(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences
    assert split_sentences(f"  {'   '.join(sentences)}\t") == sentences


@given(st.text(st.sampled_from("aB3.!?…\"'„“ )("), max_size=40))
def test_nothing_but_blanks_between_sentences_is_lost(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence.strip() == sentence != "" for sentence in sentences)


@pytest.mark.parametrize("part", ["!", "! ", "z. B. ", "!'", "' ", ". (", "a", "\t", "... "])
def test_time_grows_with_the_length(part: str) -> None:
    before = time.process_time()
    split_sentences(part * 100_000)
    assert time.process_time() - before < 5  # in the square of the length it would be hours
