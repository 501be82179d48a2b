"""The inflection tables, form by form."""

import tomllib
from pathlib import Path

import pytest

from grammar import english, german, german_syntax
from grammar.english_syntax import ENGLISH
from grammar.lexicon import CASES, CLOSED, lexicon
from grammar.meaning import NounPhrase, called
from grammar.tests.derivations import nominal

FORMS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("forms.toml").read_text(encoding="utf-8"))


def known(kind: str) -> list[tuple[str, str]]:
    """The rows of the table whose word is in the lexicon."""
    return [(key, row) for key, row in FORMS[kind].items() if key in getattr(lexicon(), kind)]


@pytest.mark.parametrize(("key", "row"), known("nouns"))
def test_noun(key: str, row: str) -> None:
    noun = lexicon().nouns[key]
    singular, plural, translations = row.split(" | ")
    if singular != "-":
        assert " ".join(german.noun(noun, case, plural=False) for case in CASES) == singular
    if plural != "-" and not noun.measure:
        assert " ".join(german.noun(noun, case, plural=True) for case in ("nominative", "dative")) == plural
    one, _, several = translations.partition(", ")
    if one != "-":
        assert english.noun(noun, plural=False) == one
    if several:
        assert english.noun(noun, plural=True) == several


@pytest.mark.parametrize(("key", "row"), known("verbs"))
def test_verb(key: str, row: str) -> None:
    verb = lexicon().verbs[key]
    present, commands, perfect, translations = row.split(" | ")
    assert " ".join(german.finite(verb, "present", person) for person in german.PERSONS) == present
    if commands != "-":
        assert f"{german.imperative(verb, '2s')} {german.imperative(verb, '2p')}" == commands
    assert f"{verb.aux} {german.participle(verb)}" == perfect
    base = verb.english.split()[0]
    forms = [english.verb_form(base, verb.past, form, "3s") for form in ("present", "past", "participle", "ing")]
    assert " ".join(forms) == translations


@pytest.mark.parametrize(("key", "row"), known("adjectives"))
def test_comparative(key: str, row: str) -> None:
    adjective = lexicon().adjectives[key]
    assert (
        f"{german.graded(adjective, 'comparative')} | {adjective.english} | {english.graded(adjective, 'comparative')}"
        == row
    )


def test_table_covers_the_lexicon() -> None:
    words = lexicon()
    assert len(known("nouns")) >= 150
    irregular = {verb.key for verb in words.verbs.values() if verb.vowel or verb.du_er}
    tabled = {(words.verbs[key].infinitive, words.verbs[key].prefix) for key, _ in known("verbs")}
    assert not {key for key in irregular if (words.verbs[key].infinitive, words.verbs[key].prefix) not in tabled}


def test_every_german_form_is_one_word_of_letters() -> None:
    for verb in lexicon().verbs.values():
        if verb.infinitive != "möchten":
            forms = {german.finite(verb, "present", person) for person in german.PERSONS} | {german.participle(verb)}
            assert all(form.isalpha() for form in forms), verb.key
            assert german.finite(verb, "present", "1p") == verb.infinitive or verb.infinitive == "sein"
    for noun in lexicon().nouns.values():
        assert noun.key[0].isupper()
        assert noun.mass or noun.plural_only or noun.plural or noun.measure, noun.key


@pytest.mark.parametrize("verb", [verb.key for verb in lexicon().verbs.values() if not verb.participle])
def test_regular_participle_has_ge_where_the_first_syllable_is_stressed(verb: str) -> None:
    entry = lexicon().verbs[verb]
    participle = german.participle(entry)
    unstressed = entry.infinitive.endswith("ieren") and not entry.infinitive.endswith("feiern")
    assert participle.removeprefix(entry.prefix).startswith("ge") != unstressed
    assert participle.endswith("t")


@pytest.mark.parametrize(
    ("phrase", "forms"),
    [
        ("der alt Hund", "der alte Hund, den alten Hund, dem alten Hund, des alten Hundes"),
        ("ein alt Hund", "ein alter Hund, einen alten Hund, einem alten Hund, eines alten Hundes"),
        ("mein klein Katze", "meine kleine Katze, meine kleine Katze, meiner kleinen Katze, meiner kleinen Katze"),
        ("kein neu Buch", "kein neues Buch, kein neues Buch, keinem neuen Buch, keines neuen Buches"),
        ("dieser groß Haus", "dieses große Haus, dieses große Haus, diesem großen Haus, dieses großen Hauses"),
        ("jeder neu Tag", "jeder neue Tag, jeden neuen Tag, jedem neuen Tag, jedes neuen Tages"),
        ("welcher rot Tür", "welche rote Tür, welche rote Tür, welcher roten Tür, welcher roten Tür"),
        ("0 heiß Kaffee", "heißer Kaffee, heißen Kaffee, heißem Kaffee, heißen Kaffees"),
        ("0 kalt Milch", "kalte Milch, kalte Milch, kalter Milch, kalter Milch"),
        ("0 kalt Wasser", "kaltes Wasser, kaltes Wasser, kaltem Wasser, kalten Wassers"),
        ("euer gut Arzt", "euer guter Arzt, euren guten Arzt, eurem guten Arzt, eures guten Arztes"),
        ("unser gut Arzt", "unser guter Arzt, unseren guten Arzt, unserem guten Arzt, unseres guten Arztes"),
        ("der müde Junge", "der müde Junge, den müden Jungen, dem müden Jungen, des müden Jungen"),
        ("ein teuer Wein", "ein teurer Wein, einen teuren Wein, einem teuren Wein, eines teuren Weines"),
        ("ein hoch Berg", "ein hoher Berg, einen hohen Berg, einem hohen Berg, eines hohen Berges"),
        ("ein dunkel Zimmer", "ein dunkles Zimmer, ein dunkles Zimmer, einem dunklen Zimmer, eines dunklen Zimmers"),
        ("ein rosa Kleid", "ein rosa Kleid, ein rosa Kleid, einem rosa Kleid, eines rosa Kleides"),
        ("der klein Kind+pl", "die kleinen Kinder, die kleinen Kinder, den kleinen Kindern, der kleinen Kinder"),
        ("0 neu Buch+pl", "neue Bücher, neue Bücher, neuen Büchern, neuer Bücher"),
        ("viele rot Auto", "viele rote Autos, viele rote Autos, vielen roten Autos, vieler roter Autos"),
        ("alle rot Auto", "alle roten Autos, alle roten Autos, allen roten Autos, aller roten Autos"),
        (
            "unser gut Freund+pl",
            "unsere guten Freunde, unsere guten Freunde, unseren guten Freunden, unserer guten Freunde",
        ),
        ("drei jung Frau", "drei junge Frauen, drei junge Frauen, drei jungen Frauen, drei junger Frauen"),
        ("kein neu Schuh+pl", "keine neuen Schuhe, keine neuen Schuhe, keinen neuen Schuhen, keiner neuen Schuhe"),
        ("zwei Euro", "zwei Euro, zwei Euro, zwei Euro, zwei Euro"),
    ],
)
def test_noun_phrase(phrase: str, forms: str) -> None:
    node = nominal(phrase)
    made = [" ".join(word.text for word in german_syntax.GERMAN.phrase(node, case)) for case in CASES]
    assert made == forms.split(", ")


@pytest.mark.parametrize(
    ("pronoun", "forms"),
    [
        ("ich", "ich mich mir I me my"),
        ("du", "du dich dir you you your"),
        ("er", "er ihn ihm he him his"),
        ("sie", "sie sie ihr she her her"),
        ("es", "es es ihm it it his"),
        ("wir", "wir uns uns we us our"),
        ("ihr", "ihr euch euch you you your"),
        ("sie, plural", "sie sie ihnen they them their"),
        ("Sie", "Sie Sie Ihnen you you your"),
    ],
)
def test_personal_pronoun(pronoun: str, forms: str) -> None:
    row = german.PRONOUNS[pronoun]
    own = german.DETERMINERS[row["own"]]["english"].split()[0]
    assert [*(german.pronoun(pronoun, case) for case in CASES[:3]), *row["english"].split(), own] == forms.split()


@pytest.mark.parametrize(
    ("key", "preterite"),
    [
        ("sein", "war warst war waren wart waren"),
        ("haben", "hatte hattest hatte hatten hattet hatten"),
        ("wissen", "wusste wusstest wusste wussten wusstet wussten"),
        ("können", "konnte konntest konnte konnten konntet konnten"),
        ("müssen", "musste musstest musste mussten musstet mussten"),
        ("wollen", "wollte wolltest wollte wollten wolltet wollten"),
        ("dürfen", "durfte durftest durfte durften durftet durften"),
        ("sollen", "sollte solltest sollte sollten solltet sollten"),
    ],
)
def test_preterite(key: str, preterite: str) -> None:
    assert [german.finite(key, "preterite", person) for person in german.PERSONS] == preterite.split()


@pytest.mark.parametrize(
    ("key", "preterite"),
    [
        ("gehen", "ging gingst ging gingen gingt gingen"),
        ("an|rufen", "rief riefst rief riefen rieft riefen"),
        ("finden", "fand fandest fand fanden fandet fanden"),
        ("lesen", "las lasest las lasen last lasen"),
        ("denken", "dachte dachtest dachte dachten dachtet dachten"),
        ("arbeiten", "arbeitete arbeitetest arbeitete arbeiteten arbeitetet arbeiteten"),
        ("lächeln", "lächelte lächeltest lächelte lächelten lächeltet lächelten"),
        ("öffnen", "öffnete öffnetest öffnete öffneten öffnetet öffneten"),
        ("kaufen", "kaufte kauftest kaufte kauften kauftet kauften"),
    ],
)
def test_preterite_of_strong_and_weak_verbs(key: str, preterite: str) -> None:
    verb = lexicon().verbs[key]
    assert [german.finite(verb, "preterite", person) for person in german.PERSONS] == preterite.split()


def test_every_strong_verb_has_a_preterite() -> None:
    strong = {
        verb.infinitive
        for verb in lexicon().verbs.values()
        if verb.participle.endswith("n") and verb.infinitive != "hören"
    }
    known = CLOSED["preterites"].keys() | {verb for verb, form in german.IRREGULAR if form == "preterite"}
    assert strong <= known, strong - known


@pytest.mark.parametrize(
    ("key", "present"),
    [
        ("können", "kann kannst kann können könnt können"),
        ("müssen", "muss musst muss müssen müsst müssen"),
        ("wollen", "will willst will wollen wollt wollen"),
        ("dürfen", "darf darfst darf dürfen dürft dürfen"),
        ("sollen", "soll sollst soll sollen sollt sollen"),
        ("möchten", "möchte möchtest möchte möchten möchtet möchten"),
        ("könnten", "könnte könntest könnte könnten könntet könnten"),
        ("würden", "würde würdest würde würden würdet würden"),
    ],
)
def test_present_of_modal_verbs(key: str, present: str) -> None:
    assert [german.finite(key, "present", person) for person in german.PERSONS] == present.split()


@pytest.mark.parametrize(
    ("verb", "infinitive"), [("an|rufen", "anzurufen"), ("lesen", "zu lesen"), ("auf|räumen", "aufzuräumen")]
)
def test_infinitive_with_zu(verb: str, infinitive: str) -> None:
    assert " ".join(german.zu_infinitive(lexicon().verbs[verb])) == infinitive


@pytest.mark.parametrize(
    ("word", "article"),
    [
        *((word, "an") for word in ("apple", "egg", "umbrella", "old", "hour", "interesting", "uncle", "ugly", "ice")),
        *((word, "a") for word in ("university", "uniform", "book", "house", "euro", "one", "year", "useful")),
    ],
)
def test_english_article_follows_the_sound(word: str, article: str) -> None:
    assert english.article(word) == article


@pytest.mark.parametrize(
    ("phrase", "said"),
    [
        ("ein alt Auto", "an old car"),
        ("ein Hose", "a pair of trousers"),
        ("zwei Kind", "two children"),
        ("hundert Euro", "a hundred euros"),
        ("alle Buch", "all the books"),
        ("viele Leute", "many people"),
        ("dieser Schuh+pl", "these shoes"),
        ("ein Glas Wasser", "a glass of water"),
        ("ein ander Buch", "another book"),
    ],
)
def test_english_noun_phrase(phrase: str, said: str) -> None:
    assert " ".join(word.text for word in ENGLISH.phrase(nominal(phrase), "nominative")) == said


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        ("Anna", "Anna's car"),
        ("der Chef", "the boss's car"),
        ("der Kind+pl", "the children's car"),
        ("mein Eltern", "the car of my parents"),
        ("der Leute", "the people's car"),
        ("der Freund+pl", "the car of the friends"),
    ],
)
def test_english_possessive(owner: str, said: str) -> None:
    thing = nominal("der Auto")
    assert isinstance(thing, NounPhrase)
    thing.possessor = nominal(owner)
    assert " ".join(word.text for word in ENGLISH.phrase(thing, "nominative")) == said


@pytest.mark.parametrize(("key", "own"), [("ich", "mein"), ("man", "sein"), ("jemand", "sein"), ("wer", "sein")])
def test_what_has_no_possessive_of_its_own_takes_sein(key: str, own: str) -> None:
    assert german.possessive(key) == own


@pytest.mark.parametrize(("key", "plural"), [("Eltern", True), ("Hund", False)])
def test_a_noun_without_a_singular_is_called_by_its_plural(key: str, plural: bool) -> None:
    named = called(lexicon().nouns[key])
    assert isinstance(named, NounPhrase)
    assert named.plural == plural
