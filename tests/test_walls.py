"""Hosts that show one page for all addresses from some request on, such as to keep programs out."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.crawls import crawl, documents, ended_well, outcomes, summary
from support.scripted import Answer, Scripted, scripted
from support.webserver import ABOUT_SITE, bilingual_site, html, varied

Wall = Callable[[str, int], Answer]

SITE = varied({path: page for path, page in bilingual_site(12).items() if path[1:3] in ("en", "es")})
ASKED = (
    "Our systems have seen unusual traffic from your network. This page checks whether the requests come from you and "
    "not from a robot. Please complete the puzzle below to continue to the site. Reference number "
)
MENU = "<a href=/en/>English</a> <a href=/es/>Español</a> "
FORM = "<form method=post action=/check><button>Continue</button></form>"


def question(path: str, number: int, links: str = "") -> Answer:
    text = f"<h1>One moment please</h1><p>{ASKED}{number * 7919:x}. You asked for {path}.</p>"
    return Answer(f"<!doctype html><html lang=en><body>{links}{text}{FORM}</body></html>")


def redirect(to: str) -> Answer:
    return Answer(status=302, headers={"Location": to})


WALLS: dict[str, Wall] = {
    "a question": question,
    "a script without a text": lambda *_: Answer("<html><script src=/challenge.js></script></html>"),
    "a few words": lambda *_: Answer("<title>Please wait</title><meta http-equiv=refresh content=5>Please wait..."),
    "forbidden": lambda *_: Answer("<h1>Forbidden</h1>", status=403),
}
LEAKY: dict[str, Wall] = {
    "a few words without a form": lambda *_: Answer("<title>Please wait</title><body>Please wait..."),
    "in the frame of the site": lambda path, number: question(path, number, MENU),
    "a redirect": lambda path, number: (
        question(path, number) if path.startswith("/captcha") else redirect(f"/captcha?next={path}")
    ),
}
"""Walls of which two copies may be read before they are found: a page that was requested before may come between."""


def walled(wall: Wall, *, first: int, last: int = 1_000_000) -> Callable[[str], Answer]:
    """A site whose requests from *first* to before *last* have the *wall* as their answer."""
    requests = count()

    def answer(path: str) -> Answer:
        if path in ABOUT_SITE:
            return Answer(status=404)
        number = next(requests)
        if first <= number < last:
            return wall(path, number)
        return Answer(SITE[path]) if path in SITE else Answer(status=404)

    return answer


def run(folder: Path, site: Scripted, *more: str) -> tuple[str, dict[str, Any], set[str]]:
    """Crawl the site; returns the log, the summary and the paths of the documents."""
    result = ended_well(crawl(folder, f"{site.url}/en/", "-s", "BILINGUAL_BACKOFF_START=0.1", *more))
    return result.stderr, summary(folder), {url.removeprefix(site.url) for url in documents(folder)}


@pytest.mark.parametrize("name", [*WALLS, *LEAKY])
def test_what_a_wall_hides_stays_queued_and_is_no_document(tmp_path: Path, name: str) -> None:
    """The crawl is resumed while the wall still stands, and when it is gone."""
    wall, job = (WALLS | LEAKY)[name], ("-s", f"JOBDIR={tmp_path / 'job'}", "-s", "BILINGUAL_HOST_FAILURES=3")
    leaks = 2 * (name in LEAKY)
    states = iter((walled(wall, first=14), walled(wall, first=0), walled(wall, first=1_000_000)))
    state = next(states)
    with scripted(lambda path: state(path)) as site:
        log, first, held = run(tmp_path, site, *job)
        assert log.count("shows one page for all addresses") == 1
        assert "To go on: " in log
        assert first["finish_reason"] == "blocked"
        assert len(held - SITE.keys()) <= leaks
        assert len(outcomes(tmp_path, site.url)) <= 14 + 2 * leaks
        assert first["queued"] >= len(SITE) - 14 - leaks
        state = next(states)
        _, second, still_held = run(tmp_path, site, *job)
        assert (second["queued"], still_held) == (first["queued"], held)
        state = next(states)
        _, third, read = run(tmp_path, site, *job)
        assert third["finish_reason"] == "finished"
        assert len(SITE.keys() - read) <= leaks


@pytest.mark.parametrize("name", ["a question", "forbidden"])
def test_a_wall_that_ends_costs_a_pause(tmp_path: Path, name: str) -> None:
    with scripted(walled(WALLS[name], first=14, last=20)) as site:
        log, counts, read = run(tmp_path, site)
    assert read == SITE.keys()
    assert "shows its pages again" in log
    assert counts["failures"]["wall"] >= 2
    assert counts["finish_reason"] == "finished"


SAME = {
    "tags": Answer(html("en", "Tag", "<a href=/en/>home</a> <a href=/es/>es</a>") + "No article has this tag."),
    "forms": Answer("<form method=post>Write to us: <input name=text></form>"),
    "private": Answer("Forbidden", status=403),
    "edit": redirect("/login"),
}


def test_pages_that_are_the_same_stop_no_site(tmp_path: Path) -> None:
    """Empty tag pages, forms, private and editors' pages, 20 each: the site is tested now and then."""
    links = "".join(f"<a href=/{kind}/{number}>{kind}</a> " for kind in SAME for number in range(20))
    pages = SITE | {"/en/": SITE["/en/"].replace("<h1>", f"{links}<h1>"), "/login": html("en", "Log in", "")}

    def answer(path: str) -> Answer:
        kind = path.split("/")[1]
        return SAME.get(kind) or (Answer(pages[path]) if path in pages else Answer(status=404))

    with scripted(answer) as site:
        log, counts, read = run(tmp_path, site)
    assert SITE.keys() <= read
    assert len(site.times("/en/")) <= 5
    assert "all addresses" not in log
    assert (counts["failures"], counts["finish_reason"]) == ({}, "finished")
    assert len([path for path in outcomes(tmp_path, site.url) if path.split("/")[1] in SAME]) == 20 * len(SAME)
