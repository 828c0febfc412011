"""Repetition on a site: copies of a document at other addresses, near-duplicates, boilerplate lines."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bilingual_crawler.pairing.reading import link_key
from bilingual_crawler.pairing.resemblance import MENUS, PARAGRAPH, SAME_TEXT, SHORTEST, common_shares
from bilingual_crawler.pairing.urls import MAX_LENGTH_RATIO
from bilingual_crawler.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bilingual_crawler.pairing.arrays import Hashes, Mask, Places
    from bilingual_crawler.pairing.model import Profile

REPEATED = 5
"""Minimum documents of one language with a line for it to count as boilerplate."""
REPEATED_SHARE = 0.1
"""The same as a share of these documents, 0 to 1."""
CANONICAL_TEXT = 0.5
"""Minimum share of a page, and of the page that its ``rel=canonical`` names, in common for a copy.

Many sites name their home page, or the original of a translation, on every page.
"""
PERMUTATIONS = 64
BAND = 4
"""Values of a signature that must agree for two documents to be compared."""
NEAR_DUPLICATE_DOCUMENTS = 0.95
"""Minimum Jaccard similarity of the lines of two near-duplicates."""
EVERYWHERE = 0.9
"""Minimum share of the documents of one language, 0 to 1, with a line that belongs to no article."""
LOST = 4
"""Times the characters of its other lines that repeated lines have on an article that lists repeat."""


def merge_copies(
    side: Sequence[Profile], resolve: Callable[[str], str]
) -> tuple[list[Profile], dict[str, int], dict[str, str]]:
    """Leave out the documents of one language that name another one by ``rel=canonical`` and have its text.

    Returns the others, which announce what their copies announce; the place of each link key, also of copies; and
    the URL of each copy to that of its document. *resolve* follows redirects of link keys.
    """
    by_key = {link_key(profile.url): profile for profile in side}
    document: dict[str, str] = {}
    for profile in side:
        target = by_key.get(resolve(link_key(profile.canonical))) if profile.canonical else None
        if target is None or target is profile or target.url in document:
            continue
        if min(common_shares(_text(profile), _text(target))) >= CANONICAL_TEXT:
            document[profile.url] = target.url
    # what is a document may itself have turned out to be a copy
    document = {url: target for url, target in document.items() if target not in document}
    announced: defaultdict[str, list[Profile]] = defaultdict(list)
    for profile in side:
        if profile.url in document:
            announced[document[profile.url]].append(profile)
    kept = [_joined(profile, announced[profile.url]) for profile in side if profile.url not in document]
    places = {profile.url: place for place, profile in enumerate(kept)}
    return kept, {link_key(p.url): places[document.get(p.url, p.url)] for p in side}, document


def _joined(profile: Profile, copies: Sequence[Profile]) -> Profile:
    if not copies:
        return profile
    alike = (profile, *copies)
    claims = dict.fromkeys(url for one in alike for url in one.claims)
    switches = dict.fromkeys(url for one in alike for url in one.switches)
    return replace(profile, claims=tuple(claims), switches=tuple(switches))


def main_lines(side: Sequence[Profile]) -> list[Mask]:
    """Return, for each document of one side, a mask ``(lines,)`` of main text: lines that are not boilerplate.

    Documents with the same title and lines count once. Of a page that is not translated yet, or not found, only the
    title may be its own.
    """
    sites: defaultdict[str, list[int]] = defaultdict(list)
    for place, profile in enumerate(side):
        sites[registered_domain(profile.url)].append(place)
    main: dict[int, Mask] = {}
    for places in sites.values():
        found = ((side[place].title.tobytes(), np.unique(side[place].lines)) for place in places)
        different = {(title, lines.tobytes()): lines for title, lines in found}
        lines, frequency = np.unique(np.concatenate(list(different.values())), return_counts=True)
        common = lines[frequency >= max(REPEATED, REPEATED_SHARE * len(different))]
        main.update((place, ~np.isin(side[place].lines, common)) for place in places)
        main.update(_own_again({place: side[place] for place in places}, main))
    return [main[place] for place in range(len(side))]


def _own_again(pages: Mapping[int, Profile], main: Mapping[int, Mask]) -> Iterator[tuple[int, Mask]]:
    """Yield the masks of articles of which lists repeat so much that little else would be their own.

    A line belongs to the shortest page that has it. What most of its pages have beside a text of their own, or nearly
    all pages have, is furniture; what many pages have alike, and nothing else, is no article.
    """
    poor = {
        place
        for place, profile in pages.items()
        if profile.lengths[~main[place]].sum() >= max(SHORTEST, LOST * int(profile.lengths[main[place]].sum()))
    }
    if not poor:
        return
    repeating = [np.unique(profile.lines[~main[place]]) for place, profile in pages.items()]
    votes = np.repeat([1 if place in poor else -1 for place in pages], list(map(len, repeating)))
    lines, index = np.unique(np.concatenate(repeating), return_inverse=True)
    lead = np.bincount(index, weights=votes)
    articles = lines[(lead >= 0) & (lead < EVERYWHERE * len(pages))]
    lost = {place: ~main[place] & np.isin(pages[place].lines, articles) for place in poor}
    alike: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)
    for place, repeated in lost.items():
        profile = pages[place]
        alike[int(profile.lengths[repeated].sum()), np.unique(profile.lines[repeated]).tobytes()].append(place)
    owned = np.zeros(0, dtype=np.uint32)
    for (_, own), places in sorted(alike.items()):
        if len(places) < REPEATED:
            yield from ((place, main[place] | (lost[place] & ~np.isin(pages[place].lines, owned))) for place in places)
            owned = np.union1d(owned, np.frombuffer(own, dtype=np.uint32))


def boilerplate(side: Sequence[Profile], main: Sequence[Mask]) -> Hashes:
    """Return the hashes of the lines of one side that are not in *main*, the masks of main text."""
    found = [profile.lines[~kept] for profile, kept in zip(side, main, strict=True)]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.uint32)


def near_duplicates(side: Sequence[Profile], main: Sequence[Mask]) -> Places:
    """Return a group number for each document of one side, ``(documents,)``; *main* are the masks of main text."""
    lines, wholes = [], []
    for profile, kept in zip(side, main, strict=True):
        long = int(profile.lengths[kept].sum()) >= SHORTEST
        lines.append(profile.lines[kept] if long else profile.lines[:0])
        wholes.append(b"" if long else profile.title.tobytes() + profile.lines.tobytes())
    groups = group_similar(lines)
    first: dict[bytes, int] = {}
    for place, whole in enumerate(wholes):
        if whole:
            groups[place] = first.setdefault(whole, place)
    return groups


def objection(one: Profile, main_one: Mask, other: Profile, main_other: Mask) -> str | None:
    """Say why two documents are no pair, whatever announces them, as a key of ``REASONS``; None if nothing is wrong."""
    sides = (one, main_one), (other, main_other)
    own = [int(profile.lengths[kept].sum()) for profile, kept in sides]
    whole = [int(profile.lengths.sum()) for profile, _ in sides]
    untitled = [int(profile.lengths[kept & ~profile.headings].sum()) for profile, kept in sides]
    for place in range(2):
        # a page that is not translated yet may show its title above the text that all such pages have
        is_title = not untitled[place] and untitled[1 - place] >= SHORTEST
        if (not own[place] or is_title) and whole[place] < MENUS:
            return "no_text"
    if max(whole) > MAX_LENGTH_RATIO * max(min(whole), 1):
        return "length"
    # what is the own text of one page may be furniture in the other language
    long = min(own) >= SHORTEST
    texts = [
        (_prose(first, kept) if long else _text(first), _text(second))
        for (first, kept), (second, _) in (sides, sides[::-1])
    ]
    same = (long or max(whole) < MENUS) and min(common_shares(*pair)[0] for pair in texts) >= SAME_TEXT
    return "same_text" if same else None


def _prose(profile: Profile, main: Mask) -> dict[int, float]:
    """The paragraphs in the main text of a document; all of it if they are the lesser part."""
    paragraphs = main & (profile.lengths >= PARAGRAPH)
    most = 2 * int(profile.lengths[paragraphs].sum()) >= int(profile.lengths[main].sum())
    return _text(profile, paragraphs if most else main)


def _text(profile: Profile, main: Mask | slice = slice(None)) -> dict[int, float]:
    """The lines of a document, or those in its mask *main*, with their characters."""
    return dict(zip(profile.lines[main].tolist(), profile.lengths[main].tolist(), strict=True))


def group_similar(lines: Sequence[Hashes]) -> Places:
    """Return a group number for each document, by the hashes of its lines: MinHash with banding, then Jaccard.

    A document without lines is alone in its group.
    """
    random = np.random.default_rng(1)
    factors = random.integers(1, 1 << 61, PERMUTATIONS, dtype=np.uint64) | np.uint64(1)
    offsets = random.integers(0, 1 << 61, PERMUTATIONS, dtype=np.uint64)
    signatures = np.empty((len(lines), PERMUTATIONS), dtype=np.uint32)
    for row, one in enumerate(lines):
        if len(one):
            mixed = one.astype(np.uint64)[:, None] * factors + offsets
            signatures[row] = (mixed >> np.uint64(32)).min(axis=0)
        else:
            signatures[row] = random.integers(0, 1 << 32, PERMUTATIONS, dtype=np.uint32)
    groups = np.arange(len(lines))
    for start in range(0, PERMUTATIONS, BAND):
        band = np.ascontiguousarray(signatures[:, start : start + BAND]).view(f"V{4 * BAND}").ravel()
        order = np.argsort(band, kind="stable")
        for first, second in itertools.pairwise(order):
            same = band[first] == band[second] and _root(groups, first) != _root(groups, second)
            if same and jaccard(lines[first], lines[second]) >= NEAR_DUPLICATE_DOCUMENTS:
                groups[_root(groups, second)] = _root(groups, first)
    return np.array([_root(groups, place) for place in range(len(lines))], dtype=np.intp)


def jaccard(one: Hashes, other: Hashes) -> float:
    """How many of the tokens of two documents are in both, 0 to 1."""
    common = len(np.intersect1d(one, other))
    return common / max(1, len(np.union1d(one, other)))


def _root(groups: Places, place: int) -> int:
    while groups[place] != place:
        groups[place] = groups[groups[place]]
        place = groups[place]
    return int(place)
