"""Whole crawls of pages that need JavaScript, with a real browser."""

import json
import os
import re
import signal
import socket
from contextlib import ExitStack
from email.message import Message
from functools import partial, reduce
from pathlib import Path
from subprocess import CompletedProcess

import psutil
import pytest
from support import crawls
from support.components import program
from support.crawls import documents, pairs
from support.processes import PeakMemory
from support.scripted import Answer, negotiating
from support.webserver import ABOUT_SITE, TEXT, Site, bilingual_site, html, serve, start_scrapy
from warcio.archiveiterator import ArchiveIterator

from bilingual_crawler.crawl.middlewares.render import REQUESTS, is_shell
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.settings import BILINGUAL_USER_AGENT
from bilingual_crawler.storage.records import read_tsv

PAGES = 3
SHELL = (
    "<!doctype html><title>app</title><link rel=stylesheet href=/style.css>"
    "<script src=/app.js></script><div id=app></div>"
)
SCRIPT = """
document.addEventListener("DOMContentLoaded", async () => {
  const answer = await fetch(`/parts${location.pathname}`)
  document.body.innerHTML = await answer.text() + "<img src=/logo.png>"
})
"""


@pytest.fixture(scope="module", autouse=True)
def chromium() -> str:
    return program("chromium", "chromium-browser", "google-chrome", package="chromium")


def with_scripts(*shells: str) -> dict[str, str]:
    """The bilingual site, where the pages named *shells* hold nothing but a script that fetches their content."""
    site = {path: html.replace("</head>", "<script src=/app.js></script></head>") for path, html in PLAIN.items()}
    parts = {f"/parts{path}": html for path, html in PLAIN.items()}
    return {"/app.js": SCRIPT} | site | dict.fromkeys(shells, SHELL) | parts


PLAIN = {path: html for path, html in bilingual_site(PAGES).items() if path not in ("/", "/fi/")}
NAMES = ["", *(f"page-{number}.html" for number in range(PAGES))]
PAIRS = {(f"/en/{name}", f"/es/{name}") for name in NAMES}


def crawl(folder: Path, site: Site, *more: str, seed: str = "/en/") -> CompletedProcess[str]:
    result: CompletedProcess[str] = crawls.ended_well(crawls.crawl(folder, site.url + seed, *more))
    return result


def stat(result: CompletedProcess[str], name: str) -> int:
    found = re.search(rf"'bilingual/render/{name}': (\d+)", result.stderr)
    return int(found[1]) if found else 0


def auto(site: Site) -> tuple[str, ...]:
    """The arguments of a crawl that goes on while a test does something to it."""
    chosen = ("-a", "pair=eng-spa", "-a", f"seeds={site.url}/en/", "-a", "policy=bfs", "-a", "render=auto")
    return ("crawl", "bilingual", *chosen, "-s", "JOBDIR=job", "-s", "BILINGUAL_OUTPUT_DIR=out")


def elapsed(result: CompletedProcess[str]) -> float:
    found = re.search(r"'elapsed_time_seconds': ([\d.]+)", result.stderr)
    assert found
    return float(found[1])


WAYS = (
    "setTimeout(() => app.innerHTML = {}, 3000)",
    "let frames = 0; (function next() {{ frames++ < 60 ? requestAnimationFrame(next) : app.innerHTML = {} }})()",
    "app.attachShadow({{mode: 'open'}}).innerHTML = {}",
    "app.attachShadow({{mode: 'open'}}).innerHTML = '<span></span>'; "
    "setTimeout(() => app.shadowRoot.querySelector('span').attachShadow({{mode: 'open'}}).innerHTML = {}, 1000)",
)
"""Scripts that show the text of a page: after a while, after many frames, in a shadow tree, in one of another."""


def test_a_site_that_is_all_javascript_has_no_documents_unless_rendered(tmp_path: Path) -> None:
    """One of two sites shows its text late, or where it is hard to find."""
    hidden = {}
    for way, name in zip(WAYS, NAMES, strict=True):
        for path in (f"/en/{name}", f"/es/{name}"):
            script = way.format(json.dumps(PLAIN[path]).replace("</p>", "<\\/p>"))
            hidden[path] = SHELL.replace("<script src=/app.js></script>", "") + f"<script>{script}</script>"
    (tmp_path / "never").mkdir()
    with serve(with_scripts(*PLAIN)) as site, serve(hidden, address="127.0.0.2") as other:
        result = crawl(tmp_path / "never", site)
        assert documents(tmp_path / "never") == {}
        assert result.stderr.count("1 of 1 pages, such as http") == result.stderr.count("-a render=auto") == 1
        assert not site.asked["/app.js"]
        result = crawl(tmp_path, site, "-a", "render=auto", seed=f"/en/,{other.url}/en/")
    assert pairs(tmp_path, site) == PAIRS | {(f"{other.url}{one}", f"{other.url}{two}") for one, two in PAIRS}
    assert stat(result, "pages") == 2 * len(PLAIN)
    page = documents(tmp_path)[f"{site.url}/en/page-1.html"]
    assert page["switches"] == [["spa", f"{site.url}/es/page-1.html"]]
    assert TEXT["en"].strip() in page["text"]


SHELLS = {"/es/", "/en/page-0.html", "/es/page-1.html"}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Site, CompletedProcess[str]]:
    """A crawl of a site of which some pages are shells."""
    folder = tmp_path_factory.mktemp("rendered")
    with serve(with_scripts(*SHELLS)) as site:
        return folder, site, crawl(folder, site, "-a", "render=auto", "-s", "BILINGUAL_CONTACT=mailto:me@example.org")


def test_auto_renders_nothing_but_the_shells(rendered: tuple[Path, Site, CompletedProcess[str]]) -> None:
    folder, site, result = rendered
    assert pairs(folder, site) == PAIRS
    assert stat(result, "pages") == stat(result, "shells") == len(SHELLS)
    assert {path for path in site.asked if path.startswith("/parts")} == {f"/parts{path}" for path in SHELLS}
    assert site.asked["/app.js"] <= 2
    assert not site.asked["/logo.png"]
    assert not site.asked["/style.css"]
    assert max(site.asked[path] for path in PLAIN) == 1
    assert site.agents == {f"{BILINGUAL_USER_AGENT} (+mailto:me@example.org)"}


def test_pages_that_stay_shells_are_given_less_and_less_time(tmp_path: Path) -> None:
    names = [f"/{number}" for number in range(5)]
    links = "".join(f"<a href={name}>{name}</a>" for name in names)
    with serve({"/en/": html("en", "home", links)} | dict.fromkeys(names, SHELL)) as site:
        limits = ("-s", "BILINGUAL_RENDER_CONCURRENCY=1", "-s", "BILINGUAL_RENDER_TIMEOUT=20")
        result = crawl(tmp_path, site, "-a", "render=auto", *limits)
    assert stat(result, "pages") == len(names)
    assert elapsed(result) < 20 * len(names) / 2, "as if each page were given the time of the first"


@pytest.mark.slow
def test_the_archive_holds_what_was_downloaded_and_what_became_of_it(
    rendered: tuple[Path, Site, CompletedProcess[str]], tmp_path: Path
) -> None:
    folder, site, _ = rendered
    responses, conversions = {}, {}
    with (folder / "out" / "crawl-00000.warc.gz").open("rb") as file:
        for record in ArchiveIterator(file):
            field = record.rec_headers.get_header
            path = (field("WARC-Target-URI") or "").removeprefix(site.url)
            if record.rec_type == "response":
                responses[path] = (field("WARC-Record-ID"), record.content_stream().read().decode())
            elif record.rec_type == "conversion":
                conversions[path] = (field("WARC-Refers-To"), record.content_stream().read().decode())
    assert set(conversions) == SHELLS
    for path, (original, text) in conversions.items():
        assert responses[path] == (original, SHELL)
        assert responses[f"/parts{path}"][1] == PLAIN[path]
        assert "<p>" in text
    record = documents(folder)[f"{site.url}/es/"]
    with (folder / "out" / record["warc_file"]).open("rb") as file:
        file.seek(record["warc_offset"])
        assert next(ArchiveIterator(file)).rec_type == "conversion"
    crawl(tmp_path, site, "-a", "render=auto", "-s", f"BILINGUAL_REPLAY={folder / 'out'}")
    assert pairs(tmp_path, site) == PAIRS


@pytest.mark.slow
def test_a_stop_from_the_terminal_leaves_no_page_half_rendered(tmp_path: Path) -> None:
    with serve(with_scripts(*PLAIN), delay=0.1) as site:
        process = start_scrapy(tmp_path, *auto(site))
        site.wait_until_asked(8)
        os.killpg(process.pid, signal.SIGINT)
        _, log = process.communicate(timeout=300)
        assert len(documents(tmp_path)) < len(PLAIN), log
        crawls.succeeds(tmp_path, *auto(site))
    assert pairs(tmp_path, site) == PAIRS
    assert len(documents(tmp_path)) == len(PLAIN)


@pytest.mark.slow
def test_a_page_that_fills_the_memory_is_ended_and_the_others_are_rendered(tmp_path: Path) -> None:
    """By arrays, which no limit of the script engine counts."""
    greedy = "<script>const held = []; setInterval(() => held.push(new Uint8Array(5e7).fill(1)), 20)</script>"
    names = [f"/greedy-{number}" for number in range(3)]
    pages = dict.fromkeys(names, SHELL.replace("</title>", f"</title>{greedy}"))
    site = with_scripts("/es/", "/en/page-0.html") | pages
    site["/en/"] = site["/en/"].replace("<body>", "<body>" + "".join(f"<a href={name}>x</a>" for name in names))
    with serve(site) as server, PeakMemory(os.getpid(), below=True) as peak:
        result = crawl(tmp_path, server, "-a", "render=auto")
        assert pairs(tmp_path, server) == PAIRS
    assert stat(result, "failed") == len(names)
    assert peak.most < 5e9


@pytest.mark.slow
def test_the_time_budget_ends_a_page_that_never_ends(tmp_path: Path) -> None:
    endless = "<title>app</title><script>setTimeout(() => { while (true) {} }, 50)</script>"
    limits = ("-s", "CLOSESPIDER_TIMEOUT=8", "-s", "BILINGUAL_RENDER_TIMEOUT=300")
    with serve(with_scripts() | {"/en/page-0.html": endless}) as site:
        assert 7 < elapsed(crawl(tmp_path, site, "-a", "render=auto", *limits)) < 120


@pytest.mark.slow
def test_a_browser_that_dies_is_started_again(tmp_path: Path) -> None:
    with serve(with_scripts(*PLAIN), delay=0.1) as site:
        process = start_scrapy(tmp_path, *auto(site))
        site.wait_until_asked(8)
        browser = next(
            child
            for child in psutil.Process(process.pid).children(recursive=True)
            if "--remote-debugging-pipe" in child.cmdline() and "--type=" not in " ".join(child.cmdline())
        )
        browser.kill()
        _, log = process.communicate(timeout=300)
    assert process.returncode == 0, log
    assert log.count("Launching browser") == 2
    assert len(documents(tmp_path)) >= len(PLAIN) - 2


@pytest.mark.slow
def test_hostile_pages_cost_their_time_and_nothing_else(tmp_path: Path) -> None:
    hostile = {
        "/en/page-1.html": "document.body.append('x'.repeat(5e6))",
        "/es/page-1.html": "setInterval(() => fetch('/news?' + Math.random()), 20)",
        "/en/page-2.html": "location.reload()",
        "/es/page-2.html": "setTimeout(() => { while (true) {} }, 50)",
    }
    pages = {path: f"<title>app</title><body>wait<script>{script}</script>" for path, script in hostile.items()}
    limits = ("-s", "DOWNLOAD_MAXSIZE=1000000", "-s", "BILINGUAL_RENDER_TIMEOUT=8")
    # the honest page that needs a browser has one of its own in another test: here it would need more time
    with serve(with_scripts() | pages) as site:
        result = crawl(tmp_path, site, "-a", "render=auto", *limits)
    assert 0 < sum(path.startswith("/news") for path in site.asked) <= REQUESTS
    assert stat(result, "shells") == len(hostile)
    assert stat(result, "failed") >= 3
    assert len(documents(tmp_path)) == 4
    assert result.stderr.count("was not rendered") == 1
    assert pairs(tmp_path, site) == {("/en/", "/es/"), ("/en/page-0.html", "/es/page-0.html")}


SNOOP = """
fetch("@INNER/secret").catch(() => {})
fetch("/robots-say-no").catch(() => {})
fetch("/post", {method: "POST"}).catch(() => {})
navigator.sendBeacon("/beacon")
window.open("@INNER/popup")
new WebSocket("@INNER/socket".replace("http", "ws"))
document.write("<iframe src=@INNER/frame></iframe><img src=@INNER/pixel>")
"""
PEERS = """
const gather = async url => {
  const peer = new RTCPeerConnection({iceServers: [{urls: url, username: "a", credential: "b"}]})
  peer.createDataChannel("data")
  await peer.setLocalDescription(await peer.createOffer())
}
const call = async () => {
  const caller = new RTCPeerConnection(), callee = new RTCPeerConnection()
  caller.createDataChannel("data")
  await callee.setRemoteDescription(await caller.createOffer())
  await callee.setLocalDescription(await callee.createAnswer())
  const places = ["udp 2113937151 127.0.0.1 @UDP typ host", "tcp 1518280447 127.0.0.1 @TCP typ host tcptype passive"]
  for (const place of places) await callee.addIceCandidate({candidate: `candidate:1 1 ${place}`, sdpMLineIndex: 0})
}
const tick = setInterval(() => fetch("/tick?" + Math.random()), 200)
const servers = ["stun:127.0.0.1:@UDP", "turn:127.0.0.1:@UDP", "turn:127.0.0.1:@TCP?transport=tcp"]
const transport = async () => new WebTransport("https://127.0.0.1:@UDP/").closed.catch(() => {})
transport()
Promise.all([...servers.map(gather), call()]).then(() => fetch("/tried"))
setTimeout(() => clearInterval(tick), 3000)
"""


def test_what_scripts_of_four_sites_may_do(tmp_path: Path) -> None:
    """They lead the crawl elsewhere, reach nothing that it may not reach, by any protocol, and use up a budget."""
    with ExitStack() as stack:
        inner = stack.enter_context(serve({"/secret": "secret"}))
        datagrams = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        connections = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        datagrams.bind(("127.0.0.1", 0))
        for listener in (datagrams, connections):
            listener.setblocking(False)
        ports = (("@UDP", datagrams), ("@TCP", connections))
        call = reduce(lambda script, port: script.replace(port[0], str(port[1].getsockname()[1])), ports, PEERS)
        scripts = ("location.replace('/en/page-0.html')", SNOOP.replace("@INNER", inner.url), call)
        starts = [{"/start": f"<!doctype html><title>x</title><script>{script}</script>"} for script in scripts]
        shells, moved, snoop, peers = (
            stack.enter_context(serve(pages, address=f"127.0.0.{number}"))
            for number, pages in enumerate((with_scripts(*PLAIN), *(with_scripts() | start for start in starts)), 2)
        )
        snoop.robots = "User-agent: *\nDisallow: /robots-say-no\n"
        seeds = ",".join(f"{site.url}/start" for site in (moved, snoop, peers))
        limits = ("-s", "BILINGUAL_RENDER_MAX_PAGES_PER_SITE=3", "-s", "DOWNLOAD_DELAY=0.05")
        result = crawl(tmp_path, shells, "-a", "render=auto", *limits, seed=f"/en/,{seeds}")
        with pytest.raises(BlockingIOError):
            datagrams.recv(100)
        with pytest.raises(BlockingIOError):
            connections.accept()
    assert peers.asked["/tried"]
    assert not inner.asked
    assert set(snoop.asked) == {*ABOUT_SITE, "/start"}
    assert stat(result, "pages") == 3 + 2
    assert stat(result, "over_budget") > 0
    found = documents(tmp_path)
    assert sum(url.startswith(shells.url) for url in found) == 3
    (row,) = (row for row in read_tsv(tmp_path / "out" / "crawl.tsv") if row["url"] == f"{moved.url}/start")
    assert (row["outcome"], row["location"]) == ("redirect", f"{moved.url}/en/page-0.html")
    assert f"{moved.url}/en/page-0.html" in found
    assert moved.asked["/en/page-0.html"] == 1


def test_without_a_browser_always_is_an_error_and_auto_a_warning(tmp_path: Path) -> None:
    nowhere = ("-s", 'PLAYWRIGHT_LAUNCH_OPTIONS={"executable_path": "/nowhere/chromium"}')
    with serve(with_scripts("/es/")) as site:
        always = ("crawl", "bilingual", "-a", "pair=eng-spa", "-a", f"seeds={site.url}/", "-a", "render=always")
        said = crawls.refused(tmp_path, *always, *nowhere)
        assert "render=always: PLAYWRIGHT_LAUNCH_OPTIONS: there is no browser /nowhere/chromium" in said
        assert not site.asked
        assert crawl(tmp_path, site, "-a", "render=auto", *nowhere).stderr.count("/nowhere/chromium; until then") == 1
    assert documents(tmp_path)


def test_a_shell_has_scripts_and_next_to_no_text_or_links() -> None:
    for page, expected in (
        (SHELL, True),
        (SHELL.replace("<script src=/app.js></script>", ""), False),
        (f"<SCRIPT></SCRIPT><p>{TEXT['en']}<a href=/next>next</a>", False),
        (f"<script></script><p>{TEXT['en']}", True),
        ("<script></script><p>menu <a href=/next>next</a>", True),
        (f"<script></script><link rel=alternate hreflang=es href=/es/><p>{TEXT['en']}", True),
    ):
        assert is_shell(parse_page(page, "https://example.org/"), page.encode()) is expected


# languages ------------------------------------------------------------------------------------------------------------

CHOICES: dict[str, list[str | None]] = {
    "auto": [SCRIPT.replace("/parts", "/parts/${navigator.languages[0]}")],
    "always": [SCRIPT.replace("/parts", "/parts/${navigator.language.slice(0, 2)}"), SCRIPT, None],
}
"""By mode, the scripts of sites; each chooses the language of a page by the browser or the header of its request.

The page of the last one has no script: it is chosen by the header of its own request.
"""


@pytest.mark.parametrize("mode", ["auto", pytest.param("always", marks=pytest.mark.slow)])
def test_rendered_pages_are_asked_for_in_both_languages(tmp_path: Path, mode: str) -> None:
    """One address has both languages, chosen by a script or by the server."""
    names = ["/", "/page-0"]

    def answer(script: str | None, path: str, headers: Message) -> Answer:
        if path == "/app.js":
            return Answer(script or "", kind="text/javascript")
        # /parts/es/page-1, /parts/page-1 or /page-1
        found = re.fullmatch(r"(/parts)?(?:/(en|es))?(/(?:page-\d+)?)", path)
        if found is None or found[3] not in names:
            return Answer(status=404)
        if script and not found[1]:
            return Answer(SHELL)
        lang = found[2] or headers["Accept-Language"][:2]
        onward = "".join(f"<a href={name}>{name}</a> " for name in names)
        return Answer(html(lang, found[3], onward), headers={"Vary": "Accept-Language"})

    with ExitStack() as stack:
        servers = [
            stack.enter_context(negotiating(partial(answer, script), f"127.0.0.{number}"))
            for number, script in enumerate(CHOICES[mode], 1)
        ]
        seeds = ",".join(f"{server.url}/" for server in servers)
        more = ("-a", f"render={mode}", "-s", "CONCURRENT_REQUESTS=1")
        result = crawls.ended_well(crawls.crawl(tmp_path, seeds, *more, policy="gain"))
    found = {url: record["language"] for url, record in documents(tmp_path).items()}
    expected = {f"{server.url}{name}": "spa" for server in servers for name in names}
    assert found == expected | {f"{url}#!lang=eng": "eng" for url in expected}
    asked = [sum(path in names for path in server.paths()) for server in servers]
    assert stat(result, "pages") == sum(asked) >= 2
    assert stat(result, "shells") == sum(count for count, script in zip(asked, CHOICES[mode], strict=True) if script)
