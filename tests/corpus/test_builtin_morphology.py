"""The inflection tables, form by form."""

import pytest
from support.derivations import np

from transformer_mt.corpus.builtin import english, german
from transformer_mt.corpus.builtin.lexicon import Case, lexicon

CASES: tuple[Case, ...] = ("nominative", "accusative", "dative", "genitive")


def declined(determiner: str, noun: str, adjective: str, *, plural: bool = False) -> list[str]:
    phrase = np(determiner, noun, adjective=adjective, plural=plural)
    return [" ".join(word.text for word in phrase.german(case)) for case in CASES]


@pytest.mark.parametrize(
    ("phrase", "forms"),
    [
        (("der", "Hund", "alt"), "der alte Hund, den alten Hund, dem alten Hund, des alten Hundes"),
        (("ein", "Hund", "alt"), "ein alter Hund, einen alten Hund, einem alten Hund, eines alten Hundes"),
        (
            ("mein", "Katze", "klein"),
            "meine kleine Katze, meine kleine Katze, meiner kleinen Katze, meiner kleinen Katze",
        ),
        (("kein", "Buch", "neu"), "kein neues Buch, kein neues Buch, keinem neuen Buch, keines neuen Buches"),
        (("dieser", "Haus", "groß"), "dieses große Haus, dieses große Haus, diesem großen Haus, dieses großen Hauses"),
        (("", "Kaffee", "heiß"), "heißer Kaffee, heißen Kaffee, heißem Kaffee, heißen Kaffees"),
        (("", "Milch", "kalt"), "kalte Milch, kalte Milch, kalter Milch, kalter Milch"),
        (("", "Wasser", "kalt"), "kaltes Wasser, kaltes Wasser, kaltem Wasser, kalten Wassers"),
        (("euer", "Arzt", "gut"), "euer guter Arzt, euren guten Arzt, eurem guten Arzt, eures guten Arztes"),
        (("der", "Junge", "müde"), "der müde Junge, den müden Jungen, dem müden Jungen, des müden Jungen"),
        (("ein", "Wein", "teuer"), "ein teurer Wein, einen teuren Wein, einem teuren Wein, eines teuren Weins"),
    ],
)
def test_singular_noun_phrase(phrase: tuple[str, str, str], forms: str) -> None:
    assert declined(*phrase) == forms.split(", ")


@pytest.mark.parametrize(
    ("phrase", "forms"),
    [
        (("der", "Kind", "klein"), "die kleinen Kinder, die kleinen Kinder, den kleinen Kindern, der kleinen Kinder"),
        (("", "Buch", "neu"), "neue Bücher, neue Bücher, neuen Büchern, neuer Bücher"),
        (("viele", "Auto", "rot"), "viele rote Autos, viele rote Autos, vielen roten Autos, vieler roter Autos"),
        (
            ("unser", "Freund", "gut"),
            "unsere guten Freunde, unsere guten Freunde, unseren guten Freunden, unserer guten Freunde",
        ),
        (("drei", "Frau", "jung"), "drei junge Frauen, drei junge Frauen, drei jungen Frauen, drei junger Frauen"),
    ],
)
def test_plural_noun_phrase(phrase: tuple[str, str, str], forms: str) -> None:
    assert declined(*phrase, plural=True) == forms.split(", ")


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("kaufen", "kaufe kaufst kauft kaufen kauft kaufen"),
        ("arbeiten", "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten"),
        ("lesen", "lese liest liest lesen lest lesen"),
        ("nehmen", "nehme nimmst nimmt nehmen nehmt nehmen"),
        ("fahren", "fahre fährst fährt fahren fahrt fahren"),
        ("ein|laden", "lade lädst lädt laden ladet laden"),
        ("öffnen", "öffne öffnest öffnet öffnen öffnet öffnen"),
        ("schließen", "schließe schließt schließt schließen schließt schließen"),
        ("finden", "finde findest findet finden findet finden"),
        ("treffen", "treffe triffst trifft treffen trefft treffen"),
        ("wissen", "weiß weißt weiß wissen wisst wissen"),
    ],
)
def test_german_present(verb: str, forms: str) -> None:
    entry = lexicon().verbs[verb]
    assert [german.present_of(entry, person) for person in german.PERSONS] == forms.split()


def test_german_imperatives_participles_and_infinitives() -> None:
    verbs = lexicon().verbs
    assert [german.imperative(verbs[key], "2s") for key in ("helfen", "warten auf", "waschen", "öffnen", "gehen")] == [
        "hilf",
        "warte",
        "wasch",
        "öffne",
        "geh",
    ]
    assert [verbs[key].participle for key in ("an|machen", "übersetzen", "reparieren", "regnen", "vor|bereiten")] == [
        "angemacht",
        "übersetzt",
        "repariert",
        "geregnet",
        "vorbereitet",
    ]
    assert german.zu_infinitive(verbs["an|rufen"]) == "anzurufen"
    assert german.zu_infinitive(verbs["lesen"]) == "zu lesen"


@pytest.mark.parametrize(
    ("noun", "plural"),
    [
        ("Kind", "children"),
        ("Frau", "women"),
        ("Messer", "knives"),
        ("Kartoffel", "potatoes"),
        ("Stadt", "cities"),
        ("Bus", "buses"),
    ],
)
def test_english_plural(noun: str, plural: str) -> None:
    assert english.noun(lexicon().nouns[noun], plural=True) == plural


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("schreiben", "writes wrote written writing"),
        ("auf|räumen", "tidies tidied tidied tidying"),
        ("gehen", "goes went gone going"),
        ("liegen", "lies lay lain lying"),
        ("stellen", "puts put put putting"),
        ("hören", "hears heard heard hearing"),
        ("vergessen", "forgets forgot forgotten forgetting"),
        ("reisen", "travels travelled travelled travelling"),
        ("öffnen", "opens opened opened opening"),
    ],
)
def test_english_verb_forms(verb: str, forms: str) -> None:
    entry = lexicon().verbs[verb].english
    made = [
        english.present(entry, "3s"),
        english.past(entry, "3s"),
        english.participle(entry),
        english.progressive(entry),
    ]
    assert made == forms.split()


def test_english_article_follows_the_sound() -> None:
    assert [
        english.article(word) for word in ("apple", "university", "egg", "umbrella", "book", "interesting", "old")
    ] == [
        "an",
        "a",
        "an",
        "an",
        "a",
        "an",
        "an",
    ]


@pytest.mark.parametrize(
    ("adjective", "comparative"),
    [
        ("groß", "bigger"),
        ("gut", "better"),
        ("lustig", "funnier"),
        ("interessant", "more interesting"),
        ("heiß", "hotter"),
    ],
)
def test_english_comparative(adjective: str, comparative: str) -> None:
    assert english.comparative(lexicon().adjectives[adjective]) == comparative
