"""Whole crawls of a real web server."""

import csv
import hashlib
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

import onnx
import pytest
from support.crawls import crawl, documents, each, ended_well, outcomes, pairs, refused, summary
from support.example_site import EXAMPLES, LINK
from support.example_site import PAGES as EXAMPLE_PAGES
from support.example_site import serve as serve_example
from support.scripted import Answer, scripted
from support.webserver import ALIGNED, Site, bilingual_site, html, run, run_scrapy, serve

from bilingual_crawler.crawl.spiders.arguments import ARGUMENTS
from bilingual_crawler.storage.records import read_json_lines, read_tsv

PAGES = 8
MODELS = Path(__file__).parents[1] / "models"


@pytest.fixture
def site() -> Iterator[Site]:
    with serve(bilingual_site(PAGES), redirects={"/old": "/en/page-1.html"}) as site:
        yield site


class Crawled(NamedTuple):
    """A crawl of the whole site, one page after the other."""

    folder: Path
    site: Site

    def rows(self) -> dict[str, dict[str, str]]:
        """Those of the URLs, in their order."""
        return {row["url"].removeprefix(self.site.url): row for row in read_tsv(self.folder / "out" / "crawl.tsv")}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Crawled]]:
    """Crawls with a policy, once; the site stays there, and is asked for nothing more."""
    sites = ExitStack()

    @cache
    def crawl_with(policy: str) -> Crawled:
        folder: Path = tmp_path_factory.mktemp(policy)
        site = sites.enter_context(serve(bilingual_site(PAGES), redirects={"/old": "/en/page-1.html"}))
        seed = f"{site.url}/en/" if policy == "smart" else f"{site.url}/"
        more = ("-O", "feed.jsonl", "-s", "CONCURRENT_REQUESTS=1", *ALIGNED)
        # one of them from a new interpreter, as users start it
        ended_well(crawl(folder, seed, *more, policy=policy, fresh=policy == "smart"))
        return Crawled(folder, site)

    with sites:
        yield crawl_with


@pytest.mark.parametrize("policy", ["bfs", "smart", "gain"])
def test_documents_pairs_and_summary_of_a_site(crawled: Callable[[str], Crawled], policy: str) -> None:
    folder, site = crawled(policy)
    names = ("", *(f"page-{number}.html" for number in range(PAGES)))
    assert pairs(folder, site) == {(f"/en/{name}", f"/es/{name}") for name in names}
    found = documents(folder)
    assert Counter(record["language"] for record in found.values()) == {"eng": PAGES + 1, "spa": PAGES + 1}
    page = found[f"{site.url}/es/page-3.html"]
    assert (page["title"], page["shares"][0][0], page["status"]) == ("page-3 (es)", "spa", 200)
    assert page["switches"] == [["eng", f"{site.url}/en/page-3.html"]]
    feed = (folder / "feed.jsonl").read_text(encoding="utf-8")
    assert len(feed.splitlines()) == len(found) == len(list(read_json_lines(folder / "out" / "documents.jsonl.gz")))
    assert "la gente del pueblo fue al mercado" in feed
    assert "año" in feed
    for item in map(json.loads, feed.splitlines()):
        assert item["origin"]["fetched_at"] == item["fetched_at"]
    told = summary(folder)
    assert told["pairs"] == PAGES + 1
    assert told["documents"] == {"eng": PAGES + 1, "spa": PAGES + 1}
    assert told["dropped"]["http-404"] == 1
    assert (folder / "out" / "report.html").read_text().startswith("<!doctype html>")
    assert max(site.asked.values()) == 1


def test_smart_fetches_translations_first(crawled: Callable[[str], Crawled]) -> None:
    numbers = [url[4:] for url in crawled("smart").rows() if "/page-" in url]
    assert sorted(numbers) == sorted([f"page-{i}.html" for i in range(PAGES)] * 2)
    assert sum(first == second for first, second in zip(numbers[::2], numbers[1::2], strict=True)) >= PAGES - 1


def test_the_models_of_smart_are_in_its_summary(crawled: Callable[[str], Crawled]) -> None:
    models = summary(crawled("smart").folder)["models"]
    assert models.keys() == {"language", "parallelness"}
    for kind, facts in models.items():
        graph = Path(facts["folder"], "model.onnx").read_bytes()
        expected = {"sha256": hashlib.sha256(graph).hexdigest(), "provider": "CPUExecutionProvider", "failures": 0}
        assert facts == {"folder": str(MODELS / f"url-{kind}"), **expected}


def test_the_archive_of_a_crawl_replays_to_the_same_documents(
    tmp_path: Path, crawled: Callable[[str], Crawled]
) -> None:
    folder, site = crawled("bfs")
    asked = site.asked.total()
    ended_well(crawl(tmp_path, f"{site.url}/", *ALIGNED, "-s", f"BILINGUAL_REPLAY={folder / 'out'}"))
    assert site.asked.total() == asked
    changing = dict.fromkeys(("fetched_at", "warc_file", "warc_offset", "referrer", "depth", "score"))
    first, second = ({url: record | changing for url, record in documents(one).items()} for one in (folder, tmp_path))
    assert first == second
    assert pairs(tmp_path, site) == pairs(folder, site)


def test_pairs_are_a_tsv_that_csv_reads_and_another_crawl_does_not_write_over(
    crawled: Callable[[str], Crawled],
) -> None:
    folder, site = crawled("bfs")
    result = crawl(folder, f"{site.url}/")
    assert result.returncode == 2
    assert "holds another crawl" in result.stderr
    with (folder / "out" / "pairs.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == PAGES + 1
    assert set(rows[0]) == {"url_a", "url_b", "score", "method", "pair"}
    assert all(0 <= float(row["score"]) <= 1 for row in rows)


def test_a_third_language_is_a_bridge_for_bfs_and_a_wall_for_the_papers_policies(
    tmp_path: Path, site: Site, crawled: Callable[[str], Crawled]
) -> None:
    found = crawled("bfs")
    rows = found.rows()
    assert (rows["/"]["outcome"], rows["/"]["language"]) == ("other-language", "fin")
    assert (rows["/old"]["outcome"], rows["/old"]["location"]) == ("redirect", f"{found.site.url}/en/page-1.html")
    assert crawl(tmp_path, f"{site.url}/", policy="cld2").returncode == 0
    assert documents(tmp_path) == {}


def unmarked_example() -> dict[str, str]:
    """The example site without ``hreflang`` and switchers, at addresses that are numbers: home pages at /0 and /1."""
    addresses = sorted(EXAMPLE_PAGES, key=lambda address: (address not in ("/", "/es/"), address))
    numbers = {address: f"/{number}" for number, address in enumerate(addresses)}

    def render(page: Any) -> str:
        html = re.sub(r'<link rel="alternate".*|<ul class="languages">.*?</ul>', "", serve_example.render(page))
        return LINK.sub(lambda link: f'href="{numbers.get(urljoin(page.address, link[1]), "/none")}"', html)

    return {numbers[address]: render(page) for address, page in EXAMPLE_PAGES.items()}


@pytest.mark.slow
def test_a_crawl_that_is_resumed_goes_on_as_if_it_had_not_been_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one = ("-s", "CONCURRENT_REQUESTS=1")
    rows: dict[str, list[dict[str, str]]] = {}
    with serve(unmarked_example()) as site:
        for name, budgets in (("once", (0,)), ("thrice", (15, 30, 0))):
            folder = tmp_path / name
            folder.mkdir()
            for number, budget in enumerate(budgets):
                if number:
                    # what is kept must not depend on the order of a set
                    monkeypatch.setenv("PYTHONHASHSEED", str(number))
                resume = ("-s", "JOBDIR=job", "-a", f"max_pages={budget}", *one_by_one)
                assert crawl(folder, f"{site.url}/0,{site.url}/1", *resume, policy="gain").returncode == 0
            found = [*read_tsv(folder / "out" / "crawl.tsv"), *read_tsv(folder / "out" / "pairs.tsv")]
            rows[name] = [{**row, "time": ""} for row in found]
    assert rows["thrice"] == rows["once"]
    assert sum("method" in row for row in rows["once"]) >= 20


def test_pages_whose_addresses_and_links_say_nothing_are_paired_by_what_they_hold(tmp_path: Path) -> None:
    examples = {f"/{number}": page for number, page in enumerate(EXAMPLE_PAGES.values()) if page.language != "eu"}
    pages = {path: re.sub("</?a[^>]*>", "", page.body) for path, page in examples.items()}
    pages["/"] = "".join(f"<a href={path}>{path}</a> " for path in pages)
    with serve(pages) as site:
        assert crawl(tmp_path, f"{site.url}/").returncode == 0
        found = pairs(tmp_path, site)
    assert {row["method"] for row in read_tsv(tmp_path / "out" / "pairs.tsv")} == {"content"}
    gold = {(row["eng"], row["spa"]) for row in read_tsv(EXAMPLES / "gold.tsv")}
    right = {(a, b) for a, b in found if (examples[a].address, examples[b].address) in gold}
    assert len(right) >= 5
    assert len(found - right) <= 1


def test_files_are_not_asked_for_if_their_names_say_so_and_dropped_if_their_headers_do(tmp_path: Path) -> None:
    pages = {"/en/": html("en", "index", "<a href=/paper.pdf>by name</a> <a href=/paper>by header</a>")}
    with serve(pages) as site:
        crawl(tmp_path, f"{site.url}/en/")
    rows = outcomes(tmp_path, site.url)
    assert rows["/paper"] == "not-html"
    assert site.asked["/paper"] == 1
    assert not site.asked["/paper.pdf"]
    assert "/paper.pdf" not in rows


@pytest.mark.parametrize("policy", ["bfs", "gain"])
def test_a_page_to_which_a_missing_sitemap_is_redirected_is_a_page(tmp_path: Path, policy: str) -> None:
    pages = {
        "/": html("en", "home", "<a href=/es/>Español</a> <a href=/en/a>a</a>"),
        "/es/": html("es", "inicio", "<a href=/>English</a> <a href=/es/a>a</a>"),
        "/en/a": html("en", "a", ""),
        "/es/a": html("es", "a", ""),
    }

    def answer(path: str) -> Answer:
        if path == "/robots.txt":
            named = "".join(f"Sitemap: {server.url}/{name}.xml\n" for name in ("sitemap", "elsewhere", "moved"))
            return Answer(f"User-agent: *\nAllow: /\n{named}", kind="text/plain")
        if path == "/sitemap-index.xml":
            return Answer(f"<urlset><url><loc>{server.url}/en/only-there</loc></url></urlset>")
        targets = {
            "/sitemap.xml": "/es/",
            "/elsewhere.xml": server.url.replace("127.0.0.1", "localhost") + "/es/a",
            "/moved.xml": "/sitemap-index.xml",
        }
        if path in targets:
            return Answer(status=302, headers={"Location": targets[path]})
        return Answer(pages[path]) if path in pages else Answer(status=404)

    with scripted(answer) as server:
        networks = ("-s", "BILINGUAL_ALLOWED_NETWORKS=127.0.0.0/8")
        assert crawl(tmp_path, f"{server.url}/", *networks, policy=policy).returncode == 0
    found = documents(tmp_path)
    assert set(found) == {server.url + path for path in pages}
    fetched = outcomes(tmp_path, server.url)
    assert fetched["/sitemap-index.xml"] == "sitemap"
    assert fetched["/en/only-there"] == "http-404"
    assert found[f"{server.url}/es/"]["referrer"]


def test_links_take_the_way_of_the_redirects_of_their_host_unless_it_leads_nowhere(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def answer(path: str) -> Answer:
        asked[path] += 1
        if path == "/":
            return Answer(html("en", "home", "<a href=/en/0>0</a> <a href=/es/0>0</a>"))
        _, side, name = path.removesuffix("/").split("/") if path.count("/") > 1 else ("", "", "")
        if not side or path.endswith("/odd/"):
            return Answer(status=404)
        if not path.endswith(("/", "/odd")):
            return Answer(status=301, headers={"Location": f"{path}/"})
        other = {"en": "es", "es": "en"}[side]
        after = {"15": "16 odd", "16": "", "odd": ""}[name] if name in ("15", "16", "odd") else str(int(name) + 1)
        links = "".join(f"<a href=/{side}/{one}>{one}</a>" for one in after.split())
        return Answer(html(side, name, f"<link rel=alternate hreflang={other} href=/{other}/{name}>{links}"))

    with scripted(answer) as server:
        ended_well(crawl(tmp_path, f"{server.url}/", "-s", "CONCURRENT_REQUESTS=1"))
    pages = [f"/{side}/{n}" for side in ("en", "es") for n in range(17)]
    odd = ["/en/odd", "/es/odd"]
    assert set(documents(tmp_path)) == {server.url + path for path in ("/", *(f"{page}/" for page in pages), *odd)}
    assert 10 <= sum(map(asked.__getitem__, pages)) <= 14
    assert [asked[path] for path in (*odd, "/en/odd/", "/es/odd/")] == [1, 1, 1, 1]
    found = {(row["url_a"], row["method"]) for row in read_tsv(tmp_path / "out" / "pairs.tsv")}
    assert found == {(f"{server.url}/en/{name}", "hreflang") for name in (*(f"{n}/" for n in range(17)), "odd")}


def test_a_page_that_redirects_to_its_url_with_a_session_id_is_fetched(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def answer(path: str) -> Answer:
        asked[path.partition(";")[0]] += 1
        if path == "/":
            return Answer(html("en", "home", "<a href=/es/>Español</a> <a href=/busy>1</a> <a href=/round>2</a>"))
        if path in ("/es/", "/busy") or path.startswith("/round"):
            return Answer(status=302, headers={"Location": f"{path.partition(';')[0]};jsessionid={asked.total()}"})
        if path.startswith("/busy") and asked["/busy"] == 2:
            return Answer(status=503)
        return Answer(html("es", path[1:4], ""), status=200 if path.startswith(("/es/;", "/busy;")) else 404)

    with scripted(answer) as server:
        ended_well(crawl(tmp_path, f"{server.url}/", "-s", "BILINGUAL_BACKOFF_START=0.1"))
    fetched = {"/": "document", "/es/": "document", "/busy": "document", "/round": "redirect"}
    assert outcomes(tmp_path, server.url) == fetched
    assert asked["/es/"] == asked["/round"] == 2
    assert set(documents(tmp_path)) == {server.url + path for path in ("/", "/es/", "/busy")}


FAULTY = """
from bilingual_crawler.crawl.component import CrawlComponent
from bilingual_crawler.crawl.spiders.bilingual import BilingualSpider

class Middleware:
    def process_spider_input(self, response):
        raise TypeError("a bug in a middleware")

class Pipeline:
    def process_item(self, item):
        raise TypeError("a bug in a pipeline")

class Handler(CrawlComponent):
    def url_fetched(self, fetch):
        raise TypeError("a bug in a handler")

class Spider(BilingualSpider):
    name = "faulty"

    def parse(self, response):
        if "page-3" in response.url:
            raise RuntimeError("a bug in a subclass")
        return super().parse(response)
"""


@pytest.mark.parametrize("faulty", ["SPIDER_MIDDLEWARES.Middleware", "EXTENSIONS.Handler", "ITEM_PIPELINES.Pipeline"])
def test_a_crawl_whose_component_fails_ends_with_an_exit_status(tmp_path: Path, site: Site, faulty: str) -> None:
    (tmp_path / "components.py").write_text(FAULTY)
    setting, name = faulty.split(".")
    result = crawl(tmp_path, f"{site.url}/en/", "-s", f'{setting}_BASE={{"components.{name}": 901}}')
    assert result.returncode == 1
    assert "a component failed: see the log (TypeError" in result.stderr.partition("harvest rate")[2]
    assert summary(tmp_path)["errors"]["TypeError"] >= 1


def test_a_bug_in_a_callback_costs_its_page_only(tmp_path: Path, site: Site) -> None:
    (tmp_path / "spider.py").write_text(FAULTY)
    arguments = each("-a", "pair=eng-spa", f"seeds={site.url}/en/", "policy=gain")
    result = run_scrapy(tmp_path, "runspider", "spider.py", *arguments, "-s", "BILINGUAL_OUTPUT_DIR=out")
    assert result.stderr.count("a bug in a subclass") >= 2
    assert len(documents(tmp_path)) == 2 * PAGES + 2 - 2


HERE, MALTESE = "seeds=http://127.0.0.1:9/", "pair=eng-mlt"
USUAL = f"{MALTESE} {HERE}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (f"pair=eng-mltt {HERE}", r"mltt.*did you mean"), (f"pair=eng-en {HERE}", r"pair=eng-en: .*English twice"),
        (HERE, r"-a pair="), (MALTESE, r"-a seeds="), (f"{USUAL} pears=1", r"unknown spider argument pears"),
        (f"{USUAL} seeds=http://127.0.0.2/", r"--seeds: is given twice"),
        (f"{MALTESE} seeds=missing.txt", r"seeds=missing.txt: cannot read"),
        (f"{MALTESE} seeds=ftp://127.0.0.1/", r"ftp://127.0.0.1/.*not an http"),
        (f"{MALTESE} seeds=https://example.org/", r"BILINGUAL_CONTACT"),
        (f"{USUAL} policy=best", r"policy=best: choose one of .*smart"),
        (f"{USUAL} scope=galaxy", r"scope=galaxy: choose"), (f"{USUAL} max_pages=many", r"max_pages=many"),
        (f"{USUAL} BILINGUAL_POLITENESS=planet", r"BILINGUAL_POLITENESS=planet: choose"),
        (f"{USUAL} BILINGUAL_POLITENESS=address BILINGUAL_FRONTIER=redis://127.0.0.1:1/", r"choose domain or host"),
        (f"{USUAL} BILINGUAL_REPLAY=nowhere.warc.gz", r"nowhere\.warc\.gz"),
        (f"{USUAL} policy=smart BILINGUAL_MODELS_DIR=models", r"BILINGUAL_MODELS_DIR=models: there is no such folder"),
    ],
)  # fmt: skip
def test_wrong_arguments_and_settings_are_named_in_one_line_before_anything_is_fetched(
    tmp_path: Path, given: str, message: str
) -> None:
    arguments = [part for one in given.split() for part in ("-s" if one.startswith("BILINGUAL_") else "-a", one)]
    assert re.search(message, refused(tmp_path, "crawl", "bilingual", *arguments))


def test_a_spider_that_there_is_not_is_named_in_one_line(tmp_path: Path) -> None:
    said = refused(tmp_path, "crawl", "bilingal", "-a", MALTESE)
    assert said.startswith("no spider bilingal; there are: bilingual, discovery")


def test_models_that_fail_are_an_error_of_the_crawl(tmp_path: Path, site: Site) -> None:
    shutil.copytree(MODELS, tmp_path / "models")
    folder = tmp_path / "models" / "url-language"
    config = json.loads((folder / "config.json").read_text())
    # it loads, and reads beyond the end of its only table
    graph = """<ir_version: 10, opset_import: ["" : 17]>
        broken (int64[batch, length] input_ids) => (float[batch, length] logits)
        <float[1] table = {0.0}> { logits = Gather (table, input_ids) }"""
    model = onnx.parser.parse_model(graph).SerializeToString()
    (folder / "model.onnx").write_bytes(model)
    config["sha256"]["model.onnx"] = hashlib.sha256(model).hexdigest()
    (folder / "config.json").write_text(json.dumps(config))
    models = ("-s", f"BILINGUAL_MODELS_DIR={tmp_path / 'models'}")
    result = crawl(tmp_path, f"{site.url}/en/", *models, policy="smart")
    assert result.returncode == 1
    assert "The URL models failed" in result.stderr
    found = summary(tmp_path)
    assert sum(found["errors"].values()) >= 1
    assert found["models"]["language"]["failures"] >= 1
    assert found["documents"]["spa"] > 1


def test_only_a_crawl_that_fetched_nothing_fails_and_a_seed_without_scheme_is_tried_with_https_then_http(
    tmp_path: Path, site: Site
) -> None:
    contact, gone = ("-s", "BILINGUAL_CONTACT=mailto:a@b.example"), "http://nowhere.localhost.invalid/"
    assert crawl(tmp_path, gone, *contact).returncode == 1
    both = tmp_path / "both"
    both.mkdir()
    (both / "seeds.txt").write_text(f"# two sites\n{gone}\n\n{site.url.removeprefix('http://')}/en/\n")
    assert "host not found" in ended_well(crawl(both, "seeds.txt", *contact, "-s", "RETRY_ENABLED=0")).stderr
    assert len(documents(both)) == 2 * PAGES + 2


@pytest.mark.slow
def test_modules_that_are_not_compiled_yet_cost_no_page(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as `uv pip install` and `pip install --no-compile` leave them
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "cache"))
    result = ended_well(crawl(tmp_path, f"{site.url}/en/", "-a", "max_pages=3", fresh=True))
    assert "could not be read" not in result.stderr
    assert len(documents(tmp_path)) == 3


def test_a_crawl_without_a_pair_says_why(tmp_path: Path, site: Site) -> None:
    result = ended_well(crawl(tmp_path, f"{site.url}/", pair="fin-eus"))
    hint = "No pair was found, because none of 20 HTML pages is in Basque (most: "
    assert hint in result.stderr
    assert hint in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(("spider", "command", "table"), [("bilingual", "crawl", 1), ("discovery", "discover", 2)])
def test_the_help_names_every_argument_of_a_spider(tmp_path: Path, spider: str, command: str, table: int) -> None:
    text = run(tmp_path, (sys.executable, "-m", "bilingual_crawler", command, "--help")).stdout
    for name, argument in ARGUMENTS[spider].items():
        assert (f"\n  --{name.replace('_', '-')}" if argument.metavar else f"\n  -a {name}=") in text, name
    page = (Path(__file__).parent.parent / "docs" / "commands.md").read_text(encoding="utf-8")
    rows = page.split("| argument | value |")[table].partition("\n\n")[0].splitlines()[2:]
    assert set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in rows))) == ARGUMENTS[spider].keys()
