"""Languages: their codes and names, whatever standard a file or a user follows, and their frequent words."""

from collections import Counter
from collections.abc import Iterable

from transformer_mt.text.words import words

# ISO 639-1, each with the ISO 639-2 and 639-3 codes of the same language.
_CODES = (
    "aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak be:bel bg:bul bi:bis "
    "bm:bam bn:ben bo:bod:tib br:bre bs:bos ca:cat ce:che ch:cha co:cos cr:cre cs:ces:cze cu:chu cv:chv cy:cym:wel "
    "da:dan de:deu:ger dv:div dz:dzo ee:ewe el:ell:gre en:eng eo:epo es:spa et:est:ekk eu:baq:eus fa:fas:per:pes "
    "ff:ful fi:fin fj:fij fo:fao fr:fra:fre fy:fry ga:gle gd:gla gl:glg gn:grn gu:guj gv:glv ha:hau he:heb:iw hi:hin "
    "ho:hmo hr:hrv ht:hat hu:hun hy:arm:hye hz:her ia:ina id:ind:in ie:ile ig:ibo ii:iii ik:ipk io:ido is:ice:isl "
    "it:ita iu:iku ja:jpn jv:jav ka:geo:kat kg:kon ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas "
    "ku:kur kv:kom kw:cor ky:kir la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lav:lvs mg:mlg mh:mah "
    "mi:mao:mri mk:mac:mkd ml:mal mn:mon mr:mar ms:may:msa mt:mlt my:bur:mya na:nau nb:nob nd:nde ne:nep ng:ndo "
    "nl:dut:nld nn:nno no:nor nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus "
    "pt:por qu:que rm:roh rn:run ro:ron:rum:mo ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag sh:hbs si:sin "
    "sk:slk:slo sl:slv sm:smo sn:sna so:som sq:alb:sqi sr:srp ss:ssw st:sot su:sun sv:swe sw:swa ta:tam te:tel tg:tgk "
    "th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso tt:tat tw:twi ty:tah ug:uig uk:ukr ur:urd uz:uzb ve:ven "
    "vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid:ji yo:yor za:zha zh:chi:zho:cmn:yue zu:zul"
)
_LANGUAGES = {code: one.split(":")[0] for one in _CODES.split() for code in one.split(":")}

# The codes of languages by their English names.
_NAMES = (
    "afrikaans:af albanian:sq amharic:am arabic:ar armenian:hy azerbaijani:az basque:eu belarusian:be bengali:bn "
    "bosnian:bs bulgarian:bg burmese:my catalan:ca chinese:zh croatian:hr czech:cs danish:da dutch:nl english:en "
    "esperanto:eo estonian:et finnish:fi french:fr galician:gl georgian:ka german:de greek:el gujarati:gu hausa:ha "
    "hebrew:he hindi:hi hungarian:hu icelandic:is igbo:ig indonesian:id irish:ga italian:it japanese:ja kannada:kn "
    "kazakh:kk khmer:km korean:ko kurdish:ku lao:lo latin:la latvian:lv lithuanian:lt macedonian:mk malay:ms "
    "malayalam:ml maltese:mt mandarin:zh maori:mi marathi:mr mongolian:mn nepali:ne norwegian:no pashto:ps persian:fa "
    "polish:pl portuguese:pt punjabi:pa quechua:qu romanian:ro russian:ru sanskrit:sa serbian:sr sinhala:si slovak:sk "
    "slovenian:sl somali:so spanish:es swahili:sw swedish:sv tagalog:tl tamil:ta telugu:te thai:th tibetan:bo "
    "turkish:tr ukrainian:uk urdu:ur uzbek:uz vietnamese:vi welsh:cy xhosa:xh yoruba:yo zulu:zu"
)
NAMES: dict[str, str] = dict(one.split(":") for one in _NAMES.split())

# Frequent words of some languages that no other of them has, so that a few sentences show which one they are in.
_FREQUENT = {
    "cs": "že jsem jsi není který která jsou také jeho byla bylo když",
    "de": "und ist nicht ich ein mit sie auf wir eine wird haben auch sich einen einem ihr kein der aber oder wenn",
    "en": "the and that with have this are not you what his they from she would your there know where when",
    "es": "los las el pero muy más yo fue también cuando donde ella ellos eso qué",
    "fr": "est une dans pour pas vous nous avec sur elle aux ses être sont cette suis quand",
    "it": "di che non è della sono nel gli questo anche alla più perché delle dei",
    "nl": "het een niet van ik hij zijn voor ook maar wij naar heeft deze bij uit",
    "pl": "się że jest jestem był tylko czy dla który są być jego",
    "pt": "não uma em você ele ao também isso muito é são pelo seu minha",
    "ru": "что это как его она был мы они для",
    "sv": "och är att inte jag också från henne något",
    "tr": "bir için değil çok daha ama kadar",
}
_LANGUAGE_OF_WORD = {word: language for language, some in _FREQUENT.items() for word in some.split()}
# So many of these words show a language, if they are so many times as many as those of all others.
_ENOUGH = 4


def language_of(code: str) -> str | None:
    """The shortest code of a language: `de` for `deu`, `ger`, `de-DE`, `de_DE` and `German`; None if unknown.

    Accepts English names, BCP 47 and ISO 639-1, 639-2 and 639-3; script and region are ignored.
    """
    first = code.replace("_", "-").partition("-")[0].casefold()
    return _LANGUAGES.get(first) or NAMES.get(first)


def code_of(name: str) -> str:
    """The code of a language given by its English name; anything else stays as it is."""
    return NAMES.get(name.casefold(), name)


def name_of(language: str) -> str:
    """The English name of a language, or what it is called if that is unknown."""
    code = language_of(language)
    return next((name.capitalize() for name, own in NAMES.items() if own == code), language)


def looks_like(texts: Iterable[str], *, assumed: str) -> str:
    """The code of the language that normalised texts are in; empty if it may be the assumed one, or isn't clear.

    Knows only some languages, by their frequent words, and says nothing about others.
    """
    counts = Counter(_LANGUAGE_OF_WORD.get(word, "") for text in texts for word in words(text.lower()))
    del counts[""]
    ((found, count),) = counts.most_common(1) or [("", 0)]
    is_clear = count >= _ENOUGH * max(counts.total() - count, 1)
    return found if is_clear and language_of(assumed) in _FREQUENT.keys() - {found} else ""
