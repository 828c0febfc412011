"""Word lists that tell what elements, labels and file names of pages mean."""

from __future__ import annotations

from bilingual_crawler.languages.tables import by_word, read_tables, words

_TABLES = read_tables(__name__)

SKIPPED_TAGS = words(_TABLES["skipped_tags"])
INLINE_TAGS = words(_TABLES["inline_tags"])
VOID_TAGS = words(_TABLES["void_tags"])
SELF_CLOSING_TAGS = VOID_TAGS | words(_TABLES["self_closing_tags"])
"""Tags that hold nothing, or that the parser closes by itself when the next one starts."""
MARKS = words(_TABLES["marks"])
"""Class names of what the generator of a page adds to the text: edit links and the marks of notes."""
ICON_FONTS = words(_TABLES["icon_fonts"])
"""Classes of elements whose text is the name of an icon (``zoom_in``), which is shown in its place."""
UNTOLD_TAGS = words(_TABLES["untold_tags"])
"""Elements whose class tells about the whole page, or about program code ("language-python")."""
FRAME_ROLES = words(_TABLES["frame_roles"])

NAVIGATION_WORDS = words(_TABLES["navigation_words"])  # words in class and id names of navigation
QUALIFIERS = words(_TABLES["qualifiers"])
"""Words beside those of navigation in names of what holds a menu or stands beside one."""
WIDGET_WORDS = words(_TABLES["widget_words"])
"""Words in class and id names of dialogs, comments, offers to share, subscribe or search, and facts about an entry."""
WHOLE_NAMES = words(_TABLES["whole_names"])  # names of what is not printed, and others whose words alone tell nothing
EDGE_OWNERS = words(_TABLES["edge_owners"])  # words beside "header" or "footer" if it is that of the page
SWITCHER_WORDS = words(_TABLES["switcher_words"])  # words in class and id names of language switches

LABEL_FILLERS = words(_TABLES["label_fillers"])  # words that stand beside the name of a language on a switch
FLAG_NOISE = words(_TABLES["flag_noise"])  # words in names of flag images that name no country

BIBLIOGRAPHIC_CODES = words(_TABLES["bibliographic_codes"])
CODES_IN_LABELS = by_word(_TABLES["codes_in_labels"])
"""Country codes and abbreviations that sites use for codes of languages, to ISO 639-3."""

DOCUMENT_ENDINGS = words(_TABLES["document_endings"])  # file name extensions of documents with text for people
NOT_PAGES = DOCUMENT_ENDINGS | words(_TABLES["not_pages"])  # file name extensions of URLs that are never HTML pages

DECLARED_BY: dict[str, str] = _TABLES["declared_by"]
"""The names of ``meta`` elements by which heads declare a fact, the most specific first."""
TRANSLATION_PLUGINS = {tool: marks.split() for tool, marks in _TABLES["translation_plugins"].items()}
"""The marks that translation tools leave in classes, addresses and scripts, by tool."""

ENCODINGS: dict[str, str] = _TABLES["encodings"]
"""Encodings of web pages but Unicode, as chardet calls them, with the languages that are written in them."""

LETTERS: dict[str, str] = _TABLES["letters"]
"""The letters beside ASCII that languages in the Latin script are written with, lower case; English has loans only."""
LABELS_OF_ENCODINGS = {
    **by_word(_TABLES["labels"]),
    **{f"x_cp125{n}": f"cp125{n}" for n in range(9)},
    **{f"iso8859{n}": f"iso8859_{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15)},
}
"""Names of encodings on web pages (WHATWG, Encoding) that Python lacks, with underscores."""
