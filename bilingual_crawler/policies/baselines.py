"""Crawls in the order of discovery: the baselines of García-Romero 2026, section 5."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import ClassVar

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.languages.codes import LanguagePair, may_be
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.policies.base import Policy, Scores
from bilingual_crawler.urls.marks import marked_language, strip_language


class BreadthFirst(Policy):
    """Order of discovery, every page expanded (Heritrix)."""

    name = "bfs"

    def expands(self, page: PageRecord) -> bool:
        return True

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        return [0.0] * len(links)


class LanguageBreadthFirst(BreadthFirst):
    """Order of discovery, only seeds and pages in one of the two languages expanded (Heritrix + CLD2)."""

    name = "cld2"

    def expands(self, page: PageRecord) -> bool:
        return page.side is not None or page.seed


class DepthFirst(BreadthFirst):
    """The links of the page fetched last come first."""

    name = "dfs"

    def __init__(self, pair: LanguagePair) -> None:
        super().__init__(pair)
        self._pages = 0

    def observe_page(self, page: PageRecord, links: Sequence[Link], partner: str | None = None) -> None:
        self._pages += 1

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        return [float(self._pages)] * len(links)


class Random(BreadthFirst):
    """Every URL has a random place, the same in every run."""

    name = "random"

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        return [int.from_bytes(blake2b(link.url.encode(), digest_size=6).digest()) / (1 << 48) for link in links]


LEVELS = 3  # levels below the home page; pages of the last are fetched only if their URL is in a candidate pair
SIMILARITY = 0.85
_BREADTH, _LAST = 0.0, -1.0


class _Similar:
    """Each URL of a first list with the most similar one of a second, by Levenshtein similarity."""

    def __init__(self, pair: LanguagePair) -> None:
        self._urls: tuple[list[str], list[str]] = [], []
        self._normal: tuple[list[str], list[str]] = [], []
        self._best: dict[str, tuple[float, str]] = {}
        """By URL of the first list."""
        self._chosen: Counter[str] = Counter()  # how many URLs have one of the second list as their best

    def add(self, side: int, url: str) -> set[str]:
        """*url* belongs to the first list (0) or to the second (1). Returns the URLs whose best one changes."""
        normal, touched = _normal(url), set[str]()
        self._urls[side].append(url)
        self._normal[side].append(normal)
        others, scorer = self._urls[1 - side], Levenshtein.normalized_similarity
        alike = process.extract(normal, self._normal[1 - side], scorer=scorer, score_cutoff=SIMILARITY, limit=None)
        for _, score, number in alike:
            first, second = (others[number], url) if side else (url, others[number])
            best, former = self._best.get(first, (0.0, ""))
            if score > best:
                self._best[first] = score, second
                self._chosen[second] += 1
                self._chosen[former] -= 1
                touched |= {first, second}
        return touched

    def __contains__(self, url: str) -> bool:
        return url in self._best or self._chosen[url] > 0


def _normal(url: str) -> str:
    for noise in ("http", "www", "index"):
        url = url.replace(noise, "")
    return url


class _Equal:
    """URLs of two lists that are equal but for the language they name; methods as of :class:`_Similar`."""

    def __init__(self, pair: LanguagePair) -> None:
        self._languages = pair.languages
        self._by_key: defaultdict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))

    def add(self, side: int, url: str) -> set[str]:
        first, second = lists = self._by_key[strip_language(url, self._languages)]
        lists[side].add(url)
        return first | second

    def __contains__(self, url: str) -> bool:
        first, second = self._by_key.get(strip_language(url, self._languages), ((), ()))
        return bool(first and second) and (url in first or url in second)


class LevelWise(Policy):
    """Breadth first through all levels but the last, whose URLs wait until the rest is done.

    Then URLs are sorted by the language that they name; the unknown ones replace an empty list. URLs of the last level
    in no candidate pair are not fetched, but wait for what is found later. URLs of a third language are never fetched.
    """

    kind: ClassVar[type[_Similar | _Equal]]

    def __init__(self, pair: LanguagePair) -> None:
        super().__init__(pair)
        self._levels: dict[str, int] = {}  # URL -> links from a seed to it, on the shortest path
        self._new: list[str] = []  # URLs found since candidates were looked for last
        self._by_side: defaultdict[str | None, list[str]] = defaultdict(list)
        self._named: list[str] = []
        self._candidates = self.kind(pair)
        self._stands_for: dict[str, str] = {}
        """Target of a redirect -> the URL that was found."""
        self._refused: set[str] = set()  # URLs of the last level that were in no candidate pair when their turn came
        self._changed: set[str] = set()

    def expands(self, page: PageRecord) -> bool:
        return page.depth < LEVELS

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        return [self._found(link.url, page.depth + 1) for link in links]

    def observe_page(self, page: PageRecord, links: Sequence[Link], partner: str | None = None) -> None:
        if page.depth and page.url not in self._stands_for:
            self._found(page.url, page.depth)
        else:
            self._levels[page.url] = page.depth

    def observe_links(self, page: PageRecord, links: Sequence[Link]) -> None:
        level = self._levels.get(page.url, page.depth) + 1
        for link in links:
            self._found(link.url, level)

    def resume(self, queued: Iterable[str]) -> None:
        self._refused.update(url for url in queued if self._levels.get(url, 0) >= LEVELS)

    def observe_redirect(self, url: str, target: str) -> None:
        self._stands_for[target] = self._stands_for.get(url, url)

    def reconsider(self, url: str, priority: float) -> float:
        if priority != _LAST:
            return priority
        self._look()
        if url in self._candidates or self._stands_for.get(url, url) in self._candidates:
            return _LAST
        self._refused.add(url)
        return NEVER

    def changed(self) -> Mapping[str, float]:
        if self._refused:
            self._look()
        changed, self._changed = self._changed, set()
        return dict.fromkeys(changed, _LAST)

    def _found(self, url: str, level: int) -> float:
        """A link leads to *url*; returns its priority."""
        known = self._levels.get(url)
        self._levels[url] = level = level if known is None else min(level, known)
        language = marked_language(url)
        if language is not None and self.pair.side(language) is None:
            return NEVER
        if known is None:
            self._new.append(url)
        return _BREADTH if level < LEVELS else _LAST

    def _look(self) -> None:
        """Look for candidates among the new URLs, and raise those that were refused for want of them."""
        added: defaultdict[str | None, list[str]] = defaultdict(list)
        for url in self._new:
            added[self.pair.side(marked_language(url) or "")].append(url)
        self._new.clear()
        for side, urls in added.items():
            self._by_side[side] += urls
        sides = self.pair.a, self.pair.b
        named = [side for side in sides if self._by_side[side]]
        if named != self._named:
            self._named, self._candidates, added = named, self.kind(self.pair), self._by_side
        if named:
            for number, side in enumerate(sides):
                urls = added[side if side in named else None]
                for url in set[str]().union(*[self._candidates.add(number, url) for url in urls]):
                    if url in self._refused and url in self._candidates:
                        self._refused.discard(url)
                        self._changed.add(url)


class PPLocator(LevelWise):
    """The most similar URL in the other language, by Levenshtein similarity of at least .85."""

    name = "pplocator"
    kind = _Similar


class ParallelTextIdentification(LevelWise):
    """URLs that are equal but for the language they name (PTI, the baseline of the same paper)."""

    name = "pti"
    kind = _Equal


MIN_ANCHOR_TOKENS = 4


class Ilsp(LanguageBreadthFirst):
    """Points for what a link says; only seeds and pages of the pair are expanded.

    2 for ``hreflang`` in the pair, 1 for that of its page, 2 for a language switch, 1 for an anchor text in the other
    language, 2 for a language named in the URL.
    """

    name = "ilsp"

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        return [self._points(page, link) for link in links]

    def _points(self, page: PageRecord, link: Link) -> float:
        points = 0.0
        if link.hreflang and link.hreflang != "x-default":
            points += 1 if may_be(link.hreflang, page.language) else 2 * bool(self.pair.side(link.hreflang))
        if page.side and link.label:
            points += 2 * bool(self.pair.side(link.label))
        if page.side and len(link.text.split()) >= MIN_ANCHOR_TOKENS:
            points += self.pair.side(BY_DEFAULT.identify(link.text).language) == self.pair.other(page.side)
        return points + 2 * bool(self.pair.side(marked_language(link.url) or ""))


class Smart(LanguageBreadthFirst):
    """p(link is in the other language) x p(page and link are translations); pages of the pair and seeds expanded."""

    name = "smart"
    needs_models = True

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        return [0.0] * len(links) if scores is None else [score.language * score.parallel for score in scores]


class Oracle(BreadthFirst):
    """Follows the list of URLs *order*; the rest comes after."""

    name = "oracle"

    def __init__(self, pair: LanguagePair, order: Sequence[str]) -> None:
        super().__init__(pair)
        self._priority = {url: float(len(order) - rank) for rank, url in enumerate(order)}

    def seed_priority(self, url: str) -> float:
        return self._priority.get(url, 0.0)

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        return [self._priority.get(link.url, 0.0) for link in links]
