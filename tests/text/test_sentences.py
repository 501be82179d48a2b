import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.text.normalize import normalize
from transformer_mt.text.sentences import join_sentences, split_sentences


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
        ["Hauptstr. 5 ist weit.", "Er wohnt in der Hauptstr.", "Sie auch."],
        ["Abb. 3 steht in Kap. 4 von Müller & Co. Berlin.", "Das ist ein Kap.", "Es ist groß."],
        ["This is Tom's.", "That is not."],
        ["Der Hund schläft"],
        ["他走了。\u0301"],
        [],
    ],
)
def test_splits_a_line_into_sentences(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences
    assert split_sentences(f"  {'   '.join(sentences)}\t") == sentences


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "老师爱音乐。|学生看见大海！|真的？！|他走了……。|你好吗?|我用 iPhone。|iPad 很好。"),
        ("zh", "他说：“你好。|我来了。”|“好。”她说。|《你是谁？》是一部电影。|乔治.布什走了（昨天。）了。"),
        (
            "ja",
            "「行こう。」と言った。|彼は、「はい。」と答えた。|そして去った｡|彼は言った、「行こう。」|彼女も行った。",
        ),
        ("ko", "이것은 책입니다. |네. |저것은 연필입니다! |왜? |그냥."),
        ("hi", "वह अच्छा है। |डॉ. राम आए॥ |वह है. |मैं भी।"),
        ("ar", "هل أنت بخير؟ |نعم. |أنا د. محمد! |شكرا"),
        ("ur", "یہ کتاب ہے۔ |وہ گھر ہے۔"),
        ("he", "שלום. |מה שלומך? |טוב."),
        ("ka", "ეს კარგია. |ის სახლშია. |ნ. ბარათაშვილი."),
        ("am", "ሰላም ነው። |እንዴት ነህ፧ |ደህና።"),
        ("my", "ကျွန်တော် သွားမယ်။ |သူ လာမယ်။"),
        ("km", "ខ្ញុំទៅ។ |គាត់មក។"),
        ("bo", "ཁོང་ཡོང་། |ང་འགྲོ། |།ཡོང་།"),
        ("th", "ฉันไป! |ดร. สมชาย พ.ศ. 2560. |เขามา"),
        ("hy", "Բարև։ |Ինչպես ես։"),
        ("el", "Τι κάνεις; |καλά. |Ο κος. Παππάς ήρθε."),
        ("ru", "Живу на ул. Ленина, т. е. Тут. |Это я. |Я. Перельман писал."),
        ("fr", "M. Dupont est là. |Ils étaient sept. |Mme. Durand aussi."),
        ("es", "El Sr. Pérez y la Sra. Gómez. |¿Es Ud. María? |¡Sí! |Van a los EE. UU. Mañana."),
        ("it", "Il libro è mio. |Dov'è. |Parla l'ing. Rossi."),
        ("pl", "Na ul. Długiej, np. Tu. |Dałem im. |Św. Jan."),
        ("vi", "Vâng ạ. |TP. Hồ Chí Minh."),
        ("de-AT", "Das ist im Abs. Drei."),
        ("", "Das ist im Abs. Drei auf ул. Ленина. |Ça va ? |Sim, é. |¿Sí?"),
    ],
)
def test_splits_sentences_of_other_languages(language: str, text: str) -> None:
    assert split_sentences(text.replace("|", ""), language) == text.replace(" |", "|").split("|")
    assert join_sentences(text.replace(" |", "|").split("|")) == text.replace("|", "")


def test_joins_sentences_with_blanks_where_the_language_has_them() -> None:
    assert join_sentences(["你好.", "再见!", "Hello.", "你好。", "Hello."]) == "你好.再见! Hello. 你好。Hello."
    assert join_sentences(["你好", "再见"]) == "你好 再见"
    assert join_sentences(["", "Ja.", "", "Nein.", ""]) == "Ja. Nein."
    assert join_sentences([]) == ""


ANY = st.text(st.sampled_from("aB3.!?…\"'„“ )ßა。！」「：”你と।؟א;ώ"), max_size=40) | st.text(max_size=40)


@given(ANY.map(normalize), st.sampled_from(["", "de", "zh", "ja", "hi", "ru"]))
def test_splitting_loses_only_blanks(text: str, language: str) -> None:
    sentences = split_sentences(text, language)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert "".join(join_sentences(sentences).split()) == "".join(text.split())
    assert all(sentence.strip() == sentence != "" for sentence in sentences)


@pytest.mark.parametrize(
    "part",
    [
        "!",
        "! ",
        "z. B. ",
        "!'",
        "' ",
        ". (",
        "a",
        "\t",
        "... ",
        "。",
        "。」",
        "。“",
        "。!",
        "：「",
        "。(",
        "！」と",
        "ω;",
    ],
)
@pytest.mark.slow
def test_splitting_takes_linear_time(part: str) -> None:
    """Quadratic time would take hours."""
    assert "".join("".join(split_sentences(part * 100_000)).split()) == "".join((part * 100_000).split())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("ich bin müde. ich gehe ins bett.", 2),
        ("ich mag äpfel, birnen usw. und du?", 1),
        ("am 3. mai kommt dr. maier.", 1),
        ("Ich bin müde. ich gehe ins bett.", 1),
        ("the dog sleeps. the cat, e.g. this one, is awake... or not.", 2),
    ],
)
def test_an_all_lowercase_line_splits_at_full_stops(text: str, count: int) -> None:
    assert len(split_sentences(text, "de" if "ich" in text.lower() or "mai" in text else "en")) == count
