"""Frozen sites of the harvest benchmark: tasks, link graph, gold pairs, orphans, redirects; verdicts on pairs."""

from __future__ import annotations

import csv
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from bilingual_crawler.languages.codes import LanguageError, from_bcp47, parse_language
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.storage.archive import Redirect, open_archive, open_warc
from bilingual_crawler.storage.files import DAMAGE
from bilingual_crawler.storage.sites import find_sources, read_table
from bilingual_crawler.storage.warc import ArchivedResponse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bilingual_crawler.items import Pair
    from bilingual_crawler.storage.archive import Archive

Partners: TypeAlias = Mapping[str, Set[str]]


class SiteError(ValueError):
    """An invalid folder of a benchmark site, or list of tasks."""


@dataclass(frozen=True, slots=True)
class Task:
    """One language pair of one site, harvested by one benchmark crawl."""

    site: str
    lang_a: str
    lang_b: str
    seeds: tuple[str, ...]

    @property
    def pair(self) -> str:
        return f"{self.lang_a}-{self.lang_b}"

    def __str__(self) -> str:
        return f"{self.site}.{self.pair}"


@dataclass(frozen=True, slots=True)
class GoldPair:
    """Two pages known to be translations of each other; languages are ISO 639-3."""

    url_a: str
    lang_a: str
    url_b: str
    lang_b: str


CERTAIN_SCORE = 0.9  # score from which a false pair counts as one that claims to be certain
MIN_PAIRS_OF_TASK = 5  # gold pairs, or judged pairs, from which a task can be the worst one


class PairVerdict(StrEnum):
    """Whether a pair is right; unjudged if it touches neither gold nor an orphan, and nobody has read it."""

    RIGHT = "right"
    FALSE = "false"
    UNJUDGED = "unjudged"


@dataclass(frozen=True)
class Truth:
    """What is known of the documents in the two languages of a task."""

    gold: frozenset[tuple[str, str]]
    """URLs of translations, that in the first language first."""
    orphans: frozenset[str] = frozenset()
    """URLs of documents without a translation: each pair with one of them is false."""
    reachable: frozenset[str] | None = None
    """URLs that can be found, so that recall and the share of orphans count no others; None: all."""
    false: frozenset[tuple[str, str]] = frozenset()
    """Pairs that a reader has called wrong."""
    undecided: frozenset[tuple[str, str]] = frozenset()
    """Pairs that a reader has called neither right nor wrong."""

    @cached_property
    def _known(self) -> frozenset[str]:
        return self.orphans.union(chain.from_iterable(self.gold))

    def verdict(self, urls: tuple[str, str]) -> PairVerdict:
        """Judge the pair of two URLs, that in the first language first."""
        if urls in self.gold:
            return PairVerdict.RIGHT
        if urls not in self.false and (urls in self.undecided or self._known.isdisjoint(urls)):
            return PairVerdict.UNJUDGED
        return PairVerdict.FALSE

    def judge(self, pairs: Iterable[Pair]) -> Tally:
        """Judge all pairs that were found of a task; no pair comes twice."""
        judged = [JudgedPair(pair, self.verdict((pair.url_a, pair.url_b))) for pair in pairs]
        found = {(pair.url_a, pair.url_b) for pair, _ in judged}
        gold, orphans = self.gold, self.orphans
        if self.reachable is not None:
            gold, orphans = frozenset(filter(self.reachable.issuperset, gold)), orphans & self.reachable
        paired = orphans.intersection(chain.from_iterable(found))
        return Tally(len(gold), len(gold & found), len(orphans), len(paired), judged)


class JudgedPair(NamedTuple):
    pair: Pair
    verdict: PairVerdict


@dataclass(slots=True)
class Tally:
    """The pairs that were found of one task or several, judged."""

    gold: int = 0
    """Gold pairs that can be found."""
    found: int = 0
    orphans: int = 0
    orphans_paired: int = 0
    """Orphans that got a partner."""
    pairs: list[JudgedPair] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @property
    def judged(self) -> int:
        return sum(verdict != PairVerdict.UNJUDGED for _, verdict in self.pairs)

    @property
    def right(self) -> int:
        return sum(verdict == PairVerdict.RIGHT for _, verdict in self.pairs)

    @property
    def sure_and_false(self) -> int:
        """False pairs with a score of :data:`CERTAIN_SCORE` or more."""
        return sum(verdict == PairVerdict.FALSE and pair.score >= CERTAIN_SCORE for pair, verdict in self.pairs)

    @property
    def recall(self) -> float | None:
        """Share of the gold pairs that were found; None without gold."""
        return share(self.found, self.gold)

    @property
    def precision(self) -> float | None:
        """Share of the judged pairs that are right; None if no pair is judged."""
        return share(self.right, self.judged)


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True, slots=True)
class Site:
    """A frozen website: every page with its language and links, gold pairs, redirects."""

    directory: Path
    languages: Mapping[str, str]
    """Page -> language of its text (``un`` unknown)."""
    links: Mapping[str, tuple[str, ...]]
    """Page -> pages it links to, in the order of the page, redirects followed."""
    pairs: tuple[GoldPair, ...]
    redirects: Mapping[str, str]
    """Linked form -> page that the server gives for it."""
    orphans: frozenset[tuple[str, str]] = frozenset()
    """Page and language of documents that have no translation."""
    false: tuple[GoldPair, ...] = ()
    """Pairs that a reader has called wrong."""
    undecided: tuple[GoldPair, ...] = ()
    """Pairs that a reader has called neither right nor wrong, as those with nothing to translate."""

    def reachable(self, seeds: Iterable[str]) -> set[str]:
        """Return the pages that links lead to from ``seeds``, seeds included."""
        seen = {url for url in seeds if url in self.languages}
        queue = deque(seen)
        while queue:
            for url in self.links[queue.popleft()]:
                if url in self.languages and url not in seen:
                    seen.add(url)
                    queue.append(url)
        return seen

    def partners(self, task: Task) -> Partners:
        """Return the gold pairs of the task's languages with both pages reachable, in both directions."""
        reachable = self.reachable(task.seeds)
        found: defaultdict[str, set[str]] = defaultdict(set)
        for pair in self.pairs:
            languages, urls = {pair.lang_a, pair.lang_b}, {pair.url_a, pair.url_b}
            if languages == {task.lang_a, task.lang_b} and urls <= reachable:
                found[pair.url_a].add(pair.url_b)
                found[pair.url_b].add(pair.url_a)
        return {url: frozenset(others) for url, others in found.items()}

    def truth(self, task: Task) -> Truth:
        """Return what is known of all documents in the task's languages, reachable or not."""
        a, b = task.lang_a, task.lang_b

        def of_task(pairs: Iterable[GoldPair]) -> frozenset[tuple[str, str]]:
            wanted = (pair for pair in pairs if {pair.lang_a, pair.lang_b} == {a, b})
            return frozenset((one.url_a, one.url_b) if one.lang_a == a else (one.url_b, one.url_a) for one in wanted)

        orphans = frozenset(url for url, language in self.orphans if language in (a, b))
        return Truth(of_task(self.pairs), orphans, false=of_task(self.false), undecided=of_task(self.undecided))

    def judge(self, task: Task, pairs: Iterable[Pair]) -> Tally:
        """Judge the *pairs* that a crawl of the task has found, by the pages that can be reached.

        Pairs in other languages do not count; of several URLs of the same two pages the best pair does.
        """
        best: dict[tuple[str, str], Pair] = {}
        for pair in sorted(pairs, key=lambda pair: pair.score):
            urls = self.page(pair.url_a), self.page(pair.url_b)
            if pair.pair == task.pair:
                best[urls] = replace(pair, url_a=urls[0], url_b=urls[1])
            elif pair.pair == f"{task.lang_b}-{task.lang_a}":
                best[urls[::-1]] = replace(pair, url_a=urls[1], url_b=urls[0])
        truth = replace(self.truth(task), reachable=frozenset(self.reachable(task.seeds)))
        return truth.judge(best.values())

    def page(self, url: str) -> str:
        """The page that a downloaded URL stands for, by redirect, scheme, final slash; else *url* without fragment."""
        url = url.split("#")[0]
        forms = (url, self.redirects.get(url, url), url.replace("http://", "https://", 1), url + "/", url.rstrip("/"))
        return next((form for form in forms if form in self.languages), url)


def read_tasks(directory: Path, name: str = "tasks.tsv") -> list[Task]:
    """Read the tasks in the file *name* of a folder of sites, whose languages may be any codes; raises SiteError."""
    path = directory / name
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return [
                Task(r["site"], parse_language(r["lang_a"]), parse_language(r["lang_b"]), tuple(r["seeds"].split()))
                for r in csv.DictReader(lines, delimiter="\t")
            ]
    except OSError as error:
        raise SiteError(f"{directory} is no folder of benchmark sites: {name}: {error.strerror}") from error
    except (KeyError, AttributeError) as error:
        raise SiteError(f"{path} needs the columns site, lang_a, lang_b and seeds") from error
    except LanguageError as error:
        raise SiteError(f"{path}: {error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise SiteError(f"{path} cannot be read: {error}; write it as a TSV in UTF-8") from error


def read_site(directory: Path) -> Site:
    """Read the graph, gold pairs, redirects and orphans of one site; :class:`SiteError` names the file at fault."""
    languages: dict[str, str] = {}
    links: dict[str, tuple[str, ...]] = {}
    for url, language, _, *outlinks in _rows(directory / "graph.tsv.xz", 3):
        languages[url] = language
        links[url] = tuple(outlinks[0].split()) if outlinks else ()
    if not languages:
        raise SiteError(f"{directory / 'graph.tsv.xz'} lists no page: its first column holds URLs")
    pairs = _pairs(_rows(directory / "pairs.tsv.xz", 4))
    redirects = {row[0]: row[1] for row in _rows(directory / "redirects.tsv", 2, optional=True)}
    rows = _rows(directory / "orphans.tsv", 2, optional=True)
    orphans = frozenset((url, _language(language)) for url, language, *_ in rows)
    false, partly = (_rows(directory / f"{name}.tsv", 4, optional=True) for name in ("false", "partly"))
    nothing = [row for row in false if row[-1] == NOTHING_TO_TRANSLATE]
    wrong = _pairs(row for row in false if row not in nothing)
    return Site(directory, languages, links, pairs, redirects, orphans, wrong, _pairs([*partly, *nothing]))


NOTHING_TO_TRANSLATE = "nothing to translate"


def _pairs(rows: Iterable[Sequence[str]]) -> tuple[GoldPair, ...]:
    return tuple(GoldPair(a, _language(lang_a), b, _language(lang_b)) for a, lang_a, b, lang_b, *_ in rows)


def _language(code: str) -> str:
    """The ISO 639-3 form of *code*, as in tasks; *code* itself if it names no language."""
    return from_bcp47(code) or code


def _rows(path: Path, columns: int, *, optional: bool = False) -> list[list[str]]:
    if optional and not path.exists():
        return []
    try:
        rows = [row for row in read_table(path) if row[0].startswith("http")]
    except (*DAMAGE, ValueError) as error:
        raise SiteError(f"cannot read {path}: {error}") from error
    if any(len(row) < columns for row in rows):
        raise SiteError(f"{path} has a line with fewer than {columns} columns")
    return rows


def linked_forms(site: Site) -> Mapping[str, list[str]]:
    """Return for each page the URLs that a replay of the site answers by a redirect to it."""
    archive = open_archive(site.directory)
    files = [open_warc(path) for source in find_sources(site.directory) for path in source.files]
    archived = (head.url for file in files for _, head in file.heads() if head.url not in site.languages)
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for form in dict.fromkeys((*site.redirects, *archived)):
        answer = archive.find(form)
        if isinstance(answer, Redirect):
            forms[answer.url].append(form)
    return forms


def html_of(archive: Archive, url: str) -> str | None:
    """Return the HTML that *archive* holds for *url*; None if it has no page or a redirect."""
    response = archive.find(url)
    if not isinstance(response, ArchivedResponse):
        return None
    media_type, *_ = response.headers.get(b"content-type", [b""])
    with suppress(ValueError):
        return decode_body(response.decoded(), media_type.decode("latin-1"))
    return None


def text_lengths(site: Site) -> dict[str, int]:
    """The characters of visible text of each archived page in a gold pair; 3 ms a page. Raises ArchiveError."""
    archive = open_archive([site.directory])
    gold = dict.fromkeys(url for pair in site.pairs for url in (pair.url_a, pair.url_b))
    pages = ((url, html_of(archive, url)) for url in gold)
    return {url: len(parse_page(html, url).text) for url, html in pages if html is not None}
