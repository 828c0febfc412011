"""The benchmark of the URL models compares evidence that reads URLs with evidence that does not."""

from benchmarks.url_models import UrlHash, UrlLanguage
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.pairing.book import Book
from bilingual_crawler.policies.evidence.base import Known

PAIR = LanguagePair.parse("eng-spa")
EVEN = (1 / 3, 1 / 3, 1 / 3)
ENGLISH, SPANISH = "https://a.org/how-we-protect-your-data", "https://a.org/como-protegemos-tus-datos"


def test_the_language_model_reads_slugs_until_a_site_refutes_it() -> None:
    known = Known(Book(PAIR), EVEN)
    evidence = UrlLanguage(known)
    english, spanish = (evidence.update(known.target(url), EVEN) for url in (ENGLISH, SPANISH))
    assert english
    assert spanish
    assert english[0] > english[1]
    assert spanish[1] > spanish[0]
    for _ in range(20):
        evidence.observe_page(PageRecord(SPANISH, "eng", "eng"), ())
    refuted = evidence.update(known.target(SPANISH), EVEN)
    assert refuted
    assert refuted[0] > refuted[1]


def test_the_hash_reads_nothing() -> None:
    evidence = UrlHash(Known(Book(PAIR), EVEN))
    assert {evidence.step(f"{SPANISH}-{number}") for number in range(100)} == set(range(6))
