"""Hosts that show one page for all addresses from some request on, such as to keep programs out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

import pytest
from support.crawls import crawl, documents, outcomes, summary
from support.scripted import Answer, scripted
from support.webserver import ABOUT_SITE, bilingual_site, html, varied

if TYPE_CHECKING:
    from pathlib import Path

    from support.scripted import Scripted

Wall = Callable[[str, int], Answer]

SITE = varied({path: page for path, page in bilingual_site(12).items() if path[1:3] in ("en", "es")})
ASKED = (
    "Our systems have seen unusual traffic from your network. This page checks whether the requests come from you and "
    "not from a robot. Please complete the puzzle below to continue to the site. Reference number "
)
QUICK = ("-s", "BILINGUAL_BACKOFF_START=0.1", "-s", "BILINGUAL_HOST_FAILURES=3")
MENU = "".join(f"<a href=/{lang}/>{name}</a> " for lang, name in (("en", "English"), ("es", "Español")))
FORM = "<form method=post action=/check><button>Continue</button></form>"


def question(path: str, number: int, links: str = "") -> Answer:
    text = f"<h1>One moment please</h1><p>{ASKED}{number * 7919:x}. You asked for {path}.</p>"
    return Answer(f"<!doctype html><html lang=en><body>{links}{text}{FORM}</body></html>")


WALLS: dict[str, Wall] = {
    "a question": question,
    "a script without a text": lambda *_: Answer("<html><script src=/challenge.js></script></html>"),
    "a few words": lambda *_: Answer("<title>Please wait</title><meta http-equiv=refresh content=5>Please wait..."),
    "forbidden": lambda *_: Answer("<h1>Forbidden</h1>", status=403),
}
LEAKY: dict[str, Wall] = {
    "a few words without a form": lambda *_: Answer(
        "<html><title>Please wait</title><body>Please wait...</body></html>"
    ),
    "in the frame of the site": lambda path, number: question(path, number, MENU),
    "a redirect": lambda path, number: (
        question(path, number)
        if path.startswith("/captcha")
        else Answer(status=302, headers={"Location": f"/captcha?next={path}"})
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


def read(folder: Path, site: Scripted) -> set[str]:
    """The paths of the documents."""
    return {url.removeprefix(site.url) for url in documents(folder)}


@pytest.mark.parametrize("name", [*WALLS, *LEAKY])
def test_what_a_wall_hides_stays_queued_and_is_no_document(tmp_path: Path, name: str) -> None:
    """The crawl is resumed while the wall still stands, and when it is gone."""
    wall, job = (WALLS | LEAKY)[name], ("-s", f"JOBDIR={tmp_path / 'job'}", *QUICK)
    leaks = 2 * (name in LEAKY)
    states = iter((walled(wall, first=14), walled(wall, first=0), walled(wall, first=1_000_000)))
    state = next(states)
    with scripted(lambda path: state(path)) as site:
        first = crawl(tmp_path, f"{site.url}/en/", *job)
        assert first.returncode == 0, first.stderr
        assert first.stderr.count("shows one page for all addresses") == 1
        assert "To go on: " in first.stderr
        assert summary(tmp_path)["finish_reason"] == "blocked"
        held = read(tmp_path, site)
        assert len(held - SITE.keys()) <= leaks
        assert len(outcomes(tmp_path, site.url)) <= 14 + 2 * leaks
        queued = summary(tmp_path)["queued"]
        assert queued >= len(SITE) - 14 - leaks
        state = next(states)
        second = crawl(tmp_path, f"{site.url}/en/", *job)
        assert second.returncode == 0, second.stderr
        assert read(tmp_path, site) == held
        assert summary(tmp_path)["queued"] == queued
        state = next(states)
        third = crawl(tmp_path, f"{site.url}/en/", *job)
        assert third.returncode == 0, third.stderr
        assert summary(tmp_path)["finish_reason"] == "finished"
        assert len(SITE.keys() - read(tmp_path, site)) <= leaks


@pytest.mark.parametrize("name", ["a question", "forbidden"])
def test_a_wall_that_ends_costs_a_pause(tmp_path: Path, name: str) -> None:
    with scripted(walled(WALLS[name], first=14, last=20)) as site:
        result = crawl(tmp_path, f"{site.url}/en/", "-s", "BILINGUAL_BACKOFF_START=0.1")
        assert result.returncode == 0, result.stderr
        assert read(tmp_path, site) == SITE.keys()
    assert "shows its pages again" in result.stderr
    assert summary(tmp_path)["failures"]["wall"] >= 2
    assert summary(tmp_path)["finish_reason"] == "finished"


SAME = {
    "tags": Answer(html("en", "Tag", "<a href=/en/>home</a> <a href=/es/>es</a>") + "No article has this tag."),
    "forms": Answer("<form method=post>Write to us: <input name=text></form>"),
    "private": Answer("Forbidden", status=403),
    "edit": Answer(status=302, headers={"Location": "/login"}),
}


def test_pages_that_are_the_same_stop_no_site(tmp_path: Path) -> None:
    """Empty tag pages, forms, private and editors' pages, 20 each: the site is tested now and then."""
    links = "".join(f"<a href=/{kind}/{number}>{kind}</a> " for kind in SAME for number in range(20))
    pages = SITE | {"/en/": SITE["/en/"].replace("<h1>", f"{links}<h1>"), "/login": html("en", "Log in", "")}

    def answer(path: str) -> Answer:
        kind = path.split("/")[1]
        return SAME.get(kind) or (Answer(pages[path]) if path in pages else Answer(status=404))

    with scripted(answer) as site:
        result = crawl(tmp_path, f"{site.url}/en/", "-s", "BILINGUAL_BACKOFF_START=0.1")
        assert result.returncode == 0, result.stderr
        assert SITE.keys() <= read(tmp_path, site)
        assert len(site.times("/en/")) <= 5
    assert "all addresses" not in result.stderr
    assert summary(tmp_path)["failures"] == {}
    assert summary(tmp_path)["finish_reason"] == "finished"
    found = outcomes(tmp_path, site.url)
    assert len([path for path in found if path.split("/")[1] in SAME]) == 20 * len(SAME)
