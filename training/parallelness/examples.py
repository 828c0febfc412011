"""Training and evaluation data of the pair model: positives by group, real links, negatives."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bilingual_crawler.harvest.sites import Site, SiteError, read_site
from bilingual_crawler.urls.hosts import domain_label
from bilingual_crawler.urls.model_input import pair_text
from training.common.data import read_header, read_tsv
from training.parallelness.hard_negatives import hard_negatives
from training.parallelness.negatives import PAPER_COMBINATION, clusters, generate
from training.parallelness.synthetic import marked_pairs, slug_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

TRUNCATED = 46  # length at which the printed MaCoCu samples were truncated
EVIDENCE = frozenset(("gold", "hreflang-html", "site-repo", "corpus-sample", "corpus", "crawl", "site", "list"))
LINK, LINK_POSITIVE = "link", "link-positive"
SITES = "sites"
MOST_OF_GROUP = 400
MOST_LINKS = 4000
MADE_UP = SYNTHETIC, SYNTHETIC_SLUGS = "synthetic", "synthetic-slugs"
UNCLEAR_KINDS = frozenset(("remove-bi", "remove-mono"))
ONLY_LANGUAGE = ("lang:swap:all", "lang:add:all")
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled pair: how it was made, from which data, and `group`, the domain label that decides its fold."""

    url_a: str
    url_b: str
    label: int
    kind: str
    source: str
    group: str


def fold_of(group: str, folds: int = FOLDS) -> int:
    """Fold of a domain label, the same in every run."""
    return int.from_bytes(hashlib.blake2b(group.encode(), digest_size=4).digest(), "big") % folds


def origin_of(example: Example) -> str:
    """The kind of data that an example comes from: an evidence, a way of making up, or `SITES` for all frozen sites."""
    return example.source if example.source in EVIDENCE or example.source in MADE_UP else SITES


def languages_of(path: Path) -> dict[str, str]:
    """Language of each URL of a list of URL pairs; empty if the list has no lang_a and lang_b."""
    if not {"lang_a", "lang_b"} <= set(read_header(path)):
        return {}
    rows = read_tsv(path, ("url_a", "lang_a", "url_b", "lang_b")).rows
    return {url: language for a, lang_a, b, lang_b in rows for url, language in ((a, lang_a), (b, lang_b))}


def read_positives(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Usable positives of a list of URL pairs, by evidence; prints how many rows it has, and which it leaves out.

    Left out are rows with label 0, if the list has labels, those with an evidence that is not in `EVIDENCE`, and
    truncated and cross-site corpus samples.
    """
    labels = ("label",) if "label" in read_header(path) else ()
    table = read_tsv(path, ("url_a", "url_b", "evidence", *labels), urls=("url_a", "url_b"))
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    others: Counter[str] = Counter()
    for a, b, evidence, *label in table.rows:
        if label == ["0"] or a == b:
            continue
        if evidence not in EVIDENCE:
            others[evidence] += 1
            continue
        if evidence == "corpus-sample" and (max(len(a), len(b)) >= TRUNCATED or domain_label(a) != domain_label(b)):
            continue
        found[evidence].append((a, b))
    left_out = "".join(f"; {count} left out with evidence {name}" for name, count in others.most_common())
    print(f"{table.report()}{left_out}", flush=True)
    return dict(found)


def capped(pairs: Iterable[tuple[str, str]], most: int, rng: random.Random) -> list[tuple[str, str]]:
    """At most `most` pairs of each domain label, drawn at random."""
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair in dict.fromkeys(pairs):
        groups[domain_label(pair[0])].append(pair)
    return [pair for group in groups.values() for pair in (rng.sample(group, most) if len(group) > most else group)]


def examples_of(known: Sequence[tuple[str, str]], source: str, limit: int, hard: int, seed: int) -> list[Example]:
    """Up to 400 positives a group with the paper's negatives (`limit` per generator) and `hard` rewritten ones each."""
    pairs = capped(known, MOST_OF_GROUP, random.Random(seed))
    document = clusters(known)
    negatives = generate(pairs, PAPER_COMBINATION, limit, seed) + hard_negatives(pairs, hard, seed)
    return [Example(a, b, 1, "positive", source, domain_label(a)) for a, b in pairs] + [
        Example(n.url_a, n.url_b, 0, n.kind, source, domain_label(n.url_a))
        for n in negatives
        if n.url_a not in document or document[n.url_a] != document.get(n.url_b)
    ]


def frozen_sites(folder: Path) -> list[Path]:
    """The folders of frozen sites in `folder`, by name; SiteError without any."""
    found = sorted(path.parent for path in folder.glob("*/pairs.tsv.xz"))
    if not found:
        raise SiteError(f"{folder} holds no frozen sites: each is a folder with pairs.tsv.xz")
    return found


def link_examples(site: Site) -> list[Example]:
    """The real links of gold pages that link to a gold partner: partners are positive, other pages negative."""
    partners: dict[str, set[str]] = defaultdict(set)
    for pair in site.pairs:
        partners[pair.url_a].add(pair.url_b)
        partners[pair.url_b].add(pair.url_a)
    group = domain_label(next(iter(site.links)))
    found = []
    for page, gold in partners.items():
        links = dict.fromkeys(site.links.get(page, ()))
        if not gold & links.keys():
            continue
        for link in links:
            if link != page and link in site.links:
                label = int(link in gold)
                found.append(Example(page, link, label, LINK_POSITIVE if label else LINK, site.directory.name, group))
    return found


def is_unclear(example: Example) -> bool:
    """Whether token removal left two valid addresses that differ in the language only: such a negative is not used."""
    return not example.label and example.kind in UNCLEAR_KINDS and only_language_differs(example)


def is_refused(example: Example) -> bool:
    """Whether a real link differs in the language only but is not in gold: the linked page is not translated."""
    return example.kind == LINK and only_language_differs(example)


def only_language_differs(example: Example) -> bool:
    """Whether the addresses are valid and equal but for their language tokens."""
    features = set(pair_text(example.url_a, example.url_b).split())
    return (
        not features.isdisjoint(ONLY_LANGUAGE)
        and features.isdisjoint(("nested1", "nested2", "odd"))
        and "ext=" in features
    )


def site_examples(site: Site, limit: int, hard: int, seed: int) -> list[Example]:
    """Gold pairs of a frozen site with their negatives, and its links, capped."""
    gold = [(pair.url_a, pair.url_b) for pair in site.pairs]
    document = clusters(gold)
    links = [e for e in link_examples(site) if e.label or document[e.url_a] != document.get(e.url_b)]
    links = random.Random(seed).sample(links, MOST_LINKS) if len(links) > MOST_LINKS else links
    return examples_of(gold, site.directory.name, limit, hard, seed) + links


@dataclass(frozen=True, slots=True)
class PairSources:
    """Training files of the pair model; `urls` (url, lang) and `lexicon` serve for synthetic positives."""

    pairs: Path
    sites: Path
    urls: Path | None = None
    lexicon: Path | None = None


def training_examples(sources: PairSources, limit: int, hard: int, made_up: int, seed: int) -> list[Example]:
    """All training examples, unclear negatives included, with `made_up` synthetic sites of each kind."""
    examples: list[Example] = []
    for evidence, found in read_positives(sources.pairs).items():
        examples += examples_of(found, evidence, limit, hard, seed)
    for folder in frozen_sites(sources.sites):
        examples += site_examples(read_site(folder), limit, hard, seed)
    if sources.urls is not None:
        rows = read_tsv(sources.urls, ("url", "lang")).rows
        marked = marked_pairs(((row[0], row[1]) for row in rows), made_up, seed)
        examples += examples_of(marked, SYNTHETIC, min(2, limit), min(2, hard), seed)
    if sources.lexicon is not None:
        entries = read_tsv(sources.lexicon, ("lang_a", "text_a", "lang_b", "text_b"), urls=()).rows
        slugs = slug_pairs(((row[0], row[1], row[2], row[3]) for row in entries), made_up, seed)
        examples += examples_of(slugs, SYNTHETIC_SLUGS, min(2, limit), min(1, hard), seed)
    return examples
