"""Detectors of flaws in pairs, each with an example of its flaw."""

import re
from collections.abc import Callable, Iterator

from grammar.lexicon import CLOSED
from grammar.splits import BETWEEN
from grammar.trees import Node, ParsedPair
from transformer_mt.text.words import words

# Words used in several patterns.
_GAMES = "(?:Karten|Fußball|Tennis|Basketball|Gitarre|Klavier)"
_HABEN = "(?:habe|hast|hat|haben|habt)"
_CLAUSES = (
    "that|who|whom|whether|if|because|and|or|but|when|until|before|after|so|to|although|while|why|where|how|then|what"
)
_WENT = "|".join(sorted(CLOSED["preterites"].values()))
_DAYS = r"\b(?:today|(?<!before )yesterday|(?<!after )(?<!or )tomorrow|last week|next week)\b"

# name: (side, pattern, a sentence with the flaw). Side 0 is German, 1 English.
PATTERNS: dict[str, tuple[int, str, str]] = {
    # ---- German
    "nicht ein for kein": (0, r"\bnicht eine?[nmrs]?\b(?= (?!bisschen)\w)", "Er hat noch nicht ein Buch gelesen."),
    "alle with nicht": (
        0,
        r"(?:^Alle\b|\balle[nr]? (?:\w+ )?[A-ZÄÖÜ]\w+)[^,]*\bnicht\b",
        "Alle Gäste haben nicht getanzt.",
    ),
    "someone and nicht": (0, r"^(?:Jemand|Etwas) [^,]*\bnicht\b", "Jemand hat nicht gesungen."),
    "double negation": (
        0,
        r"(?i)\b(?:niemand\w*|nichts|nie)\b[^,]*\b(?:nicht|kein\w*)\b",
        "Niemand hat nicht gesungen.",
    ),
    "doubled word": (0, r"(?i)\b(?!(?:sie|die|der|das|den|ihr|uns) )(\w+) \1\b", "Er hat den Hund Hund gesehen."),
    "gut with hören": (0, r"\bgut (?:ge)?hör|\bhör\w+ (?:\w+ )*gut\b", "Ich kann dich gut hören."),
    "manner behind a prepositional object": (
        0,
        r"(?<!, )\b(?:auf|an|mit|über|von|für|um(?! \w+ Uhr)) (?:mich|dich|ihn|sie|uns|euch|mir|dir|ihm|ihr"
        r"|(?:den|die|das|dem|der|"
        r"eine?[nmr]?|\w+e[nmr]?) [A-ZÄÖÜ]\w+) (?:lange|gut|laut|leise|langsam|vorsichtig|schnell|früh|spät|allein)\b",
        "Er wartet auf den Bus lange.",
    ),
    "article on a game or an instrument": (
        0,
        rf"(?<!, )\b(?:die|den|das|dem|der|eine?[nmr]?) {_GAMES}(?: zu|,)? (?:ge)?spiel"
        rf"|\b[sS]piel(?:e|st|t|en) (?:die|den|das|eine?[nmr]?) {_GAMES}\b",
        "Wir spielen die Karten.",
    ),
    "article ein before a plural": (
        0,
        r"\b(?:[Ee]in|[Ee]ine[nmr]?) (?:[a-zäöü]+e[nmrs]? )?(?:Leute|Eltern|Geschwister|Hausaufgaben|Haare|Pommes"
        r"|Nudeln|Shorts)\b",
        "Ich habe eine Hausaufgaben.",
    ),
    "preposition and article not contracted": (
        0,
        r"(?<!, )(?<![\w])(?:[Ii]n|[Aa]n|[Vv]on|[Bb]ei|[Zz]u) dem (?:\w+en )?[A-ZÄÖÜ]\w+(?=[.?!]"
        r"| \w)(?!.*, (?:der|die|das|dem|den|denen)\b)",
        "Er arbeitet in dem Garten.",
    ),
    "a wish asked of oneself": (0, r"^(?:Möchte|Will|Würde) ich\b", "Möchte ich dir helfen?"),
    "verb not at the end of the subordinate clause": (
        0,
        r", (?:weil|dass|ob|obwohl|wenn|als|bevor|nachdem|damit) (?:ich|du|er|sie|es|wir|ihr|man) "
        r"(?:bin|bist|ist|sind|war|hat|habe|haben|kann|muss|will|wird) \w",
        "Ich weiß, dass er ist müde.",
    ),
    "wrong ending with du": (0, r"^Du (?!\w*t\b)\w+", "Du kommen morgen."),
    "wrong ending with wir": (0, r"^Wir (?!\w*n\b|sind\b)\w+", "Wir kommt morgen."),
    "wrong ending with ich": (
        0,
        rf"^Ich (?!\w*e\b|bin\b|kann\b|muss\b|will\b|darf\b|soll\b|mag\b|weiß\b|war\b|(?:{_WENT})\b)\w+",
        "Ich kommst morgen.",
    ),
    "wrong ending with er": (
        0,
        r"^(?:Er|Es|Man) (?!(?:sind|waren)\b.* (?:Grad|Kilometer)\b)"
        r"(?!\w*t\b|kann\b|muss\b|will\b|darf\b|soll\b|mag\b|weiß\b|war\b|\w+te\b|wird\b|würde\b|wäre\b"
        rf"|wurde\b|(?:{_WENT})\b)\w+",
        "Er kommen morgen.",
    ),
    "mangled verb": (
        0,
        r"(?i)\b(?:spile|spilst|ge(?:ver|ent|be(?:such|nutz|stell)|er(?:zähl|klär))\w*t"
        r"|zu (?:auf(?:stehen|räumen)|anrufen|abholen|mitnehmen|anziehen|zurückkommen|fernsehen|wegwerfen))\b",
        "Ich spile Tennis.",
    ),
    "participle of feiern without ge": (
        0,
        rf"\b{_HABEN} [^,]*\bfeiert\b",
        "Er hat das Fest feiert.",
    ),
    "ja before a denial": (
        0,
        r"^Ja, [^,]*\b(?:nie|nichts(?! zu tun| [A-Z]\w+es)|niemand\w*|kein(?!e Ahnung| Problem)\w*|nicht)\b",
        "Ja, er kommt nie.",
    ),
    "perfect behind damit": (
        0,
        rf", damit [^,]*(?:t|en) {_HABEN}\b(?=[.!?,]|$)",
        "Du hast ihm geholfen, damit er den Zug nicht verpasst hat.",
    ),
    "perfect of wollen": (0, r"\bgewollt\b", "Sie hat Tee gewollt."),
    "a film of many hours": (
        0,
        r"^(?!Das\b|.*\b(?:Fahrt|Flug|Reise)\b)"
        r".*\bdauer\w+ (?:\w+ )*(?:\w+zehn|\w+zig|dreißig|zehn|elf|zwölf|hundert) (?:Stunden|Wochen)\b",
        "Die Party dauert sechzig Stunden.",
    ),
    "not sure of oneself": (
        0,
        r"^(?:Vielleicht|Wahrscheinlich|Hoffentlich) \w+ (?:ich|wir)\b",
        "Wahrscheinlich lache ich.",
    ),
    "somebody in a question with a question word": (
        0,
        r"^(?:W(?:o|ann|arum|en|em|ohin|oher|ie|as)|Welche\w*)\b[^,]*\bjemand",
        "Wo wohnt jemand?",
    ),
    "several wear one": (
        0,
        r"\b(?:Zwei|Drei|Vier|Fünf|Viele|Einige|zwei|drei|vier|fünf) [^,]*\btragen "
        r"(?:eine?n?) (?!Koffer|Tasche|Rucksack|Stuhl|Baby|Paket)",
        "Drei Sänger tragen ein Trikot.",
    ),
    "a name twice": (
        0,
        r"\b(Anna|Lena|Maria|Emma|Paul|Peter|Tim|David|Jan|Simon)s?\b(?! \w+ und \1s).*\b\1s?\b",
        "Emma versteht Emma.",
    ),
    "the day of what nobody dates": (
        0,
        r"^(?!.*\b(?:bin|bist|ist|sind|seid)\b.* ausgezogen)"
        r"(?=.*\b(?:[Vv]orgestern|[Üü]bermorgen|[Nn]eulich|[Gg]estern Abend)\b)(?:(?! und )[^,])*\b(?:aufgewacht"
        r"|(?<!Frage )(?<!regal )(?<!schrank )(?<!raum )gestellt|angezogen|ausgezogen|überquert|geklatscht)\b",
        "Ich bin vorgestern aufgewacht.",
    ),
    "bed on a weekday": (
        0,
        r"^(?!.*\b(?:[Rr]äum|früh auf)).*\bjede[nrs] (?:Sonntag|Woche|Wochenende)\b.*\b(?:ins Bett|auf)[.?!]?$",
        "Er geht jeden Sonntag ins Bett.",
    ),
    "a name beside a name": (
        0,
        r"^\w+t (?:Anna|Lena|Maria|Emma|Paul|Peter|Tim|David|Jan|Simon|Martin) "
        r"(?:Anna|Lena|Maria|Emma|Paul|Peter|Tim|David|Jan|Simon|Martin)\b",
        "Fragt Jan Martin?",
    ),
    # ---- English
    "a wish denied": (1, r"\bwould not like to\b", "We would not like to pay for the beer."),
    "any of what one likes": (1, r"\b(?:like|love|play|learn)s? any\b(?! more)", "Why does he not like any football?"),
    "until not any more": (1, r"\buntil [^,]*\bany more\b", "She has to stay in bed until she is not ill any more."),
    "done for a long time": (
        1,
        r"\b(?:have|has) (?:worked|danced|slept|waited|run) (?:for a long time|quickly)\b",
        "I am thirsty because I have danced for a long time.",
    ),
    "a state by the year": (
        1,
        r"(?i)\b(?:next|last) (?:year|summer|month)\b[^,]*\b(?:be|is|was|were|are|been) (?:not |very |quite )*(?:full"
        r"|tired|hungry|thirsty|busy|angry|awake)\b",
        "Next year the waitress will be full.",
    ),
    "a pair of glasses": (1, r"\bpairs? of (?:sun)?glasses\b", "He is wearing a pair of glasses."),
    "hopefully at the end": (1, r"\bhopefully[.?!]", "The bus will come soon hopefully."),
    "comma within what somebody said": (
        1,
        r"\bthat [^,]*, (?:if|because)\b",
        "I said that I would come, if I had time.",
    ),
    "a before a vowel": (1, r"(?i)\ba (?=[aeiou])(?!uni|use|eu|usb|one\b)", "I have a apple."),
    "an before a consonant": (1, r"(?i)\ban (?![aeiou])(?!hour|honest)", "I have an dog."),
    "an before a spoken consonant": (1, r"(?i)\ban (?:uni|use|eu|usb)", "I have an uniform."),
    "doubled English word": (
        1,
        r"(?i)\b(?!(?:her|that|had|you|left|on|in) )(\w+) \1\b",
        "He has seen the the dog.",
    ),
    "article on a bare noun": (
        1,
        r"\bplay(?:s|ed|ing)? (?:the|a|an) (?:cards|football|tennis|basketball)\b"
        r"|\b(?:[Tt]he|an?) (?:breakfast|lunch|Christmas|German|French|Spanish|January|February|April|July)[.?!,]"
        r"|\b[Tt]he (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b(?!')",
        "They play the cards.",
    ),
    "instrument without the": (1, r"\bplay(?:s|ed|ing)? (?:guitar|piano|violin)\b", "She is playing guitar."),
    "any without not": (
        1,
        r"^(?!(?:[^,]+, h|H)as anyone\b)(?!.*\bany(?:thing|one)\b.*[?…])"
        r"(?!.*\b(?:not?|cannot|nobody|never|[Ww]ithout|hardly|rarely)\b)"
        r".*\bany(?:thing|one)?\b(?! time| case)",
        "I have any money.",
    ),
    "to for too": (
        1,
        r"\b(?:dr[aiu]nk|eat|ate|eaten|spen[dt]|buy|bought|cook|work|know|has|have|had|make|made)\w* to a lot of\b",
        "She drank to a lot of coffee.",
    ),
    "opinion believed": (1, r"(?<!not )\bbelieves? that\b", "She believes that the story is funny."),
    "looked for, and found": (
        1,
        r"\bthat (?:\w+ ){1,3}looked for(?=[.?!]| (?:is|are|was|were)\b)",
        "Is that the key that she looked for?",
    ),
    "glasses that are one": (
        1,
        r"\b(?:glasses|trousers|jeans)\b.*\bit (?:is|was)\b",
        "I looked for my glasses, but it was gone.",
    ),
    "punctual": (1, r"\bpunctual\b", "The train is not punctual."),
    "worn bags": (1, r"\bwear(?:s|ing) (?:\w+ ){1,3}(?:bag|suitcase|rucksack)\b", "She is wearing a red bag."),
    "request denied": (1, r"^(?:Can|Could|Would) you not please\b", "Can you not please bring anything?"),
    "working at school": (1, r"\b(?:works?|worked|working) at school\b", "My parents work at school."),
    "drive a car": (1, r"\b(?:drives?|driving|drove|driven) a car\b", "He is driving a car."),
    "this salt": (1, r"\b[Tt]his (?:salt|sugar|milk|butter|money|bread)\b", "Give me this salt!"),
    "someone in a question about the past": (1, r"^Did someone\b", "Did someone see my pen?"),
    "several people drink one": (
        1,
        r"(?:^|\band )(?:two|three|four|five|many|some) (?:\w+ ){1,3}"
        r"are (?:drinking|eating) an? (?:juice|tea|coffee|sausage|apple)\b",
        "Three people are drinking and two children are eating a sausage.",
    ),
    "two negatives": (1, r"\b(?:not|cannot|never)\b[^,]*\b(?:nothing|(?<!and )nobody|no)\b", "I did not see nobody."),
    "not already, not still": (1, r"\bnot (?:already|still)\b", "He has not already eaten."),
    "all without the": (
        1,
        r"(?<!at )\b[Aa]ll (?!(?:the|day|evening|night|week|weekend|my|your|his|her|our|their|these|of|right)\b)\w+",
        "All guests are dancing.",
    ),
    "all with not": (1, r"(?:\b[Aa]ll the \w+|\b[Ee]veryone) [^,]*\bnot\b", "All the guests did not dance."),
    "any with a predicate": (1, r"\b(?:are|were|be) not any \w+s[.?!…]", "The friends are not any cooks."),
    "uncountable noun counted": (
        1,
        r"\ban? (?:hair|homework|money|music|people|parents|trousers|jeans|glasses|sunglasses|shorts|clothes|police"
        r"|vegetables|bread|cheese|rice|pasta|weather|pairs?of)\b|\b(?:[Mm]any|[Tt]wo|[Tt]hree|these"
        r"|those) (?:hair|homework|money|music|bread|cheese|rice|pasta)\b"
        r"|\b(?:homeworks|moneys|musics|hairs|breads|(?<=two )fishes|childs)\b",
        "He has a homework.",
    ),
    "drinks in the plural": (
        1,
        r"\b(?:drink\w*|drank|drunk|likes?|loves?|orders?|ordered|ordering|some|slowly)"
        r" (?:beers|coffees|colas|teas|juices|wines|milks|waters)\b",
        "I am drinking beers.",
    ),
    "plural with 's": (1, r"\b[a-z]\w+(?<!s)s's\b", "My parents's house is old."),
    "verb after do or will inflected": (
        1,
        r"\b(?:did|does|do|will|would|can|could|should|cannot)(?: not)? (?:am|is|are|was|were|has|had|does|did"
        r"|goes|went|"
        r"saw|gave|took|came|got)\b",
        "He does not has time.",
    ),
    "agreement": (
        1,
        r"^(?:He|She|It|That) (?:are|am|were|have|do)\b|^(?:We|You|They) (?:is|has|does|was|am)\b|^I (?:is|are"
        r"|has|does)\b",
        "They was at home.",
    ),
    "misspelled form": (
        1,
        r"\b\w+(?:sh|ch|x|ss)s\b|\b\w*[^aeiou\W]ys\b|\b\w+(?<!sk)iing\b|\b(?:siting|runing|swiming|geting"
        r"|puting|leting|fiting|"
        r"fited|huging|huged|stoping|stoped|cuting|shoping|joging|begining|forgeting|claping|claped|hiting"
        r"|wining|diging|"
        r"traveling|travelling[s]|haveing|makeing|comeing|lieing|dieing)\b",
        "He is runing.",
    ),
    "person helped with themselves": (
        1,
        r"\bhelp(?:s|ed|ing)? (me|us|you|him|her|them) \w+ (?:\w+ )?\1(?=[.?!]| (?:today|tomorrow|yesterday))",
        "Will you help me invite me?",
    ),
    "object is the subject": (
        1,
        rf"^(?:I (?!(?:think|hope) |(?:.*\b(?:{_CLAUSES})\b)|.*,).*\bme\b|We (?!(?:.*\b(?:{_CLAUSES})\b)|.*,).*\bus\b)",
        "I saw me yesterday.",
    ),
    "bags that lie": (
        1,
        r"^(?:The|My|Your|His|Her|Our|Their|A) (?:bag|book|cup|glass|plate|phone|key|letter|shoe|hat|watch"
        r"|bottle)s? (?:(?:is|are|was|were) )?(?:lies|lying|lay|"
        r"stands|standing|stood)\b",
        "The bag is lying on the bed.",
    ),
    "reported in the present": (
        1,
        r"\b(?:said|told (?:me|him|her|us|them|you)|thought|believed|hoped) that\b [^,]*?\b(?:is|are|am|has"
        r"|will|can|wants|does)\b",
        "He said that he is ill.",
    ),
    "two times": (
        1,
        r"(?i)^(?!.*\b(?:that|which|who|whom|because|and|but|when|if|so|since|until|although|while)\b)"
        r"(?!.*\bthe \w+ \w+ \w+ in\b|.*,|.*\bto (?:make|arrange|book)\b)"
        rf".*{_DAYS}.*{_DAYS}(?! (?:morning|evening))",
        "Today we are coming tomorrow.",
    ),
    "past words in the present": (
        1,
        r"^(?!.*\b(?:that|who|whom|because|and|but|when|if|so|until|although|while)\b|.*,)"
        r".*\b(?:will|is|are|am)\b.*\b(?:yesterday(?! morning)|last (?:week|year|month|night)|ago)\b",
        "He will come yesterday.",
    ),
    "adverb between verb and object": (
        1,
        r"\b(?:drink|eat|read|writ|cook|clean|wash|open|clos)(?:s|ing|ed|e|es)? (?:quickly|slowly|well|badly"
        r"|loudly|carefully) "
        r"(?:the|an?|my|your|his|her|our|their)\b",
        "She read slowly the book.",
    ),
    "comparative": (
        1,
        r"\bmore (?:\w{2,}(?<!oth)(?<!wat)er(?= than)|good|bad|big|small|old|young|nice|fast|slow)\b"
        r"|\b(?:gooder|badder|worser)\b",
        "The dog is more big than the cat.",
    ),
    "who for a thing": (
        1,
        r"\b(?:dog|cat|book|car|house|train|bus|letter|film|bag|table|picture)s?,? (?:who|whom)\b",
        "The book whom I read is new.",
    ),
    "there is with a plural": (
        1,
        r"\b(?:[Tt]here (?:is|was)|[Ii]s there|[Ww]as there) (?:not )?(?:two|three|four|five|many|several|some \w+s\b)",
        "There is two dogs.",
    ),
    "to home": (
        1,
        r"\b(?:to|(?<!go )(?<!move )in) (?:home|abroad|upstairs|outside|(?<!\bin )(?:here|there))\b",
        "He is going to home.",
    ),
    "like to with a state": (
        1,
        r"(?<!would )\blikes? to (?:like|love|know|need|want|understand)\b",
        "I like to know him.",
    ),
    "small letter": (
        1,
        r"\bi\b|\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|december|german|english"
        r"|french|spanish)\b",
        "On monday i am here.",
    ),
    "no capital": (1, r"^[a-z]", "he is here."),
    "no final mark": (1, r"[^.?!…]$", "He is here"),
    "since for a span": (1, r"\bsince (?:two|three|four|five|an?) (?!o'clock)\w", "We live here since two years."),
    "one name of several": (1, r"\b(?:[Oo]ur|[Tt]heir) name (?:is|was)\b", "Our name is Sophie."),
    "what for wie": (1, r"\b[Ww]hat course\b", "What course our name is Sophie."),
    "for to": (1, r"\bfor to\b|\bto to\b|\bof of\b|\bat at\b", "I came for to help."),
}
_EITHER = {
    "notation left over": (r"[|()<>+_/\\@=\[\]{}]|\d[^\W\d]|[^\W\d]\d", "Er hat ein <drink> getrunken."),
    "spaces": (r"^ | $|  | [,.?!…]|,,|,[^ \d]|,(?=\d)(?<!\d,)", "Er kommt , glaube ich."),
}
for _name, (_pattern, _flawed) in _EITHER.items():
    PATTERNS |= {f"{_name}, German": (0, _pattern, _flawed), f"{_name}, English": (1, _pattern, _flawed)}


# ---- flaws that need both languages

_FORMAL = re.compile(r"(?<!ntschuldigen )(?<=[\w,] )(?:Sie|Ihnen|Ihre?[nmrs]?)\b")
_PLURALS = frozenset(("children", "men", "women", "people", "police", "they"))
_PAIRED = frozenset(
    ("glasses", "sunglasses", "trousers", "jeans", "shorts", "clothes", "vegetables", "dishes", "stairs")
)
_HABIT = re.compile(
    r"\b(jede[nrs]?|[Ii]m (?:Sommer|Winter)|alles|mehrmals|täglich|tagsüber|werktags|zwischendurch"
    r"|ab und zu|obwohl|immer|oft|manchmal|nie|selten|[Mm]eistens|zu viel|zu wenig|lieber|nur"
    r"|normalerweise|kaum|morgens|abends|nachts|\w+tags"
    r"|(?:[Ee]in|[Zz]wei|[Dd]rei)mal|[Aa]lle zwei|um .* zu|[Ww]enn|[Ww]eil|bevor|"
    r"Bevor|bis|damit|gerne?|häufig|dauernd|[Zz]um \w+(?:stück|essen)|außer|"
    r"Jede[nrs]?|um .* Uhr|um halb|als|wie|was|wer|dass|ob|warum|wo|wann|Sonntags|Abends"
    r"|[Aa]m (?:Wochenende|Abend|Morgen|Nachmittag)|[Nn]ach der Arbeit|in einer Band"
    r"|Nachts|Morgens|weder|keinen? \w+ und kein(?:en?)?|kein \w+ und kein(?:en?)?)\b"
)
_SIMPLE = re.compile(
    r"\b(?:drinks|plays|cries|sleeps|eats|sings|dances|paints|waits|carries|writes|washes|cleans|laughs|runs|climbs)\b"
)


def _possessive_of(pair: ParsedPair, possessive: str, subjects: Callable[[str], bool]) -> bool:
    """Whether the main clause has such a subject and possessive, also present in German."""
    if pair.structure is None:
        return False
    english, tree = words(pair.target), pair.structure[1]
    root = next(place for place, node in enumerate(tree) if node.head == -1)
    found = [english[place] for place, node in enumerate(tree) if _is_subject(node, root)]
    owned = [
        place
        for place, node in enumerate(tree)
        if english[place] == possessive
        and node.relation == "nmod:poss"
        and tree[node.head].head == root
        and tree[node.head].relation != "nsubj"
    ]
    return bool(owned) and any(map(subjects, found))


def _is_subject(node: Node, root: int) -> bool:
    return node.relation == "nsubj" and node.head == root and node.part_of_speech != "PROPN"


def _is_plural(word: str) -> bool:
    return word.lower() in _PLURALS or (
        word.endswith("s") and not word.endswith(("ss", "us", "'s")) and word not in _PAIRED
    )


def _owned(german: str, english: str) -> ParsedPair:
    """A pair with the structure of: the girl loves his mother."""
    relations = "DET det 1, NOUN nsubj 2, VERB root -1, PRON nmod:poss 4, NOUN obj 2, PUNCT punct 2"
    tree = tuple(Node(speech, name, int(head)) for speech, name, head in map(str.split, relations.split(", ")))
    return ParsedPair(german, english, structure=(tree, tree))


def _simple_present_of_what_goes_on(pair: ParsedPair) -> bool:
    german = pair.source
    return (
        bool(_SIMPLE.search(pair.target))
        and " who " not in pair.target
        and not _HABIT.search(german)
        and "getränk" not in german.lower()  # whose plural in English is drinks
        and "," not in german
    )


def _question_mark(pair: ParsedPair) -> bool:
    return pair.source[-1] in ".?!" and pair.source[-1] != pair.target[-1]


PAIRS: dict[str, tuple[Callable[[ParsedPair], bool], ParsedPair]] = {
    "formal you that is not you": (
        lambda pair: bool(_FORMAL.search(pair.source)) and pair.target[-1] in ".?" and "you" not in pair.target.lower(),
        ParsedPair("Gestern haben Sie geschlafen.", "Yesterday they slept."),
    ),
    "Sie at the start that is you": (
        lambda pair: (
            bool(re.match(r"Sie \w+en\b", pair.source))
            and pair.target.startswith("You ")
            and not re.search(r"\b(dir|euch)\b", pair.source)  # Sie fehlen dir. You miss them.
        ),
        ParsedPair("Sie haben geschlafen.", "You slept."),
    ),
    "trotzdem without its sense": (
        lambda pair: "trotzdem" in pair.source.lower() and ", but " in pair.target,
        ParsedPair("Es ist kalt, trotzdem gehe ich zu Fuß.", "It is cold, but I am walking."),
    ),
    "her after a plural": (
        lambda pair: _possessive_of(pair, "her", _is_plural),
        _owned("Die Kinder lieben ihre Mutter.", "The children love her mother."),
    ),
    "his of a girl": (
        lambda pair: _possessive_of(pair, "his", lambda subject: subject in ("girl", "woman", "mother", "she")),
        _owned("Das Mädchen liebt seine Mutter.", "The girl loves his mother."),
    ),
    "simple present of what goes on": (
        _simple_present_of_what_goes_on,
        ParsedPair("Sie singt in der Küche.", "She sings in the kitchen."),
    ),
    "sollen that is not supposed to": (
        lambda pair: (
            bool(re.search(r"\b[Ss]oll(?:st|en|t)?\b", pair.source))
            and not re.search(
                r"supposed to|\b(?:said|told)\b|\b(?:[Ss]hall|should) (?:I|we)\b|whether \w+ should\b", pair.target
            )
        ),
        ParsedPair("Du sollst kommen.", "You should come."),
    ),
    "natürlich that is not of course": (
        lambda pair: "atürlich" in pair.source and "of course" not in pair.target.lower(),
        ParsedPair("Natürlich komme ich.", "Naturally I am coming."),
    ),
    "hoffentlich with the simple past": (
        lambda pair: (
            bool(re.match(r"Hoffentlich (?:habe|hast|hat|haben|habt|ist|sind|bist)\b", pair.source))
            and not re.search(r"\b(?:has|have|is|are|am|will|do|does|can)\b", pair.target)
        ),
        ParsedPair("Hoffentlich hat er den Schlüssel gefunden.", "Hopefully he found the key."),
    ),
    "because with the simple past under a present": (
        lambda pair: bool(
            re.search(r", weil [^,]*(?:t|en|an) (?:habe|hast|hat|haben|habt|bin|bist|ist|sind|seid)\b", pair.source)
            and re.match(r"[^,]*\b(?:am|is|are|has|wants?|needs?)\b[^,]* because ", pair.target)
            and not re.search(
                r" because .*\b(?:has|have|is|are|am|was|were|had|feels?|yesterday|last|ago|morning|night|got)\b",
                pair.target,
            )
        ),
        ParsedPair("Ich bin müde, weil ich lange gearbeitet habe.", "I am tired because I worked for a long time."),
    ),
    "bitte without please": (
        lambda pair: (
            bool(re.search(r"\bbitte\b(?!.* um )", pair.source)) and not re.search(r"(?i)\bplease\b", pair.target)
        ),
        ParsedPair("Hilf mir bitte!", "Help me!"),
    ),
    "if of what is sure to happen": (
        lambda pair: (
            bool(re.search(r"\b[Ww]enn\b[^,]*\bankomm", pair.source)) and bool(re.search(r"\b[Ii]f\b", pair.target))
        ),
        ParsedPair("Ruf mich an, wenn du in Berlin ankommst!", "Call me if you arrive in Berlin!"),
    ),
    "gerade without the progressive": (
        lambda pair: bool(re.search(r"\bgerade\b", pair.source)) and "ing" not in pair.target,
        ParsedPair("Er liest gerade.", "He reads."),
    ),
    "noch nicht without yet": (
        lambda pair: (
            bool(re.search(r"(?<!immer )\bnoch (?:nicht\b(?! mehr)|kein)", pair.source)) and "yet" not in pair.target
        ),
        ParsedPair("Er hat noch kein Auto.", "He does not have a car."),
    ),
    "other final mark": (_question_mark, ParsedPair("Kommst du?", "Are you coming.")),
    "ellipsis on one side": (
        lambda pair: (pair.source[-1] == "…") != (pair.target[-1] == "…"),
        ParsedPair("Kommst du…", "Are you coming?"),
    ),
    "target is a reference": (
        lambda pair: pair.target in pair.references or pair.source in pair.source_references,
        ParsedPair("Er kommt.", "He is coming.", None, ("He is coming.",)),
    ),
}
_COMPILED = {name: (side, re.compile(pattern)) for name, (side, pattern, _) in PATTERNS.items()}


def flaws(pair: ParsedPair) -> Iterator[str]:
    """Yield the flaws of a pair, sentence by sentence; skips careless German."""
    typed_with_care = pair.source[-1] in ".?!…" and pair.source[0].isupper()
    sources, targets = (BETWEEN.split(text) for text in (pair.source, pair.target))
    if len(sources) != len(targets):
        yield "another number of sentences"
    for source, target in zip(sources, targets, strict=False):
        said = pair if len(sources) == 1 else ParsedPair(source, target)
        for name, (side, pattern) in _COMPILED.items():
            if (side == 1 or typed_with_care) and pattern.search((source, target)[side]):
                yield name
        for name, (has_flaw, _) in PAIRS.items():
            if has_flaw(said):
                yield name
