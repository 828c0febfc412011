"""Main-content extraction on sites of real generators, beside other extractors, and the language of each page.

    pip install trafilatura resiliparse justext lxml_html_clean
    python -m benchmarks.own_text ../shared/data/sites/generated [--json figures.json] [--show 20]

SITES holds a folder a site with ``crawl.warc.gz`` and ``pages.tsv``. The truth is the text of the element into which
the generator writes the body of a page, read with lxml. Lines are compared by their letters and digits: a line of an
extractor is right if the truth has it, or part of it, or several of its lines in a row. A first heading outside that
element counts neither way. An extractor that is not installed is left out.

All get the decoded page, whose decoding is not timed; jusText also gets the language that ``pages.tsv`` names.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import compress
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lxml.html import document_fromstring
from warcio.archiveiterator import ArchiveIterator

from bilingual_crawler.languages.codes import from_bcp47, language_name
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import walk_through
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.language import Detection
from training.common.data import DataError
from training.common.options import refuse_bad_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any


@dataclass(frozen=True)
class Template:
    """Where a generator writes the body of a page."""

    container: str
    """CSS selector"""
    unwanted: str = ""
    """CSS selector of what is in the container, but no text of the page."""
    either: str = "h1"
    """CSS selector of what counts neither as text of the page nor as frame, outside the container if it has it."""


TEMPLATES = {
    "docusaurus": Template(".theme-doc-markdown, #__blog-post-container, [class*=mdxPageWrapper] article"),
    "hugo": Template("main", ".pagination, article > a[href*='/tags/'], h1, time", either="h1, time"),
    "mediawiki": Template(".mw-parser-output", ".mw-editsection, #toc"),
    "mkdocs_suffix": Template("article.md-content__inner", ".md-content__button, .headerlink"),
    "nikola": Template(".e-content"),
    "sphinx": Template("[itemprop=articleBody]"),
}
KINDS = ("doc", "mixed", "fallback")
"""Pages whose body is known; ``list`` is reported apart."""
LONG = 25  # letters and digits from which a line counts as right in other lines

_INLINE = frozenset(
    {
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "img"),
        *("ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time"),
        *("tt", "u", "var", "wbr"),
    }
)
_SKIPPED = frozenset(("script", "style", "template", "svg", "noscript"))
_SIGNS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class PageOfSite:
    """A page of ``pages.tsv`` that is archived."""

    url: str
    language: str
    kind: str
    content_type: str
    body: bytes

    @cached_property
    def html(self) -> str:
        """The decoded body."""
        return decode_body(self.body, self.content_type)


def read_pages(site: Path) -> Iterator[PageOfSite]:
    """Archived pages of *site*."""
    with (site / "pages.tsv").open(encoding="utf-8", newline="") as file:
        rows = {row["url"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    with (site / "crawl.warc.gz").open("rb") as stream:
        for record in ArchiveIterator(stream):
            row = rows.get(record.rec_headers.get_header("WARC-Target-URI"))
            if row is not None and record.rec_type == "response" and record.http_headers.get_statuscode() == "200":
                del rows[row["url"]]
                content_type = record.http_headers.get_header("Content-Type") or ""
                body = record.content_stream().read()
                yield PageOfSite(row["url"], row["language"], row["kind"], content_type, body)


def block_text(element: Any) -> list[str]:
    """Lines of an lxml *element*, one a block; lines of program code stay apart."""
    parts: list[str] = []
    _add_text(element, parts, is_code=False)
    return [line for line in (" ".join(line.split()) for line in "".join(parts).split("\0")) if line]


def _add_text(element: Any, parts: list[str], *, is_code: bool) -> None:
    if element.tag in _SKIPPED or not isinstance(element.tag, str):
        return
    end = "" if element.tag in _INLINE else "\0"
    is_code = is_code or element.tag == "pre"
    parts += (end, _code(element.text, is_code))
    for child in element:
        _add_text(child, parts, is_code=is_code)
        parts.append(_code(child.tail, is_code))
    parts.append(end)


def _code(text: str | None, is_code: bool) -> str:
    return (text or "").replace("\n", "\0") if is_code else text or ""


def truth_of(page: PageOfSite, template: Template) -> tuple[list[str], set[str]]:
    """Lines in the container of *page*, and keys of the lines that count neither way."""
    root = document_fromstring(page.html)
    either = {key(line) for found in root.cssselect(template.either) for line in block_text(found)}
    for unwanted in root.cssselect(template.unwanted) if template.unwanted else ():
        unwanted.drop_tree()
    containers = root.cssselect(template.container)
    if not containers:
        raise DataError(f"{page.url}: no element {template.container}")
    return block_text(containers[0]), either


def key(line: str) -> str:
    """Letters and digits of *line*, composed: extractors write bullets, bars between cells and blanks of their own."""
    return _SIGNS.sub("", unicodedata.normalize("NFC", line))


@dataclass
class Score:
    """Lines and characters of some pages."""

    true_lines: int = 0
    true_characters: int = 0
    lines: int = 0
    characters: int = 0
    right_lines: int = 0
    right_characters: int = 0
    recalled_lines: int = 0
    recalled_characters: int = 0
    seconds: list[float] = field(default_factory=list)
    """Processor time of each page."""
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)

    def add(self, lines: Iterable[str], truth: Sequence[str], either: set[str]) -> None:
        """Add the *lines* of an extractor for a page."""
        kept = [(name, line) for line in truth if (name := key(line))]
        text = "".join(name for name, _ in kept)
        recalled = bytearray(len(text))
        starts: defaultdict[str, list[int]] = defaultdict(list)
        at = 0
        for name, _ in kept:
            starts[name].append(at)
            at += len(name)
        for line in lines:
            name = key(line)
            at = starts[name].pop(0) if starts.get(name) else _find(name, text, recalled)
            if at < 0 and (not name or name in either):
                continue
            self.lines += 1
            self.characters += len(name)
            if at < 0:
                self.wrong[line] += 1
                continue
            self.right_lines += 1
            self.right_characters += len(name)
            recalled[at : at + len(name)] = b"\1" * len(name)
        at = 0
        for name, line in kept:
            of_line = sum(recalled[at : at + len(name)])
            at += len(name)
            self.recalled_lines += of_line == len(name)
            self.recalled_characters += of_line
            if of_line < len(name):
                self.missed[line] += 1
        self.true_lines += len(kept)
        self.true_characters += len(text)

    def shares(self) -> dict[str, float]:
        """Precision and recall, and milliseconds a page (median)."""
        return {
            "line precision": self.right_lines / max(self.lines, 1),
            "line recall": self.recalled_lines / max(self.true_lines, 1),
            "character precision": self.right_characters / max(self.characters, 1),
            "character recall": self.recalled_characters / max(self.true_characters, 1),
            "ms a page": 1000 * median(self.seconds),
        }


def _find(name: str, text: str, recalled: bytearray) -> int:
    """Where *text* has the long *name* and nothing is recalled so far; -1 if nowhere."""
    at = text.find(name) if len(name) >= LONG else -1
    while at >= 0 and recalled[at]:
        at = text.find(name, at + 1)
    return at


def extract_here(page: PageOfSite) -> list[str]:
    walk = walk_through(page.html)
    return list(compress(walk.lines, walk.main))


def load_trafilatura() -> Callable[[PageOfSite], list[str]]:
    trafilatura = import_module("trafilatura")

    def extract(page: PageOfSite) -> list[str]:
        return (trafilatura.extract(page.html, include_comments=False) or "").split("\n")

    return extract


def load_resiliparse() -> Callable[[PageOfSite], list[str]]:
    resiliparse = import_module("resiliparse.extract.html2text")

    def extract(page: PageOfSite) -> list[str]:
        text: str = resiliparse.extract_plain_text(
            page.html, main_content=True, comments=False, alt_texts=False, list_bullets=False
        )
        return text.split("\n")

    return extract


def load_justext() -> Callable[[PageOfSite], list[str]]:
    justext = import_module("justext")

    def extract(page: PageOfSite) -> list[str]:
        paragraphs = justext.justext(page.html, justext.get_stoplist(language_name(page.language)))
        return [paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate]

    return extract


OTHERS = {"trafilatura": load_trafilatura, "resiliparse": load_resiliparse, "justext": load_justext}


@dataclass
class Languages:
    """Pages of a site by kind, and how many of them are taken for what ``pages.tsv`` says."""

    pages: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    """``kind: true language > identified language`` of the wrong ones."""
    in_frame_language: int = 0
    """Fallback pages that are a document in the language of the folder in which they are."""

    def add(self, page: PageOfSite) -> None:
        folder = from_bcp47(urlsplit(page.url).path.split("/")[1])
        detection = Detection(languages=frozenset(filter(None, (page.language, folder))))
        found = PageJob(page.body, page.content_type, page.url, detection=detection).run().language
        self.pages[page.kind] += 1
        self.right[page.kind] += found == page.language
        if found != page.language:
            self.answers[f"{page.kind}: {page.language} > {found}"] += 1
        self.in_frame_language += page.kind == "fallback" and folder == found


def installed() -> dict[str, Callable[[PageOfSite], list[str]]]:
    """Extractors by name."""
    extractors: dict[str, Callable[[PageOfSite], list[str]]] = {"bilingual_crawler": extract_here}
    for name, load in OTHERS.items():
        try:
            extractors[name] = load()
        except ImportError as error:
            print(f"{name} is left out: {error}; pip install {name}", file=sys.stderr)
    return extractors


def run(args: argparse.Namespace) -> None:
    """Measure, and print the tables."""
    extractors = installed()
    sites = [site.parent for site in sorted(args.sites.glob("*/pages.tsv"))]
    scores: dict[str, dict[str, Score]] = {}
    lists: dict[str, dict[str, Score]] = {}
    languages: dict[str, Languages] = {}
    if not sites:
        raise DataError(f"{args.sites} has no folder with a pages.tsv")
    if unknown := [site.name for site in sites if site.name not in TEMPLATES]:
        raise DataError(f"{args.sites}: no template for {', '.join(unknown)}; add them to TEMPLATES")
    for site in sites:
        languages[site.name] = Languages()
        for page in read_pages(site):
            truth, either = truth_of(page, TEMPLATES[site.name])
            of_site = (scores if page.kind in KINDS else lists).setdefault(site.name, {})
            for name, extract in extractors.items():
                started = time.process_time()
                lines = extract(page)
                seconds = time.process_time() - started
                score = of_site.setdefault(name, Score())
                score.seconds.append(seconds)
                score.add(lines, truth, either)
            languages[site.name].add(page)
    report(scores, f"kinds {', '.join(KINDS)}", args.show)
    if lists:
        report(lists, "list pages", args.show)
    report_languages(languages)
    if args.json:
        figures = {
            "pages": {site: {name: score.shares() for name, score in row.items()} for site, row in scores.items()},
            "lists": {site: {name: score.shares() for name, score in row.items()} for site, row in lists.items()},
            "languages": {site: vars(counted) for site, counted in languages.items()},
        }
        args.json.write_text(json.dumps(figures, indent=2))


def report(scores: dict[str, dict[str, Score]], title: str, shown: int) -> None:
    """Print a row an extractor and site, then means over sites and the worst site of each column."""
    by_name: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    print(f"{title:32}{'lines':>16}{'characters':>16}")
    print(f"{'':32}{'precis.':>8}{'recall':>8}{'precis.':>8}{'recall':>8}{'ms/page':>9}{'pages':>7}")
    for site, row in scores.items():
        for name, score in row.items():
            shares = score.shares()
            by_name[name].append(shares)
            print(f"{site:14}{name:18}{_cells(shares)}{len(score.seconds):7}")
            for sign, lines in ("+", score.wrong), ("-", score.missed):
                for line, pages in lines.most_common(shown):
                    print(f"    {sign} {pages:4} {line[:100]}")
    for name, rows in by_name.items() if len(scores) > 1 else ():
        print(f"{'mean':14}{name:18}{_cells({column: mean(row[column] for row in rows) for column in rows[0]})}")
        worst = {column: min(row[column] for row in rows) for column in rows[0]}
        worst["ms a page"] = max(row["ms a page"] for row in rows)
        print(f"{'worst site':14}{name:18}{_cells(worst)}")
    print()


def _cells(shares: dict[str, float]) -> str:
    return "".join(f"{share:9.2f}" if column == "ms a page" else f"{share:8.3f}" for column, share in shares.items())


def report_languages(languages: dict[str, Languages]) -> None:
    """Print how many pages of each kind have the language of their body, and the wrong answers."""
    print(
        f"{'language is right':32}{'doc':>14}{'mixed':>14}{'fallback':>14}{'list':>14}   fallback in frame's language"
    )
    for site, counted in languages.items():
        cells = "".join(
            f"{f'{counted.right[kind]}/{pages}' if (pages := counted.pages[kind]) else '':>14}"
            for kind in (*KINDS, "list")
        )
        print(f"{site:32}{cells}   {counted.in_frame_language}")
        for answer, pages in counted.answers.most_common():
            print(f"    {pages:4} {answer}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures to OUT")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="show N wrong and N missed lines of each row")
    args = parser.parse_args()
    with refuse_bad_input(parser):
        run(args)


if __name__ == "__main__":
    main()
