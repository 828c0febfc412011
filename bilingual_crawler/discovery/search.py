"""The search for bilingual sites: which pages are visited, what they teach, and the verdicts. It does no I/O."""

import os
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Self

import msgspec

from bilingual_crawler.discovery.detector.base import Detector, Inspection, Reason, Verdict
from bilingual_crawler.discovery.policies import Hop, HopSource, HopTarget, SiteOrder, Way, entry_page, words
from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.items import Wanted
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.policies.base import Policy, Scores
from bilingual_crawler.urls.hosts import registered_domain, with_https

INSPECTED = 3.0  # priority of the pages of a site that is being judged: sooner than other sites
CANDIDATE = 1.0  # priority of a candidate beside its prior: sooner than links, which have 0 to 1
MAX_LINKS_PAGES = 3  # pages of a site that are visited only because they list links
MAX_PASSED = 200  # pages that link to a site without a verdict and are kept, the first ones
_LISTS_LINKS = re.compile(
    r"(?<![^\W\d_])(web ?links?|links?|partners?|director(y|ies)|liens|partenaires|enlaces|socios|directorio|linkit"
    r"|kumppanit|partner|linkek|odkazy|verzeichnis|collegamenti|ligações|parceiros|loturak|estekak)(?![^\W\d_])",
    re.IGNORECASE,
)


@dataclass(eq=False, slots=True)
class InspectedSite:
    entry: str
    target: HopTarget | None
    """Target it was found as; None if unlinked."""
    inspection: Inspection | None = None
    archived: str = ""
    """``WARC-Date`` of its entry page, if from an archive."""
    awaited: str = ""
    """The URL that the inspection waits for; :attr:`arriving` is the target of its redirect."""
    arriving: str = ""
    held: list[tuple[PageRecord, HopTarget | None]] = field(default_factory=list)
    """Pages whose links are followed once there is a verdict."""
    verdict: Verdict | None = None


MIN_TOPIC_SHARE = 0.02  # minimum share of the words of a page, without stop words, that are words of its topic


class Topic:
    """Recognises pages by words, given in both languages of a pair."""

    def __init__(self, text: str, pair: LanguagePair) -> None:
        """ValueError without a word in *text*."""
        stems = ([words(word, language) for language in (pair.a, pair.b)] for word in words(text))
        # a stop word of one language is no word of the other
        self._words = {word for both in stems if all(both) for found in both for word in found}
        if not self._words:
            raise ValueError("no word in it: give words of the topic in both languages")

    @classmethod
    def parse(cls, given: str, pair: LanguagePair) -> Self:
        """The topic of words separated by commas, or in a file; raises ValueError."""
        if os.path.isfile(given):
            return cls(Path(given).read_text(encoding="utf-8"), pair)
        if os.sep in given or "." in given:
            raise ValueError("there is no such file")
        return cls(given, pair)

    def has(self, page: PageRecord) -> bool:
        found = words(page.text, page.language)
        return sum(word in self._words for word in found) >= max(1, MIN_TOPIC_SHARE * len(found))


class SiteSearch(Policy):
    """Judges the sites of the pages it is given, and says which pages it wants next.

    A site, a registered domain, is judged once, from the root of the host that was found first. :meth:`go_back` adds
    pages that link to a bilingual site; with *own_links* the pages visited before are such pages, too. With a *topic*,
    sites whose entry page is not about it are refused without a download.
    """

    name = "discovery"

    def __init__(
        self,
        pair: LanguagePair,
        detector: Detector,
        order: SiteOrder,
        *,
        topic: Topic | None = None,
        own_links: bool = False,
    ) -> None:
        super().__init__(pair)
        self.name = order.name  # type: ignore[misc]
        self.pages = 0
        self.order, self._detector = order, detector
        self.judged: Callable[[str, InspectedSite], None] | None = None
        """Called with name and site at each verdict."""
        self._topic, self._own_links = topic, own_links
        self._targets: dict[str, HopTarget] = {}
        self._entries: dict[str, HopTarget] = {}
        """Site -> the target that is its entry page."""
        self._other_seeds: defaultdict[str, list[str]] = defaultdict(list)
        """Site without a verdict -> its seeds beside the entry page, and their redirect targets."""
        self.sites: dict[str, InspectedSite] = {}
        self._passed: defaultdict[str, list[tuple[HopSource, list[Hop]]]] = defaultdict(list)
        """Site without a verdict -> linking pages whose links the policy does not follow."""
        self._links_pages: defaultdict[str, int] = defaultdict(int)
        self._done: set[int] = set()
        """Hashes of the URLs that were fetched or given up."""
        self._wanted: list[Wanted] = []
        self._found: list[str] = []
        """Entry pages of bilingual sites, to be looked up."""
        self._changed: dict[str, float] = {}

    def seed_priority(self, url: str) -> float:
        """Note the seed *url*, which the crawl fetches anyway; http takes the place of a guessed https address."""
        name, guessed = registered_domain(url), with_https(url)
        if guessed != url and guessed in self._targets and not self._is_done(url):
            self._targets[url] = self._targets.pop(guessed)
        elif name not in self.sites and not self._is_done(url):
            entry = self._targets[url] = self._entries.setdefault(name, HopTarget(url, Way.FORTH))
            if entry.url != url:
                self._other_seeds[name].append(url)
        return super().seed_priority(url)

    def recall(self, fact: bytes) -> None:
        page, archived, is_backlink = msgspec.msgpack.decode(zlib.decompress(fact), type=tuple[PageRecord, str, bool])
        self.read(page, archived, is_backlink=is_backlink)

    def start(self, hops: Iterable[Hop]) -> None:
        for hop in hops:
            self._add(hop, None)

    def go_back(self, hops: Iterable[Hop]) -> None:
        """Visit the targets of *hops*: pages that link to a bilingual site."""
        for hop in hops:
            self._add(hop, HopSource(hop.parent, None, True))

    def read(self, page: PageRecord, archived: str = "", *, is_backlink: bool = False) -> None:
        """Judge the site of the downloaded *page*, with its ``WARC-Date`` if it was *archived*, and follow its links.

        *is_backlink*: it was visited because it links to a bilingual site.
        """
        if self._is_done(page.url):
            return
        self.pages += 1
        self._done.add(hash(page.url))
        target = self._targets.pop(page.url, None)
        if target is None and is_backlink:
            target = HopTarget(page.url, Way.BACK)
        name = registered_domain(page.url)
        site = self.sites.get(name)
        if site is None and target is not None and target.backwards and page.url != entry_page(page.url):
            self._expand(page, target, False)
            self._add(Hop(Way.FORTH, page.url, page.url), HopSource(page.url, target, False))
        elif site is None:
            self._begin(name, page, target, archived)
        elif site.verdict is None:
            site.held.append((page, target))
            if page.url == site.arriving:
                self._learn(name, site, page)
        else:
            self._expand(page, target, site.verdict.bilingual)
        if self.order.relearnt(self.pages):
            for one in self._targets.values():
                self._weigh(one)

    def drop_url(self, url: str) -> None:
        if not self._is_done(url):
            self._done.add(hash(url))
            self._fruitless(url, Reason.NO_PAGE)

    def observe_redirect(self, url: str, target: str) -> None:
        if self._is_done(url):
            return
        self._done.add(hash(url))
        name = registered_domain(url)
        same = name == registered_domain(target)
        site, moved = self.sites.get(name), self._targets.get(url)
        if not same or self._is_done(target):
            self._fruitless(url, Reason.NO_PAGE if same else Reason.OTHER_SITE, target)
        elif site is not None and site.arriving == url:
            site.arriving = target
        if moved is not None and not self._is_done(target):
            self._targets.pop(url, None)
            self._targets.setdefault(target, moved)
            if same and self._entries.get(name) is moved:
                # another seed may give no page before it comes
                self._other_seeds[name].append(target)

    def found(self) -> list[str]:
        """Entry pages of the sites found bilingual since the last call."""
        found, self._found = self._found, []
        return found

    def is_backlink(self, url: str) -> bool:
        target = self._targets.get(url)
        return target is not None and target.way is Way.BACK

    def wanted(self) -> Sequence[Wanted]:
        wanted, self._wanted = self._wanted, []
        return wanted

    def changed(self) -> Mapping[str, float]:
        changed, self._changed = self._changed, {}
        return changed

    def expands(self, page: PageRecord) -> bool:
        return False

    def priorities(self, page: PageRecord, links: Sequence[Link], scores: Scores) -> Sequence[float]:
        return [0.0] * len(links)

    @property
    def unjudged(self) -> int:
        return len(self._entries) + sum(site.verdict is None for site in self.sites.values())

    def _begin(self, name: str, page: PageRecord, target: HopTarget | None, archived: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None and entry.url != page.url:
            self._targets.pop(entry.url, None)
            self._changed[entry.url] = NEVER
        site = self.sites[name] = InspectedSite(page.url, entry or target, archived=archived)
        site.held.append((page, target or entry))
        if self._topic is not None and not self._topic.has(page):
            self._judge(name, site, Verdict(False, 0.0, Reason.OFF_TOPIC, {page.language: 1}))
            return
        site.inspection = self._detector.inspect(self.pair, page)
        self._advance(name, site)

    def _advance(self, name: str, site: InspectedSite) -> None:
        assert site.inspection
        while (url := site.inspection.next()) is not None:
            if not self._is_done(url):
                site.awaited = site.arriving = url
                self._wanted.append(Wanted(url, INSPECTED, site.entry))
                return
            site.inspection.observe_page(url, next((page for page, _ in site.held if page.url == url), None))
        site.awaited = site.arriving = ""
        self._judge(name, site, site.inspection.verdict)

    def _learn(self, name: str, site: InspectedSite, page: PageRecord | None) -> None:
        assert site.inspection
        site.inspection.observe_page(site.awaited, page)
        self._advance(name, site)

    def _fruitless(self, url: str, reason: Reason, to: str = "") -> None:
        """Note that *url* gave no page of its site."""
        name, target = registered_domain(url), self._targets.pop(url, None)
        site = self.sites.get(name)
        if site is not None and site.arriving == url:
            self._learn(name, site, next((page for page, _ in site.held if page.url == to), None))
        elif target is not None and target.backwards:
            self.order.led(target, False)
        elif site is None and (target is not None or url == entry_page(url)):
            # another worker may have found the way to it
            self._entries.pop(name, None)
            if target is None or not self._enter_elsewhere(name, target):
                self.sites[name] = InspectedSite(url, target)
                self._judge(name, self.sites[name], Verdict(False, 0.0, reason))

    def _enter_elsewhere(self, name: str, failed: HopTarget) -> bool:
        """Judge the site from another seed or candidate than *failed*; return False without one."""
        known = (failed.url, *self._other_seeds.get(name, ()))
        seeds = ((seed, None) for seed in known if self._targets.get(seed) is failed)
        candidates = ((entry_page(hop.url), hop.prior) for hop in failed.hops if not hop.parent)
        for url, prior in chain(seeds, candidates):
            if not self._is_done(url):
                failed.url = url
                self._entries[name] = self._targets.setdefault(url, failed)
                if prior is not None:
                    self._wanted.append(Wanted(url, CANDIDATE + prior))
                return True
        return False

    def _judge(self, name: str, site: InspectedSite, verdict: Verdict) -> None:
        site.verdict, site.inspection = verdict, None
        self._other_seeds.pop(name, None)
        if self.judged is not None:
            self.judged(name, site)
        if site.target is not None:
            if not site.target.backwards:
                self.order.judged(site.target, verdict.bilingual)
            for source in site.target.sources:
                self._tally(source, verdict.bilingual)
        for page, target in site.held:
            self._expand(page, target, verdict.bilingual)
        site.held = []
        passed = self._passed.pop(name, ())
        if verdict.bilingual:
            self._found.append(site.entry)
            for source, hops in passed:
                self._turn_back(source, hops)

    def _tally(self, source: HopSource, bilingual: bool) -> None:
        source.tried += 1
        source.found += bilingual
        if source.reached is not None:
            self.order.led(source.reached, bilingual)

    def _expand(self, page: PageRecord, target: HopTarget | None, bilingual: bool) -> None:
        source = HopSource(page.url, target, bilingual)
        hops = list(self._hops(page)) if self.order.expands(page, target) else []
        followed = [hop for hop in hops if self.order.follows(hop, source)]
        leads_on = sum(self._add(hop, source) for hop in followed)
        if self._own_links and not followed:
            self._pass_by(source, hops)
        if target is not None and target.backwards and not source.tried and not leads_on:
            self.order.led(target, False)

    def _pass_by(self, source: HopSource, hops: list[Hop]) -> None:
        """Keep the links of a page, which may turn out to lead to a bilingual site."""
        known = {hop.site: site.verdict for hop in hops if (site := self.sites.get(hop.site)) and site.verdict}
        if any(verdict.bilingual for verdict in known.values()):
            self._turn_back(source, hops)
            return
        for hop in hops:
            if hop.site not in known and len(self._passed[hop.site]) < MAX_PASSED:
                self._passed[hop.site].append((source, hops))

    def _turn_back(self, source: HopSource, hops: list[Hop]) -> None:
        """Follow the links of a page visited before, which links to a bilingual site."""
        if source.reached is None or source.reached.way is not Way.BACK:
            source.reached = HopTarget(source.url, Way.BACK)
            for hop in hops:
                if self.order.follows(hop, source):
                    self._add(hop, source)

    def _hops(self, page: PageRecord) -> Iterator[Hop]:
        own = registered_domain(page.url)
        seen = {own}
        for link in page.links:
            site, way = registered_domain(link.url), Way.FORTH
            if site == own:
                path = link.url.split("://", 1)[-1].partition("/")[2]
                lists_links = _LISTS_LINKS.search(link.text) or _LISTS_LINKS.search(path)
                if not self.order.inside and (not lists_links or self._links_pages[own] >= MAX_LINKS_PAGES):
                    continue
                way = Way.INSIDE
            elif site in seen:
                continue
            seen.add(site)
            yield Hop(way, link.url, page.url, link.text, link.around, page.language)

    def _add(self, hop: Hop, source: HopSource | None) -> bool:
        """Note *hop*, which *source* has; returns whether it leads to a page that is still to be visited."""
        if hop.way is Way.FORTH:
            if (site := self.sites.get(hop.site)) is not None:
                self._add_to_known(site, hop, source)
                return False
            target = self._entries.get(hop.site)
            url = target.url if target else entry_page(hop.url)
        else:
            url = hop.url
            target = self._targets.get(url)
        if target is not None:
            target.add(hop, source)
            self._weigh(target)
            return True
        if self._is_done(url):
            return False
        target = self._targets.setdefault(url, HopTarget(url, hop.way))
        if hop.way is Way.FORTH:
            self._entries[hop.site] = target
        elif hop.way is Way.INSIDE:
            self._links_pages[hop.site] += 1
        target.add(hop, source)
        priority = self.order.priority(target) if source else CANDIDATE + hop.prior
        self._wanted.append(Wanted(url, priority, hop.parent))
        return True

    def _add_to_known(self, site: InspectedSite, hop: Hop, source: HopSource | None) -> None:
        if source is None:
            return
        if first := site.target is None or not site.target.hops:
            site.target = HopTarget(site.entry, Way.FORTH)
        assert site.target
        site.target.add(hop, source)
        if site.verdict is not None:
            if first:
                self.order.judged(site.target, site.verdict.bilingual)
            self._tally(source, site.verdict.bilingual)

    def _weigh(self, target: HopTarget) -> None:
        if target.sources:
            self._changed[target.url] = self.order.priority(target)

    def _is_done(self, url: str) -> bool:
        return hash(url) in self._done


MAX_LINKS = 2000
MAX_TEXT = 50_000


def fact_of(page: PageRecord, links: Sequence[Link], archived: str, *, is_backlink: bool) -> bytes:
    """Pack what detectors read of *page* and its *links* to follow for :meth:`SiteSearch.recall`; 2 to 20 kB."""
    kept, text = tuple(links[:MAX_LINKS]), page.text[:MAX_TEXT]
    seen = PageRecord(page.url, page.language, links=kept, text=text, declared=page.declared, outline=page.outline)
    return zlib.compress(msgspec.msgpack.encode((seen, archived, is_backlink)))
