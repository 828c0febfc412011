"""Data for :mod:`bilingual_crawler.languages`: label sets, merged codes, names that registries lack."""

from __future__ import annotations

_LABELS = """
    eng deu rus fra zho spa jpn ita nld pol por ces vie tur ind swe ara fas kor hun ell ron dan fin tha slk nor ukr
    bul cat srp hrv slv lit hin est heb lat ben lav msa bos sqi tam glg isl aze kat mkd eus hye nep urd mon mal kaz
    mar tel nno bel uzb guj kan mya khm cym epo tgl sin afr tat swa gle pan kur kir tgk mlt fao ori lao som ltz oci
    amh fry bak pus san bre mlg hau tuk war asm cos div jav ceb kin hat zul gla bod xho yid snd mri uig roh sun kal
    yor tir abk bih haw hmn ina que grn ibo nya sco sna sot smo vol glv orm ile syr aar dzo iku kha lin lug mfe aka
    aym bis chr crs fij ipk nso run sag ssw ton tsn wol zha got kas lif nau sux tso ven
"""

URL_LABELS: tuple[str, ...] = tuple(_LABELS.split())
"""The 161 languages of url2lang in its order (most frequent in Common Crawl first), without *unknown*."""

CLD2_ONLY = ("cnr", "ewe", "gaa", "kri", "loz", "lua", "luo", "nbl", "new", "oss", "pam", "raj", "tum", "twi")
"""Languages that CLD2 has names for, and that are not in :data:`URL_LABELS`."""

MERGED: dict[str, str] = {
    "bh": "bih", "bho": "bih", "bih": "bih", "nb": "nor", "nob": "nor", "tl": "tgl", "fil": "tgl", "tw": "twi",
    "sh": "srp", "hbs": "srp", "scc": "srp", "scr": "hrv", "mo": "ron", "mol": "ron", "prs": "fas", "cnr": "cnr",
}  # fmt: skip
"""Codes that identifiers and corpora treat as one language, beyond ISO 639-3's macrolanguages."""

NAMES: dict[str, tuple[str, ...]] = {
    "mya": ("Burmese", "Myanmar"), "msa": ("Malay", "Bahasa Melayu"), "ben": ("Bangla", "Bengali"),
    "fas": ("Persian", "Farsi"), "spa": ("Spanish", "Castilian", "Castellano"), "cnr": ("Montenegrin", "crnogorski"),
    "ell": ("Greek", "Modern Greek"), "nld": ("Dutch", "Flemish"), "cat": ("Catalan", "Valencian"),
    "eus": ("Basque", "euskera"), "gla": ("Scottish Gaelic", "Scots Gaelic"), "ori": ("Odia", "Oriya"),
    "pus": ("Pashto", "Pushto"), "kur": ("Kurdish", "kurdî"), "nya": ("Nyanja", "Chichewa"), "bih": ("Bihari",),
    "kir": ("Kyrgyz", "Kirghiz"), "uig": ("Uyghur", "Uighur"), "div": ("Dhivehi", "Maldivian"),
    "lao": ("Lao", "Laotian"), "kal": ("Greenlandic",), "tgl": ("Tagalog", "Pilipino"),
    "nor": ("Norwegian", "norsk bokmål", "bokmål"), "nno": ("Norwegian Nynorsk", "nynorsk"), "fry": ("Frisian",),
    "hat": ("Haitian",), "srp": ("Serbian", "srpski"), "lit": ("Lithuanian", "lietuvių kalba"),
    "lav": ("Latvian", "latviešu valoda"), "est": ("Estonian", "eesti keel"), "ron": ("Romanian", "Moldovan"),
    "tur": ("Turkish",), "isl": ("Icelandic", "íslensku"), "luo": ("Luo",),
    "zho": ("Chinese", "Mandarin", "汉语", "漢語"),
}  # fmt: skip
"""Names of languages (ISO 639-3) that CLDR lacks or words differently; the first is the one shown."""

COUNTRY_CODES: dict[str, str] = {
    "cz": "ces", "gr": "ell", "ua": "ukr", "jp": "jpn", "cn": "zho", "dk": "dan", "vn": "vie", "rs": "srp", "by": "bel",
    "gb": "eng", "us": "eng", "al": "sqi", "me": "cnr", "at": "deu", "mx": "spa", "il": "heb", "kz": "kaz",
}  # fmt: skip
"""Country codes that sites use as language codes, and that are no language's own code."""

LANGUAGES_OF_COUNTRY: dict[str, str] = {
    "ae": "ar en", "al": "sq", "ar": "es", "at": "de", "au": "en", "ba": "bs hr sr", "be": "nl fr de en", "bg": "bg",
    "br": "pt", "by": "be ru", "ca": "en fr", "ch": "de fr it rm en", "cl": "es", "cn": "zh en", "co": "es",
    "cy": "el tr en", "cz": "cs en", "de": "de en", "dk": "da en", "dz": "ar fr", "ee": "et ru en", "eg": "ar en",
    "es": "es ca eu gl en", "eu": "en", "fi": "fi sv en", "fr": "fr en br oc", "gb": "en cy", "gr": "el en",
    "hk": "zh en", "hr": "hr en", "hu": "hu en", "id": "id en", "ie": "en ga", "il": "he ar en",
    "in": "en hi bn ta te ml mr gu kn pa as or ur", "int": "en", "ir": "fa", "is": "is en", "it": "it de en",
    "jp": "ja en", "kr": "ko en", "kz": "kk ru", "lt": "lt en", "lu": "fr de lb en", "lv": "lv ru en", "ma": "ar fr",
    "me": "sr", "mt": "mt en", "mx": "es", "my": "ms en zh my", "nl": "nl en fy", "no": "no nb nn en", "nz": "en mi",
    "pe": "es", "ph": "en tl", "pl": "pl en", "pt": "pt en", "ro": "ro en", "rs": "sr en", "ru": "ru en",
    "sa": "ar en", "se": "sv en", "sg": "en zh ms ta", "si": "sl en", "sk": "sk en", "so": "so", "th": "th en",
    "tn": "ar fr", "tr": "tr en", "tw": "zh en", "ua": "uk ru en", "uk": "en", "us": "en es", "uy": "es",
    "uz": "uz ru", "ve": "es", "vn": "vi en", "za": "en af zu xh", "xk": "sq sr", "mk": "mk sq", "et": "am",
    "ke": "sw en so", "dj": "so fr", "to": "to en", "mm": "my", "sm": "it", "am": "hy", "az": "az", "ge": "ka",
    "lb": "ar fr en", "pk": "ur en", "np": "ne", "bd": "bn", "lk": "si ta en",
}  # fmt: skip
"""Country (lower case) to the languages that sites pair it with: ``be-fr`` is French, ``fr-be`` too."""
