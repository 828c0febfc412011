"""Document alignment: reading, evidence, matching, and the command."""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pytest
from numpy.typing import NDArray
from support.crawls import ended_well, refused
from support.texts import ENGLISH, MODELS, PAIRS, SPANISH, alternate, corpus, html, only_domain
from support.webserver import run_scrapy

from benchmarks.alignment_baselines import Cosine, PpLocator, Pti, WmtBaseline, all_sentences, whole_text
from bilingual_crawler.crawl.signals import Fetch
from bilingual_crawler.encoders import EncoderError
from bilingual_crawler.encoders.base import is_installed, load_encoder
from bilingual_crawler.encoders.e5 import E5Encoder
from bilingual_crawler.items import Document, Pair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import EDITIONS
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pairing.align import align, as_aligned, read_corpus
from bilingual_crawler.pairing.copies import group_similar, objection
from bilingual_crawler.pairing.corpus import Corpus
from bilingual_crawler.pairing.matching import greedy, lead
from bilingual_crawler.pairing.methods import Method, make_method
from bilingual_crawler.pairing.model import REASONS, Alignment, Profile
from bilingual_crawler.pairing.reading import RawPage, SkippedPage, read_document, read_pages
from bilingual_crawler.plugins import ALIGNMENT_METHODS
from bilingual_crawler.storage.records import (
    CRAWL,
    DOCUMENTS,
    GzipJsonLines,
    TsvLog,
    read_json_lines,
    read_tsv,
    replace_tsv,
)
from bilingual_crawler.storage.warc import ArchiveError
from bilingual_crawler.storage.writer import Exchange, WarcWriter

HOST = "https://www.example.org"


def aligned(documents: Corpus, method: str = "url") -> Alignment:
    ((_, alignment),) = align(documents, make_method(method, MODELS, "", Path("unused")))
    return alignment


def read(body: bytes) -> tuple[Document, Profile]:
    found = read_document(RawPage(f"{HOST}/a", body), PAIRS)
    assert found is not None
    return found


def pairs(alignment: Alignment) -> set[tuple[str, str]]:
    return {(pair.url_a.removeprefix(HOST), pair.url_b.removeprefix(HOST)) for pair in alignment.pairs}


@pytest.mark.parametrize(
    ("english", "spanish"),
    [
        ("https://eng.aaa.com/", "https://aaa.com/"), ("https://aaa.com/b/", "https://spanish.aaa.com/b/"),
        ("https://aaa.com/en-gb/b", "https://aaa.com/es-es/b"), ("https://aaa.com/b/en", "https://aaa.com/b/es"),
        ("https://aaa.com/English/b", "https://aaa.com/Spanish/b"),
        ("https://aaa.com/b", "https://aaa.com/b?lang=1"), ("https://aaa.com/b?lang=en", "https://aaa.com/b?lang=es"),
        ("https://aaa.com/b?x=1&lang=english", "https://aaa.com/b?x=1&lang=spanish"),
    ],
)  # fmt: skip
def test_the_url_pairs_of_ccaligned_table_1(english: str, spanish: str) -> None:
    alignment = aligned(corpus({english: html(ENGLISH), spanish: html(SPANISH)}))
    assert [(pair.url_a, pair.url_b, pair.method) for pair in alignment.pairs] == [(english, spanish, "url")]


def test_urls_that_differ_alike_on_the_whole_site_are_pairs() -> None:
    names = ("cain", "gina", "ted", "mason")
    texts = {f"/{name}2.htm": ENGLISH for name in names} | {f"/{name}.htm": SPANISH for name in names}
    # near-duplicates are merged, so each page has lines of its own
    pages = {HOST + path: html((*text, *[f"{path} {n}"] * 3)) for n, (path, text) in enumerate(texts.items())}
    assert pairs(aligned(corpus(pages))) == {(f"/{name}2.htm", f"/{name}.htm") for name in names}


def test_a_mark_that_contradicts_the_content_is_not_believed() -> None:
    pages = {f"{HOST}/es/b": html(ENGLISH), f"{HOST}/b": html(SPANISH)}
    alignment = aligned(corpus(pages))
    assert not alignment.pairs
    assert set(alignment.unpaired.values()) == {"low_score"}


def test_announced_translations_are_followed_through_redirects() -> None:
    moved, twice, there = f"{HOST}/moved", f"{HOST}/twice", f"{HOST}/quienes-somos"
    pages = {f"{HOST}/about": html(ENGLISH, alternate("es", moved)), there: html(SPANISH)}
    assert not aligned(corpus(pages)).pairs
    for redirects in (
        {moved: there},
        {moved: twice, twice: there, there: moved},
        {moved: there, moved.replace("https", "http"): moved},
    ):
        assert [(pair.method, pair.score) for pair in aligned(corpus(pages, redirects)).pairs] == [("hreflang", 0.95)]
    assert not aligned(corpus(pages, {moved: twice, twice: moved})).pairs


def test_of_near_duplicates_one_is_paired_and_others_with_what_the_site_says() -> None:
    english, spanish = (tuple(f"{side[0]} {number}" for number in range(30)) for side in (ENGLISH, SPANISH))
    texts = {"/en/a": english[:-1], "/en/b": english, "/es/a": spanish, "/es/b": spanish}
    texts |= {"/en/print": english, "/es/imprimir": spanish}
    pages = {HOST + path: html(text) for path, text in texts.items()}
    alignment = aligned(corpus(pages))
    assert pairs(alignment) == {("/en/b", "/es/b"), ("/en/a", "/es/a")}
    assert sorted(alignment.unpaired.values()) == ["copy", "copy"]


def test_a_wide_character_is_as_long_as_two() -> None:
    chinese = "内核开发者应该在提交补丁之前仔细检查代码风格。" * 4
    profiles = []
    for path, text in (
        ("/en/a", "Developers check the style of their code before they submit a patch. " * 7),
        ("/zh/a", chinese),
    ):
        found = read_document(RawPage(HOST + path, html((text,))), LanguagePairs.parse("eng-zho"))
        assert found is not None
        profiles.append(found[1])
    english, other = profiles
    assert 4 * len(chinese) < english.lengths.sum() < 4 * other.lengths.sum()
    assert objection((english, other), {one.url: np.ones(1, bool) for one in profiles}) is None


def test_of_copies_the_one_under_an_address_of_its_language_is_paired() -> None:
    spanish = f"{HOST}/es/a"
    texts = {"/de/a": (*ENGLISH, "It is old."), "/en/a": ENGLISH, "/fr/a": (*ENGLISH, "It is old.")}
    pages = {HOST + path: html(text * 6, alternate("es", spanish)) for path, text in texts.items()}
    assert pairs(aligned(corpus(pages | {spanish: html(SPANISH * 6)}))) == {("/en/a", "/es/a")}


def test_copies_that_name_their_document_are_left_out_and_what_they_announce_counts() -> None:
    about, copy, spanish = f"{HOST}/about", f"{HOST}/node/7", f"{HOST}/quienes-somos"
    canonical = f'<link rel="canonical" href="{about}">'
    pages = {copy: html(ENGLISH, canonical + alternate("es", spanish)), about: html(ENGLISH, canonical)}
    alignment = aligned(corpus(pages | {spanish: html(SPANISH, alternate("en", copy))}))
    assert [(pair.url_a, pair.score) for pair in alignment.pairs] == [(about, 0.99)]
    assert alignment.unpaired == {copy: "copy"}


def test_a_page_that_names_another_text_as_canonical_is_no_copy() -> None:
    home = f'<link rel="canonical" href="{HOST}/en/">'
    texts = {"/en/": ENGLISH[:3], "/en/b": ENGLISH[3:], "/es/b": SPANISH[3:]}
    alignment = aligned(corpus({HOST + path: html(text, home) for path, text in texts.items()}))
    assert pairs(alignment) == {("/en/b", "/es/b")}


def test_short_pages_are_the_same_if_their_titles_and_lines_are() -> None:
    english = "<title>Not found</title><p>This page was not found, please go back to the entry page of the museum."
    spanish = "<title>No existe</title><p>Esta página no existe, vuelva a la página de inicio."
    texts = {"en": english, "es": spanish}
    pages = {f"{HOST}/{code}/{name}": text.encode() for code, text in texts.items() for name in "abc"}
    alignment = aligned(corpus(pages))
    assert len(alignment.pairs) <= 1
    assert list(alignment.unpaired.values()).count("copy") == 4


def test_near_duplicates_are_those_with_nearly_the_same_lines() -> None:
    lines = np.arange(100, dtype=np.uint32)
    other = np.arange(1000, 1100, dtype=np.uint32)
    groups = group_similar([lines, other, lines[:98], lines[:80], other[:0], other[:0]])
    assert groups[0] == groups[2]
    assert len(set(groups.tolist())) == 5


def test_the_longest_of_pages_that_differ_by_scheme_and_www_stays() -> None:
    pages = {f"{HOST}/a": html(ENGLISH[:2]), "http://example.org/a": html(ENGLISH), f"{HOST}/a/": html(ENGLISH[:1])}
    documents = corpus(pages)
    assert len(documents) == 1
    left_out = documents.left_out(("example.org",), next(iter(documents.pairs)))
    assert left_out == dict.fromkeys((f"{HOST}/a", f"{HOST}/a/"), "same_url")
    assert [profile.url for profile in documents.profiles(("example.org",))] == ["http://example.org/a"]
    assert documents.document("http://example.org/a").lines == ENGLISH


def test_most_lines_decide_on_the_language() -> None:
    document, profile = read(html((" ".join(SPANISH), *(ENGLISH * 12))))
    assert document.language == "eng"
    assert 0.5 < profile.share < 1


def test_crawl_and_alignment_read_a_page_in_one_language() -> None:
    # a whole text is read up to its 50,000th character, the ranges are spread over all of it
    body = html((*(SPANISH[:1] * 600), *(ENGLISH * 600)))
    crawled = PageJob(body, "text/html", f"{HOST}/a").run()
    assert crawled.language == read(body)[0].language == "eng"
    assert not crawled.reliable


def test_translation_plugins_are_noted() -> None:
    origin = read(html(ENGLISH, '<script src="https://cdn.weglot.com/w.js"></script>'))[0].origin
    assert origin.offers_translation == "weglot"
    assert not origin.machine_translated


def test_structure_pairs_documents_whose_urls_tell_nothing() -> None:
    scale = pytest.importorskip("benchmarks.align_scale", reason="needs wordfreq, of the extra train")
    made = dict(scale.pages(40, seed=3))
    urls = list(made)
    alignment = aligned(corpus({url: page.encode() for url, page in made.items()}), "structure")
    found = {(pair.url_a, pair.url_b) for pair in alignment.pairs}
    gold = set(zip(urls[::2], urls[1::2], strict=True))
    assert len(found & gold) >= 38
    assert len(found - gold) <= 1
    assert all(0.5 <= pair.score <= 1 for pair in alignment.pairs)


def test_bulletins_that_differ_by_their_dates_are_paired_by_these() -> None:
    days = [date(2022, 3, 1) + timedelta(step) for step in range(0, 90, 3)]

    def page(day: date, form: str, sentences: tuple[str, ...]) -> bytes:
        near = (day, day - timedelta(3), day + timedelta(3))
        written = (sentence.format(one.strftime(form)) for sentence, one in zip(sentences, near, strict=True))
        return html(tuple(written)).replace(b"<title>x", f"<title>{day.strftime(form)}".encode())

    opened = "The harbour was open to ships from all countries on {}, and the wind blew from the north."
    english = (opened, *2 * ("Read what the harbour master wrote for everybody on {}.",))
    opened = "El puerto estuvo abierto a los barcos de todos los países el {}, y el viento sopló del norte."
    spanish = (opened, *2 * ("Lea lo que el capitán del puerto escribió para todos el {}.",))
    # in another order, under addresses that tell nothing
    gold = {(f"/{place * 7919 % 1000}", f"/{place * 104729 % 1000 + 1000}"): day for place, day in enumerate(days)}
    pages = {HOST + a: page(day, "%d %B %Y", english) for (a, _), day in gold.items()}
    pages |= {HOST + b: page(day, "%d/%m/%Y", spanish) for (_, b), day in reversed(gold.items())}
    found = pairs(aligned(corpus(pages), "auto"))
    # one of the thirty may be left in doubt, none is wrong
    assert found <= set(gold)
    assert len(found) >= len(gold) - 1


class Letters:
    """An encoder that counts letters, and remembers what it has read."""

    name = "letters"

    def __init__(self) -> None:
        self.read: list[str] = []

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        self.read += texts
        counts = np.array([[text.lower().count(letter) for letter in ascii_lowercase] for text in texts], np.float32)
        lengths: NDArray[np.float32] = np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)
        return np.divide(counts, lengths, dtype=np.float32)


def test_dde_and_sae_embed_the_whole_document() -> None:
    documents = corpus({f"{HOST}/en/river": html(ENGLISH), f"{HOST}/es/rio": html(SPANISH)})
    domain = only_domain(documents)
    text = " ".join(documents.document(f"{HOST}/en/river").lines)
    for texts, many in ((whole_text, False), (all_sentences, True)):
        proposed = Cosine(texts, encoder := Letters())(domain)
        assert [*zip(proposed.a, proposed.b, strict=True)] == [(0, 0)]
        assert 0.5 < proposed.scores[0] <= 1, "not centred: two documents would be opposites"
        assert (len(encoder.read) > 2) is many
        assert text.split()[-1] in encoder.read[len(encoder.read) // 2 - 1]


def test_pti_compares_what_names_do_not_pair(tmp_path: Path) -> None:
    lexicon = tmp_path / "words.tsv.gz"
    with gzip.open(lexicon, "wt", encoding="utf-8") as file:
        for english, spanish in (("cheese", "queso"), ("bread", "pan"), ("apple", "manzana")):
            file.write(f"eng\t{english}\tspa\t{spanish}\n")
    # the first pair has no word of the list in common
    pages = {"/en/same": "cheese", "/es/same": "nada", "/en/one": "bread and cheese"}
    pages |= {"/es/uno": "queso y pan", "/es/dos": "manzana"}
    texts = {"en": ENGLISH, "es": SPANISH}
    documents = corpus({f"{HOST}{path}": html((*texts[path[1:3]], more)) for path, more in pages.items()})
    domain = only_domain(documents)
    proposed = Pti(lexicon)(domain)
    found = {(domain.a[i].url, domain.b[j].url) for i, j in zip(proposed.a, proposed.b, strict=True)}
    assert found == {(f"{HOST}/en/{a}", f"{HOST}/es/{b}") for a, b in (("same", "same"), ("one", "uno"))}


@pytest.mark.parametrize("baseline", [WmtBaseline(), PpLocator(MODELS)])
def test_published_methods_propose_urls_that_name_their_language(baseline: Method) -> None:
    documents = corpus({f"{HOST}/en/river": html(ENGLISH), f"{HOST}/es/river": html(SPANISH)})
    proposed = baseline(only_domain(documents))
    assert [*zip(proposed.a, proposed.b, strict=True)] == [(0, 0)]


def test_the_best_candidates_are_taken_first() -> None:
    a, b = np.array([0, 0, 1]), np.array([0, 1, 0])
    scores = np.array([0.9, 0.8, 0.8])
    assert greedy(a, b, scores).tolist() == [0]
    twice = (np.array([0, 0, 0]), np.array([1, 1, 1]), np.array([0.7, 0.9, 0.9]))
    assert greedy(*twice).tolist() == [1], "the best, of equals the first"
    assert greedy(a, b, scores, 0.95).tolist() == []
    assert lead(scores, a, b) == pytest.approx([0.1, -0.1, 0.8])
    assert lead(scores, a, np.zeros(3, int)) == pytest.approx([0.9, 0.8, 0.8]), "editions of one page are no rivals"


def test_a_domain_without_one_of_the_languages_has_no_pairs() -> None:
    for method in ("url", "structure", "auto"):
        alignment = aligned(corpus({f"{HOST}/en/a": html(ENGLISH)}), method)
        assert alignment.pairs == ()
        assert alignment.unpaired == {f"{HOST}/en/a": "no_candidate"}


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the sentence encoder, whose graph takes seconds to make, and of its vectors."""
    return tmp_path_factory.mktemp("encoders")


@pytest.mark.slow
@pytest.mark.skipif(not is_installed("e5-small"), reason="the sentence encoder is not installed (extra align)")
def test_the_encoder_finds_translations_and_remembers(encoders: Path) -> None:
    encoder = load_encoder("e5-small", encoders)
    a, b = (encoder.encode(texts, 64) for texts in (ENGLISH, SPANISH))
    assert np.linalg.norm(a, axis=1) == pytest.approx(np.ones(5), abs=1e-3)
    near = (a - a.mean(axis=0)) @ (b - b.mean(axis=0)).T
    assert near.argmax(axis=1).tolist() == list(range(5))
    again = load_encoder("e5-small", encoders).encode(ENGLISH[::-1], 64)
    assert np.array_equal(again, a[::-1])
    (graph,) = (encoders / "e5-small").glob("*.onnx")
    made = graph.stat().st_mtime_ns
    assert np.allclose(E5Encoder(encoders / "e5-small").encode(ENGLISH, 64), a, atol=1e-2)
    assert graph.stat().st_mtime_ns == made


def test_a_missing_encoder_is_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="pip install"):
        load_encoder("nobody/knows-it", tmp_path)


def write_warc(folder: Path, pages: dict[str, bytes]) -> None:
    writer = WarcWriter(folder)
    answers = [(url, 200, (b"Content-Type", b"text/html; charset=utf-8"), body) for url, body in pages.items()]
    for url, status, header, body in (*answers, (f"{HOST}/go", 301, (b"Location", b"/es/b"), b"")):
        writer.write_exchange(Exchange(url, "GET", (), status, (header,), body, datetime.now(UTC)))
    writer.close()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A folder with a WARC of two pages."""
    write_warc(tmp_path, {f"{HOST}/en/b": html(ENGLISH), f"{HOST}/es/b": html(SPANISH)})
    return tmp_path


def align_with(folder: Path, *arguments: str) -> str:
    """What the command says."""
    result = ended_well(run_scrapy(folder, "align", *arguments, "--out", "pairs.tsv"))
    return str(result.stdout)


def test_the_command_reads_archives_and_writes_pairs(tmp_path: Path) -> None:
    write_warc(tmp_path, {f"{HOST}/one": html(ENGLISH, alternate("es", f"{HOST}/go")), f"{HOST}/es/b": html(SPANISH)})
    align_with(tmp_path, ".", "--pair", "en-es", "--method", "url")
    assert list(read_tsv(tmp_path / "pairs.tsv")) == [
        {"url_a": f"{HOST}/one", "url_b": f"{HOST}/es/b", "score": "0.95", "method": "hreflang", "pair": "eng-spa"}
    ]


def test_pairs_of_the_same_languages_are_replaced_in_either_order(archive: Path) -> None:
    other = Pair(f"{HOST}/en/b", f"{HOST}/fr/b", 0.9, "url", "eng-fra")
    replace_tsv(archive / "pairs.tsv", Pair, [other])
    for order, urls in (("eng-spa", ("/en/b", "/es/b")), ("spa-eng", ("/es/b", "/en/b"))):
        align_with(archive, ".", "--pair", order, "--method", "url")
        rows = [(row["url_a"], row["url_b"], row["pair"]) for row in read_tsv(archive / "pairs.tsv")]
        assert rows == [(HOST + urls[0], HOST + urls[1], order), (other.url_a, other.url_b, other.pair)]


def test_the_pairs_of_an_aligned_crawl_may_share_a_document_and_lack_one(tmp_path: Path) -> None:
    english, spanish, mexican = (f"{HOST}/{code}/b" for code in ("en", "es", "es-mx"))
    read = corpus({english: html(ENGLISH), spanish: html(SPANISH), mexican: html((*SPANISH[1:], "¡Órale!"))})
    found = [Pair(english, url, score, "url", "eng-spa") for url, score in ((spanish, 0.9), (mexican, 0.8))]
    gone = [Pair(*urls, 0.7, "url", "eng-spa") for urls in ((english, f"{HOST}/x"), (f"{HOST}/x", spanish))]
    replace_tsv(tmp_path / "pairs.tsv", Pair, [*found, *gone, Pair(english, f"{HOST}/fr/b", 0.9, "url", "eng-fra")])
    ((domain, alignment),) = as_aligned(read, tmp_path)
    assert list(alignment.pairs) == found
    assert all(domain.main_text(url) for url in alignment.paired)
    assert read.unreadable == {"pairs_without_document": 2}


def write_document(
    file: GzipJsonLines, url: str, language: str, lines: Sequence[str], *alternates: tuple[str, str]
) -> None:
    read = (url, language, [(language, 99)], True, "x", "\n".join(lines), "", 200, 0)
    file.write(Document(*read, None, None, None, None, list(alternates), []))


def test_a_crawl_whose_languages_counted_otherwise_is_aligned_anew(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    folder.mkdir()
    galician = (
        "O río nace nas montañas e atravesa dúas vilas pequenas antes de chegar ao mar.",
        "Cada primavera os labregos reparan a vella ponte, que construíron os seus avós.",
        "Os visitantes poden coller prestada unha barca no muíño, mais deben devolvela antes do solpor.",
        "O museo está pechado os luns e os días festivos.",
        "Ninguén lembra por que a torre non ten porta no lado norte.",
    )
    file = GzipJsonLines(folder / DOCUMENTS)
    write_document(file, f"{HOST}/en/a", "eng", ENGLISH)
    write_document(file, f"{HOST}/es/a", "spa", SPANISH)
    write_document(file, f"{HOST}/en/b", "eng", ENGLISH[::-1])
    write_document(file, f"{HOST}/es/b", "glg", galician)
    file.close()
    found = [Pair(f"{HOST}/en/{name}", f"{HOST}/es/{name}", 0.4321, "url", "eng-spa") for name in "ab"]
    replace_tsv(folder / "pairs.tsv", Pair, found)
    equivalent = "BILINGUAL_EQUIVALENT_LANGUAGES"
    made = {"pair": "eng-spa", "aligned": "auto", "settings": {equivalent: "spa glg"}}
    (folder / "summary.json").write_text(json.dumps(made))
    for arguments in ((), ("--pair", "eng-spa", "-s", f"{equivalent}=spa glg")):
        assert "its pairs are taken" in align_with(tmp_path, "crawl", *arguments)
        assert [row["score"] for row in read_tsv(tmp_path / "pairs.tsv")] == ["0.4321", "0.4321"]
    anew = align_with(tmp_path, "crawl", "--pair", "eng-spa", "--bitext", "bitext", "-s", "BILINGUAL_ENCODER=")
    assert "its pairs are taken" not in anew
    assert [row["url_b"] for row in read_tsv(tmp_path / "pairs.tsv")] == [f"{HOST}/es/a"]
    # as spreadsheets write numbers in many languages
    own = folder / "pairs.tsv"
    own.write_text(own.read_text().replace("0.4321", "0,4321"))
    message = "crawl/pairs.tsv cannot be read: could not convert string to float: '0,4321'; correct it"
    assert message in refused(tmp_path, "align", "crawl", "--out", "pairs.tsv")


@pytest.mark.slow
def test_the_command_writes_bitext_and_a_review(archive: Path, encoders: Path) -> None:
    options = ("--bitext", "bitext", "--formats", "moses,tmx", "--review", "review")
    for encoder in ("", *filter(is_installed, ["e5-small"])):
        settings = ("-s", f"BILINGUAL_ENCODER={encoder}", "-s", f"BILINGUAL_CACHE_DIR={encoders}")
        said = align_with(archive, ".", "--pair", "en-es", *options, *settings)
        assert ("no encoder" in said) == (not encoder)
        sides = [(archive / "bitext" / f"en-es.{code}").read_text().splitlines() for code in ("en", "es")]
        assert list(map(tuple, sides)) == [ENGLISH, SPANISH]
    written = ("README.md", "en-es.en", "en-es.es", "en-es.ids", "en-es.tmx.gz", "en-es.summary.json")
    assert {path.name for path in (archive / "bitext").iterdir()} == set(written)
    assert "El museo" in (archive / "review" / "review.html").read_text()


def test_a_models_folder_without_judges_of_pairs_will_do(archive: Path) -> None:
    (archive / "models").mkdir()
    align_with(archive, ".", "--pair", "en-es", "-s", "BILINGUAL_MODELS_DIR=models", "-s", "BILINGUAL_ENCODER=")
    assert len(list(read_tsv(archive / "pairs.tsv"))) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((".", "--pair", "en-es", "--formats", "docx"), "docx"), (("nowhere", "--pair", "en-es"), "nowhere"),
        ((".", "--pair", "en-es", "--formats", "tmx"), "give a folder for the sentences, too: --bitext"),
        ((".", "--pair", "en-klingonese"), "klingonese"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named_at_once(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run_scrapy(tmp_path, "align", *arguments)
    assert result.returncode != 0
    assert message in result.stderr + result.stdout


def test_a_missing_archive_is_an_error_before_anything_is_read() -> None:
    with pytest.raises(ArchiveError, match="nowhere"):
        read_corpus([Path("nowhere")], PAIRS)


@pytest.fixture(scope="module")
def crawl_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl for two pairs of languages: editions, duplicates, one page under four addresses, no text, a redirect."""
    folder = tmp_path_factory.mktemp("crawl")
    file = GzipJsonLines(folder / DOCUMENTS)
    french = [f"Le moulin et le pont du village {number} sont fermés pendant tout l'hiver." for number in range(60)]
    write = partial(write_document, file)
    for number in range(8):
        english, spanish = ([f"{line} {number * 31 + n}" for n, line in enumerate(side)] for side in (ENGLISH, SPANISH))
        urls = {code: f"{HOST}/{code}/{number}" for code in ("en-gb", "en-us", "es")}
        write(urls["en-gb"], "eng", english, *urls.items())
        write(urls["en-us"], "eng", [*english[:-1], "You can call us for free from all fifty states."], *urls.items())
        write(urls["es"], "spa", spanish, *urls.items())
        write(f"https://other.net/{number}", "eng", english, ("es", urls["es"]))
    for url in (f"{HOST}/a", "http://www.example.org/a", "https://example.org/a/", "http://example.org/a"):
        write(url, "eng", ENGLISH[: 1 + len(url) % 4])
    english, spanish = ([f"{line} {900 + n}" for n, line in enumerate(side)] for side in (ENGLISH, SPANISH))
    write(f"{HOST}/en/original", "eng", english)
    write(f"{HOST}/es/original", "spa", spanish)
    write(f"{HOST}/es/copy", "spa", spanish)
    write(f"{HOST}/empty", "eng", ())
    write("https://alone.org/mostly-other", "eng", (*french, *ENGLISH))
    write(f"{HOST}/fr/mostly-other", "fra", (*ENGLISH * 40, *french[:2]))
    write(f"{HOST}/es/moved", "spa", SPANISH, ("en", f"{HOST}/old"))
    file.close()
    log = TsvLog(folder / CRAWL, Fetch)
    log.write_record(Fetch("", 301, f"{HOST}/old", "", 0.0, "", 0, "redirect", f"{HOST}/a"))
    log.close()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("pair", ["eng-spa", "eng-spa,eng-fra"])
@pytest.mark.parametrize("method", ALIGNMENT_METHODS.built_in)
def test_every_document_of_a_crawl_is_in_a_pair_or_has_a_reason(
    crawl_folder: Path, encoders: Path, method: str, pair: str
) -> None:
    if method.endswith("content") and not is_installed(E5Encoder.name):
        pytest.skip("needs the sentence encoder")
    pairs = LanguagePairs.parse(pair)
    documents = {record["url"]: record["language"] for record in read_json_lines(crawl_folder / DOCUMENTS)}
    read = read_corpus([crawl_folder], pairs)
    judge = make_method(method, MODELS, E5Encoder.name if method.endswith("content") else "", encoders)
    for editions in EDITIONS:
        accounted, reasons = Counter[str](), Counter[str]()
        for _, alignment in align(read, judge, editions=editions):
            assert alignment.paired.isdisjoint(alignment.unpaired)
            accounted.update((*alignment.paired, *alignment.unpaired))
            reasons.update(alignment.unpaired.values())
        assert {url for url, language in documents.items() if pairs.side(language)} <= accounted.keys()
        assert accounted.keys() <= documents.keys()
        assert max(accounted.values()) <= len(list(pairs))
        assert reasons.keys() <= REASONS.keys()
        assert {"same_url", "other_language", "copy"} <= reasons.keys()


@pytest.mark.parametrize(
    ("body", "kind", "reason", "counted"),
    [
        (b"%PDF-1.4 broken", "application/pdf", "unreadable", "damaged"),
        (np.random.default_rng(1).bytes(30_000), "text/html", "illegible", "illegible"),
    ],
    ids=["broken PDF", "noise"],
)
def test_a_document_that_cannot_be_read_is_left_out_by_name(body: bytes, kind: str, reason: str, counted: str) -> None:
    unreadable: Counter[str] = Counter()
    broken = RawPage(f"{HOST}/a", body, kind, language="spa")
    assert list(read_pages([broken], PAIRS, BY_DEFAULT, unreadable)) == [SkippedPage(broken.url, "spa", reason)]
    assert unreadable == {counted: 1}
    documents = Corpus(PAIRS)
    documents.leave_out(broken.url, "spa", reason)
    assert aligned(documents).unpaired == {broken.url: reason}
