"""Hard negatives as in crawls: pages that look like the translation but are not.

All are derived from one positive pair (u, v) by rewriting a URL as sites do.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from bilingual_crawler.urls.model_input import LANGUAGE_OF
from training.parallelness.negatives import Negative, clusters, split_resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NUMBER = re.compile(r"\d+")
PAGES = (
    "?page={n}",
    "/page/{n}",
    "/page/{n}/",
    "?p={n}",
    "?paged={n}",
    "?start={n}0",
    "/p{n}",
    "?offset={n}0",
    "#page-{n}",
)
SAME = (
    "?print=1",
    "?format=print",
    "#content",
    "#comments",
    "#top",
    "?share=facebook",
    "?replytocom=12",
    "?PHPSESSID=1f3a",
    "index.html",
    "?amp=1",
    "?output=pdf",
    "?sort=date",
    "feed/",
    "amp/",
    "?action=edit",
    "?oldid=71",
    "#respond",
)
DETOURS = (
    "/login?return={path}",
    "/search?q={word}",
    "/user/login?destination={path}",
    "/share?url={path}",
    "/rss.xml",
    "/sitemap.html",
    "/contact",
    "/feed/",
    "/tag/{word}",
    "/author/{word}",
    "/category/{word}/",
)


def hard_negatives(pairs: Iterable[tuple[str, str]], per_pair: int = 4, seed: int = 71213) -> list[Negative]:
    """Up to `per_pair` rewritten negatives per positive, of kinds drawn at random; never two URLs of one document."""
    rng = random.Random(seed)
    positives = list(dict.fromkeys(pairs))
    document = clusters(positives)
    found: dict[tuple[str, str], str] = {}
    for u, v in positives:
        for kind in rng.sample(list(KINDS), min(per_pair, len(KINDS))):
            a, b = (u, v) if rng.random() < 0.5 else (v, u)
            for x, y in KINDS[kind](a, b, rng):
                if x != y and not (x in document and document[x] == document.get(y)):
                    found.setdefault((x, y), kind)
    return [Negative(a, b, kind) for (a, b), kind in found.items()]


def _same_document(u: str, v: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """The same page under another address."""
    if rng.random() < 0.3:
        yield (u, u.replace("://www.", "://", 1)) if "://www." in u else (u, u.replace("://", "://www.", 1))
    else:
        yield u, _append(u, rng.choice(SAME))


def _identical(u: str, v: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """The same address with another scheme or final slash; equal to the model."""
    yield (
        u,
        u.replace("http://", "https://", 1) if u.startswith("http://") else u.replace("https://", "http://", 1),
    )


def _pagination(u: str, v: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """A further page of the page itself or of its translation."""
    suffix = rng.choice(PAGES).format(n=rng.randint(2, 12))
    yield u, _append(rng.choice((u, v)), suffix)


def _other_number(u: str, v: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """The translation of a neighbour: one number of the resource differs."""
    authority, resource = split_resource(v)
    numbers = list(NUMBER.finditer(resource))
    if not numbers:
        return
    match = rng.choice(numbers)
    old = match[0]
    value = int(old[-9:])
    new = value + rng.choice((-2, -1, 1, 2, 7)) if rng.random() < 0.5 else rng.randrange(10 ** len(old[-9:]))
    text = str(abs(new)).zfill(len(old)) if old.startswith("0") else str(abs(new))
    if text != old:
        yield u, authority + resource[: match.start()] + text + resource[match.end() :]


def _nesting(u: str, v: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Nested language directories, as relative switcher links make them (``/en/is/…``)."""
    marks = [segment for segment in _segments(u) + _segments(v) if segment.lower() in LANGUAGE_OF]
    authority, resource = split_resource(v)
    if marks and any(segment.lower() in LANGUAGE_OF for segment in _segments(v)):
        yield u, f"{authority}/{rng.choice(marks)}{resource}"


def _child(u: str, v: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """A page below the translation."""
    words = [*_segments(u), "news", "2", "details", "about", "gallery"]
    yield u, v.rstrip("/").split("?")[0].split("#")[0] + "/" + rng.choice(words)


def _parent(u: str, v: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """A page above the translation: a section, or the home page of the other language."""
    authority, _resource = split_resource(v)
    segments = _segments(v)
    if len(segments) > 1:
        kept = segments[: rng.randrange(1, len(segments))] if rng.random() < 0.6 else segments[:1]
        yield u, authority + "/" + "/".join(kept) + "/"


def _detour(u: str, v: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """A service page that every page links to."""
    authority, resource = split_resource(rng.choice((u, v)))
    words = [segment for segment in _segments(u) if segment.isalpha()] or ["news"]
    yield u, authority + rng.choice(DETOURS).format(path=resource or "/", word=rng.choice(words))


KINDS = {
    "same-document": _same_document,
    "identical": _identical,
    "pagination": _pagination,
    "other-number": _other_number,
    "nesting": _nesting,
    "child": _child,
    "parent": _parent,
    "detour": _detour,
}


def _segments(url: str) -> list[str]:
    return [segment for segment in split_resource(url)[1].split("?")[0].split("#")[0].split("/") if segment]


def _append(url: str, suffix: str) -> str:
    if suffix.startswith("?"):
        base, _, _ = url.partition("#")
        return base + ("&" + suffix[1:] if "?" in base else suffix)
    if suffix.startswith("#"):
        return url.partition("#")[0] + suffix
    return url.partition("?")[0].rstrip("/") + "/" + suffix.lstrip("/")
