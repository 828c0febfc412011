"""The formats of documents: what addresses and media types say about them."""

import re

from bilingual_crawler.languages.codes import tag_language
from bilingual_crawler.pages.tables import NOT_PAGES

HTML, PDF = "html", "pdf"
FORMATS = (HTML, PDF)  # formats that can be read
ONLY_HTML = frozenset((HTML,))
_MEDIA_TYPES = {HTML: ("text/html", "application/xhtml+xml"), PDF: ("application/pdf", "application/x-pdf")}
_ANY_FILE = ("application/octet-stream", "binary/octet-stream", "application/force-download")

_PAGE_BEFORE_LANGUAGE = re.compile(r"\.(?:x|s|p)?html?$|\.php$")
_PROGRAM_ENDINGS = frozenset(("class", "css", "exe", "js", "json", "mjs", "py", "so", "yaml"))
_WIKIS = frozenset(("wiki", "w", "index.php"))  # folders of articles
_FILES = frozenset(("images", "skins", "resources", "extensions"))  # folders of a wiki without articles


def ending_of(url: str) -> str:
    """The ending of the file name in a canonical URL, in lower case; empty if it has none.

    The language in ``page.html.so`` is no ending, nor is that of a wiki's article on Node.js.
    """
    path = url.partition("#")[0].partition("?")[0]
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    if not dot or not stem:
        return ""
    ending = ending.lower()
    if len(ending) == 2 and ending in NOT_PAGES and _PAGE_BEFORE_LANGUAGE.search(stem.lower()) and tag_language(ending):
        return ""
    return "" if ending in _PROGRAM_ENDINGS and _is_title(path) else ending


def _is_title(path: str) -> bool:
    """Whether *path* ends in the title of a wiki's article: it begins with no small letter, and is no file (``:``)."""
    folders, name = path.partition("://")[2].split("/")[1:-1], path.rpartition("/")[2]
    is_article = not _WIKIS.isdisjoint(folders) and _FILES.isdisjoint(folders)
    return is_article and not name[0].islower() and ":" not in name


def may_hold(url: str, formats: frozenset[str] = ONLY_HTML) -> bool:
    """Whether a canonical URL may lead to an HTML page, or to a document in one of *formats*, by its ending."""
    ending = ending_of(url)
    return ending not in NOT_PAGES or ending in formats


def format_of(content_type: str | None, url: str) -> str | None:
    """The format of a response by its ``Content-Type``, or its URL if that may be any file; None if unreadable."""
    given = content_type.lower() if content_type else "text/html"
    if given.startswith(_ANY_FILE):
        return PDF if ending_of(url) == PDF else None
    return next((name for name, types in _MEDIA_TYPES.items() if given.startswith(types)), None)
