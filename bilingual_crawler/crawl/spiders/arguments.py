"""The arguments of both spiders, and the settings they depend on, checked before anything is fetched."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy.settings import BaseSettings

from bilingual_crawler import options as readers
from bilingual_crawler.crawl.context import CrawlContext, DiscoveryContext, Seed, choose_output_dir, named_now
from bilingual_crawler.crawl.traps import Traps
from bilingual_crawler.discovery.detector.base import Detector
from bilingual_crawler.discovery.detector.features import FOLDER
from bilingual_crawler.discovery.policies import AddressReader, site_order
from bilingual_crawler.discovery.search import SiteSearch, Topic
from bilingual_crawler.discovery.sites import entries_of, expected_pairs, is_table, read_bilingual
from bilingual_crawler.discovery.sources.base import SourceError
from bilingual_crawler.discovery.sources.cc_pages import ArchivedPages
from bilingual_crawler.discovery.ways import Sources
from bilingual_crawler.frontier.budget import SiteBudget, site_budget
from bilingual_crawler.frontier.job import Job, JobError
from bilingual_crawler.frontier.scope import SCOPES, Scope
from bilingual_crawler.languages.codes import LanguageError, LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import Options, read_value, usage_error, usage_errors, without_password, wrong
from bilingual_crawler.pages.detectors.base import keep_in
from bilingual_crawler.pages.formats import ONLY_HTML
from bilingual_crawler.pages.language import Detection, LanguageDetectorError, ask_languages
from bilingual_crawler.plugins import GAIN_EVIDENCE, POLICIES, SITE_DETECTORS, SITE_ORDERS
from bilingual_crawler.policies.base import Jointly, Policy, PolicyError
from bilingual_crawler.policies.baselines import Oracle
from bilingual_crawler.policies.gain import Gain
from bilingual_crawler.scoring.models import LanguageModel, ModelError, ProviderError, load_models, models_folder
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.files import DAMAGE, read_within
from bilingual_crawler.storage.sites import alias_hosts
from bilingual_crawler.storage.warc import ArchiveError
from bilingual_crawler.urls.canonical import canonicalise
from bilingual_crawler.urls.hosts import is_loopback, registered_domain

_NEXT_SOURCE = re.compile(r",(?=(?:cc-index|cc-graph|tsv):|crawl(?:,|$))")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a spider."""

    help: str  # with its default in brackets
    read: readers.Reader[Any] = readers.text
    default: str = ""
    metavar: str = ""  # of its option on the command line; without one it is given by -a only


def _as_given(value: Any) -> Any:
    return value


_LISTED = "separated by commas"
_PAIR = "two languages, as codes or English names: eng-mlt, en-mt, English-Maltese"
_POLICY = f"how links get their priority: {', '.join(POLICIES.built_in)} ({readers.DEFAULTS['BILINGUAL_POLICY']})"
_SCOPE = "site: the registered domains of the seeds; host: their hosts; web: everything (site)"
_UNTIL = "leave a site at this estimated share of its pairs, such as 0.98; 1 is all (1)"
_RENDER = f"when pages go through Chromium: {', '.join(readers.RENDER_MODES)} ({readers.DEFAULTS['BILINGUAL_RENDER']})"
_ORDER = f"which site comes next: {', '.join(SITE_ORDERS.built_in)}; cobfc:N relearns every N pages (both)"
_DETECTOR = f"how a site is judged: {', '.join(SITE_DETECTORS.built_in)} (evidence)"
_ARCHIVE = "folder or https:// address of Common Crawl's files, for the entry pages of candidates=cc-index"
_TOPIC = "sites about it only: words in both languages, separated by commas, or a file of them (every topic)"
_IN_BOTH = {
    "max_pages": Argument("budget of pages; 0 is no limit (0)", readers.whole(), "0", "N"),
    "max_pages_per_site": Argument("budget of pages of each site; 0 is no limit (0)", readers.whole(), "0"),
    "until": Argument(_UNTIL, readers.share_of_pairs, "1", "SHARE"),
    "render": Argument(_RENDER, readers.one_of(*readers.RENDER_MODES, "")),
}
ARGUMENTS: Mapping[str, Mapping[str, Argument]] = {
    "bilingual": {
        "pair": Argument(f"{_PAIR}; or pairs: eng-isl,eng-dan", metavar="PAIR"),
        "languages": Argument("in place of pair: all pairs among these languages: eng,isl,dan"),
        "seeds": Argument("addresses separated by commas, or a file with one on each line", _as_given, "", "SEEDS"),
        "policy": Argument(_POLICY, readers.plugin(POLICIES, optional=True), "", "POLICY"),
        "scope": Argument(_SCOPE, readers.one_of(*SCOPES), "site"),
        **_IN_BOTH,
    },
    "discovery": {
        "pair": Argument(_PAIR, metavar="PAIR"),
        "seeds": Argument(f"pages to start from, {_LISTED}, or a file with one on each line", _as_given, "", "SEEDS"),
        "candidates": Argument(f"sites to judge first: cc-index:PATHS, tsv:FILE, {_LISTED}"),
        "backlinks": Argument(f"who links to a site: cc-graph:DIR, tsv:FILE, crawl (the pages visited), {_LISTED}"),
        "policy": Argument(_ORDER, readers.text, "both", "POLICY"),
        "archive": Argument(_ARCHIVE),
        "detector": Argument(_DETECTOR, readers.plugin(SITE_DETECTORS), "evidence"),
        "topic": Argument(_TOPIC),
        **_IN_BOTH,
        "until": Argument(f"in the crawl of the sites found: {_UNTIL}", readers.share_of_pairs, "1", "SHARE"),
        "then": Argument(
            "crawl: afterwards crawl the sites found, into the folder crawl/ of the outputs",
            readers.one_of("crawl", ""),
        ),
    },
}


def _read(spider: str, given: Mapping[str, Any]) -> SimpleNamespace:
    """The values of all arguments of *spider*, and ``job``, which Scrapyd names; raises UsageError."""
    known = ARGUMENTS[spider]
    if unknown := sorted(given.keys() - known.keys() - {"_job", "_version"}):
        raise usage_error(f"unknown spider argument {', '.join(unknown)}; there are: {', '.join(known)}")
    values = {name: read_value(name, given.get(name, one.default), one.read) for name, one in known.items()}
    return SimpleNamespace(**values, job=given.get("_job"))


def parse_arguments(settings: BaseSettings, **given: Any) -> CrawlContext:
    """Check spider arguments and the settings they depend on; raises UsageError naming the value and the fix."""
    values = _read("bilingual", given)
    options = Options.of(settings)
    pairs = parse_pairs(values.pair, values.languages, options)
    seeds = parse_seeds(values.seeds)
    _check_network(seeds, options)
    # the detectors are loaded while the models are
    keep_in(options.cache_dir)
    ask_languages(options.detectors)
    policy = _policy(values.policy or options.policy, pairs, options)
    budget = _budget(values.scope, seeds, values.seeds, policy, pairs, options)
    name = values.job or named_now("+".join(map(str, pairs)))
    shared = _shared(settings, pairs, seeds, values.scope, values.scope, name) | _limits(values, options, settings)
    return CrawlContext(policy=policy, budget=budget, until=values.until, **shared)


def parse_discovery(settings: BaseSettings, **given: Any) -> DiscoveryContext:
    """As :func:`parse_arguments`, for ``scrapy crawl discovery``."""
    values = _read("discovery", given)
    if values.until < 1 and not values.then:
        raise wrong("until", given["until"], "is for the crawl of the sites found; give -a then=crawl, too")
    if not values.seeds and not values.candidates:
        raise usage_error("where to start? Give -a seeds=URL[,URL...], a file of them, or -a candidates=tsv:FILE")
    options = Options.of(settings)
    if options.workers > 1:
        why = "sites are looked for by one process; leave it out, and crawl the sites after"
        raise usage_error(f"BILINGUAL_WORKERS: {why}")
    pairs = parse_pairs(values.pair, None, options)
    if len(pairs) > 1:
        why = "sites are looked for by one pair; give one, and crawl the sites found for several"
        raise wrong("pair", values.pair, why)
    (languages,) = pairs
    seeds = parse_seeds(values.seeds) if values.seeds else []
    _check_network(seeds, options)
    if values.then:
        _policy(options.policy, pairs, options)
    with usage_errors(SourceError):
        pages = ArchivedPages(values.archive, user_agent=settings["USER_AGENT"]) if values.archive else None
        sources = Sources(_specs("candidates", values.candidates), _specs("backlinks", values.backlinks), pages)
    search = _search(languages, values, sources, options)
    name = values.job or named_now(f"sites-{languages}")
    shared = _shared(settings, pairs, seeds, "web", "discovery", name) | _limits(values, options, settings)
    shared["formats"] = ONLY_HTML
    return DiscoveryContext(policy=search, search=search, sources=sources, then=values.then, **shared)


def parse_settings(settings: BaseSettings, spider: str) -> CrawlContext:
    """Check the settings of another project, whose *spider* has its own seeds, links and end; raises UsageError."""
    options = Options.of(settings)
    alone = "several processes share no crawl of the add-on; leave it out"
    if options.frontier:
        raise usage_error(f"BILINGUAL_FRONTIER: {alone}, JOBDIR resumes")
    if options.workers > 1:
        raise usage_error(f"BILINGUAL_WORKERS: {alone}")
    if not options.pair:
        raise usage_error("which languages? Set BILINGUAL_PAIR, for example: BILINGUAL_PAIR = 'eng-mlt'")
    pairs = parse_pairs(options.pair, None, options)
    _check_archives(options)
    policy = _policy(options.policy, pairs, options)
    budget = _budget("web", (), None, policy, pairs, options)
    name = named_now(f"{spider}-{'+'.join(map(str, pairs))}")
    shared = _shared(settings, pairs, (), "web", f"spider {spider}", name)
    return CrawlContext(policy=policy, budget=budget, **shared)


def _shared(
    settings: BaseSettings, pairs: LanguagePairs, seeds: Sequence[Seed], scope: str, job: str, name: str
) -> dict[str, Any]:
    """Fields of all contexts. *job*: what a job folder keeps of the scope; *name*: of outputs; raises UsageError."""
    options = Options.of(settings)
    aliases = alias_hosts(options.replay) if options.replay else ()
    urls = tuple(seed.url for seed in seeds)
    keep_in(options.cache_dir)
    with usage_errors(LanguageDetectorError):
        detection = Detection.for_pairs(options.detectors, pairs)
    kept = Job(str(pairs), job, options.scope_prefixes, urls, options.politeness)
    shared = {
        "pairs": pairs,
        "seeds": tuple(seeds),
        "scope": Scope(scope, urls, aliases=aliases, prefixes=options.scope_prefixes),
        "detection": detection,
        "formats": frozenset(options.documents),
        "output_dir": choose_output_dir(settings, name),
        "job": kept,
        "traps": Traps(stale_pages=options.stale_pages),
    }
    if options.align:
        # slow to import, and Scrapyd imports this module only to list the spiders
        from bilingual_crawler.encoders import EncoderError
        from bilingual_crawler.pairing.methods import method_of

        with usage_errors(ModelError, EncoderError):
            method_of(options.align, settings)
    with usage_errors(JobError):
        kept.check(settings)
    return shared


def _limits(values: SimpleNamespace, options: Options, settings: BaseSettings) -> dict[str, Any]:
    render = values.render or options.render
    if render == "always":
        # what it imports takes .1 s, and Scrapyd imports this module only to list the spiders
        from bilingual_crawler.crawl.middlewares.render import missing_for_rendering

        if missing := missing_for_rendering(settings):
            raise wrong("render", render, missing)
    return {"max_pages": values.max_pages, "max_pages_per_site": values.max_pages_per_site, "render": render}


def _search(pair: LanguagePair, values: SimpleNamespace, sources: Sources, options: Options) -> SiteSearch:
    with usage_errors(ModelError):
        models = models_folder(options.models_dir)
        model = LanguageModel(models / "url-language", options.providers)
        addresses = AddressReader(pair, model)
        order = read_value("policy", values.policy, lambda name: site_order(name, addresses))
        # a folder that holds URL models only, as for other crawls
        weights = models if (models / FOLDER).is_dir() else models_folder(None)
        judge: Detector = SITE_DETECTORS.find(values.detector).load(weights, model)
        topic = read_value("topic", values.topic, lambda given: Topic.parse(given, pair)) if values.topic else None
        return SiteSearch(pair, judge, order, topic=topic, own_links=sources.own_links)


def _specs(name: str, text: str) -> list[str]:
    """Split the sources in *text* at commas; paths may have commas, too."""
    specs = [spec.strip() for spec in _NEXT_SOURCE.split(text) if spec.strip()]
    if unknown := [spec for spec in specs if not _NEXT_SOURCE.match(f",{spec}")]:
        raise wrong(name, unknown[0], "give cc-index:PATHS, cc-graph:DIR, tsv:FILE or, for backlinks, crawl")
    return specs


_BARE = re.compile(r"(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?(/\S*)?")
_MARK = "\ufeff"  # byte order mark, which editors and spreadsheets put before a text
_NOTE = re.compile(r"(^|\s)#.*")
_SEPARATOR = re.compile(r",?\s+|,(?=https?://)|,$")  # in a line of a file; a comma may be part of an address
MAX_FILE = 256 << 20  # bytes of a list of seeds: some millions of them


def parse_seeds(seeds: str | Sequence[str] | None) -> list[Seed]:
    """Seeds from the path of a file, from addresses separated by commas or blanks, or from a list of addresses.

    Of a ``sites.tsv`` the bilingual sites are taken. Raises UsageError, with the line or the site, if one is no URL.
    """
    if not seeds or (isinstance(seeds, str) and not seeds.strip()):
        raise usage_error("where to start? Give -a seeds=URL[,URL...] or the path of a file with one URL a line")
    if not isinstance(seeds, str):
        found = [_seed(text, "") for text in seeds]
    elif not os.path.isfile(seeds) and ("://" in seeds or "," in seeds or _names_hosts(seeds)):
        found = [_seed(part, "") for part in re.split(r"[\s,]+", seeds.replace(_MARK, "")) if part]
    elif is_table(Path(seeds)):
        rows = read_bilingual(Path(seeds))
        found = [_seed(url, f"{seeds}, {row['site']}: ") for row in rows for url in entries_of(row)]
    else:
        found = list(_seeds_in(seeds))
    if not found:
        raise usage_error(f"seeds={seeds}: no URL in it")
    return list(dict.fromkeys(found))


def _names_hosts(seeds: str) -> bool:
    return not seeds.endswith((".txt", ".tsv")) and all(map(_BARE.fullmatch, seeds.split()))


def _seeds_in(path: str) -> Iterator[Seed]:
    try:
        lines = read_within(Path(path), MAX_FILE).decode().splitlines()
    except (*DAMAGE, ValueError) as error:
        raise usage_error(f"seeds={path}: cannot read this file ({error})") from error
    for number, line in enumerate(lines, 1):
        for part in filter(None, _SEPARATOR.split(_NOTE.sub("", line.replace(_MARK, "")))):
            yield _seed(part, f"{path}, line {number}: ")


def _seed(text: str, where: str) -> Seed:
    guessed = "://" not in text
    url = canonicalise(f"https://{text}" if guessed else text)
    if url is None or (guessed and not _BARE.fullmatch(text)):
        raise usage_error(f"{where}seed {text!r} is not an http(s) URL, as in https://example.com/")
    return Seed(url, guessed)


def parse_pairs(pair: str | None, languages: str | None, options: Options) -> LanguagePairs:
    """Return the pairs listed by *pair*, or all pairs among *languages*; raises UsageError."""
    if pair and languages:
        why = "give one of the two; languages stands for all pairs among them"
        raise usage_error(f"pair={pair}, languages={languages}: {why}")
    with usage_errors(LanguageError, before=f"{'languages' if languages else 'pair'}={languages or pair}: "):
        if languages:
            return LanguagePairs.among(languages, options.equivalent_languages)
        if pair:
            return LanguagePairs.parse(pair, options.equivalent_languages)
    raise usage_error("which languages? Give the pair, for example: -a pair=eng-mlt")


def _check_network(seeds: Sequence[Seed], options: Options) -> None:
    """Check that the archives can be read, the proxies used, and that a crawl of the web names a contact."""
    _check_archives(options)
    for scheme, proxy in getproxies().items():
        if scheme in ("http", "https") and urlsplit(proxy).scheme.startswith("socks") and not options.replay:
            shown = without_password(proxy)
            raise usage_error(f"{scheme}_proxy={shown}: SOCKS is not supported; give an HTTP proxy, or none")
    if not options.replay and not options.contact and not (seeds and all(is_loopback(seed.url) for seed in seeds)):
        others = "(or mailto:you@...; make takes CONTACT=..., the setting is BILINGUAL_CONTACT)"
        why = "goes into the user agent, so that webmasters can reach you"
        raise usage_error(f"say who is crawling: --contact https://your.page/about-this-crawl {others} {why}")
    if options.politeness == "address" and options.frontier:
        why = "workers on one BILINGUAL_FRONTIER do not know each other's addresses; choose domain or host"
        raise usage_error(f"BILINGUAL_POLITENESS=address: {why}")


def _check_archives(options: Options) -> None:
    for name, archives in (("BILINGUAL_REPLAY", options.replay), ("BILINGUAL_KNOWN", options.known)):
        with usage_errors(ArchiveError, before=f"{name}: "):
            if archives:
                open_archive(archives)


def _budget(
    scope: str, seeds: Sequence[Seed], given: object, policy: Policy, pairs: LanguagePairs, options: Options
) -> SiteBudget | None:
    """Return the budget over the sites of *seeds*; None for a single site whose scope holds all links.

    If the seeds are *given* as the table of a discovery, the budget starts with the pairs expected there.
    """
    sites = list(dict.fromkeys(registered_domain(seed.url) for seed in seeds))
    if len(sites) == 1 and scope != "web":
        return None
    budget = site_budget(options.site_budget, sites, promises=pairs.max_partners if policy.promises_pairs else 0)
    if budget and isinstance(given, str) and is_table(Path(given)):
        with usage_errors(ValueError, before=f"seeds={given}: ", after="; correct that line, or leave it out"):
            budget.expect(expected_pairs(Path(given), pairs))
    return budget


def _policy(name: str, pairs: LanguagePairs, options: Options) -> Policy:
    """The policy called *name* for *pairs*, whose models can be loaded if it needs any."""
    kind: type[Policy] = POLICIES.find(name)
    if kind.needs_models:
        hint = "; BILINGUAL_MODELS_DIR names the folder that holds the models"
        with usage_errors(ModelError, after=hint), usage_errors(ProviderError):
            load_models(models_folder(options.models_dir), options.providers)
    more: dict[str, Any] = {}
    named = ""
    if issubclass(kind, Gain):
        more = {"bridges": options.bridge, "added": list(map(GAIN_EVIDENCE.find, options.gain_evidence))}
        named = f"BILINGUAL_GAIN_EVIDENCE={','.join(options.gain_evidence)}: "
    elif issubclass(kind, Oracle):
        path = options.oracle_order
        if path is None:
            raise usage_error("policy=oracle: set BILINGUAL_ORACLE_ORDER, or run it through scrapy harvest")
        try:
            more = {"order": path.read_text(encoding="utf-8").splitlines()}
        except (OSError, ValueError) as error:
            raise wrong("BILINGUAL_ORACLE_ORDER", path, f"cannot read this file ({error})") from error
    with usage_errors(PolicyError, before=named):
        parts = [kind(pair, **more) for pair in pairs]
    return Jointly(parts) if len(parts) > 1 else parts[0]
