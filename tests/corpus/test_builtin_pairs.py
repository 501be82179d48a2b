"""Hand-written pairs, by phenomenon: the grammar must make each of them from its derivation."""

import pytest
from support.derivations import (
    Both,
    Identity,
    Infinitive,
    Role,
    Subordinate,
    ago,
    at_clock,
    clause,
    company,
    name,
    np,
    on_occasion,
    place,
    quality,
    there_is,
    with_relative,
)

from transformer_mt.corpus.builtin.sentences import Command, Complex, Joined, Question, Sentence, Statement, realise
from transformer_mt.corpus.builtin.subordination import CONJUNCTIONS

Pair = tuple[Sentence, str, str]


def say(*args: object, **kwargs: object) -> Statement:
    return Statement(clause(*args, **kwargs))  # type: ignore[arg-type]


def ask(*args: object, **kwargs: object) -> Question:
    return Question(clause(*args, **kwargs))  # type: ignore[arg-type]


def ask_for(what: str, *args: object, **kwargs: object) -> Question:
    """A question for the subject, the object, the predicate or the last adverbial."""
    made = clause(*args, **kwargs)  # type: ignore[arg-type]
    return Question(made, made.adverbials[-1] if what == "adverbial" else getattr(made, what))


def start_with(what: str, *args: object, **kwargs: object) -> Statement:
    """A statement that starts with the object or the first adverbial."""
    made = clause(*args, **kwargs)  # type: ignore[arg-type]
    return Statement(made, made.adverbials[0] if what == "adverbial" else getattr(made, what))


def the_man_who_sings() -> object:
    return with_relative(np("der", "Mann"), clause(None, "singen", np("ein", "Lied")), "subject")


PAIRS: dict[str, list[Pair]] = {
    "gender, case and number of noun phrases": [
        (say("ich", "sehen", np("der", "Hund")), "Ich sehe den Hund.", "I see the dog."),
        (say(np("der", "Katze"), "schlafen"), "Die Katze schläft.", "The cat sleeps."),
        (say("wir", "waschen", np("der", "Pferd")), "Wir waschen das Pferd.", "We wash the horse."),
        (
            say("er", "zeigen", np("ein", "Bild"), to=np("der", "Kind", plural=True), tense="past"),
            "Er hat den Kindern ein Bild gezeigt.",
            "He showed the children a picture.",
        ),
        (
            say("ich", "kennen", np("der", "Student")),
            "Ich kenne den Studenten.",
            "I know the student.",
        ),
        (
            say("sie", "kaufen", np("drei", "Messer", plural=True), tense="past"),
            "Sie hat drei Messer gekauft.",
            "She bought three knives.",
        ),
    ],
    "genitive": [
        (
            say("wir", "suchen", np("der", "Schlüssel", possessor=np("mein", "Vater")), progressive=True),
            "Wir suchen gerade den Schlüssel meines Vaters.",
            "We are looking for my father's key.",
        ),
        (
            say(np("", "Auto", possessor=name("Anna")), "sein", predicate=quality("neu")),
            "Annas Auto ist neu.",
            "Anna's car is new.",
        ),
        (
            Command(clause(None, "schließen", np("der", "Tür", possessor=np("der", "Zimmer")), please=True)),
            "Schließ bitte die Tür des Zimmers!",
            "Please close the door of the room!",
        ),
        (
            start_with("adverbial", "ich", "ein|schlafen", None, on_occasion("während", "Film"), tense="past"),
            "Während des Films bin ich eingeschlafen.",
            "During the film I fell asleep.",
        ),
    ],
    "determiners and adjective endings": [
        (
            say(np("dieser", "Film"), "sein", predicate=Identity(np("ein", "Geschenk", adjective="schön"))),
            "Dieser Film ist ein schönes Geschenk.",
            "This film is a beautiful present.",
        ),
        (
            say("er", "kaufen", np("ein", "Hut", adjective="alt"), tense="past"),
            "Er hat einen alten Hut gekauft.",
            "He bought an old hat.",
        ),
        (
            say("sie", "suchen", np("ihr", "Mantel", adjective="schwarz"), tense="past"),
            "Sie hat ihren schwarzen Mantel gesucht.",
            "She looked for her black coat.",
        ),
        (
            say(np("der", "Katze", adjective="klein"), "trinken", np("", "Milch", adjective="warm")),
            "Die kleine Katze trinkt warme Milch.",
            "The small cat drinks warm milk.",
        ),
        (
            say(np("unser", "Nachbar", adjective="neu"), "wohnen", None, place(np("dieser", "Haus", adjective="groß"))),
            "Unser neuer Nachbar wohnt in diesem großen Haus.",
            "Our new neighbour lives in this big house.",
        ),
        (
            say("ich", "mögen", np("", "Apfel", plural=True, adjective="süß")),
            "Ich mag süße Äpfel.",
            "I like sweet apples.",
        ),
        (
            say("wir", "brauchen", np("ein", "Taxi", adjective="groß")),
            "Wir brauchen ein großes Taxi.",
            "We need a big taxi.",
        ),
        (
            say("wir", "helfen", np("der", "Kind", plural=True, adjective="müde"), tense="past"),
            "Wir haben den müden Kindern geholfen.",
            "We helped the tired children.",
        ),
        (
            say(np("jeder", "Lehrer"), "kennen", np("dieser", "Regel")),
            "Jeder Lehrer kennt diese Regel.",
            "Every teacher knows this rule.",
        ),
        (
            say(np("alle", "Gast", plural=True), "tanzen", tense="past"),
            "Alle Gäste haben getanzt.",
            "All guests danced.",
        ),
        (
            ask("ihr", "kennen", np("euer", "Nachbarin", adjective="freundlich")),
            "Kennt ihr eure freundliche Nachbarin?",
            "Do you know your friendly neighbour?",
        ),
    ],
    "pronouns": [
        (say("er", "an|rufen", "ich", tense="past"), "Er hat mich angerufen.", "He called me."),
        (say("ich", "danken", "du"), "Ich danke dir.", "I thank you."),
        (say("wir", "kennen", "er", negated=True), "Wir kennen ihn nicht.", "We do not know him."),
        (say("ich", "helfen", "sie", tense="past"), "Ich habe ihr geholfen.", "I helped her."),
        (say("sie, plural", "ein|laden", "wir", tense="past"), "Sie haben uns eingeladen.", "They invited us."),
        (ask("Sie", "wohnen", None, place("Wien")), "Wohnen Sie in Wien?", "Do you live in Vienna?"),
        (
            ask("ihr", "kommen", None, place("Garten", "goal"), modal="wollen"),
            "Wollt ihr in den Garten kommen?",
            "Do you want to come to the garden?",
        ),
    ],
    "verb second": [
        (
            start_with("adverbial", "wir", "besuchen", np("unser", "Tante"), "gestern", tense="past"),
            "Gestern haben wir unsere Tante besucht.",
            "Yesterday we visited our aunt.",
        ),
        (
            start_with("object", "ich", "lesen", np("dieser", "Roman"), experience="schon"),
            "Diesen Roman habe ich schon gelesen.",
            "I have already read this novel.",
        ),
        (
            start_with("adverbial", np("mein", "Bruder"), "arbeiten", None, place("Büro")),
            "Im Büro arbeitet mein Bruder.",
            "My brother works in the office.",
        ),
        (
            start_with("adverbial", "er", "verlieren", np("sein", "Uhr"), "leider", tense="past"),
            "Leider hat er seine Uhr verloren.",
            "Unfortunately, he lost his watch.",
        ),
    ],
    "separable verbs and phrasal verbs": [
        (say("sie", "auf|stehen", None, "am Morgen"), "Sie steht am Morgen auf.", "She gets up in the morning."),
        (
            say("ich", "an|machen", np("der", "Lampe"), tense="past"),
            "Ich habe die Lampe angemacht.",
            "I turned on the lamp.",
        ),
        (say("ich", "ab|holen", "du", modal="können"), "Ich kann dich abholen.", "I can pick you up."),
        (
            say("er", "versuchen", complement=Infinitive(clause(None, "auf|stehen")), tense="past"),
            "Er hat versucht, aufzustehen.",
            "He tried to get up.",
        ),
        (
            say("wir", "auf|räumen", np("der", "Küche"), "heute", modal="müssen"),
            "Wir müssen heute die Küche aufräumen.",
            "We have to tidy up the kitchen today.",
        ),
    ],
    "modal verbs": [
        (
            say("ich", "übersetzen", np("dieser", "Satz"), modal="müssen"),
            "Ich muss diesen Satz übersetzen.",
            "I have to translate this sentence.",
        ),
        (
            say("du", "kommen", None, place("Party", "goal"), modal="sollen"),
            "Du sollst zur Party kommen.",
            "You should come to the party.",
        ),
        (say("sie", "schwimmen", modal="können", negated=True), "Sie kann nicht schwimmen.", "She cannot swim."),
        (
            ask("wir", "tanzen", None, "hier", modal="dürfen"),
            "Dürfen wir hier tanzen?",
            "Are we allowed to dance here?",
        ),
        (
            say("er", "arbeiten", None, "am Sonntag", modal="müssen", tense="past", negated=True),
            "Er musste am Sonntag nicht arbeiten.",
            "He did not have to work on Sunday.",
        ),
        (
            say("ich", "bestellen", np("", "Suppe"), modal="möchten"),
            "Ich möchte Suppe bestellen.",
            "I would like to order soup.",
        ),
        (
            say("wir", "finden", np("der", "Hotel"), modal="können", tense="past", negated=True),
            "Wir konnten das Hotel nicht finden.",
            "We could not find the hotel.",
        ),
        (
            ask("er", "verkaufen", np("sein", "Haus"), modal="wollen", tense="past"),
            "Wollte er sein Haus verkaufen?",
            "Did he want to sell his house?",
        ),
    ],
    "past": [
        (
            say("wir", "fahren", None, place("Italien", "goal"), "letztes Jahr", tense="past"),
            "Wir sind letztes Jahr nach Italien gefahren.",
            "We drove to Italy last year.",
        ),
        (
            say("sie", "schreiben", np("ein", "Brief"), tense="past"),
            "Sie hat einen Brief geschrieben.",
            "She wrote a letter.",
        ),
        (
            say("ich", "sein", None, "gestern", predicate=quality("krank"), tense="past"),
            "Ich war gestern krank.",
            "I was ill yesterday.",
        ),
        (say("ihr", "haben", np("ein", "Hund"), tense="past"), "Ihr hattet einen Hund.", "You had a dog."),
        (ask("du", "essen", experience="schon"), "Hast du schon gegessen?", "Have you already eaten?"),
        (
            say("er", "lesen", np("der", "Bericht"), experience="noch nicht"),
            "Er hat den Bericht noch nicht gelesen.",
            "He has not read the report yet.",
        ),
        (
            say("ich", "sehen", np("der", "Meer"), experience="noch nie"),
            "Ich habe das Meer noch nie gesehen.",
            "I have never seen the sea.",
        ),
        (
            say("sie", "besuchen", "wir", ago("drei", "Woche"), tense="past"),
            "Sie hat uns vor drei Wochen besucht.",
            "She visited us three weeks ago.",
        ),
    ],
    "future and progressive": [
        (
            say("er", "zurück|kommen", None, "morgen", tense="future"),
            "Er wird morgen zurückkommen.",
            "He will come back tomorrow.",
        ),
        (
            say(np("mein", "Mutter"), "kochen", np("", "Reis"), progressive=True),
            "Meine Mutter kocht gerade Reis.",
            "My mother is cooking rice.",
        ),
        (
            say("wir", "vergessen", "du", tense="future", negated=True),
            "Wir werden dich nicht vergessen.",
            "We will not forget you.",
        ),
    ],
    "imperatives": [
        (Command(clause(None, "helfen", "ich", please=True)), "Hilf mir bitte!", "Please help me!"),
        (Command(clause(None, "öffnen", np("der", "Fenster"))), "Öffne das Fenster!", "Open the window!"),
        (Command(clause(None, "warten auf", "wir"), "ihr"), "Wartet auf uns!", "Wait for us!"),
        (
            Command(clause(None, "an|rufen", np("der", "Arzt"), please=True), "Sie"),
            "Rufen Sie bitte den Arzt an!",
            "Please call the doctor!",
        ),
        (
            Command(clause(None, "weg|werfen", np("der", "Brief"), negated=True)),
            "Wirf den Brief nicht weg!",
            "Do not throw away the letter!",
        ),
    ],
    "questions": [
        (
            ask_for("subject", "wer", "schreiben", np("dieser", "Brief"), tense="past"),
            "Wer hat diesen Brief geschrieben?",
            "Who wrote this letter?",
        ),
        (ask_for("object", "du", "lesen", "was", progressive=True), "Was liest du gerade?", "What are you reading?"),
        (ask_for("object", "sie", "helfen", "wer", tense="past"), "Wem hat sie geholfen?", "Who did she help?"),
        (
            ask_for("object", "ihr", "warten auf", "wer", progressive=True),
            "Auf wen wartet ihr gerade?",
            "Who are you waiting for?",
        ),
        (
            ask_for("object", "Sie", "lesen", np("wie viele", "Buch", plural=True), tense="past"),
            "Wie viele Bücher haben Sie gelesen?",
            "How many books did you read?",
        ),
        (
            ask_for("object", "er", "nehmen", np("welcher", "Bus"), modal="müssen"),
            "Welchen Bus muss er nehmen?",
            "Which bus does he have to take?",
        ),
        (ask_for("adverbial", "du", "wohnen", None, "wo"), "Wo wohnst du?", "Where do you live?"),
        (
            ask_for("adverbial", "sie, plural", "gehen", None, "wohin", tense="past"),
            "Wohin sind sie gegangen?",
            "Where did they go?",
        ),
        (
            ask_for("adverbial", np("der", "Zug"), "an|kommen", None, "wann", tense="future"),
            "Wann wird der Zug ankommen?",
            "When will the train arrive?",
        ),
        (
            ask_for("adverbial", "du", "an|rufen", "ich", "warum", tense="past", negated=True),
            "Warum hast du mich nicht angerufen?",
            "Why did you not call me?",
        ),
        (
            ask_for("predicate", np("dein", "Bruder"), "sein", predicate=quality("alt", "wie")),
            "Wie alt ist dein Bruder?",
            "How old is your brother?",
        ),
    ],
    "negation": [
        (
            say("ich", "verstehen", np("der", "Frage"), negated=True),
            "Ich verstehe die Frage nicht.",
            "I do not understand the question.",
        ),
        (say("er", "haben", np("ein", "Auto"), negated=True), "Er hat kein Auto.", "He does not have a car."),
        (say("wir", "haben", np("", "Zeit"), negated=True), "Wir haben keine Zeit.", "We do not have any time."),
        (
            say("sie", "warten auf", np("der", "Bus"), negated=True, tense="past"),
            "Sie hat nicht auf den Bus gewartet.",
            "She did not wait for the bus.",
        ),
        (
            say("er", "sein", predicate=Role(np("der", "Arzt").noun), negated=True),
            "Er ist kein Arzt.",
            "He is not a doctor.",
        ),
        (
            say("ich", "wohnen", None, place("Berlin"), negated=True),
            "Ich wohne nicht in Berlin.",
            "I do not live in Berlin.",
        ),
    ],
    "prepositions": [
        (
            say("sie", "legen", np("der", "Buch"), place("Tisch", "laid"), tense="past"),
            "Sie hat das Buch auf den Tisch gelegt.",
            "She put the book on the table.",
        ),
        (
            say(np("der", "Buch"), "liegen", None, place("Tisch", "spot")),
            "Das Buch liegt auf dem Tisch.",
            "The book lies on the table.",
        ),
        (
            say("wir", "gehen", None, place("Kino", "goal"), modal="möchten"),
            "Wir möchten ins Kino gehen.",
            "We would like to go to the cinema.",
        ),
        (
            say("ich", "kaufen", np("ein", "Kleid"), company("für", np("mein", "Tochter")), tense="past"),
            "Ich habe für meine Tochter ein Kleid gekauft.",
            "I bought a dress for my daughter.",
        ),
        (
            say("er", "tanzen", None, company("mit", "sie"), tense="past"),
            "Er hat mit ihr getanzt.",
            "He danced with her.",
        ),
        (
            say("er", "gehen", None, place("Park", "goal"), company("ohne", np("sein", "Hund")), tense="past"),
            "Er ist ohne seinen Hund in den Park gegangen.",
            "He went to the park without his dog.",
        ),
        (
            say("wir", "fahren", None, place("Bahnhof", "goal"), tense="future"),
            "Wir werden zum Bahnhof fahren.",
            "We will drive to the station.",
        ),
        (
            say(np("der", "Zug"), "ab|fahren", None, at_clock("acht")),
            "Der Zug fährt um acht Uhr ab.",
            "The train departs at eight o'clock.",
        ),
    ],
    "verbs with a dative or a preposition": [
        (
            say(np("dieser", "Auto"), "gehören", np("mein", "Onkel")),
            "Dieses Auto gehört meinem Onkel.",
            "This car belongs to my uncle.",
        ),
        (say("ich", "denken an", "du", "oft"), "Ich denke oft an dich.", "I often think of you."),
        (
            say("er", "träumen von", np("ein", "Reise", adjective="lang")),
            "Er träumt von einer langen Reise.",
            "He dreams of a long trip.",
        ),
        (
            say("wir", "teil|nehmen an", np("der", "Kurs"), modal="wollen"),
            "Wir wollen am Kurs teilnehmen.",
            "We want to take part in the course.",
        ),
        (
            say("sie", "erklären", np("der", "Regel"), to="ich", tense="past"),
            "Sie hat mir die Regel erklärt.",
            "She explained the rule to me.",
        ),
    ],
    "subordinate clauses": [
        (
            say("ich", "wissen", complement=Subordinate("dass", clause("er", "an|rufen", "du", tense="future"))),
            "Ich weiß, dass er dich anrufen wird.",
            "I know that he will call you.",
        ),
        (
            ask("du", "wissen", complement=Subordinate("ob", clause(np("der", "Zug"), "ab|fahren", tense="past"))),
            "Weißt du, ob der Zug abgefahren ist?",
            "Do you know whether the train departed?",
        ),
        (
            Complex(
                say("sie", "kommen", None, place("Café", "goal"), modal="können", negated=True),
                Subordinate("weil", clause("sie", "sein", predicate=quality("krank"))),
            ),
            "Sie kann nicht ins Café kommen, weil sie krank ist.",
            "She cannot come to the café because she is ill.",
        ),
        (
            Complex(
                say("ich", "bleiben", None, "zu Hause", tense="future"),
                Subordinate("wenn", clause("es", "regnen")),
                subordinate_first=True,
            ),
            "Wenn es regnet, werde ich zu Hause bleiben.",
            "If it rains, I will stay at home.",
        ),
        (
            Complex(
                say("er", "arbeiten", tense="past"),
                Subordinate("obwohl", clause("er", "sein", predicate=quality("müde", "sehr"), tense="past")),
            ),
            "Er hat gearbeitet, obwohl er sehr müde war.",
            "He worked although he was very tired.",
        ),
        (
            Complex(
                say("wir", "kochen", np("", "Essen"), tense="past"),
                Subordinate("als", clause("du", "an|rufen", tense="past")),
                subordinate_first=True,
            ),
            "Als du angerufen hast, haben wir Essen gekocht.",
            "When you called, we cooked food.",
        ),
        (
            say(
                "ich",
                "fragen",
                "er",
                tense="past",
                complement=Subordinate("warum", clause("er", "lachen", tense="past")),
            ),
            "Ich habe ihn gefragt, warum er gelacht hat.",
            "I asked him why he laughed.",
        ),
    ],
    "relative clauses": [
        (
            say(the_man_who_sings(), "sein", predicate=quality("glücklich")),
            "Der Mann, der ein Lied singt, ist glücklich.",
            "The man who sings a song is happy.",
        ),
        (
            say(
                "ich",
                "lesen",
                with_relative(np("der", "Brief"), clause("du", "schreiben", tense="past"), "object"),
                tense="past",
            ),
            "Ich habe den Brief gelesen, den du geschrieben hast.",
            "I read the letter that you wrote.",
        ),
        (
            ask("du", "kennen", with_relative(np("der", "Frau"), clause("wir", "helfen", tense="past"), "object")),
            "Kennst du die Frau, der wir geholfen haben?",
            "Do you know the woman whom we helped?",
        ),
        (
            say(
                "er",
                "nehmen",
                with_relative(np("der", "Bus"), clause("ich", "warten auf", tense="past"), "object"),
                tense="past",
            ),
            "Er hat den Bus genommen, auf den ich gewartet habe.",
            "He took the bus that I waited for.",
        ),
    ],
    "infinitives with zu": [
        (
            ask("Sie", "helfen", "wir", modal="können", please=True),
            "Können Sie uns bitte helfen?",
            "Can you please help us?",
        ),
        (
            ask(
                "du",
                "helfen",
                "ich",
                modal="können",
                complement=Infinitive(clause(None, "übersetzen", np("dieser", "Satz")), bare=True),
            ),
            "Kannst du mir helfen, diesen Satz zu übersetzen?",
            "Can you help me translate this sentence?",
        ),
        (
            say(
                "es",
                "sein",
                predicate=quality("wichtig"),
                complement=Infinitive(clause(None, "verstehen", np("der", "Regel"))),
            ),
            "Es ist wichtig, die Regel zu verstehen.",
            "It is important to understand the rule.",
        ),
        (
            say("er", "versprechen", complement=Infinitive(clause(None, "ab|holen", "wir")), tense="past"),
            "Er hat versprochen, uns abzuholen.",
            "He promised to pick us up.",
        ),
        (
            say("ich", "haben", np("", "Zeit"), complement=Infinitive(clause(None, "kochen")), negated=True),
            "Ich habe keine Zeit, zu kochen.",
            "I do not have any time to cook.",
        ),
    ],
    "comparatives": [
        (
            say(np("der", "Zug"), "sein", predicate=quality("schnell", than=np("der", "Bus"))),
            "Der Zug ist schneller als der Bus.",
            "The train is faster than the bus.",
        ),
        (
            say(np("dieser", "Buch"), "sein", predicate=quality("interessant", than=np("der", "Film"))),
            "Dieses Buch ist interessanter als der Film.",
            "This book is more interesting than the film.",
        ),
        (
            say("Anna", "sein", predicate=quality("alt", than="Paul", equal=True)),
            "Anna ist so alt wie Paul.",
            "Anna is as old as Paul.",
        ),
        (
            say("wir", "brauchen", np("ein", "Wohnung", adjective="groß", comparative=True)),
            "Wir brauchen eine größere Wohnung.",
            "We need a bigger flat.",
        ),
    ],
    "gern, es gibt, man": [
        (say("ich", "trinken", np("", "Kaffee"), gladly=True), "Ich trinke gern Kaffee.", "I like to drink coffee."),
        (say("er", "tanzen", gladly=True, negated=True), "Er tanzt nicht gern.", "He does not like to dance."),
        (Statement(there_is(np("ein", "Hotel"), "hier")), "Es gibt hier ein Hotel.", "There is a hotel here."),
        (
            Question(there_is(np("viele", "Museum", plural=True), place(np("dieser", "Stadt")))),
            "Gibt es in dieser Stadt viele Museen?",
            "Are there many museums in this city?",
        ),
        (
            Statement(there_is(np("kein", "Brücke"), "dort", tense="past")),
            "Es gab dort keine Brücke.",
            "There was no bridge there.",
        ),
        (
            start_with("adverbial", "man", "kaufen", np("", "Brot"), "hier", modal="können"),
            "Hier kann man Brot kaufen.",
            "You can buy bread here.",
        ),
    ],
    "adverbials": [
        (
            say("sie", "lesen", np("der", "Zeitung"), "jeden Morgen"),
            "Sie liest jeden Morgen die Zeitung.",
            "She reads the newspaper every morning.",
        ),
        (
            say("er", "schreiben", np("der", "Bericht"), "schnell", place("Büro"), tense="past"),
            "Er hat den Bericht schnell im Büro geschrieben.",
            "He wrote the report quickly in the office.",
        ),
        (
            say("wir", "kaufen", np("ein", "Lampe"), place("Stadt"), tense="past"),
            "Wir haben in der Stadt eine Lampe gekauft.",
            "We bought a lamp in the city.",
        ),
        (
            say("sie, plural", "sein", None, "manchmal", predicate=quality("laut", "zu")),
            "Sie sind manchmal zu laut.",
            "They are sometimes too loud.",
        ),
    ],
    "coordination": [
        (
            Joined(
                say("ich", "kochen", np("", "Suppe"), progressive=True),
                "und",
                say(np("mein", "Bruder"), "schlafen", progressive=True),
            ),
            "Ich koche gerade Suppe und mein Bruder schläft gerade.",
            "I am cooking soup and my brother is sleeping.",
        ),
        (
            Joined(say("wir", "arbeiten", tense="past"), "aber", say("ihr", "tanzen", tense="past")),
            "Wir haben gearbeitet, aber ihr habt getanzt.",
            "We worked, but you danced.",
        ),
        (
            say(Both(np("mein", "Vater"), np("mein", "Mutter")), "kommen aus", "Köln"),
            "Mein Vater und meine Mutter kommen aus Köln.",
            "My father and my mother come from Cologne.",
        ),
    ],
}

CASES = [
    pytest.param(sentence, german, english, id=f"{phenomenon}: {german}")
    for phenomenon, pairs in PAIRS.items()
    for sentence, german, english in pairs
]


@pytest.mark.parametrize(("sentence", "german", "english"), CASES)
def test_grammar_says_the_derivation_as_people_do(sentence: Sentence, german: str, english: str) -> None:
    pair = realise(sentence)
    assert (pair.source, pair.target) == (german, english)


def test_there_are_enough_reviewed_pairs() -> None:
    assert len(CASES) >= 80
    assert len({german for pairs in PAIRS.values() for _, german, _ in pairs}) == len(CASES)


def test_every_conjunction_is_translated() -> None:
    assert all(CONJUNCTIONS.values())
