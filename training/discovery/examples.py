"""Links and pairs of pages of frozen sites, as a detector would judge them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from bilingual_crawler.discovery.detector.barbosa import MAX_LINKS, tokens_of
from bilingual_crawler.discovery.detector.features import (
    PAGE_PAIR_FEATURES,
    LinkReader,
    comparable,
    features_of,
    side_of,
)
from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.pairing.resemblance import OUTLINE_FEATURES, Resemblance
from bilingual_crawler.urls.hosts import domain_label
from bilingual_crawler.urls.marks import strip_language
from training.discovery.cuts import CutWeb, FrozenWeb, Variant, make_instances
from training.documents.encounters import NOTHING, kind_of
from training.documents.examples import family

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bilingual_crawler.harvest.sites import Site
    from bilingual_crawler.scoring.models import LanguageModel
    from training.discovery.cuts import Instance

DOCUMENTS = 4  # documents in gold pairs whose links are read, for each task, beside the entry page
OTHERS = 3  # other pages whose links are read
PAIRS = 12  # gold pairs of a task, each with wrong pairs of the same pages
CLAIMED = 3  # wrong partners among the pages that a page links to, those first that it claims as its translation
CHANCE = 2  # wrong partners drawn by chance
CLAIMS = PAGE_PAIR_FEATURES[len(OUTLINE_FEATURES) :]
"""The features of a pair that are what the pages say, not what they hold."""


@dataclass(frozen=True, slots=True)
class LinkExample:
    """A link, and where it leads."""

    features: Mapping[str, float]
    in_language: bool
    """To a page in the language that is sought."""
    translation: bool
    """To the translation of its page."""


@dataclass(frozen=True, slots=True)
class TokenExample:
    """A link as the detector of Barbosa et al. sees it."""

    tokens: set[str]
    in_language: bool
    """To a page in a language of the pair that its page is not in."""


@dataclass(frozen=True, slots=True)
class PairExample:
    """Two pages in the two languages, and whether they are translations."""

    features: Mapping[str, float]
    parallel: bool


@dataclass(slots=True)
class Examples:
    """All of one site."""

    site: str
    family: str
    kind: str
    links: list[LinkExample] = field(default_factory=list)
    tokens: list[TokenExample] = field(default_factory=list)
    pairs: list[PairExample] = field(default_factory=list)


def read_examples(folder: Path, model: LanguageModel) -> Examples:
    """Examples from the frozen site in *folder*."""
    name = folder.name
    web = FrozenWeb(read_site(folder))
    found = Examples(name, family(name), kind_of(name))
    for instance in make_instances(web.site):
        if instance.variant is Variant.WHOLE:
            gold = gold_pairs(web.site, instance)
            random = Random(f"{name} {instance.pair}")
            reader = LinkReader(instance.pair, model)
            _add_links(found, CutWeb.from_instance(web, instance), instance, gold, reader, random)
            found.pairs += _pairs(web, instance, gold, random)
        elif instance.variant in (Variant.ABSENT, Variant.MONO_CLEAN):
            reader = LinkReader(instance.pair, model)
            _add_links(found, CutWeb.from_instance(web, instance), instance, (), reader, Random(name))
    return found


def gold_pairs(site: Site, instance: Instance) -> list[tuple[str, str]]:
    """The gold pairs in the languages of *instance* and in their order, sorted."""
    wanted = instance.lang_a, instance.lang_b
    found = {(p.url_a, p.url_b) for p in site.pairs if (p.lang_a, p.lang_b) == wanted}
    found |= {(p.url_b, p.url_a) for p in site.pairs if (p.lang_b, p.lang_a) == wanted}
    return sorted(found)


def _add_links(
    found: Examples,
    cut: CutWeb,
    instance: Instance,
    gold: Sequence[tuple[str, str]],
    reader: LinkReader,
    random: Random,
) -> None:
    """Add to *found* the links of the entry page; of a whole site also those of documents and other pages."""
    languages = cut.web.site.languages
    translations = {*gold, *((b, a) for a, b in gold)}
    documents = sorted({url for pair in gold for url in pair})
    pages = sorted(languages) if gold else []
    chosen = [
        instance.entry,
        *random.sample(documents, min(DOCUMENTS, len(documents))),
        *random.sample(pages, min(OTHERS, len(pages))),
    ]
    for url in dict.fromkeys(chosen):
        page = cut.fetch(url)
        if page is None:
            continue
        sought = frozenset({instance.lang_a, instance.lang_b} - {side_of(page, instance.pair)})

        def led_to(url: str) -> tuple[str | None, str]:
            """The language of the page that *url* leads to, None for no page; its address."""
            target = cut.web.target(url)
            return None if target in cut.removed else instance.pair.side(languages.get(target, "")), target

        for link in {link.url: link for link in page.links[:MAX_LINKS]}.values():
            tokens = tokens_of(page, link, sought, instance.pair)
            if domain_label(link.url) == domain_label(page.url):
                found.tokens.append(TokenExample(tokens, led_to(link.url)[0] in sought))
        for wanted in sorted(sought):
            # guesses that links confirm are left out by the reader; here they say how often one is right
            links = (one for one in reader.read(page, wanted) if not one.is_guess)
            for prospect in (*links, *reader.guess(page, wanted)):
                language, target = led_to(prospect.url)
                found.links.append(LinkExample(prospect.features, language == wanted, (url, target) in translations))


def _pairs(
    web: FrozenWeb, instance: Instance, gold: Sequence[tuple[str, str]], random: Random
) -> Iterator[PairExample]:
    sides: tuple[list[str], list[str]] = ([], [])
    for url, language in web.site.languages.items():
        side = instance.pair.side(language)
        if side is not None:
            sides[side == instance.lang_b].append(url)
    right = set(gold)
    for pair in random.sample(gold, min(PAIRS, len(gold))):
        wrong = [
            (partner, pair[1]) if place else (pair[0], partner)
            for place in (0, 1)
            for partner in _wrong_partners(web, pair[place], sides[1 - place], random)
        ]
        proposed = dict.fromkeys((pair, *wrong))
        found = {urls: _pair(web, instance, urls, urls in right, sides, random) for urls in proposed}
        examples = [example for example in found.values() if example is not None]
        yield from examples
        lies = [example for example in examples if not example.parallel]
        if lies and (truth := found[pair]) is not None:
            # frozen sites tell the truth; on others the page that is announced holds something else
            claims = {name: truth.features[name] for name in CLAIMS}
            yield PairExample({**random.choice(lies).features, **claims}, parallel=False)


def _wrong_partners(web: FrozenWeb, url: str, others: Sequence[str], random: Random) -> list[str]:
    page = web.read(url)
    candidates = set(others)
    linked = [(not link.claims, web.target(link.url)) for link in page.links] if page else []
    linked = [(rank, target) for rank, target in linked if target in candidates]
    claimed = [target for _, target in sorted(linked, key=lambda one: one[0])[:CLAIMED]]
    return [*claimed, *random.sample(others, min(CHANCE, len(others)))]


def _pair(
    web: FrozenWeb,
    instance: Instance,
    urls: tuple[str, str],
    parallel: bool,
    sides: tuple[Sequence[str], Sequence[str]],
    random: Random,
) -> PairExample | None:
    """The pair at *urls*, after a third page at times; None if a detector would not compare it."""
    a, b = (web.read(url) for url in urls)
    if a is None or b is None or not comparable(a, b, instance.pair):
        return None
    if not parallel and strip_language(a.url) == strip_language(b.url):
        # a translation that is in no gold pair, for one address names a third language
        return None
    resemblance = Resemblance(NOTHING)
    for place, page in enumerate((a, b)):
        assert page.outline is not None
        resemblance.see(page.outline, place)
    for place in (0, 1):
        third = web.read(random.choice(sides[place])) if random.random() < 0.3 else None
        if third is not None and third.outline is not None:
            resemblance.see(third.outline, place)
    return PairExample(features_of(a, b, instance.pair, resemblance), parallel)
