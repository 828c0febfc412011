"""The arguments of both spiders, and the settings they depend on, checked before anything is fetched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from bilingual_crawler.crawl.context import CrawlContext, DiscoveryContext, choose_output_dir, named_now
from bilingual_crawler.crawl.rendering.options import missing_for_rendering
from bilingual_crawler.crawl.spiders.seeds import parse_seeds
from bilingual_crawler.crawl.traps import Traps
from bilingual_crawler.discovery.policies import AddressReader, site_order
from bilingual_crawler.discovery.search import DiscoveryPolicy, SiteSearch
from bilingual_crawler.discovery.sites import expected_pairs, is_table
from bilingual_crawler.discovery.sources.base import SourceError
from bilingual_crawler.discovery.sources.cc_pages import ArchivedPages
from bilingual_crawler.discovery.ways import Sources
from bilingual_crawler.frontier.budget import site_budget
from bilingual_crawler.frontier.job import Job, JobError
from bilingual_crawler.frontier.scope import Scope, ScopeError
from bilingual_crawler.languages.codes import LanguageError
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import RENDER_MODES, Options, plugin, read_value, share_of_pairs
from bilingual_crawler.pages.formats import ONLY_HTML
from bilingual_crawler.pages.language import Detection, LanguageDetectorError, ask_languages
from bilingual_crawler.plugins import GAIN_EVIDENCE, POLICIES, SITE_DETECTORS
from bilingual_crawler.policies.base import Jointly, PolicyError
from bilingual_crawler.policies.baselines import Oracle
from bilingual_crawler.policies.gain import Gain
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.sites import alias_hosts
from bilingual_crawler.storage.warc import ArchiveError
from bilingual_crawler.urls.canonical import registered_domain
from bilingual_crawler.urls.hosts import is_loopback

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.settings import BaseSettings

    from bilingual_crawler.crawl.context import Seed
    from bilingual_crawler.frontier.budget import SiteBudget
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.policies.base import Policy

_NEXT_SOURCE = re.compile(r",(?=(?:cc-index|cc-graph|tsv):|crawl(?:,|$))")


def _error(message: str) -> UsageError:
    return UsageError(message, print_help=False)


def parse_arguments(
    settings: BaseSettings,
    *,
    pair: str | None = None,
    languages: str | None = None,
    seeds: str | Sequence[str] | None = None,
    policy: str | None = None,
    scope: str = "site",
    max_pages: str = "0",
    max_pages_per_site: str = "0",
    until: str = "1",
    render: str | None = None,
    **unknown: Any,
) -> CrawlContext:
    """Check spider arguments and the settings they depend on; raises UsageError naming the value and the fix."""
    job = _job_id(unknown, "pair, languages, seeds, policy, scope, max_pages, max_pages_per_site, until, render")
    options = Options.of(settings)
    pairs = parse_pairs(pair, languages, options)
    parsed = parse_seeds(seeds)
    _check_network(parsed, options)
    chosen = _policy_class(policy, options)
    # the detectors are loaded while the models are
    ask_languages(options.detectors)
    _check_models(options, chosen)
    _check_alignment(settings)
    context = CrawlContext(
        pairs=pairs,
        seeds=tuple(parsed),
        policy=_policy(chosen, pairs, options),
        scope=_scope(scope, parsed, options),
        max_pages=_count("max_pages", max_pages),
        max_pages_per_site=_count("max_pages_per_site", max_pages_per_site),
        until=_until(until),
        budget=_budget(scope, parsed, seeds, chosen, pairs, options),
        render=_render_mode(render or options.render, settings),
        detection=_detection(pairs, options),
        formats=frozenset(options.documents),
        output_dir=choose_output_dir(settings, job or named_now(_folder(pairs))),
        job=Job(str(pairs), scope, options.scope_prefixes, tuple(seed.url for seed in parsed), options.politeness),
        traps=Traps(stale_pages=options.stale_pages),
    )
    _check_job(context, settings)
    return context


def parse_discovery(
    settings: BaseSettings,
    *,
    pair: str | None = None,
    seeds: str | Sequence[str] | None = None,
    candidates: str = "",
    backlinks: str = "",
    policy: str = "both",
    detector: str = "evidence",
    archive: str = "",
    max_pages: str = "0",
    max_pages_per_site: str = "0",
    until: str = "1",
    render: str | None = None,
    then: str = "",
    **unknown: Any,
) -> DiscoveryContext:
    """As :func:`parse_arguments`, for ``scrapy crawl discovery``."""
    own = "pair, seeds, candidates, backlinks, policy, detector, archive"
    job = _job_id(unknown, f"{own}, max_pages, max_pages_per_site, until, render, then")
    if then not in ("", "crawl"):
        raise _error(f"then={then}: give crawl, or leave it out")
    if _until(until) < 1 and not then:
        raise _error(f"until={until}: is for the crawl of the sites found; give -a then=crawl, too")
    if not seeds and not candidates:
        raise _error("where to start? Give -a seeds=URL[,URL...], a file of them, or -a candidates=tsv:FILE")
    options = Options.of(settings)
    if options.workers > 1:
        raise _error("BILINGUAL_WORKERS: sites are looked for by one process; leave it out, and crawl the sites after")
    pairs = _single_pair(pair, options)
    (languages,) = pairs
    parsed = parse_seeds(seeds) if seeds else []
    _check_network(parsed, options)
    if then:
        chosen = _policy_class(None, options)
        _check_models(options, chosen)
        _policy(chosen, pairs, options)
    sources = _sources(candidates, backlinks, archive, settings)
    search = _search(languages, detector, policy, sources, options)
    context = DiscoveryContext(
        pairs=pairs,
        seeds=tuple(parsed),
        policy=DiscoveryPolicy(languages, search),
        scope=_scope("web", parsed, options),
        max_pages=_count("max_pages", max_pages),
        max_pages_per_site=_count("max_pages_per_site", max_pages_per_site),
        # what is given is for the crawl that follows
        until=1.0,
        budget=None,
        render=_render_mode(render or options.render, settings),
        detection=_detection(pairs, options),
        formats=ONLY_HTML,
        output_dir=choose_output_dir(settings, job or named_now(f"sites-{languages}")),
        job=Job(str(languages), "discovery", (), tuple(seed.url for seed in parsed), options.politeness),
        traps=Traps(stale_pages=options.stale_pages),
        search=search,
        sources=sources,
        then=then,
    )
    _check_alignment(settings)
    _check_job(context, settings)
    return context


def _job_id(others: dict[str, Any], known: str) -> str | None:
    """Return the job that Scrapyd names among *others*, arguments that the spider has no name for; UsageError if more.

    *known* lists the arguments of the spider.
    """
    job: str | None = others.pop("_job", None)
    others.pop("_version", None)
    if others:
        raise _error(f"unknown spider argument {', '.join(sorted(others))}; there are: {known}")
    return job


def _sources(candidates: str, backlinks: str, archive: str, settings: BaseSettings) -> Sources:
    try:
        pages = ArchivedPages(archive, user_agent=settings["USER_AGENT"]) if archive else None
        return Sources(_specs("candidates", candidates), _specs("backlinks", backlinks), pages)
    except SourceError as error:
        raise _error(str(error)) from error


def _search(pair: LanguagePair, detector: str, policy: str, sources: Sources, options: Options) -> SiteSearch:
    # tokenizers are slow to import, and Scrapyd imports this module only to list the spiders
    from bilingual_crawler.discovery.detector import load_detector
    from bilingual_crawler.discovery.detector.pairs import FOLDER
    from bilingual_crawler.scoring.models import LanguageModel, ModelError, models_folder

    try:
        models = models_folder(options.models_dir)
        model = LanguageModel(models / "url-language", options.providers)
        addresses = AddressReader(pair, model)
        order = read_value("policy", policy, lambda name: site_order(name, addresses))
        # a folder that holds URL models only, as for other crawls
        weights = models if (models / FOLDER).is_dir() else models_folder(None)
        judge = load_detector(read_value("detector", detector, plugin(SITE_DETECTORS)), weights, model)
        return SiteSearch(pair, judge, order, own_links=sources.own_links)
    except ModelError as error:
        raise _error(str(error)) from error


def parse_settings(settings: BaseSettings, spider: str) -> CrawlContext:
    """Check the settings of another project, whose *spider* has its own seeds, links and end; raises UsageError."""
    options = Options.of(settings)
    if options.frontier:
        raise _error("BILINGUAL_FRONTIER: several processes share no crawl of the add-on; leave it out, JOBDIR resumes")
    if options.workers > 1:
        raise _error("BILINGUAL_WORKERS: several processes share no crawl of the add-on; leave it out")
    if not options.pair:
        raise _error("which languages? Set BILINGUAL_PAIR, for example: BILINGUAL_PAIR = 'eng-mlt'")
    pairs = parse_pairs(options.pair, None, options)
    _check_archives(options)
    chosen = _policy_class(None, options)
    context = CrawlContext(
        pairs=pairs,
        seeds=(),
        policy=_policy(chosen, pairs, options),
        scope=_scope("web", (), options),
        max_pages=0,
        max_pages_per_site=0,
        until=1.0,
        budget=_budget("web", (), None, chosen, pairs, options),
        render="never",
        detection=_detection(pairs, options),
        formats=frozenset(options.documents),
        output_dir=choose_output_dir(settings, named_now(f"{spider}-{_folder(pairs)}")),
        job=Job(str(pairs), f"spider {spider}", options.scope_prefixes, (), options.politeness),
        traps=Traps(stale_pages=options.stale_pages),
    )
    _check_models(options, chosen)
    _check_alignment(settings)
    _check_job(context, settings)
    return context


def _specs(name: str, text: str) -> list[str]:
    """Split the sources in *text* at commas; paths may have commas, too."""
    specs = [spec.strip() for spec in _NEXT_SOURCE.split(text) if spec.strip()]
    wrong = [spec for spec in specs if not _NEXT_SOURCE.match(f",{spec}")]
    if wrong:
        raise _error(f"{name}={wrong[0]}: give cc-index:PATHS, cc-graph:DIR, tsv:FILE or, for backlinks, crawl")
    return specs


def parse_pairs(pair: str | None, languages: str | None, options: Options) -> LanguagePairs:
    """Return the pairs listed by *pair*, or all pairs among *languages*; raises UsageError."""
    if pair and languages:
        raise _error(
            f"pair={pair}, languages={languages}: give one of the two; languages stands for all pairs among them"
        )
    try:
        if languages:
            return LanguagePairs.among(languages, options.equivalent_languages)
        if pair:
            return LanguagePairs.parse(pair, options.equivalent_languages)
    except LanguageError as error:
        raise _error(f"{'languages' if languages else 'pair'}={languages or pair}: {error}") from error
    raise _error("which languages? Give the pair, for example: -a pair=eng-mlt")


def _single_pair(pair: str | None, options: Options) -> LanguagePairs:
    pairs = parse_pairs(pair, None, options)
    if len(pairs) > 1:
        raise _error(f"pair={pair}: sites are looked for by one pair; give one, and crawl the sites found for several")
    return pairs


def _folder(pairs: LanguagePairs) -> str:
    """Return a folder name without commas, which separate paths in lists."""
    return "+".join(map(str, pairs))


def _detection(pairs: LanguagePairs, options: Options) -> Detection:
    try:
        return Detection.for_pairs(options.detectors, pairs)
    except LanguageDetectorError as error:
        raise _error(str(error)) from error


def _check_network(seeds: Sequence[Seed], options: Options) -> None:
    """Check that the archives can be read, and that a crawl of the web names a contact."""
    _check_archives(options)
    if not options.replay and not options.contact and not (seeds and all(is_loopback(seed.url) for seed in seeds)):
        raise _error(
            "say who is crawling: -s BILINGUAL_CONTACT=https://your.page/about-this-crawl (or mailto:you@...) goes "
            "into the user agent, so that webmasters can reach you"
        )
    if options.politeness == "address" and options.frontier:
        raise _error(
            "BILINGUAL_POLITENESS=address: workers on one BILINGUAL_FRONTIER do not know each other's addresses; "
            "choose domain or host"
        )


def _check_archives(options: Options) -> None:
    for name, archives in (("BILINGUAL_REPLAY", options.replay), ("BILINGUAL_KNOWN", options.known)):
        try:
            if archives:
                open_archive(archives)
        except ArchiveError as error:
            raise _error(f"{name}: {error}") from error


def _scope(name: str, seeds: Sequence[Seed], options: Options) -> Scope:
    aliases = alias_hosts(options.replay) if options.replay else ()
    try:
        return Scope(name, (seed.url for seed in seeds), aliases=aliases, prefixes=options.scope_prefixes)
    except ScopeError as error:
        raise _error(f"scope={name}: {error}") from error


def _budget(
    scope: str,
    seeds: Sequence[Seed],
    given: str | Sequence[str] | None,
    policy: type[Policy],
    pairs: LanguagePairs,
    options: Options,
) -> SiteBudget | None:
    """Return the budget over the sites of *seeds*; None for a single site whose scope holds all links.

    If the seeds are *given* as the table of a discovery, the budget starts with the pairs expected there.
    """
    sites = list(dict.fromkeys(registered_domain(seed.url) for seed in seeds))
    if len(sites) == 1 and scope != "web":
        return None
    budget = site_budget(options.site_budget, sites, promises=pairs.max_partners if policy.promises_pairs else 0)
    if budget and isinstance(given, str) and is_table(Path(given)):
        try:
            budget.expect(expected_pairs(Path(given), pairs))
        except ValueError as error:
            raise _error(f"seeds={given}: {error}; correct that line, or leave it out") from error
    return budget


def _render_mode(mode: str, settings: BaseSettings) -> str:
    if mode not in RENDER_MODES:
        raise _error(f"render={mode}: choose one of {', '.join(RENDER_MODES)}")
    if mode == "always" and (missing := missing_for_rendering(settings)):
        raise _error(f"render=always: {missing}")
    return mode


def _policy_class(name: str | None, options: Options) -> type[Policy]:
    """Return the policy *name*; None is the policy of ``BILINGUAL_POLICY``."""
    kind: type[Policy] = read_value("policy", name, POLICIES.find) if name else POLICIES.find(options.policy)
    return kind


def _policy(kind: type[Policy], pairs: LanguagePairs, options: Options) -> Policy:
    parts = [_policy_of(kind, pair, options) for pair in pairs]
    return Jointly(parts) if len(parts) > 1 else parts[0]


def _policy_of(kind: type[Policy], pair: LanguagePair, options: Options) -> Policy:
    if issubclass(kind, Gain):
        try:
            return kind(pair, bridges=options.bridge, added=list(map(GAIN_EVIDENCE.find, options.gain_evidence)))
        except PolicyError as error:
            raise _error(f"BILINGUAL_GAIN_EVIDENCE={','.join(options.gain_evidence)}: {error}") from error
    if issubclass(kind, Oracle):
        return kind(pair, _oracle_order(options.oracle_order))
    return kind(pair)


def _oracle_order(path: Path | None) -> list[str]:
    """Read the URLs of the file *path*, one per line."""
    if path is None:
        raise _error("policy=oracle: set BILINGUAL_ORACLE_ORDER, or run it through scrapy harvest")
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise _error(f"BILINGUAL_ORACLE_ORDER={path}: cannot read this file ({error})") from error


def _check_models(options: Options, policy: type[Policy]) -> None:
    if not policy.needs_models:
        return
    # tokenizers are slow to import, and Scrapyd imports this module only to list the spiders
    from bilingual_crawler.scoring.models import ModelError, load_models, models_folder

    try:
        load_models(models_folder(options.models_dir), options.providers)
    except ModelError as error:
        raise _error(f"{error}; BILINGUAL_MODELS_DIR names the folder that holds the models") from error


def _check_job(context: CrawlContext, settings: BaseSettings) -> None:
    """Check that the job folder belongs to this crawl."""
    try:
        context.job.check(settings)
    except JobError as error:
        raise _error(str(error)) from error


def _check_alignment(settings: BaseSettings) -> None:
    """Check that the alignment at the end of the crawl can run."""
    options = Options.of(settings)
    if not options.align:
        return
    # scipy is slow to import as well
    from bilingual_crawler.encoders import EncoderError
    from bilingual_crawler.pairing.methods import method_of
    from bilingual_crawler.scoring.models import ModelError

    try:
        method_of(options.align, settings)
    except (ModelError, EncoderError) as error:
        raise _error(str(error)) from error


def _until(text: str) -> float:
    try:
        return share_of_pairs(text)
    except ValueError as error:
        raise _error(f"until={text}: {error}") from None


def _count(name: str, value: str) -> int:
    try:
        count = int(value)
    except ValueError:
        count = -1
    if count < 0:
        raise _error(f"{name}={value}: give a whole number, 0 for no limit")
    return count
