"""How many pairs of a site remain, and crawls that end when enough of them are found."""

import random
import signal
import time
from itertools import product
from math import log
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.crawls import crawl, crawl_with_two_workers, each, ended_well, refused, start_crawl, summary
from support.redis_server import redis_server
from support.scripted import Answer, scripted
from support.webserver import ABOUT_SITE, TEXT, bilingual_site, html, serve, varied

from bilingual_crawler.crawl import remaining as limits
from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.crawl.remaining import (
    Estimate,
    FetchOutcome,
    Progress,
    RemainingPairs,
    SiteCourse,
    sum_estimates,
)
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.pages.outline import Outline
from bilingual_crawler.policies.base import Promise
from bilingual_crawler.policies.gain import Gain
from bilingual_crawler.storage.records import read_json_lines, read_tsv
from training.common.simulated import FrozenSite, simulate

SITE = "example.org"
BLOG = 240
PAGES = 30
WHOLE = ("-s", "BILINGUAL_STALE_PAGES=0")
"""The blog is not left out as one that says nothing new."""
UNTIL = ("-a", "until=0.98")

counts = st.integers(0, 10**6)
outcomes = st.lists(
    st.tuples(
        st.builds(FetchOutcome, st.floats(-1, 10, allow_nan=False), st.booleans(), st.sampled_from([None, 0, 1])),
        st.integers(0, 40),
    ),
    max_size=80,
)
promises = st.builds(Promise, counts, st.floats(-1e-6, 1e6))


@given(outcomes, promises)
def test_an_estimate_is_a_share_within_its_interval(course: list[tuple[FetchOutcome, int]], queue: Promise) -> None:
    site = SiteCourse()
    for outcome, found in course:
        site.observe_fetch(outcome)
        site.observe_pairs(found)
    estimate = site.estimate(queue)
    low, high = estimate.interval
    assert 0 <= low <= high <= 1
    assert low <= estimate.share <= high
    assert estimate.remaining >= 0
    if not queue.urls:
        assert estimate == Estimate(site.found, 0.0, unclear=site.unclear)
        assert (low == 1) == (not site.unclear)
        assert high == 1


@given(st.lists(st.builds(Estimate, counts, st.floats(0, 1e6), st.floats(0, 1e6), counts), max_size=5))
@example([Estimate(0, 1e-7, 0.0)])
@example([Estimate(3, 1e-7, 0.0)])
def test_estimates_of_several_sites_add_up(estimates: list[Estimate]) -> None:
    summed = sum_estimates(estimates)
    assert summed.found == sum(one.found for one in estimates)
    assert summed.remaining == pytest.approx(sum(one.remaining for one in estimates))
    low, high = summed.interval
    assert low <= summed.share <= high


def test_documents_without_a_partner_and_contradictions_widen_the_interval() -> None:
    site = SiteCourse()
    for number in range(20):
        site.observe_fetch(FetchOutcome(0.5, side=number % 2))
    site.observe_pairs(3)
    for _ in range(4):
        site.observe_fetch(FetchOutcome(0.5, is_contradicted=True))
    site.observe_pairs(3)
    estimate = site.estimate(Promise(0, 0.0))
    assert (estimate.unclear, estimate.share, estimate.interval) == (7 + 4, 1.0, (3 / 14, 1.0))


def test_what_is_promised_counts_as_far_as_promises_were_kept() -> None:
    kept, broken = SiteCourse(), SiteCourse()
    for number in range(100):
        for course, found in ((kept, number // 2), (broken, min(number, 1))):
            course.observe_fetch(FetchOutcome(0.5, side=number % 2))
            course.observe_pairs(found)
    queue = Promise(200, 50.0)
    assert kept.estimate(queue).remaining > 2 * broken.estimate(queue).remaining
    assert kept.estimate(queue).remaining > kept.estimate(Promise(200, 0.5)).remaining


def test_where_pages_are_not_translated_a_queue_like_the_rest_brings_more_than_it_promises() -> None:
    courses = SiteCourse(), SiteCourse()
    for number, course in product(range(200), courses):
        untranslated = course is courses[1] and number % 2 == 1
        course.observe_fetch(FetchOutcome(0.02, side=int(number % 20 == 0), is_contradicted=untranslated))
        course.observe_pairs(number // 20)
    few, many = (course.estimate(Promise(300, 0.5)) for course in courses)
    assert 1 < few.remaining < many.remaining / 1.5 < 15


def test_what_a_host_that_is_given_up_had_in_its_queue_is_not_found() -> None:
    queue, found = Promise(40, 20.0), 0

    class Part(Gain):
        def promise(self, site: str) -> Promise:
            return queue

    remaining = RemainingPairs([Part(LanguagePair("eng", "spa"))], [lambda site: found])
    for number in range(20):
        found = number // 2
        remaining.observe_fetch(SITE, [FetchOutcome(0.5, side=number % 2)])
    before = remaining.total()
    assert before
    assert before.remaining > 5
    remaining.give_up(SITE)
    queue = Promise(0, 0.0)
    for _ in range(40):
        remaining.observe_fetch(SITE, [FetchOutcome(0.5, is_page=False)])
    assert remaining.total() == remaining.estimates()[SITE] == before
    # another host of the site brings pairs
    found += 2
    remaining.observe_pairs(SITE)
    after = remaining.total()
    assert after
    assert after.remaining == pytest.approx(before.remaining - 2)


def test_urls_that_cannot_be_fetched_now_promise_no_more_than_the_best_one() -> None:
    site = SiteCourse()
    for number in range(100):
        site.observe_fetch(FetchOutcome(0.001, side=number % 2))
    assert site.estimate(Promise(10, 2.0)) == site.estimate(Promise(10, 0.01))


@given(
    st.floats(0.01, 0.99),
    st.builds(Progress, st.integers(0, 2000), st.integers(0, 500), st.integers(0, 20), counts, st.floats(0, 500)),
)
def test_a_site_is_left_in_time_and_not_too_early(until: float, progress: Progress) -> None:
    left = progress.is_enough(until)
    found, recently, remaining = progress.found, progress.recently, progress.remaining
    assert remaining is not None
    if progress.pages < limits.FIRST_PAGES:
        assert not left
    elif not found and progress.pages < limits.PAGES_WITHOUT_PAIR:
        assert left == (remaining <= limits.NO_PAIR and progress.rarer < limits.BOTH_LANGUAGES)
    elif not found:
        assert left
    elif left and (found < limits.MIN_PAIRS or max(recently, remaining) > -log(1 - limits.ANY_PAIR)):
        assert recently <= (1 - until) * (found + recently) + 1e-9
        assert found / (found + remaining) >= until - 1e-9
        assert progress.is_enough(until / 2)


def test_a_small_site_is_left_where_probably_no_pair_remains() -> None:
    assert Progress(60, 17, 0, 17, 0.5).is_enough(0.98)
    for found, recently, remaining in ((2, 0, 0.5), (17, 0, 0.6), (17, 0, 0.93), (17, 1, 0.1)):
        assert not Progress(60, found, recently, 17, remaining).is_enough(0.98)


def test_a_policy_without_promises_leaves_a_site_by_what_it_brings() -> None:
    assert not Progress(100, 50, 2, 50, None).is_enough(0.98)
    assert Progress(100, 50, 1, 50, None).is_enough(0.98)
    assert not Progress(limits.PAGES_WITHOUT_PAIR - 1, 0, 0, 0, None).is_enough(0.98)
    assert Progress(limits.PAGES_WITHOUT_PAIR, 0, 0, 50, None).is_enough(0.98)


def test_recent_pairs_are_those_of_a_window_that_grows_with_the_site() -> None:
    site = SiteCourse()
    for found in range(1, 1001):
        site.observe_fetch(FetchOutcome(1.0))
        site.observe_pairs(found)
    assert site.brought(limits.RECENT) == 80
    for _ in range(79):
        site.observe_fetch(FetchOutcome(1.0))
        site.observe_pairs(1000)
    assert site.brought(limits.RECENT) == 7


# a policy, and what its queue promises --------------------------------------------------------------------------------


def frozen_site(pages: int, rng: random.Random) -> FrozenSite:
    """Pages in two languages that link to each other at random."""
    names = [f"https://{SITE}/{lang}/{number}" for number in range(pages) for lang in ("en", "es")]
    made = {
        name: PageRecord(
            name,
            "eng" if "/en/" in name else "spa",
            links=tuple(Link(other, text=other[-4:]) for other in rng.sample(names, 6)),
            length=1000,
            outline=Outline(0, 0, b"", b"", b"", b"", b""),
        )
        for name in names
    }
    return FrozenSite(made, {})


@pytest.mark.parametrize("seed", range(3))
def test_the_queue_promises_the_sum_of_what_its_urls_are_worth(seed: int) -> None:
    site = frozen_site(40, random.Random(seed))
    policy = Gain(LanguagePair.parse("eng-spa"))
    sizes = []

    def check(learner: Learner, url: str) -> bool:
        promise = policy.promise(SITE)
        queued = [url for url in site.pages if policy._known.is_queued(url)]
        assert promise.urls == len(queued)
        assert promise.pairs == pytest.approx(sum(policy._known._worths.get(url, 0.0) for url in queued))
        in_all = learner.remaining.total()
        assert in_all is not None
        assert in_all.found == len(learner.ledgers[policy.pair])
        sizes.append(len(queued))
        return True

    simulate(site, [f"https://{SITE}/en/0"], policy, check)
    assert max(sizes) > 20
    assert policy.promise(SITE) == pytest.approx((0, 0))
    assert policy.promise("other.example") == (0, 0.0)


# crawls ---------------------------------------------------------------------------------------------------------------


def with_blog(posts: int = BLOG) -> dict[str, str]:
    """A bilingual site with a blog in English only, each page of which leads to the next ones."""
    site = varied(bilingual_site(PAGES))
    chooser = random.Random(1)
    for number in range(posts):
        onward = "".join(f"<a href=/blog/{n}>{n}</a> " for n in range(number + 1, min(number + 9, posts)))
        words = " ".join(chooser.choices(TEXT["en"].split(), k=60))
        site[f"/blog/{number}"] = html("en", f"blog {number}", f"{onward}<p>{words} {number}</p>")
    site["/en/"] = site["/en/"].replace("</body>", "<a href=/blog/0>blog</a></body>")
    return site


def outcome(folder: Path) -> tuple[set[str], set[tuple[str, str]]]:
    """The paths of the documents, and of the pairs, of a crawl."""
    documents = {urlsplit(record["url"]).path for record in read_json_lines(folder / "out" / "documents.jsonl.gz")}
    rows = read_tsv(folder / "out" / "pairs.tsv")
    return documents, {(urlsplit(row["url_a"]).path, urlsplit(row["url_b"]).path) for row in rows}


def end_well(folder: Path, seeds: str, *more: str, policy: str = "gain", pair: str = "eng-spa") -> str:
    """Crawl to the end, or to a share of the pairs; returns the log."""
    done = ended_well(crawl(folder, seeds, *WHOLE, *more, policy=policy, pair=pair))
    return str(done.stderr)


@pytest.mark.slow
def test_a_crawl_ends_by_itself_and_a_resume_fetches_the_rest(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    blog = 150
    with serve(with_blog(blog)) as server:
        seeds = f"{server.url}/en/"
        job = ("-s", f"JOBDIR={tmp_path / 'job'}")
        log = end_well(tmp_path, seeds, *UNTIL, *job)
        documents, pairs = outcome(tmp_path)
        found = summary(tmp_path)
        assert len(pairs) == PAGES + 1
        assert len(documents) < (2 * PAGES + blog) / 2
        assert found["finish_reason"] == "until"
        assert found["queued"]
        assert found["estimate"]["share"] >= 0.98
        assert found["sites"]["127.0.0.1"]["state"] == "left"
        assert "127.0.0.1 is left: an estimated" in log
        assert "addresses are still queued, with about 0 pairs: an estimated" in log
        asked = server.asked.total()
        # the same share is there already
        end_well(tmp_path, seeds, *UNTIL, *job)
        assert server.asked.total() <= asked + 2
        end_well(tmp_path, seeds, *job)
        again = summary(tmp_path)
        assert again["finish_reason"] == "finished"
        assert again["estimate"]["share"] == 1
        assert {path: times for path, times in server.asked.items() if times > 1} == dict.fromkeys(ABOUT_SITE, 2)
    with serve(with_blog(blog)) as server:
        end_well(tmp_path / "whole", f"{server.url}/en/")
    assert outcome(tmp_path) == outcome(tmp_path / "whole")


@pytest.mark.slow
def test_a_killed_crawl_knows_what_it_had_found(tmp_path: Path) -> None:
    with serve(with_blog(), delay=0.01) as server:
        seeds, job = f"{server.url}/en/", ("-s", f"JOBDIR={tmp_path / 'job'}")
        process = start_crawl(tmp_path, seeds, *UNTIL, *job, *WHOLE)
        server.wait_until_asked(40)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        end_well(tmp_path, seeds, *UNTIL, *job)
        assert summary(tmp_path)["finish_reason"] == "until"
        assert server.asked.total() < (2 * PAGES + BLOG) / 2
        # what was in flight when the process died comes last
        assert len(outcome(tmp_path)[1]) >= PAGES - 1
        end_well(tmp_path, seeds, *job)
        assert len(outcome(tmp_path)[1]) == PAGES + 1


def test_a_site_without_the_pair_is_left(tmp_path: Path) -> None:
    with serve({path: page for path, page in with_blog().items() if path.startswith("/blog/")}) as server:
        assert "-a until=1 fetches all of it" in end_well(tmp_path, f"{server.url}/blog/0", *UNTIL)
        assert summary(tmp_path)["finish_reason"] == "until"
        assert limits.FIRST_PAGES <= server.asked.total() <= limits.PAGES_WITHOUT_PAIR


def test_other_policies_end_by_what_they_bring(tmp_path: Path) -> None:
    with serve(with_blog()) as server:
        end_well(tmp_path, f"{server.url}/en/", *UNTIL, policy="ilsp")
        assert summary(tmp_path)["finish_reason"] == "until"
        assert summary(tmp_path)["estimate"] == {}
        assert len(outcome(tmp_path)[1]) == PAGES + 1
        assert server.asked.total() < 2 * PAGES + BLOG


def test_the_reason_of_the_end_is_that_of_the_budget(tmp_path: Path) -> None:
    with serve(with_blog()) as server:
        end_well(tmp_path, f"{server.url}/en/", *UNTIL, "-a", "max_pages=20")
        assert sum(count for path, count in server.asked.items() if path in server.pages) <= 20
        assert summary(tmp_path)["finish_reason"] == "page_budget"
        estimate = summary(tmp_path)["estimate"]
        assert estimate["low"] <= estimate["share"] < 0.98


def test_workers_of_one_frontier_leave_their_sites(tmp_path: Path) -> None:
    with serve(with_blog()) as one, serve(with_blog(), address="127.0.0.2") as two, redis_server(tmp_path) as server:
        folders = crawl_with_two_workers(tmp_path, f"{one.url}/en/,{two.url}/en/", server.url, *UNTIL, *WHOLE)
        assert len([row for folder in folders for row in read_tsv(folder / "out" / "pairs.tsv")]) >= 2 * PAGES
        assert one.asked.total() + two.asked.total() < 2 * PAGES + BLOG


def test_a_worker_that_goes_on_counts_the_pairs_of_the_run_before(tmp_path: Path) -> None:
    """They are adopted from pairs.tsv before Redis tells what was fetched."""
    with serve(with_blog()) as one, redis_server(tmp_path) as server:
        kept = each("-s", f"BILINGUAL_FRONTIER={server.url}", f"JOBDIR={tmp_path / 'job'}")
        for more in (("-a", "max_pages=50"), UNTIL):
            end_well(tmp_path, f"{one.url}/en/", *more, *kept)
        assert len(outcome(tmp_path)[1]) >= PAGES
        assert one.asked.total() < (2 * PAGES + BLOG) / 2


def across(lang: str, other: str, to: str) -> dict[str, str]:
    """A site in one language that announces the pages of another site as its translations, and a blog."""
    names = [f"page-{number}.html" for number in range(2 * PAGES)]

    def announcing(path: str, title: str, body: str) -> str:
        page = html(lang, title, body)
        return page.replace("</head>", f'<link rel=alternate hreflang={other} href="{to}{path}"></head>')

    site = {"/": announcing("/", "home", "".join(f"<a href=/{name}>{name}</a> " for name in names))}
    site |= {f"/{name}": announcing(f"/{name}", name, "") for name in names}
    return varied(site)


def test_pairs_of_two_domains_count_on_both(tmp_path: Path) -> None:
    with serve({}) as one, serve({}, address="127.0.0.2") as two:
        one.pages, two.pages = across("en", "es", two.url), across("es", "en", one.url)
        end_well(tmp_path, f"{one.url}/,{two.url}/", *UNTIL)
        assert len(outcome(tmp_path)[1]) >= 1.9 * PAGES


def with_hidden_pages() -> tuple[dict[str, str], list[str]]:
    """The site with as many pairs again, whose pages no page leads to; and the paths of these."""
    site = with_blog()
    hidden = {url.replace("page", "more"): page.replace("page", "more") for url, page in site.items() if "page" in url}
    return site | hidden, list(hidden)


def test_pages_that_only_a_sitemap_names_are_found(tmp_path: Path) -> None:
    site, hidden = with_hidden_pages()
    with serve(site) as server:
        index, nested = ("sitemapindex", "sitemap"), ("urlset", "url")
        for name, (root, item), paths in (("/index.xml", index, ["/nested.xml"]), ("/nested.xml", nested, hidden)):
            entries = "".join(f"<{item}><loc>{server.url}{path}</loc></{item}>" for path in paths)
            site[name] = f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{root}>'
        server.robots = f"User-agent: *\nSitemap: {server.url}/index.xml\n"
        end_well(tmp_path, f"{server.url}/en/", *UNTIL)
        assert len(outcome(tmp_path)[1]) >= 1.9 * PAGES


@pytest.mark.slow
def test_a_site_is_taken_up_again_if_a_late_page_brings_more(tmp_path: Path) -> None:
    site, hidden = with_hidden_pages()
    late = html("en", "late", "".join(f"<a href={path}>more</a> " for path in hidden))

    def answer(path: str) -> Answer:
        if path == "/en/late.html":
            time.sleep(6)
            return Answer(late)
        page = site.get(path)
        return Answer(status=404) if page is None else Answer(page)

    site["/en/"] = site["/en/"].replace("<a ", "<a href=/en/late.html>late</a> <a ", 1)
    with scripted(answer) as server:
        end_well(tmp_path, f"{server.url}/en/", *UNTIL)
    assert len(outcome(tmp_path)[1]) >= 1.9 * PAGES


def test_refused_addresses_are_no_pages_without_a_pair(tmp_path: Path) -> None:
    site = with_blog()
    site["/"] = html("en", "home", "".join(f"<a href=/login/{n}>x</a>" for n in range(250)) + "<a href=/en/>all</a>")
    with serve(site) as server:
        server.robots = "User-agent: *\nDisallow: /login/\n"
        end_well(tmp_path, f"{server.url}/", *UNTIL, policy="bfs")
        assert len(outcome(tmp_path)[1]) == PAGES + 1


def test_several_pairs_of_languages_are_added_up(tmp_path: Path) -> None:
    with serve(with_blog()) as server:
        end_well(tmp_path, f"{server.url}/en/", *UNTIL, pair="eng-spa,eng-eus")
        assert summary(tmp_path)["finish_reason"] == "until"
        assert len(outcome(tmp_path)[1]) >= PAGES


@pytest.mark.parametrize("share", ["0", "98", "-1", "nan", "much"])
def test_no_share_is_refused_in_one_line(tmp_path: Path, share: str) -> None:
    said = refused(tmp_path, "crawl", "bilingual", *each("-a", "pair=eng-spa", "seeds=a.example", f"until={share}"))
    assert said == f"until={share}: give a share of the pairs of a site, above 0 and up to 1, such as 0.98"
