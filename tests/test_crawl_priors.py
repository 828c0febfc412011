"""The benchmark of priors over the sites of a crawl: what a site shows, and what others begin with."""

import pytest

from benchmarks.crawl_priors import Watched, weights_of
from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import Link, PageRecord

PAIR = LanguagePair.parse("eng-fra")
SITE = "https://a.org"


def test_a_site_shows_how_often_its_announcements_and_marks_were_right() -> None:
    policy = Watched(PAIR)
    learner = Learner(policy)
    # the second announcement is wrong: the page is English, too
    for number, language in enumerate(("fra", "eng")):
        french = Link(f"{SITE}/fr/{number}", hreflang="fra", alternate=True)
        english = PageRecord(f"{SITE}/en/{number}", "eng", "eng", links=(french,))
        for page, links in ((english, [french]), (PageRecord(french.url, language, language), [])):
            learner.observe_page(page, links)
    shown = policy.shown()
    assert (shown["hreflang"], shown["marks"]) == ((1, 1), (3, 1))


def test_weights_are_means_in_which_no_task_counts_more_than_ten_times() -> None:
    few, many, none = {"hreflang": (5.0, 0.0)}, {"hreflang": (0.0, 400.0)}, {"hreflang": (0.0, 0.0)}
    assert weights_of(["hreflang"], [few, many, none]) == {"hreflang.trust": pytest.approx((9.5 + 5) / 25)}
