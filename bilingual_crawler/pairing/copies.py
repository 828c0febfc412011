"""Repetition on a site: copies of a document at other addresses, near-duplicates, boilerplate lines."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

import numpy as np

from bilingual_crawler.pairing.arrays import Hashes, Mask, Places
from bilingual_crawler.pairing.model import Profile
from bilingual_crawler.pairing.reading import link_key
from bilingual_crawler.pairing.resemblance import MENUS, PARAGRAPH, SAME_TEXT, SHORTEST, common_shares
from bilingual_crawler.pairing.urls import MAX_LENGTH_RATIO
from bilingual_crawler.urls.hosts import registered_domain

REPEATED = 5  # minimum documents of one language with a line for it to count as boilerplate
REPEATED_SHARE = 0.1  # the same as a share of these documents, 0 to 1
CANONICAL_TEXT = 0.5
"""Minimum share of a page and its ``rel=canonical`` in common for a copy: many pages name the home page."""
PERMUTATIONS = 64
BAND = 4  # values of a signature that must agree for two documents to be compared
NEAR_DUPLICATE_DOCUMENTS = 0.95  # minimum Jaccard similarity of the lines of two near-duplicates
EVERYWHERE = 0.9  # minimum share of the documents of one language, 0 to 1, with a line that belongs to no article
LOST = 4  # times the characters of its other lines that repeated lines have on an article that lists repeat


def merge_copies(
    side: Sequence[Profile], resolve: Callable[[str], str]
) -> tuple[list[Profile], dict[str, int], dict[str, str]]:
    """Leave out the documents of one language that name another one by ``rel=canonical`` and have its text.

    Returns the others, with the claims of their copies; the place of each link key, also of copies; and the URL of each
    copy to that of its document. *resolve* follows redirects of link keys.
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
    copies: defaultdict[str, list[Profile]] = defaultdict(list)
    for profile in side:
        if profile.url in document:
            copies[document[profile.url]].append(profile)
    kept = [_joined(profile, *copies[profile.url]) for profile in side if profile.url not in document]
    places = {profile.url: place for place, profile in enumerate(kept)}
    return kept, {link_key(p.url): places[document.get(p.url, p.url)] for p in side}, document


def _joined(*alike: Profile) -> Profile:
    """The first of *alike*, with the claims of all."""
    claims = dict.fromkeys(url for one in alike for url in one.claims)
    switches = dict.fromkeys(url for one in alike for url in one.switches)
    return replace(alike[0], claims=tuple(claims), switches=tuple(switches))


def main_lines(side: Sequence[Profile]) -> dict[str, Mask]:
    """Return a mask ``(lines,)`` of the main text, lines that are not boilerplate, for the URL of each document.

    Documents with the same title and lines count once: pages not translated yet, or not found, may differ by title.
    """
    sites: defaultdict[str, list[Profile]] = defaultdict(list)
    for profile in side:
        sites[registered_domain(profile.url)].append(profile)
    main: dict[str, Mask] = {}
    for pages in sites.values():
        found = ((page.title.tobytes(), np.unique(page.lines)) for page in pages)
        different = {(title, lines.tobytes()): lines for title, lines in found}
        lines, frequency = np.unique(np.concatenate(list(different.values())), return_counts=True)
        common = lines[frequency >= max(REPEATED, REPEATED_SHARE * len(different))]
        main.update((page.url, ~np.isin(page.lines, common)) for page in pages)
        main.update(_own_again(pages, main))
    return main


def own_length(profile: Profile, main: Mapping[str, Mask]) -> int:
    """Return the characters of the main text of a document."""
    return int(profile.lengths[main[profile.url]].sum())


def _own_again(pages: Sequence[Profile], main: Mapping[str, Mask]) -> Iterator[tuple[str, Mask]]:
    """Yield the masks of articles of which lists repeat so much that little else would be their own.

    A line belongs to the shortest page that has it. What most of its pages have beside a text of their own, or nearly
    all pages have, is furniture; what many pages have alike, and nothing else, is no article.
    """
    poor = [one for one in pages if one.lengths[~main[one.url]].sum() >= max(SHORTEST, LOST * own_length(one, main))]
    if not poor:
        return
    urls = {page.url for page in poor}
    repeating = [np.unique(page.lines[~main[page.url]]) for page in pages]
    votes = np.repeat([1 if page.url in urls else -1 for page in pages], list(map(len, repeating)))
    lines, index = np.unique(np.concatenate(repeating), return_inverse=True)
    lead = np.bincount(index, weights=votes)
    articles = lines[(lead >= 0) & (lead < EVERYWHERE * len(pages))]
    alike: defaultdict[tuple[int, bytes], list[tuple[Profile, Mask]]] = defaultdict(list)
    for page in poor:
        lost = ~main[page.url] & np.isin(page.lines, articles)
        alike[int(page.lengths[lost].sum()), np.unique(page.lines[lost]).tobytes()].append((page, lost))
    owned = np.zeros(0, dtype=np.uint32)
    for (_, own), found in sorted(alike.items(), key=itemgetter(0)):
        if len(found) < REPEATED:
            yield from ((page.url, main[page.url] | (lost & ~np.isin(page.lines, owned))) for page, lost in found)
            owned = np.union1d(owned, np.frombuffer(own, dtype=np.uint32))


def boilerplate(side: Sequence[Profile], main: Mapping[str, Mask]) -> Hashes:
    """Return the hashes of the lines of one side that are not in *main*, the masks of main text by URL."""
    return np.unique(np.concatenate([np.zeros(0, np.uint32), *(page.lines[~main[page.url]] for page in side)]))


def near_duplicates(side: Sequence[Profile], main: Mapping[str, Mask]) -> Places:
    """Return a group number for each document of one side, ``(documents,)``; *main* are the masks of main text."""
    long = [own_length(page, main) >= SHORTEST for page in side]
    groups = group_similar([p.lines[main[p.url] if is_long else []] for p, is_long in zip(side, long, strict=True)])
    first: dict[bytes, int] = {}
    for place, page in enumerate(side):
        if not long[place]:
            groups[place] = first.setdefault(page.title.tobytes() + page.lines.tobytes(), place)
    return groups


def objection(pages: tuple[Profile, Profile], main: Mapping[str, Mask]) -> str | None:
    """Say why two documents are no pair, whatever announces them, as a key of ``REASONS``; None if nothing is wrong."""
    own = [own_length(page, main) for page in pages]
    whole = [int(page.lengths.sum()) for page in pages]
    untitled = [int(page.lengths[main[page.url] & ~page.headings].sum()) for page in pages]
    for place in range(2):
        # a page that is not translated yet may show its title above the text that all such pages have
        is_title = not untitled[place] and untitled[1 - place] >= SHORTEST
        if (not own[place] or is_title) and whole[place] < MENUS:
            return "no_text"
    if max(whole) > MAX_LENGTH_RATIO * max(min(whole), 1):
        return "length"
    long = min(own) >= SHORTEST
    if not long and max(whole) >= MENUS:
        return None
    # what is the own text of one page may be furniture in the other language
    found = [_prose(page, main[page.url]) if long else _text(page) for page in pages]
    shares = [common_shares(text, _text(other))[0] for text, other in zip(found, pages[::-1], strict=True)]
    return "same_text" if min(shares) >= SAME_TEXT else None


def _prose(profile: Profile, main: Mask) -> dict[int, float]:
    """The paragraphs in the main text of a document; all of it if they are the lesser part."""
    paragraphs = main & (profile.lengths >= PARAGRAPH)
    most = 2 * int(profile.lengths[paragraphs].sum()) >= int(profile.lengths[main].sum())
    return _text(profile, paragraphs if most else main)


def _text(profile: Profile, main: Mask | slice = slice(None)) -> dict[int, float]:
    """The lines of a document, or those in its mask *main*, with their characters."""
    return dict(zip(profile.lines[main].tolist(), profile.lengths[main].tolist(), strict=True))


def group_similar(lines: Sequence[Hashes]) -> Places:
    """Return a group number for each document by its lines: MinHash with banding, then Jaccard; alone without lines."""
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
            if same and _jaccard(lines[first], lines[second]) >= NEAR_DUPLICATE_DOCUMENTS:
                groups[_root(groups, second)] = _root(groups, first)
    return np.array([_root(groups, place) for place in range(len(lines))], dtype=np.intp)


def _jaccard(one: Hashes, other: Hashes) -> float:
    return len(np.intersect1d(one, other)) / max(1, len(np.union1d(one, other)))


def _root(groups: Places, place: int) -> int:
    while groups[place] != place:
        groups[place] = groups[groups[place]]
        place = groups[place]
    return int(place)
