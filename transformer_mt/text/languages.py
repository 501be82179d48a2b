"""Languages: their codes and names, whatever standard a file or a user follows, and their frequent words."""

from collections import Counter
from collections.abc import Iterable

from transformer_mt.text.words import words

# ISO 639-1, each with the ISO 639-2 and 639-3 codes of the same language, and the English names of some.
_CODES = (
    "aa:aar ab:abk ae:ave af:afr:afrikaans ak:aka am:amh:amharic an:arg ar:ara:arabic as:asm av:ava ay:aym "
    "az:aze:azerbaijani ba:bak be:bel:belarusian bg:bul:bulgarian bi:bis bm:bam bn:ben:bengali bo:bod:tib:tibetan "
    "br:bre bs:bos:bosnian ca:cat:catalan ce:che ch:cha co:cos cr:cre cs:ces:cze:czech cu:chu cv:chv cy:cym:wel:welsh "
    "da:dan:danish de:deu:ger:german dv:div dz:dzo ee:ewe el:ell:gre:greek en:eng:english eo:epo:esperanto "
    "es:spa:spanish et:est:ekk:estonian eu:baq:eus:basque fa:fas:per:pes:persian ff:ful fi:fin:finnish fj:fij fo:fao "
    "fr:fra:fre:french fy:fry ga:gle:irish gd:gla gl:glg:galician gn:grn gu:guj:gujarati gv:glv ha:hau:hausa "
    "he:heb:iw:hebrew hi:hin:hindi ho:hmo hr:hrv:croatian ht:hat hu:hun:hungarian hy:arm:hye:armenian hz:her ia:ina "
    "id:ind:in:indonesian ie:ile ig:ibo:igbo ii:iii ik:ipk io:ido is:ice:isl:icelandic it:ita:italian iu:iku "
    "ja:jpn:japanese jv:jav ka:geo:kat:georgian kg:kon ki:kik kj:kua kk:kaz:kazakh kl:kal km:khm:khmer kn:kan:kannada "
    "ko:kor:korean kr:kau ks:kas ku:kur:kurdish kv:kom kw:cor ky:kir la:lat:latin lb:ltz lg:lug li:lim ln:lin "
    "lo:lao:lao lt:lit:lithuanian lu:lub lv:lav:lvs:latvian mg:mlg mh:mah mi:mao:mri:maori mk:mac:mkd:macedonian "
    "ml:mal:malayalam mn:mon:mongolian mr:mar:marathi ms:may:msa:malay mt:mlt:maltese my:bur:mya:burmese na:nau nb:nob "
    "nd:nde ne:nep:nepali ng:ndo nl:dut:nld:dutch nn:nno no:nor:norwegian nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm "
    "or:ori os:oss pa:pan:punjabi pi:pli pl:pol:polish ps:pus:pashto pt:por:portuguese qu:que:quechua rm:roh rn:run "
    "ro:ron:rum:mo:romanian ru:rus:russian rw:kin sa:san:sanskrit sc:srd sd:snd se:sme sg:sag sh:hbs si:sin:sinhala "
    "sk:slk:slo:slovak sl:slv:slovenian sm:smo sn:sna so:som:somali sq:alb:sqi:albanian sr:srp:serbian ss:ssw st:sot "
    "su:sun sv:swe:swedish sw:swa:swahili ta:tam:tamil te:tel:telugu tg:tgk th:tha:thai ti:tir tk:tuk tl:tgl:tagalog "
    "tn:tsn to:ton tr:tur:turkish ts:tso tt:tat tw:twi ty:tah ug:uig uk:ukr:ukrainian ur:urd:urdu uz:uzb:uzbek ve:ven "
    "vi:vie:vietnamese vo:vol wa:wln wo:wol xh:xho:xhosa yi:yid:ji yo:yor:yoruba za:zha "
    "zh:chi:zho:cmn:yue:mandarin:chinese zu:zul:zulu"
)
# The language of every code and name.
LANGUAGES = {code: one.split(":")[0] for one in _CODES.split() for code in one.split(":")}
_NAMES = {language: name.capitalize() for name, language in LANGUAGES.items() if len(name) > 3}

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
# A text is in a language if it has this many of its words, and this many times as many as of any other language.
_ENOUGH = 4


def language_of(code: str) -> str | None:
    """The shortest code of a language: `de` for `deu`, `ger`, `de-DE`, `de_DE` and `German`; None if unknown.

    Accepts English names, BCP 47 and ISO 639-1, 639-2 and 639-3; script and region are ignored.
    """
    return LANGUAGES.get(code.replace("_", "-").partition("-")[0].casefold())


def code_of(name: str) -> str:
    """The code of a language given by its English name or a code in capitals; anything else stays as it is."""
    if len(name) > 3:
        return LANGUAGES.get(name.casefold(), name)
    return name.lower() if name.isupper() else name


def name_of(language: str) -> str:
    """The English name of a language, or what it is called if that is unknown."""
    return _NAMES.get(language_of(language) or "", language)


def looks_like(texts: Iterable[str], assumed: str) -> str:
    """The code of the language that normalised texts are in, or the assumed one if that may be right or isn't clear.

    Knows only some languages, by their frequent words, and doubts no others.
    """
    counts = Counter(_LANGUAGE_OF_WORD.get(word, "") for text in texts for word in words(text.lower()))
    del counts[""]
    ((found, count),) = counts.most_common(1) or [(assumed, 0)]
    is_clear = count >= _ENOUGH * max(counts.total() - count, 1)
    return found if is_clear and language_of(assumed) in _FREQUENT.keys() - {found} else assumed
