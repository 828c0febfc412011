"""The one form under which a URL is fetched, stored and compared (RFC 3986 section 6; no reordering of queries).
Variants of an address by request header or cookie have it, too: they end in a fragment, as in ``/page#!lang=spa``. No
server sees a fragment, so frontier, files and evidence know a variant as one more URL, whose mark is its language.
"""

import re
from functools import lru_cache
from urllib.parse import unquote

from bilingual_crawler.urls.hosts import normal_host, url_cache

MAX_LENGTH = 2000  # characters of the longest canonical URL; longer URLs never lead to documents

_SEGMENT = r"[A-Za-z0-9_~!$'()*,=@+-](?:[A-Za-z0-9_.~!$'()*,=@:+-]++|%[89A-F][0-9A-F])*+"
_PLAIN_PATH = rf"(?:{_SEGMENT}/)*+(?:{_SEGMENT})?+"
_VALUE = r"(?:[A-Za-z0-9_.~=,:@!*/+-]++|%[89A-F][0-9A-F])++"
_PLAIN_QUERY = rf"(\?{_VALUE}(?:&{_VALUE})*+)?+(?:#(?:[^!].*)?)?+"
# URLs that are canonical except for their fragment; all others take the slow path.
_PLAIN_ABSOLUTE = re.compile(rf"(https?://)([a-z0-9][a-z0-9.-]*+)(/{_PLAIN_PATH})?+{_PLAIN_QUERY}")
_PLAIN_RELATIVE = re.compile(rf"(/|(?:\.\./)++|\./)?+({_PLAIN_PATH}){_PLAIN_QUERY}")
_SLASHES = frozenset(("//", "\\\\", "/\\", "\\/"))
_HTTP = frozenset(("http:", "https:"))
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AMPERSAND = re.compile(r"&(?:amp;)+", re.IGNORECASE)
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_STRIP = "".join(map(chr, range(0x21)))
_REMOVED = str.maketrans("", "", "\t\n\r")
_PATH = re.compile(r"[^A-Za-z0-9._~!$&'()*+,;=:@/%-]+")
_QUERY = re.compile(r"[^A-Za-z0-9._~!$&'()*+,;=:@/?%\[\]|-]+")
_PARAMETER = re.compile(r";(?:jsessionid|phpsessid|sessionid|aspsessionid\w*)=[^/;?]*", re.IGNORECASE)
_TRACKER = re.compile(
    r"(?:utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|igshid|mc_[ce]id|_hs(?:enc|mi)|_ga|_gl"
    r"|phpsessid|jsessionid|aspsessionid\w*|sessionid|session_id|zenid|oscsid|cftoken|(?:s|sess)id=[0-9a-f]{16,}.*)"
    r"(?:=.*)?",
    re.IGNORECASE,
)
_VARIANT = re.compile(r"#!lang=([a-z]{3}(?:_[A-Z][a-z]{3})?)\Z")
_COLD_FUSION = re.compile(r"(?:^|&)cftoken=", re.IGNORECASE)  # beside it, `CFID` is that of a session
_MAY_TRACK = re.compile(r"utm_|clk?id|gclsrc|braid|igshid|mc_|_hs|_g|sess|sid|zenid|cftoken", re.IGNORECASE)


def canonicalise(url: str, base: str | None = None) -> str | None:
    """Absolute canonical http(s) URL of *url*, resolved against *base*; None if it is no http(s) URL. Idempotent.
    Fragments (not ``#!``), user names, default ports, tracking parameters and session ids are removed. The query keeps
    its order and every language parameter. Escapes are in upper case, other characters in UTF-8.
    """
    url = url.strip(_STRIP)
    if len(url) > 2 * MAX_LENGTH:
        return None
    if match := _SCHEME.match(url):
        scheme, rest = match[0].lower(), url[match.end() :]
        # browsers resolve `http:page` and `http:/page` on a page of http
        if base is None or rest[:2] in _SLASHES or scheme not in _HTTP or not base.lower().startswith(scheme):
            return _absolute(url)
        url = rest
    if base is None:
        return None
    root, directory, page = _base(base)
    if not root:
        return None
    plain = _PLAIN_RELATIVE.fullmatch(url)
    if plain is None:
        return _absolute(_join(url.translate(_REMOVED), root, directory, page))
    start, path, query = plain.groups()
    if query is None:
        query = ""
        if not path and start is None:
            return page
    elif _MAY_TRACK.search(query):
        return _absolute(_join(url, root, directory, page))
    if start is None:
        joined = f"{directory}{path}{query}" if path else f"{page.partition('?')[0]}{query}"
    elif start == "/":
        joined = f"{root}/{path}{query}"
    else:
        for _ in range(start.count("..")):
            directory = directory[: directory.rfind("/", len(root), -1) + 1] or f"{root}/"
        joined = f"{directory}{path}{query}"
    return joined if len(joined) <= MAX_LENGTH else None


@lru_cache(maxsize=512)
def _base(base: str) -> tuple[str, str, str]:
    """Canonical base in three forms: ``https://host``, up to its last slash, and whole; empty if *base* is no URL."""
    page = (_absolute(base.strip(_STRIP)) or "").partition("#")[0]
    if not page:
        return "", "", ""
    path = page.partition("?")[0]
    return page[: page.index("/", 8)], path[: path.rindex("/") + 1], page


def _join(url: str, root: str, directory: str, page: str) -> str:
    first = url[:1]
    if url[:2] in _SLASHES:
        return root.partition("//")[0] + url
    if first in ("/", "\\"):
        return root + url
    if first == "?":
        return page.partition("?")[0] + url
    return page + url if first == "#" else directory + url


@url_cache(65536)
def _absolute(url: str) -> str | None:
    plain = _PLAIN_ABSOLUTE.fullmatch(url)
    if plain is None or (plain[4] and _MAY_TRACK.search(plain[4])):
        return _slow(url.translate(_REMOVED))
    host = normal_host(plain[2])
    if host is None:
        return None
    result = f"{plain[1]}{host}{plain[3] or '/'}{plain[4] or ''}"
    return result if len(result) <= MAX_LENGTH else None


def _slow(url: str) -> str | None:
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if scheme not in ("http", "https"):
        return None
    rest, hash_sign, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    rest = rest.replace("\\", "/")
    if not rest.startswith("/"):
        return None
    authority, slash, path = rest.lstrip("/").partition("/")
    server = _server(authority, scheme)
    if server is None:
        return None
    path = _remove_dots(_escape(_PARAMETER.sub("", slash + path), _PATH)) or "/"
    query = _clean_query(query)
    fragment = _escape(fragment, _QUERY) if hash_sign and fragment.startswith("!") else ""
    result = f"{scheme}://{server}{path}{'?' + query if query else ''}{'#' + fragment if fragment else ''}"
    return result if len(result) <= MAX_LENGTH else None


def _server(authority: str, scheme: str) -> str | None:
    """Host, and port unless it is the default of the scheme; None if invalid."""
    host = authority.rpartition("@")[2]
    port = ""
    if not host.endswith("]") and ":" in host:
        host, _, port = host.rpartition(":")
    known = normal_host(unquote(host) if "%" in host else host)
    if known is None or not ((port.isdigit() and port.isascii()) or not port):
        return None
    number = int(port or 0)
    if number > 65535 or (port and not number):
        return None
    return known if number in (0, 443 if scheme == "https" else 80) else f"{known}:{number}"


def _clean_query(query: str) -> str:
    if not query:
        return ""
    query = _AMPERSAND.sub("&", query)
    kept = [part for part in query.split("&") if part and not _TRACKER.fullmatch(part)]
    if _COLD_FUSION.search(query):
        kept = [part for part in kept if not part.lower().startswith("cfid=")]
    return _escape("&".join(kept), _QUERY)


def _escape(text: str, illegal: re.Pattern[str]) -> str:
    """*text* with escapes in upper case, none for unreserved characters, and one for each illegal byte."""
    if "%" in text:
        text = _ESCAPE.sub(_normal_escape, text)
    return illegal.sub(lambda m: "".join(f"%{b:02X}" for b in m[0].encode("utf-8", "replace")), text)


def _normal_escape(match: re.Match[str]) -> str:
    if match[1] is None:
        return "%25"
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else match[0].upper()


def _remove_dots(path: str) -> str:
    """RFC 3986 section 5.2.4."""
    if "/." not in path:
        return path
    kept: list[str] = []
    parts = path.split("/")[1:]
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part != ".":
            kept.append(part)
    return "/" + "/".join([*kept, ""] if parts[-1] in (".", "..") else kept)


def variant(url: str, language: str) -> str:
    """The variant of *url* in *language* (ISO 639-3), without another fragment."""
    return f"{url.partition('#')[0]}#!lang={language}"


def asked_language(url: str) -> str | None:
    """The language in which the variant *url* is asked for (ISO 639-3); None if *url* is no variant."""
    found = _VARIANT.search(url)
    return found[1] if found else None


def bare(url: str) -> str:
    """The address of *url*, which all its variants share."""
    return _VARIANT.sub("", url)


def linked(href: str, base: str) -> str | None:
    """The canonical http(s) URL, never a variant, to which *href* leads from *base*; or None."""
    url = canonicalise(href, base)
    return bare(url) if url else None
