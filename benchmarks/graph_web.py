"""Webs with the links of real ones: what the benchmark of discovery searches.

The web ``eurosis`` has the sites, names and links of the EuroSiS study (2009). Which of its sites are bilingual is
drawn: sites of countries where a language of the pair is spoken with :data:`AT_HOME`, international ones with
:data:`INTERNATIONAL`, others with :data:`ABROAD`. The web ``real`` has real domains with the languages of their saved
pages.
"""

from __future__ import annotations

import csv
import gzip
import random
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyascii import anyascii

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bilingual_crawler.languages.codes import LanguagePair

AT_HOME, INTERNATIONAL, ABROAD = 0.25, 0.2, 0.03
"""Probability that a site is bilingual."""
OUTWARD = re.compile("universit|research|museum|government|international|network|events", re.IGNORECASE)
OUTWARD_FACTOR, INWARD_FACTOR = 1.5, 0.5
"""Kinds of site that address readers abroad, and how much more often than others they are bilingual."""
COUNTRIES = {
    "Armenia": ("am", "hye"),
    "Belgium": ("be", "fra"),
    "Bulgaria": ("bg", "bul"),
    "Czech Republic": ("cz", "ces"),
    "Estonia": ("ee", "est"),
    "Finland": ("fi", "fin"),
    "France": ("fr", "fra"),
    "Hungary": ("hu", "hun"),
    "International": ("org", "eng"),
    "Italy": ("it", "ita"),
    "Montenegro": ("me", "cnr"),
    "Poland": ("pl", "pol"),
    "Portugal": ("pt", "por"),
}
"""Country -> top-level domain and language."""
HUB = 10  # links to other sites from which on a site has them on a page of their own


@dataclass
class Node:
    """A site of the web."""

    host: str
    name: str
    language: str
    """Of its home page, ISO 639-3."""
    bilingual: bool
    links: list[Node] = field(default_factory=list)
    hub: bool = False
    """Its links to other sites are on ``/links.html``."""
    topics: frozenset[str] = frozenset()
    """What the study says that it is about, such as ``health``; its home page says it too, in a search by topic."""

    @property
    def home(self) -> str:
        return f"http://{self.host}/"

    @property
    def links_page(self) -> str:
        """The page that has its links to other sites."""
        return f"{self.home}links.html" if self.hub else self.home


def eurosis(folder: Path, pair: LanguagePair, seed: int) -> list[Node]:
    """The web of *folder* with labels for *pair*, of which one language is spoken in a country of the study."""
    rng = random.Random(seed)
    nodes: dict[str, Node] = {}
    for row in _rows(folder / "eurosis_nodes.tsv"):
        domain, language = COUNTRIES[row["country"]]
        at_home = ABROAD if pair.side(language) is None else AT_HOME
        chance = INTERNATIONAL if row["country"] == "International" else at_home
        chance *= OUTWARD_FACTOR if OUTWARD.search(row["actor_type"]) else INWARD_FACTOR
        slug = re.sub(r"[^a-z0-9]+", "-", anyascii(row["label"]).lower()).strip("-")[:40].strip("-")
        host = f"www.{slug or 'site'}-{row['id']}.{domain}"
        bilingual = rng.random() < chance
        topics = frozenset(tag.removeprefix("tag_") for tag in row["tags"].split())
        nodes[row["id"]] = Node(host, row["label"].strip(), language, bilingual, topics=topics)
    for row in _rows(folder / "eurosis_edges.tsv"):
        source, target = nodes[row["from"]], nodes[row["to"]]
        if source is not target and target not in source.links:
            source.links.append(target)
    for node in nodes.values():
        node.hub = len(node.links) >= HUB
    return list(nodes.values())


def real(folder: Path, pair: LanguagePair) -> list[Node]:
    """The real domains of *folder*; bilingual are those with pages, or announced versions, in both languages."""
    nodes: dict[str, Node] = {}
    for row in _rows(folder / "real_domains_nodes.tsv.gz"):
        languages = {
            code
            for column in ("page_languages", "hreflang", "href_lang_same_domain", "switcher_labels")
            for code in re.findall(r"[a-z]{3}", row[column])
        }
        sides = {pair.side(code) for code in languages} - {None}
        language = (re.findall(r"[a-z]{3}", row["page_languages"]) or ["un"])[0]
        nodes[row["domain"]] = Node(row["domain"], row["domain"], language, len(sides) == 2)
    for row in _rows(folder / "real_domains_edges.tsv.gz"):
        if row["from"] in nodes and row["to"] in nodes:
            nodes[row["from"]].links.append(nodes[row["to"]])
    return list(nodes.values())


def linking(nodes: Sequence[Node], known: float, seed: int) -> dict[str, list[Node]]:
    """By host, the sites that link to it, of which a share *known* is known."""
    rng = random.Random(seed)
    found: defaultdict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        for target in node.links:
            if rng.random() < known:
                found[target.host].append(node)
    return found


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter="\t")
