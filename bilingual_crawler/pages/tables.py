"""Word lists that tell what elements, labels and file names of pages mean."""

from bilingual_crawler.languages.tables import by_word, read_tables, words

_TABLES = read_tables(__name__)

SKIPPED_TAGS = words(_TABLES["skipped_tags"])
INLINE_TAGS = words(_TABLES["inline_tags"])
VOID_TAGS = words(_TABLES["void_tags"])
SELF_CLOSING_TAGS = VOID_TAGS | words(_TABLES["self_closing_tags"])  # hold nothing, or end where the next starts
MARKS = words(_TABLES["marks"])  # classes of what a generator adds to the text: edit links, marks of notes
ICON_FONTS = words(_TABLES["icon_fonts"])  # classes of elements whose text is the name of an icon (`zoom_in`)
UNTOLD_TAGS = words(_TABLES["untold_tags"])  # whose class is about the whole page, or program code
FRAME_ROLES = words(_TABLES["frame_roles"])

NAVIGATION_WORDS = words(_TABLES["navigation_words"])  # words in class and id names of navigation
QUALIFIERS = words(_TABLES["qualifiers"])  # beside words of navigation in names of what holds a menu or is beside one
WIDGET_WORDS = words(_TABLES["widget_words"])  # of dialogs, comments, offers to share, facts about an entry
WHOLE_NAMES = words(_TABLES["whole_names"])  # names of what is not printed, and others whose words alone tell nothing
EDGE_OWNERS = words(_TABLES["edge_owners"])  # words beside "header" or "footer" if it is that of the page
SWITCHER_WORDS = words(_TABLES["switcher_words"])  # words in class and id names of language switches

LABEL_FILLERS = words(_TABLES["label_fillers"])  # words that stand beside the name of a language on a switch
FLAG_NOISE = words(_TABLES["flag_noise"])  # words in names of flag images that name no country

BIBLIOGRAPHIC_CODES = words(_TABLES["bibliographic_codes"])
CODES_IN_LABELS = by_word(_TABLES["codes_in_labels"])  # that sites use for codes of languages, to ISO 639-3

DOCUMENT_ENDINGS = words(_TABLES["document_endings"])  # file name extensions of documents with text for people
NOT_PAGES = DOCUMENT_ENDINGS | words(_TABLES["not_pages"])  # file name extensions of URLs that are never HTML pages

DECLARED_BY: dict[str, str] = _TABLES["declared_by"]  # fact to names of `meta`, most specific first
TRANSLATION_PLUGINS = {tool: marks.split() for tool, marks in _TABLES["translation_plugins"].items()}  # on pages
ENCODINGS: dict[str, str] = _TABLES["encodings"]  # but Unicode, as chardet calls them, to their languages
LETTERS: dict[str, str] = _TABLES["letters"]  # beside ASCII, of languages in Latin script, lower case
LABELS_OF_ENCODINGS = {
    **by_word(_TABLES["labels"]),
    **{f"x_cp125{n}": f"cp125{n}" for n in range(9)},
    **{f"iso8859{n}": f"iso8859_{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15)},
}
"""Names of encodings on web pages (WHATWG, Encoding) that Python lacks, with underscores."""
