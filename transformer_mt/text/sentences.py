"""Sentence splitting, for any language."""

from collections.abc import Iterable

import regex

from transformer_mt.text.languages import language_of

# A full stop after these does not end a sentence, nor after most single letters (z. B., J. S. Bach) or after a number
# of at most two digits (3. Mai). Abbreviations that usually end a sentence are left out.
_ANYWHERE = "dr fig jr mr mrs ms prof sr st tel vs"
_BY_LANGUAGE = """\
de en: abb abs apr approx aug bd betr bspw bsp bzw ca co dec dez dipl evtl feb fr frl gest ggf hr hrsg inkl jh jul \
jun lt mio mrd mt nov nr oct okt pp rev sept str vgl zzgl
ar fa: أد
bg: ап бл бул вж вх гр доц ет инж обл проф св стр ул
ca: av dra núm pàg sra sres
cs sk: bc doc ing judr kap mgr mudr např nám obr phdr rndr sv tj tzv ul čl čís
da nb nn no: bl ca cand dvs eks ekskl evt frk hr inkl jf jfr kap kl mht nr pga tlf
el: αρ βλ δρ εικ καθ κεφ κος λεωφ οδ σελ τηλ
es: aprox arq av avda cap dra ee gral ing lic núm pág págs sra sres srta ud uds uu vd vds
fi: esim fil kpl klo ks nro os puh
fr: av avr bd boul chap déc env févr janv juill me mgr mlle mlles mm mme mmes nov oct pp pr ste tél éd
hi mr ne: डॉ पं प्रो सुश्री
hr bs sr sh sl: br ga gđa gđica gl gsp npr sv tj tzv ul št
hu: ifj ill kb kft köv özv pl vö
id ms: bpk drs hj hlm ir jl kab kec no sdr tgl
it: arch art avv cap dott es geom ing pag pagg ra sig sigg ssa
nl: bijv blz bv ca dhr drs excl hfst incl ing ir mej mevr mw nr resp
pl: abp bp godz hab inż kpt ks mgr mjr np nr płk św tj tys tzn tzw ul
pt: aprox art av cap dra eng exma exmo pág págs sra sres srta
ro: art bd bl cap dl dna dra ing lect nr pag str
ru: акад гг гл доц кв обл пос пр просп проф рис св стр табл тел ул
sv: bl ca dvs ex fr hr inkl kap kl nr resp
th: ดร ทพ นพ ผศ พญ รศ
tr: alb apt av bkz cad doç haz mah no örn sn yrd
uk be: акад буд вул гл доц кв обл пр просп проф рис св стор
vi: bs gs pgs ths tp ts"""
_ABBREVIATIONS = {
    language: frozenset(f"{_ANYWHERE} {words}".casefold().split())
    for languages, words in (line.split(":") for line in _BY_LANGUAGE.splitlines())
    for language in languages.split()
}
_ALL = frozenset[str]().union(*_ABBREVIATIONS.values())
# For other languages: abbreviations that are not words of another language.
_OTHERS = _ABBREVIATIONS["de"] | {word for word in _ALL if not word.isascii()}
_LONGEST = max(map(len, _ALL)) + 1
_BEFORE_NUMBERS = regex.compile(r"no|art|kap|.*str")  # Room no. 5, Hauptstr. 5; elsewhere they end a sentence

_CHINESE = r"[\p{Han}\p{Hiragana}\p{Katakana}]"  # and Japanese
# A single letter or digit that is neither a word nor the end of one (it's); matched backwards from the end.
_INITIAL = regex.compile(rf"(?r)(?<!\w|\w['’])(?!{_CHINESE})[^\W\p{{Hangul}}яєạàưèéő]")
_LAST_WORD = regex.compile(r"(?r)\w*")
# These marks end a sentence even before a lower-case letter; the marks in `_NO_BLANK` need no blank either.
_NO_BLANK = "。！？｡"
_ALWAYS = "؟۔।॥༎།။៕។።፧։᠃" + _NO_BLANK
_MARKS = rf"[.!?…{_ALWAYS}]"
_CLOSING = "\"'”’)\\]」』）》〉】"
_OPENING = "\"'„“‚‘»«›‹(\\[「『（《〈【¿¡།"
# An opening quotation mark and any mark introducing it; or the marks that end a sentence, and the start of the next.
# Before a blank, “»«›‹ are closing marks.
_BOUNDARY = regex.compile(
    rf"(?P<quote>[：:，,、]?[\"“‘「『（])|(?<!{_MARKS})(?:"
    rf"(?P<marks>{_MARKS}++|(?<=\p{{Greek}});)(?P<closing>[{_CLOSING}“»«›‹]*+)(?P<blank>\s++)|"
    rf"(?P<marks>[.!?…]*+[{_NO_BLANK}]{_MARKS}*+|(?<={_CHINESE})[!?]++(?={_CHINESE}))(?P<closing>[{_CLOSING}]*+)"
    rf")(?=[{_OPENING}]*+(?!\p{{M}})(?P<next>[\w\p{{N}}]))"
)
_UNSPACED = regex.compile(rf"[{_NO_BLANK}][^\w\s]*\n|{_CHINESE}[^\w\s]+\n[^\w\s]*{_CHINESE}")
# In all-lowercase text, nothing else shows that the sentence continues after these.
_IN_SMALL_LETTERS = frozenset(("etc", "usw", "ff", "itd", "itp", "др", "пр", "enz", "osv", "vb"))


def split_sentences(text: str, language: str = "") -> list[str]:
    """Split a line into sentences, without the blanks between them; a blank line has none.

    A sentence ends at `.`, `!`, `?` or `…` before a blank and a capital, a digit or a letter of a script without
    capitals. After `!` or `?` outside quotation marks a lower-case letter will do, because many people type no
    capitals; in an all-lowercase line, so will one after a full stop. Marks of other scripts end a sentence, in Chinese
    and Japanese even without a blank, unless it continues after a quotation: 「…。」と言った.
    """
    abbreviations = _ABBREVIATIONS.get(language_of(language) or "", _OTHERS)
    is_small = text.islower()
    abbreviations = abbreviations | _IN_SMALL_LETTERS if is_small else abbreviations
    sentences = []
    start = 0
    is_introduced = False
    for match in _BOUNDARY.finditer(text):
        if quote := match["quote"]:
            is_introduced = len(quote) > 1
            continue
        before = text[max(start, match.start() - _LONGEST) : match.start()]
        if before.strip() and _is_end(match, before, abbreviations, is_introduced, is_small):
            sentences.append(text[start : match.end("closing")].strip())
            start = match.end()
    return [*sentences, rest] if (rest := text[start:].strip()) else sentences


def _is_end(
    match: "regex.Match[str]", before: str, abbreviations: frozenset[str], is_introduced: bool, is_small: bool
) -> bool:
    marks, closing, blank, following = match.group("marks", "closing", "blank", "next")
    if not blank:
        return not closing or (is_introduced and not "ぁ" <= following <= "ゟ")
    if not set(_ALWAYS).isdisjoint(marks):
        return True
    goes_on = following.islower() and following.title() != following  # Georgian sentences start in lower case
    if goes_on and (closing or marks[-1] not in "!?;") and not (is_small and marks == "."):
        return False
    return marks != "." or not _is_no_end(before, following, abbreviations)


def _is_no_end(before: str, following: str, abbreviations: frozenset[str]) -> bool:
    word = _LAST_WORD.match(before)[0].casefold()
    is_short = _INITIAL.match(before) or (len(word) == 2 and word.isdecimal()) or word in abbreviations
    return bool(is_short or (following.isdecimal() and _BEFORE_NUMBERS.fullmatch(word)))


def join_sentences(sentences: Iterable[str]) -> str:
    """Join sentences into one line, with a blank between them except in Chinese and Japanese."""
    parts: list[str] = []
    for sentence in filter(None, sentences):
        if parts and not _UNSPACED.search(f"{parts[-1][-_LONGEST:]}\n{sentence[:_LONGEST]}"):
            parts.append(" ")
        parts.append(sentence)
    return "".join(parts)
