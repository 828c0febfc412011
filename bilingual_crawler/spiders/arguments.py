"""The arguments of ``scrapy crawl bilingual``, checked before anything is fetched."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exceptions import UsageError

from bilingual_crawler.archive import ArchiveError, alias_hosts, open_archive
from bilingual_crawler.frontier.policies import policy_class
from bilingual_crawler.frontier.politeness import POLITENESS
from bilingual_crawler.frontier.scope import Scope
from bilingual_crawler.languages import LanguageError, LanguagePair
from bilingual_crawler.middlewares.addresses import allowed_networks
from bilingual_crawler.rendering.options import MODES, missing_for_rendering
from bilingual_crawler.spiders.output import choose_output_dir
from bilingual_crawler.urls.canonical import canonicalise

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from bilingual_crawler.frontier.policies.base import Policy


BARE_HOST = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?(/\S*)?$")


def _error(message: str) -> UsageError:
    return UsageError(message, print_help=False)


@dataclass(frozen=True, slots=True)
class Seed:
    url: str
    guessed_scheme: bool
    """The user gave no scheme: https is tried first, then http."""


@dataclass(frozen=True, slots=True)
class CrawlArguments:
    """Everything a crawl needs to know from the command line."""

    pair: LanguagePair
    seeds: tuple[Seed, ...]
    policy: Policy
    scope: Scope
    max_pages: int
    max_pages_per_site: int
    render: str
    output_dir: Path

    @classmethod
    def parse(
        cls,
        settings: BaseSettings,
        *,
        pair: str | None = None,
        seeds: str | None = None,
        policy: str | None = None,
        scope: str = "site",
        max_pages: str = "0",
        max_pages_per_site: str = "0",
        render: str | None = None,
        **unknown: Any,
    ) -> CrawlArguments:
        """Check spider arguments and the settings they depend on; raises UsageError naming the value and the fix."""
        job = unknown.pop("_job", None)
        unknown.pop("_version", None)
        if unknown:
            known = "pair, seeds, policy, scope, max_pages, max_pages_per_site, render"
            raise _error(f"unknown spider argument {', '.join(sorted(unknown))}; there are: {known}")
        if not pair:
            raise _error("which languages? Give the pair, for example: -a pair=eng-mlt")
        try:
            languages = LanguagePair.parse(pair, equivalents=settings.getlist("BILINGUAL_EQUIVALENT_LANGUAGES"))
        except LanguageError as error:
            raise _error(f"pair={pair}: {error}") from error
        parsed = parse_seeds(seeds)
        allowed_networks(settings)
        _check_politeness(settings)
        replay = settings.getlist("BILINGUAL_REPLAY")
        if replay:
            try:
                open_archive(replay)
            except ArchiveError as error:
                raise _error(f"BILINGUAL_REPLAY: {error}") from error
        elif not settings.get("BILINGUAL_CONTACT") and not all(_is_loopback(seed.url) for seed in parsed):
            raise _error(
                "say who is crawling: -s BILINGUAL_CONTACT=https://your.page/about-this-crawl (or mailto:you@...) goes "
                "into the user agent, so that webmasters can reach you"
            )
        chosen = policy_class(policy or settings["BILINGUAL_POLICY"])
        if chosen.needs_models:
            _check_models(settings)
        return cls(
            languages,
            tuple(parsed),
            chosen(languages, settings),
            Scope(
                scope,
                (seed.url for seed in parsed),
                aliases=alias_hosts(replay) if replay else (),
                prefixes=settings.getlist("BILINGUAL_SCOPE_PREFIXES"),
            ),
            _count("max_pages", max_pages),
            _count("max_pages_per_site", max_pages_per_site),
            _render_mode(render or settings["BILINGUAL_RENDER"], settings),
            choose_output_dir(settings, job or f"{languages}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"),
        )


def _render_mode(mode: str, settings: BaseSettings) -> str:
    if mode not in MODES:
        raise _error(f"render={mode}: choose one of {', '.join(MODES)}")
    if mode == "always" and (missing := missing_for_rendering(settings)):
        raise _error(f"render=always: {missing}")
    return mode


def _check_politeness(settings: BaseSettings) -> None:
    chosen = settings.get("BILINGUAL_POLITENESS")
    if chosen not in POLITENESS:
        raise _error(f"BILINGUAL_POLITENESS={chosen}: choose one of {', '.join(POLITENESS)}")
    if chosen == "address" and settings["BILINGUAL_FRONTIER"]:
        raise _error(
            "BILINGUAL_POLITENESS=address: workers on one BILINGUAL_FRONTIER do not know each other's addresses; choose "
            "domain or host"
        )


def _check_models(settings: BaseSettings) -> None:
    # onnxruntime takes long to import, and Scrapyd imports this module only to list the spiders
    from bilingual_crawler.scoring.models import ModelError, load_models, models_folder

    try:
        load_models(models_folder(settings["BILINGUAL_MODELS_DIR"]), settings.getlist("BILINGUAL_PROVIDERS"))
    except ModelError as error:
        raise _error(f"{error}; BILINGUAL_MODELS_DIR names the folder that holds the models") from error


def parse_seeds(seeds: str | None) -> list[Seed]:
    """Seeds from ``URL[,URL...]`` or the path of a file with one URL a line (``#`` starts a comment).

    Raises UsageError if there is none or one is no URL.
    """
    if not seeds:
        raise _error("where to start? Give -a seeds=URL[,URL...] or the path of a file with one URL a line")
    if _lists_urls(seeds):
        texts = seeds.split(",")
    else:
        try:
            lines = Path(seeds).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise _error(f"seeds={seeds}: cannot read this file ({error})") from error
        texts = [line for line in lines if not line.lstrip().startswith("#")]
    found = [_seed(text.strip()) for text in texts if text.strip()]
    if not found:
        raise _error(f"seeds={seeds}: no URL in it")
    return list(dict.fromkeys(found))


def _lists_urls(seeds: str) -> bool:
    if "://" in seeds or "," in seeds:
        return True
    return not Path(seeds).exists() and not seeds.endswith(".txt") and BARE_HOST.match(seeds) is not None


def _seed(text: str) -> Seed:
    guessed = "://" not in text
    url = canonicalise(f"https://{text}" if guessed else text)
    if url is None:
        raise _error(f"seed {text!r} is not an http(s) URL, as in https://example.com/")
    return Seed(url, guessed)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _count(name: str, value: str) -> int:
    try:
        count = int(value)
    except ValueError:
        count = -1
    if count < 0:
        raise _error(f"{name}={value}: give a whole number, 0 for no limit")
    return count
