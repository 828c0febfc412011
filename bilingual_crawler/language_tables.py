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
"""Languages in CLD2's full tables that are not in :data:`URL_LABELS`."""

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
