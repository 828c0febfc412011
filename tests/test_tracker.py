from __future__ import annotations

from bilingual_crawler.items import Document
from bilingual_crawler.languages import LanguagePair
from bilingual_crawler.pairing.documents import Unpaired
from bilingual_crawler.pairing.tracker import PairTracker


def document(
    url: str, language: str, *, alternates: list[tuple[str, str]] | None = None, **changes: object
) -> Document:
    fields: dict[str, object] = dict(
        url=url,
        language=language,
        shares=[(language, 99)],
        reliable=True,
        title="",
        text="x" * 500,
        fetched_at="2026-01-01T00:00:00Z",
        status=200,
        depth=1,
        referrer=None,
        score=None,
        warc_file=None,
        warc_offset=None,
        alternates=alternates or [],
        switches=[],
    )
    return Document(**(fields | changes))  # type: ignore[arg-type]


def tracker() -> PairTracker:
    return PairTracker(LanguagePair.parse("eng-isl"))


def found(tracker: PairTracker, *documents: Document) -> list[tuple[str, str, str]]:
    for item in documents:
        tracker.add(item)
    return [(pair.url_a, pair.url_b, pair.method) for pair in tracker.pairs()]


EN, IS = "https://a.is/en/about", "https://a.is/is/about"


def test_urls_that_differ_in_the_language_identifier_pair_whatever_the_order() -> None:
    expected = [(EN, IS, "url")]
    assert found(tracker(), document(EN, "eng"), document(IS, "isl")) == expected
    assert found(tracker(), document(IS, "isl"), document(EN, "eng")) == expected


def test_a_country_suffix_says_nothing_about_the_language() -> None:
    assert found(tracker(), document("https://a.is/about", "eng"), document(IS, "isl")) == [
        ("https://a.is/about", IS, "url")
    ]


def test_an_identifier_that_lies_about_the_content_is_refused() -> None:
    lying = tracker()
    assert found(lying, document("https://a.is/is/about", "eng"), document("https://a.is/en/about", "isl")) == []
    assert lying.refused(0) == {"marker_disagrees": 1}


def test_hreflang_pairs_translated_slugs_and_beats_the_url_rule() -> None:
    slug = document("https://a.is/is/um-okkur", "isl", alternates=[("eng", EN), ("isl", "https://a.is/is/um-okkur")])
    assert found(tracker(), document(EN, "eng"), document(IS, "isl"), slug) == [
        (EN, "https://a.is/is/um-okkur", "hreflang")
    ]


def test_a_claim_about_a_page_of_the_wrong_language_is_not_believed() -> None:
    claim = document("https://a.is/x", "eng", alternates=[("isl", "https://a.is/y")])
    assert found(tracker(), claim, document("https://a.is/y", "eng")) == []


def test_switchers_count_only_when_they_lead_to_each_other() -> None:
    here = document("https://a.is/one", "eng", switches=[("isl", "https://a.is/tvo")])
    there = document("https://a.is/tvo", "isl", switches=[("eng", "https://a.is/one")])
    home = document("https://a.is/tvo", "isl", switches=[("eng", "https://a.is/")])
    assert found(tracker(), here, there) == [("https://a.is/one", "https://a.is/tvo", "switcher")]
    assert found(tracker(), here, home) == []


def test_an_announced_url_that_redirects_counts_for_its_target() -> None:
    redirected = tracker()
    claim = document(EN, "eng", alternates=[("isl", "https://a.is/um")])
    redirected.add(claim)
    redirected.alias("https://a.is/um", "https://a.is/is/um-okkur")
    assert found(redirected, document("https://a.is/is/um-okkur", "isl")) == [
        (EN, "https://a.is/is/um-okkur", "hreflang")
    ]


def test_pairs_are_one_to_one() -> None:
    both = tracker()
    documents = [document(EN, "eng"), document("https://en.a.is/about", "eng"), document(IS, "isl")]
    assert len(found(both, *documents)) == 1
    assert both.unpaired() == [Unpaired("https://en.a.is/about", "taken", IS, 0.85)]
    assert both.refused(1) == {"taken": 1}


def test_a_stub_is_not_the_translation_of_a_long_page() -> None:
    stub = tracker()
    assert found(stub, document(EN, "eng"), document(IS, "isl", text="x" * 50)) == []
    assert stub.refused(0) == {"length": 1}


def test_a_page_seen_twice_counts_once() -> None:
    twice = tracker()
    twice.add(document(EN, "eng"))
    assert twice.add(document(EN, "eng")) == []
    assert twice.held == 1
