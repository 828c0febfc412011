"""The package as a library: what a script imports from :mod:`bilingual_crawler`."""

from __future__ import annotations

import os
import re
import sys
from itertools import chain
from pathlib import Path
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec

from bilingual_crawler.items import Document
from bilingual_crawler.items import Pair as Pair
from bilingual_crawler.languages.codes import LanguagePair, from_bcp47, language_name, to_bcp47
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.language import BY_DEFAULT, Detection
from bilingual_crawler.pages.origin import Origin
from bilingual_crawler.storage.files import LeftOut, read_within
from bilingual_crawler.storage.records import BITEXT, DOCUMENTS, NO_RECORD, PAIRS, read_json_lines, read_tsv
from bilingual_crawler.urls.canonical import bare, canonicalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bilingual_crawler.bitext.align import SentencePair
    from bilingual_crawler.pages.detectors.base import Identification
    from bilingual_crawler.pairing.corpus import Corpus
    from bilingual_crawler.pairing.reading import RawPage

FilePath: TypeAlias = "str | os.PathLike[str]"
Documents: TypeAlias = "FilePath | Iterable[FilePath | tuple[str, str | bytes]]"

_ENDINGS = (".txt", ".html", ".htm")
_NOWHERE = "https://local.invalid"  # the site of documents without an address
_REASON = re.compile(r"(?:\] (?:WARNING|ERROR|CRITICAL)|: error): (.+)")  # of a failure, in a line of a crawl's log


class BitextPair(NamedTuple):
    """A sentence pair of a bitext."""

    text_a: str
    text_b: str
    score: float
    """Confidence of the alignment, 0 to 1."""
    quality: float
    """P(a reader would call the pair right), 0 to 1."""
    url_a: str
    url_b: str


def align(documents_a: Documents, documents_b: Documents, pair: str, method: str = "auto") -> list[Pair]:
    """Pair documents in the first language of *pair* with documents in the second, one-to-one, best first.

    Documents are a folder with ``.txt`` files (UTF-8, a paragraph a line) and ``.html`` files, or an iterable of such
    files and folders and of tuples: a name and a text, or the ``bytes`` of an HTML page. A name is an address of http
    or https, or any other text. Documents with addresses are compared inside each registered domain, all others with
    each other. The pairs have the paths and names as given; of documents with one name in a list the longest counts.
    *method* as for ``scrapy align --method``.

    Documents in another language than the one of their list are left out, with a warning in the log. Raises
    LanguageError for *pair*, FileNotFoundError, and ValueError for a wrong address or file, or nothing to compare.

    >>> [pair] = align([("tides", "The tide tables of 2027.")], [("mareas", "Las mareas de 2027.")], "eng-spa")
    >>> pair.url_a, pair.url_b
    ('tides', 'mareas')
    """
    # scipy takes its time
    from scrapy.settings import Settings

    from bilingual_crawler.pairing.align import align as align_corpus
    from bilingual_crawler.pairing.corpus import Corpus
    from bilingual_crawler.pairing.methods import method_of
    from bilingual_crawler.plugins import ALIGNMENT_METHODS, PluginError

    try:
        ALIGNMENT_METHODS.check(method)
    except PluginError as error:
        raise ValueError(f"method={method}: {error}") from None
    languages = LanguagePair.parse(pair)
    corpus = Corpus(LanguagePairs((languages,)))
    a, b = _add(corpus, documents_a, languages.a), _add(corpus, documents_b, languages.b)
    found: list[Pair] = []
    are_compared = False
    for domain, alignment in align_corpus(corpus, method_of(method, Settings())):
        are_compared |= bool(domain.a and domain.b)
        found += (Pair(a[bare(p.url_a)], b[bare(p.url_b)], p.score, p.method, p.pair) for p in alignment.pairs)
    if not are_compared:
        apart = f"{next(iter(a.values()))} and {next(iter(b.values()))}"
        raise ValueError(f"no site has documents in both lists, see {apart}; give names, not addresses, to compare all")
    return sorted(found, key=lambda one: -one.score)


def _add(corpus: Corpus, documents: Documents, language: str) -> dict[str, str]:
    """Add *documents* in *language* to *corpus*; return their names as given, by their addresses in the corpus."""
    from bilingual_crawler.pairing.reading import PackedDocument, read_pages

    detection = Detection.for_pairs(BY_DEFAULT.detectors, corpus.pairs)
    names: dict[str, str] = {}
    left_out = LeftOut()
    for read in read_pages(_raw_pages(documents, language, names), corpus.pairs, detection, left_out):
        if isinstance(read, PackedDocument) and read.language == language:
            corpus.add(read)
        elif isinstance(read, PackedDocument) or read.reason == "other_language":
            left_out.add("other_language", f"{names[read.url]}, which is not in {language_name(language)}")
    if not corpus.languages[language]:
        given = f"among {len(names)}, such as {next(iter(names.values()))}" if names else "in an empty list"
        raise ValueError(f"no document in {language_name(language)} {given}; give the lists in the order of the pair")
    return names


def _raw_pages(documents: Documents, language: str, names: dict[str, str]) -> Iterator[RawPage]:
    """Yield *documents* as pages that declare *language*; *names* gets the given name of each address."""
    from bilingual_crawler.pairing.inputs import in_lines
    from bilingual_crawler.pairing.reading import RawPage

    tag = to_bcp47(language)
    for name, place, content in _contents(documents):
        # the mark of the language makes equal names in both lists evidence for a pair
        local = f"{_NOWHERE}/{tag}/{quote(os.fsencode(place.lstrip('/')))}"
        url = canonicalise(name if "://" in name else local)
        if url is None or not name:
            raise ValueError(f"{name!r} is no address of http or https; give one, or a name without ://")
        names.setdefault(url, name)
        body, text = (None, in_lines(content)) if isinstance(content, str) else (content, "")
        yield RawPage(url, body, "text/html", content_language=tag, text=text)


def _contents(documents: Documents) -> Iterator[tuple[str, str, str | bytes]]:
    """Yield the name of each document, its path inside its folder, and its text or HTML."""
    from bilingual_crawler.storage.warc import MAX_BODY

    for given in [documents] if isinstance(documents, str | os.PathLike) else documents:
        if isinstance(given, tuple):
            name, content = given
            yield name, name, content
            continue
        path = Path(given)
        # Path.exists raises an error for a text
        if not os.path.exists(path):
            raise FileNotFoundError(f"{str(path)[:200]!r}: no such file or folder; give a text as (name, text)")
        is_folder = path.is_dir()
        files = sorted(file for file in path.rglob("*") if file.suffix in _ENDINGS) if is_folder else [path]
        if not files or files[0].suffix not in _ENDINGS:
            raise ValueError(f"{path}: {'has' if is_folder else 'is'} no file that ends in {' or '.join(_ENDINGS)}")
        for file in files:
            try:
                content = read_within(file, MAX_BODY)
                content = content.decode("utf-8-sig") if file.suffix == ".txt" else content
            except ValueError as error:
                why = "is not UTF-8; convert it, or give its text as (name, text)"
                raise ValueError(f"{file}: {why if isinstance(error, UnicodeDecodeError) else error}") from None
            yield str(file), str(file.relative_to(path) if is_folder else file.absolute()), content


def align_sentences(text_a: str, text_b: str, pair: str) -> list[SentencePair]:
    """Align the sentences of two texts, a document and its translation, in order; the lines are paragraphs.

    Of each text the first 3,000 sentences are aligned. A sentence encoder helps where it is installed. For the
    documents of a site, :class:`~bilingual_crawler.bitext.align.SentenceAligner` learns a lexicon from all of them.
    Raises LanguageError for *pair*.

    >>> for one in align_sentences("It opens at 6.", "Abre a las 6.", "eng-spa"):
    ...     print(one.text_a, "|", one.text_b)
    It opens at 6. | Abre a las 6.
    """
    from scrapy.settings import Settings

    from bilingual_crawler.bitext.align import SentenceAligner
    from bilingual_crawler.pairing.methods import encoder_of

    languages = LanguagePair.parse(pair)
    aligner = SentenceAligner(languages.a, languages.b, encoder_of(Settings()))
    sides = aligner.read(text_a.splitlines(), text_b.splitlines())
    aligner.learn_lexicon([sides])
    return aligner.align(*sides)


def identify_language(text: str, declared: Iterable[str] = ()) -> Identification:
    """Return the language of *text*, its lines being paragraphs, by CLD2 and langid; never raises.

    *declared*: what is known of it, as tags such as ``mt`` or ``en-GB``, the most direct first. It decides about texts
    under 200 letters, and about languages that the detectors do not know or confuse.

    >>> identify_language("Il-port jiftaħ fis-sitta ta' filgħodu u jagħlaq fl-għaxra ta' filgħaxija.").language
    'mlt'
    """
    from bilingual_crawler.pages.detectors.base import load_detector

    named = list(filter(None, map(from_bcp47, declared)))
    undetectable = frozenset(named) - load_detector(BY_DEFAULT.detectors).languages
    return Detection(undetectable=undetectable).identify_page(text.splitlines(), named)


def own_text(html: str) -> str:
    r"""Return the text of a page without its frame (menus, headers, footers), one line per block, or nothing.

    At most 2,000,000 characters. It is parsed in this process, without the limits of time and memory of a crawl.

    >>> own_text("<nav><a href=/>Home</a></nav><h1>Tides</h1><p>The tide tables of the harbour.")
    'Tides\nThe tide tables of the harbour.'
    """
    return parse_page(html, _NOWHERE).text


def run_crawl(pair: str, seeds: str | Iterable[str], **options: object) -> Path:
    """Crawl in a child process as ``scrapy crawl bilingual`` does; return the output folder once the crawl is done.

    *seeds*: an address, the path of a file of addresses, or addresses. *options* in lower case are arguments of the
    spider, options in upper case are settings, such as ``BILINGUAL_OUTPUT_DIR``. The log of the crawl goes to
    ``sys.stderr``. An interrupt (Ctrl-C) stops the crawl, which writes its outputs, and is raised afterwards.

    Raises ValueError, with the line that the command prints, for wrong arguments and settings; RuntimeError if the
    crawl fails or brings no page.

    >>> folder = run_crawl("eng-mlt", "https://example.org/", max_pages=500, BILINGUAL_CONTACT="me@example.org")
    >>> [(pair.url_a, pair.url_b) for pair in read_pairs(folder)]
    """
    # Scrapy takes its time
    from scrapy.exceptions import UsageError
    from scrapy.settings import Settings

    from bilingual_crawler.crawl.context import choose_output_dir, named_now
    from bilingual_crawler.pages.sandbox.pool import command, environment

    given = [seeds] if isinstance(seeds, str) else list(seeds)
    if len(given) > 1 and (split := next((seed for seed in given if re.search(r"[\s,]", seed)), None)):
        raise ValueError(f"seeds: {split!r} has a comma or a blank; give such addresses in a file, one a line")
    try:
        output = choose_output_dir(Settings(options), named_now("bilingual"))
    except UsageError as error:
        raise ValueError(str(error)) from None
    options = {"LOG_LEVEL": "INFO"} | options | {"pair": pair, "seeds": ",".join(given), "BILINGUAL_OUTPUT_DIR": output}
    named = (("-s" if name.isupper() else "-a", f"{name}={value}") for name, value in options.items())
    crawl = command("bilingual_crawler", "crawl", *chain.from_iterable(named))
    reason = ""
    # in a session of its own: the terminal would send an interrupt too, and the second one ends a crawl at once
    with Popen(crawl, env=environment(), stderr=PIPE, errors="replace", start_new_session=True) as process:
        assert process.stderr
        try:
            for line in process.stderr:
                found = _REASON.search(line)
                reason = found[1] if found else reason
                sys.stderr.write(line)
        except KeyboardInterrupt:
            process.terminate()
            sys.stderr.writelines(process.stderr)
            raise
    if process.returncode:
        kind = ValueError if process.returncode == 2 else RuntimeError
        raise kind(reason or f"{output}: the crawl ended with exit status {process.returncode}")
    return output


def read_documents(folder: FilePath) -> Iterator[Document]:
    """Yield the documents of the crawl in *folder*, in the order of the crawl.

    A damaged line is left out, with a warning in the log. Raises FileNotFoundError.

    >>> Counter(document.language for document in read_documents("crawls/islands"))
    Counter({'eng': 412, 'mlt': 388})
    """
    path, left_out = _file(folder, DOCUMENTS), LeftOut()
    for record in read_json_lines(path, left_out):
        try:
            document = msgspec.convert(record, Document)
        except msgspec.ValidationError as error:
            left_out.add(NO_RECORD, f"{path}, {record['url']} ({error})")
            continue
        document.origin = Origin.from_record(record)
        yield document


def read_pairs(folder: FilePath) -> Iterator[Pair]:
    """Yield the document pairs of the crawl in *folder*, or of a table that ``scrapy align`` wrote, in its order.

    Raises FileNotFoundError, and ValueError for another table.

    >>> [(pair.url_a, pair.url_b) for pair in read_pairs("crawls/islands") if pair.score > 0.9]
    """
    for url_a, url_b, score, method, pair in _cells(_file(folder, PAIRS), *Pair.__slots__):
        yield Pair(url_a, url_b, float(score), method, pair)


def read_bitext(folder: FilePath) -> Iterator[BitextPair]:
    """Yield the sentence pairs that a crawl or ``scrapy align --bitext`` wrote in the format ``bitextor``.

    *folder*: the output folder of the crawl, the folder of the bitext, or a file ``en-mt.sent.gz``. Raises
    FileNotFoundError, and ValueError for another table.

    >>> [(one.text_a, one.text_b) for one in read_bitext("crawls/islands") if one.quality > 0.5]
    """
    path = Path(folder)
    files = [path] if path.is_file() else sorted({*path.glob("*.sent.gz"), *(path / BITEXT).glob("*.sent.gz")})
    if not files:
        raise FileNotFoundError(f"{path}: has no bitext as *.sent.gz; crawl with BILINGUAL_BITEXT=bitextor")
    columns = ("src_text", "trg_text", "aligner_score", "quality", "src_url", "trg_url")
    for text_a, text_b, score, quality, *urls in chain.from_iterable(_cells(file, *columns) for file in files):
        yield BitextPair(text_a, text_b, float(score), float(quality), *urls)


def _file(folder: FilePath, name: str) -> Path:
    """The file *name* of the crawl in *folder*, or *folder* if it is a file."""
    path = Path(folder) if os.path.isfile(folder) else Path(folder, name)
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file; give the output folder of a crawl")
    return path


def _cells(path: Path, *columns: str) -> Iterator[list[str]]:
    """Yield the cells of *columns* of the table *path*; raises ValueError without them."""
    for row in read_tsv(path):
        if missing := next((name for name in columns if name not in row), None):
            raise ValueError(f"{path}: has no column {missing}")
        yield [row[name] for name in columns]
