"""Word lists that tell what elements, labels and file names of pages mean."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SKIPPED_TAGS = _words("""
    script style template svg iframe object embed audio video canvas noembed noframes datalist textarea annotation
    annotation-xml rp rt rtc
""")
INLINE_TAGS = _words("""
    a abbr acronym area b bdi bdo big cite code data del dfn em font i img input ins kbd label mark math q ruby rb s
    samp small span strike strong sub sup time tt u var wbr button nobr blink picture source link meta meter output
    progress slot maction maligngroup malignmark menclose merror mfenced mfrac mi mmultiscripts mn mo mover mpadded
    mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover
    semantics
""")
VOID_TAGS = _words("area base br col embed hr img input link meta param source track wbr")
SELF_CLOSING_TAGS = VOID_TAGS | _words("a li p td tr th dt dd option")
"""Tags that hold nothing, or that the parser closes by itself when the next one starts."""
MARKS = _words("""
    mw-editsection editsection secedit editbutton_section editbar edit-link post-edit-link theme-edit-this-page
    edit-this-page editthispage wy-breadcrumbs-aside td-page-meta Template-Fact Inline-Template mw-cite-backlink
    footnote-ref footnote-reference footnote-backref footnote-back MsoFootnoteReference fn-backref fn-bracket fn_top
    fn_bot
""")
"""Class names of what the generator of a page adds to the text: edit links and the marks of notes."""
UNTOLD_TAGS = _words("html head body main article pre code h1 h2 h3 h4 h5 h6 section")
"""Elements whose class tells about the whole page, or about program code ("language-python")."""
FRAME_ROLES = _words("""
    alertdialog banner complementary contentinfo dialog menu menubar menuitem navigation search tablist toolbar tooltip
""")

NAVIGATION_WORDS = _words("""
    nav navi navigation navbar navlist navmenu topnav sidenav subnav menu menus mainmenu submenu topmenu menubar
    breadcrumb breadcrumbs sidebar masthead topbar toolbar toc sitemap pagination pager paging navheader navfooter
    sphinxsidebar related colophon banner offcanvas drawer tabs cabecera pie menú hauptmenu pied entete prevnext skip
    skiplink skiplinks tagcloud announcement announcements blogroll columnone portlet rstversions sitenotice sitesub
    tabcontainer toctree
""")
"""Words in class and id names of navigation."""
QUALIFIERS = _words("beside content contents for has no show hide with without")
"""Words beside those of navigation in names of what holds a menu or stands beside one."""
WIDGET_WORDS = _words("""
    cookie cookies cookiebar cookiebot cookieconsent cookielaw cookienotice consent gdpr rgpd dsgvo cmp cmplz onetrust
    didomi osano tarteaucitron borlabs usercentrics termly truste cky cookieyes iubenda cybotcookiebot moove comments
    commentlist commentform respond disqus reply share sharing sharedaddy addtoany addthis socials socialmedia popup
    lightbox newsletter subscribe signup searchform searchbox badge byline catlinks commentline dateline meta metadata
    onlyprint printfooter printonly social sourceline
""")
"""Words in class and id names of dialogs, comments, offers to share, subscribe or search, and facts about an entry."""
WHOLE_NAMES = _words("d-print-none hidden-print no-print noprint personal print-hidden print-none print:hidden")
"""Names of what is not printed, and others whose words alone tell nothing."""
EDGE_OWNERS = _words("site page main global top bottom app layout body website full")
"""Words beside "header" or "footer" if it is that of the page."""
SWITCHER_WORDS = _words("""
    lang langs language languages locale locales langswitch langswitcher langselect langselector langmenu langbar
    langlist langlinks langnav langchooser languageswitcher languageselector languageselect languagemenu languagelist
    languagebar languagepicker languagechooser languagelinks localeswitcher idioma idiomas lingua lingue linguas langue
    langues sprache sprachen sprachwahl sprachauswahl sprachumschalter taal talen språk sprak sprog kieli kielet
    kielivalinta hizkuntza hizkuntzak llengua llengues lengua lenguas língua línguas tungumal tungumál jezik jezici
    jazyk jazyky język wpml icl polylang pll qtranslate qtranxs translatepress trp weglot multilang multilingual bahasa
    lingwa flags flag
""")
"""Words in class and id names of language switches."""

LABEL_FILLERS = _words("""
    a à á as auf auch au available bahasa change choose click en el em flag flagge bandera bandeira drapeau lippu fána
    fáni for go här here hier icon idioma ikon image in i ino img język kieli kieleksi la language langue language: lang
    limba lingua logo my na nyelv nyelven of on page pagina página page: på po read see select seite sida síða site sito
    språk sprache switch taal text the this to tongue valoda verzió yn version versio versión versione versió versiòn
    versão versija versjon version: view voir ver wersja ენა اللغة wechsel wechseln website zu zur útgáfa bertsioa
    cambiar ir simplified traditional us uk gb usa br brasil brazil brazilian united states kingdom international
    américa america latinoamérica latinoamerica méxico mexico españa canada france deutschland österreich schweiz 简体
    繁體 hans hant latn cyrl latin latinica cyrillic ћирилица beta machine current selected
""")
"""Words that stand beside the name of a language on a switch."""
FLAG_NOISE = _words("flag flags icon icons img image images png svg gif jpg jpeg webp x the of lang language")
"""Words in names of flag images that name no country."""

BIBLIOGRAPHIC_CODES = _words("ice alb baq mac cze fre gre dut wel per rum slo chi bur geo arm may")
CODES_IN_LABELS = dict(pair.split(":") for pair in _words("""
    cz:ces gr:ell ua:ukr jp:jpn cn:zho tw:zho kr:kor se:swe dk:dan ee:est si:slv al:sqi rs:srp me:cnr ba:bos gb:eng
    uk:ukr us:eng br:por vn:vie esp:spa cas:spa cast:spa val:cat ned:nld ing:eng engl:eng eusk:eus franc:fra ital:ita
    nb:nor nob:nor
"""))  # fmt: skip
"""Country codes and abbreviations that sites use for codes of languages, to ISO 639-3."""

DOCUMENT_ENDINGS = _words("""
    djvu doc docm docx dot dotx epub fb2 mobi odp ods odt pdf pps ppsx ppt pptm pptx ps pub rtf xls xlsm xlsx xlt xltx
    xps
""")
"""File name extensions of documents with text for people."""
NOT_PAGES = DOCUMENT_ENDINGS | _words("""
    7z aac ai air apk appimage asc avi avif bib bin bmp bz2 cab cbr class css csv cue dat dav deb dmg drv dwg dxf eot
    eps exe flac flv gif gpx gz heic heif ico ics iso jar jpe jpeg jpg js json jsonld kml kmz lzma m3u m3u8 m4a m4v map
    md5 mid midi mjs mkv mo mov mp2 mp3 mp4 mpeg mpg msi msix mso odg oga ogg ogv opus otf ova pgp pkg png po pot psd py
    qt rar rdf rm rpm rss sh sha1 sha256 sha512 sig so sql srt svg svgz swf tar tbz2 tex tgz tif tiff tmx torrent ttf
    txt vcf vcs vsd vtt wasm wav webm webmanifest webp whl wma wmf wmv woff woff2 xcf xpi xsd xsl xslt xz yaml yml zip
    zst
""")
"""File name extensions of URLs that are never HTML pages."""

ENCODINGS = {
    "cp1250": "bos ces hrv hsb dsb hun pol ron slk slv sqi srp",
    "iso8859-2": "bos ces hrv hsb dsb hun pol ron slk slv sqi srp", "iso8859-16": "ron",
    "cp1251": "bel bul kaz kir mkd mon rus srp tat tgk ukr bak chv oss", "koi8-r": "rus bul", "koi8-u": "ukr bel",
    "iso8859-5": "bel bul mkd rus srp ukr", "cp866": "rus bel bul", "mac-cyrillic": "rus bul ukr",
    "cp1252": "afr cat dan deu eng eus fao fin fra fry gla gle glg glv isl ita ltz nld nno nor oci por roh spa sqi swe",
    "iso8859-15": "est fin fra", "cp1253": "ell", "iso8859-7": "ell", "cp1254": "aze kur tur", "cp1255": "heb yid",
    "iso8859-8": "heb", "cp1256": "ara fas pus uig urd", "iso8859-6": "ara", "cp1257": "est lav lit",
    "iso8859-13": "est lav lit", "iso8859-4": "est kal lav lit sme", "iso8859-10": "sme smj",
    "iso8859-14": "bre cym gla gle glv", "iso8859-3": "epo mlt tur", "cp1258": "vie", "cp874": "tha", "cp932": "jpn",
    "euc_jis_2004": "jpn", "cp949": "kor", "gb18030": "zho", "big5hkscs": "zho",
}  # fmt: skip
"""Encodings of web pages but Unicode, as chardet calls them, with the languages that are written in them."""

LETTERS = {
    "afr": "áèéêëíîïóôöúûü", "bos": "čćđšž", "cat": "àçéèíïóòúü·", "ces": "áčďéěíňóřšťúůýž",
    "cym": "àáâäèéêëìíîïòóôöùúûüŵẁẃẅŷỳýÿ", "dan": "æøåéèêáäöü", "deu": "äöüßé", "dsb": "čćěłńóŕšśžź",
    "eng": "àáâãäåæçèéêëíîïñóôöøúûüœ", "epo": "ĉĝĥĵŝŭ", "est": "äõöüšž", "eus": "ñçüáéíóú", "fao": "áæðíóøúý",
    "fin": "äöåšžé", "fra": "àâæçèéêëîïôœùûüÿ", "fry": "âêéëïôöúûü", "gla": "àèìòùáéó", "gle": "áéíóúḃċḋḟġṁṗṡṫ",
    "glg": "áéíïñóúü", "glv": "çïê", "hrv": "čćđšž", "hsb": "čćěłńóřšžź", "hun": "áéíóöőúüű", "isl": "áæéíðóöúýþ",
    "ita": "àèéìíîòóùú", "lav": "āčēģīķļņšūžōŗ", "lit": "ąčęėįšųūž", "ltz": "äéëöüèêîôû", "mlt": "ċġħżàèìòù",
    "nld": "áéëïóöúüèêç", "nno": "æøåéèêóòôâäö", "nor": "æøåéèêóòôâäö", "oci": "àáçèéíïóòúü", "pol": "ąćęłńóśźż",
    "por": "àáâãçéêíóôõúü", "roh": "àèéìîòùöü", "ron": "ăâîșțşţ", "sme": "áčđŋšŧž", "slk": "áäčďéíĺľňóôŕšťúýž",
    "slv": "čšžćđ", "spa": "áéíñóúüªº", "sqi": "çë", "swe": "åäöéàü", "tur": "çğıİöşüâîû",
}  # fmt: skip
"""The letters beside ASCII that languages in the Latin script are written with, lower case; English has loans only."""
