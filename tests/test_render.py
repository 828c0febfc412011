"""Whole crawls of pages that need JavaScript, with a real browser."""

import json
import os
import re
import signal
import socket
from email.message import Message
from pathlib import Path
from subprocess import CompletedProcess

import psutil
import pytest
from support import crawls
from support.components import program
from support.crawls import documents, pairs
from support.processes import PeakMemory
from support.scripted import Answer, negotiating
from support.webserver import ABOUT_SITE, TEXT, Site, bilingual_site, html, run_scrapy, serve, start_scrapy
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
    result: CompletedProcess[str] = crawls.crawl(folder, site.url + seed, *more)
    assert result.returncode == 0, result.stderr
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


@pytest.mark.slow
def test_a_site_that_is_all_javascript_has_no_documents_unless_rendered(tmp_path: Path) -> None:
    (tmp_path / "never").mkdir()
    with serve(with_scripts(*PLAIN)) as site:
        result = crawl(tmp_path / "never", site)
        assert documents(tmp_path / "never") == {}
        assert result.stderr.count("-a render=auto") == 1
        assert not site.asked["/app.js"]
        result = crawl(tmp_path, site, "-a", "render=auto")
    assert pairs(tmp_path, site) == PAIRS
    assert stat(result, "pages") == len(PLAIN)
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


WAYS = (
    "setTimeout(() => app.innerHTML = {}, 3000)",
    "let frames = 0; (function next() {{ frames++ < 60 ? requestAnimationFrame(next) : app.innerHTML = {} }})()",
    "app.attachShadow({{mode: 'open'}}).innerHTML = {}",
    "app.attachShadow({{mode: 'open'}}).innerHTML = '<span></span>'; "
    "setTimeout(() => app.shadowRoot.querySelector('span').attachShadow({{mode: 'open'}}).innerHTML = {}, 1000)",
)
"""Scripts that show the text of a page: after a while, after many frames, in a shadow tree, in one of another."""


def test_text_is_waited_for_wherever_it_is_shown(tmp_path: Path) -> None:
    pages = {}
    for way, name in zip(WAYS, NAMES, strict=True):
        for path in (f"/en/{name}", f"/es/{name}"):
            script = way.format(json.dumps(PLAIN[path]).replace("</p>", "<\\/p>"))
            pages[path] = SHELL.replace("<script src=/app.js></script>", "") + f"<script>{script}</script>"
    with serve(pages) as site:
        crawl(tmp_path, site, "-a", "render=auto")
    assert pairs(tmp_path, site) == PAIRS


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
def test_always_renders_every_page(tmp_path: Path) -> None:
    with serve(with_scripts()) as site:
        result = crawl(tmp_path, site, "-a", "render=always", "-a", "max_pages=4")
    assert stat(result, "pages") == sum(site.asked[path] for path in PLAIN) >= 2
    assert stat(result, "shells") == 0


@pytest.mark.slow
def test_a_stop_from_the_terminal_leaves_no_page_half_rendered(tmp_path: Path) -> None:
    with serve(with_scripts(*PLAIN), delay=0.1) as site:
        process = start_scrapy(tmp_path, *auto(site))
        site.wait_until_asked(8)
        os.killpg(process.pid, signal.SIGINT)
        _, log = process.communicate(timeout=300)
        assert len(documents(tmp_path)) < len(PLAIN), log
        resumed = run_scrapy(tmp_path, *auto(site))
    assert resumed.returncode == 0, resumed.stderr
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
        result = crawl(tmp_path, site, "-a", "render=auto", *limits)
    assert 7 < elapsed(result) < 120


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


def test_where_scripts_go_elsewhere_the_crawl_follows(tmp_path: Path) -> None:
    elsewhere = "<!doctype html><title>app</title><script>location.replace('/en/page-0.html')</script>"
    with serve(with_scripts() | {"/start": elsewhere}) as site:
        crawl(tmp_path, site, "-a", "render=auto", seed="/start")
    row = next(read_tsv(tmp_path / "out" / "crawl.tsv"))
    assert (row["outcome"], row["location"]) == ("redirect", f"{site.url}/en/page-0.html")
    assert f"{site.url}/en/page-0.html" in documents(tmp_path)
    assert site.asked["/en/page-0.html"] == 1


@pytest.mark.slow
def test_hostile_pages_cost_their_time_and_nothing_else(tmp_path: Path) -> None:
    hostile = {
        "/en/page-1.html": "document.body.append('x'.repeat(5e6))",
        "/es/page-1.html": "setInterval(() => fetch('/news?' + Math.random()), 20)",
        "/en/page-2.html": "location.reload()",
        "/es/page-2.html": "setTimeout(() => { while (true) {} }, 50)",
    }
    pages = {path: f"<title>app</title><body>wait<script>{script}</script>" for path, script in hostile.items()}
    job = ("-a", "render=auto", "-s", "JOBDIR=job")
    limits = ("-s", "DOWNLOAD_MAXSIZE=1000000", "-s", "BILINGUAL_RENDER_TIMEOUT=8")
    with serve(with_scripts("/es/") | pages) as site:
        # the honest page that needs a browser comes first, and has the time that it takes on a busy machine
        patient = ("-s", "CONCURRENT_REQUESTS=1", "-s", "BILINGUAL_RENDER_TIMEOUT=300")
        honest = crawl(tmp_path, site, *job, *patient, "-a", "max_pages=2")
        assert stat(honest, "shells") == stat(honest, "pages") == 1
        assert site.asked.keys().isdisjoint(hostile)
        result = crawl(tmp_path, site, *job, *limits)
    assert 0 < sum(path.startswith("/news") for path in site.asked) <= REQUESTS
    assert stat(result, "shells") == len(hostile)
    assert stat(result, "failed") >= 3
    assert len(documents(tmp_path)) == 4
    assert result.stderr.count("was not rendered") == 1
    assert pairs(tmp_path, site) == {("/en/", "/es/"), ("/en/page-0.html", "/es/page-0.html")}


@pytest.mark.slow
def test_the_budget_of_a_site(tmp_path: Path) -> None:
    with serve(with_scripts(*PLAIN)) as site:
        result = crawl(tmp_path, site, "-a", "render=auto", "-s", "BILINGUAL_RENDER_MAX_PAGES_PER_SITE=3")
    assert stat(result, "pages") == 3
    assert stat(result, "over_budget") > 0
    assert len(documents(tmp_path)) == 3


def test_scripts_reach_nothing_that_the_crawler_may_not(tmp_path: Path) -> None:
    with serve({"/secret": "secret"}) as inner:
        snoop = f"""
        fetch("{inner.url}/secret").catch(() => {{}})
        fetch("/robots-say-no").catch(() => {{}})
        fetch("/post", {{method: "POST"}}).catch(() => {{}})
        navigator.sendBeacon("/beacon")
        window.open("{inner.url}/popup")
        new WebSocket("{inner.url}/socket".replace("http", "ws"))
        document.write("<iframe src={inner.url}/frame></iframe><img src={inner.url}/pixel>")
        """
        with serve(with_scripts() | {"/start": f"<title>x</title><script>{snoop}</script>"}) as site:
            site.robots = "User-agent: *\nDisallow: /robots-say-no\n"
            result = crawl(tmp_path, site, "-a", "render=auto", seed="/start")
    assert stat(result, "pages") == 1
    assert not inner.asked
    assert set(site.asked) == {*ABOUT_SITE, "/start"}


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


@pytest.mark.slow
def test_scripts_reach_no_address_by_other_protocols(tmp_path: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as datagrams, socket.create_server(("127.0.0.1", 0)) as connections:
        datagrams.bind(("127.0.0.1", 0))
        for listener in (datagrams, connections):
            listener.setblocking(False)
        script = PEERS.replace("@UDP", str(datagrams.getsockname()[1]))
        script = script.replace("@TCP", str(connections.getsockname()[1]))
        with serve(with_scripts() | {"/start": f"<title>x</title><script>{script}</script>"}) as site:
            result = crawl(tmp_path, site, "-a", "render=auto", "-s", "DOWNLOAD_DELAY=0.05", seed="/start")
        assert stat(result, "pages") == 1
        assert site.asked["/tried"]
        with pytest.raises(BlockingIOError):
            datagrams.recv(100)
        with pytest.raises(BlockingIOError):
            connections.accept()


def test_without_a_browser_always_is_an_error_and_auto_a_warning(tmp_path: Path) -> None:
    nowhere = ("-s", 'PLAYWRIGHT_LAUNCH_OPTIONS={"executable_path": "/nowhere/chromium"}')
    with serve(with_scripts("/es/")) as site:
        refused = crawls.crawl(tmp_path, f"{site.url}/", "-a", "render=always", *nowhere)
        assert not site.asked
        result = crawl(tmp_path, site, "-a", "render=auto", *nowhere)
    assert refused.returncode == 2
    assert "render=always: PLAYWRIGHT_LAUNCH_OPTIONS: there is no browser /nowhere/chromium" in refused.stderr
    assert result.stderr.count("/nowhere/chromium; until then") == 1
    assert documents(tmp_path)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (SHELL, True),
        (SHELL.replace("<script src=/app.js></script>", ""), False),
        (f"<SCRIPT></SCRIPT><p>{TEXT['en']}<a href=/next>next</a>", False),
        (f"<script></script><p>{TEXT['en']}", True),
        ("<script></script><p>menu <a href=/next>next</a>", True),
        (f"<script></script><link rel=alternate hreflang=es href=/es/><p>{TEXT['en']}", True),
    ],
)
def test_a_shell_has_scripts_and_next_to_no_text_or_links(html: str, expected: bool) -> None:
    assert is_shell(parse_page(html, "https://example.org/"), html.encode()) is expected


# languages ------------------------------------------------------------------------------------------------------------

CHOICES = {
    "navigator.languages": SCRIPT.replace("/parts", "/parts/${navigator.languages[0]}"),
    "navigator.language": SCRIPT.replace("/parts", "/parts/${navigator.language.slice(0, 2)}"),
    "header of a script's request": SCRIPT,
    "header of the page": None,
}
"""The script that chooses the language of a page, by what it is chosen."""


@pytest.mark.parametrize(
    ("script", "mode"),
    [
        (script, "auto") if choice == "navigator.languages" else pytest.param(script, "always", marks=pytest.mark.slow)
        for choice, script in CHOICES.items()
    ],
    ids=CHOICES,
)
def test_rendered_pages_are_asked_for_in_both_languages(tmp_path: Path, script: str | None, mode: str) -> None:
    """One address has both languages, chosen by a script or by the server."""
    names = ["/", "/page-0"]

    def answer(path: str, headers: Message) -> Answer:
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

    with negotiating(answer) as server:
        more = ("-a", f"render={mode}", "-s", "CONCURRENT_REQUESTS=1")
        result = crawls.crawl(tmp_path, f"{server.url}/", *more, policy="gain")
        assert result.returncode == 0, result.stderr
    found = {url: record["language"] for url, record in documents(tmp_path).items()}
    expected = {f"{server.url}{name}": "spa" for name in names}
    assert found == expected | {f"{url}#!lang=eng": "eng" for url in expected}
