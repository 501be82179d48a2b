"""Language codes: one per language, whatever standard a file or a user follows."""

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


def language_of(code: str) -> str | None:
    """The shortest code of a language: `de` for `deu`, `ger`, `de-DE` and `de_DE`; None if unknown.

    Accepts BCP 47 and ISO 639-1, 639-2 and 639-3; script and region are ignored.
    """
    return _LANGUAGES.get(code.replace("_", "-").partition("-")[0].casefold())
