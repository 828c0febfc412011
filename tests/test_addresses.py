"""Which addresses a crawl connects to, and names that are looked up slowly or have IPv6 addresses only."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support.crawls import crawl, documents, ended_well, outcomes
from support.webserver import bilingual_site, html, run, serve

from bilingual_crawler.crawl.middlewares.addresses import AddressRule, GuardedResolver, is_public
from bilingual_crawler.options import Options
from bilingual_crawler.storage.records import read_tsv
from bilingual_crawler.urls.hosts import host_of

Forbidden = tuple[int, list[object]]

ADDRESSES = {
    "special-purpose networks": """
        0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8
        192.0.0.170 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
        239.255.255.255 240.0.0.1 255.255.255.255
        :: ::1 100::1 100:0:0:1::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 3fff::1 3fff:fff::1 4000::1 5f00::1
        fc00::1 fd00::1 fe80::1 fe80::1%1 fec0::1 ff02::1 ff0e::1""",
    # whatever IPv4 address is embedded
    "mapped": "::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:192.0.0.8 ::ffff:8.8.8.8",
    "compatible": "::127.0.0.1 ::a9fe:a9fe ::10.0.0.1",
    "translated": "::ffff:0:7f00:1 ::ffff:0:a9fe:a9fe",
    "NAT64": "64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b::808:808 64:ff9b:1::7f00:1 64:ff9b:1:7f00:0:100::",
    "6to4": "2002:7f00:1:: 2002:a9fe:a9fe::1 2002:808:808::1",
    "Teredo": "2001:0:808:808:0:0:80ff:fffe 2001:0:7f00:1:0:0:f7f7:f7f7 2001:0:808:808:0:0:f7f7:f7f7",
    "ISATAP": """
        2606:4700::5efe:a9fe:a9fe 2606:4700::200:5efe:7f00:1 fe80::5efe:808:808 2606:4700::5efe:10.0.0.1
        2606:4700::5efe:808:808""",
    "public": """
        93.184.216.34 8.8.8.8 100.128.0.1 172.32.0.1 192.0.1.1 198.20.0.1 223.255.255.254 2606:4700::1111 3ffe::1""",
}
LISTED = [(address, kind) for kind, addresses in ADDRESSES.items() for address in addresses.split()]


@pytest.mark.parametrize(("address", "kind"), LISTED)
def test_which_addresses_are_public(address: str, kind: str) -> None:
    assert is_public(address) == AddressRule().admits("example.org", 80, address) == (kind == "public")


def test_a_seed_exempts_its_own_authority_and_only_if_it_names_an_address() -> None:
    rule = AddressRule.of((), ["http://127.0.0.1:8000/", "https://localhost/", "https://intranet.example/"])
    assert rule.admits("127.0.0.1", 8000, "127.0.0.1")
    assert not rule.admits("127.0.0.1", 6379, "127.0.0.1")
    assert rule.admits("localhost", 80, "127.0.0.1")
    assert not rule.admits("intranet.example", 443, "10.0.0.1")
    assert not rule.admits("evil.example", 8000, "127.0.0.1")


def test_networks_can_be_allowed_and_wrong_ones_are_named() -> None:
    options = Options.of(Settings({"BILINGUAL_ALLOWED_NETWORKS": "10.0.0.0/8,fd00::/8"}))
    rule = AddressRule.of(options.allowed_networks, [])
    addresses = ("10.1.2.3", "fd00::1", "192.168.0.1")
    assert [rule.admits("intranet.example", 80, address) for address in addresses] == [True, True, False]
    with pytest.raises(UsageError, match=r"BILINGUAL_ALLOWED_NETWORKS=10\.0\.0\.0/99"):
        Options.of(Settings({"BILINGUAL_ALLOWED_NETWORKS": "10.0.0.0/99"}))


def test_the_proxy_of_the_environment_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "10.0.0.1:3128")
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1:80,example.org:x")
    rule = AddressRule.of((), ["https://example.org/"])
    assert rule.admits("10.0.0.1", 3128, "10.0.0.1")
    assert not rule.admits("127.0.0.1", 80, "127.0.0.1")


def test_a_name_that_changes_its_address_is_judged_anew_for_every_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(("93.184.216.34", "127.0.0.1"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(socket.AF_INET, 1, 6, "", (next(answers), 0))])
    resolver = GuardedResolver(None, size=1, age=60.0, timeout=60.0)
    resolver.rules["crawl"] = AddressRule()
    refusal = {("evil.example", 80): "127.0.0.1"}
    for addresses, refused in ((["93.184.216.34"], {}), ([], refusal)):
        resolver.look_up("evil.example").addresses.result()
        receiver = resolver.resolveHostName(Mock(), "evil.example", 80)
        assert [call.args[0].host for call in receiver.addressResolved.call_args_list] == addresses
        receiver.resolutionComplete.assert_called_once_with()
        assert resolver.refused == refused
        resolver.forget("evil.example")


@pytest.fixture
def forbidden() -> Iterator[Forbidden]:
    """Port of a listening socket on 127.0.0.2, and who has connected to it."""
    contacts: list[object] = []
    listener = socket.create_server(("127.0.0.2", 0))

    def listen() -> None:
        while True:
            try:
                connection, peer = listener.accept()
            except OSError:
                return
            contacts.append(peer)
            connection.close()

    threading.Thread(target=listen, daemon=True).start()
    yield listener.getsockname()[1], contacts
    listener.close()


def test_links_redirects_and_sitemaps_do_not_reach_a_forbidden_address(tmp_path: Path, forbidden: Forbidden) -> None:
    port, contacts = forbidden
    targets = [f"http://{host}:{port}" for host in ("127.0.0.2", "0x7f000002")]
    links = "".join(f"<a href={target}/link>in</a><a href=/jump/{n}>j</a>" for n, target in enumerate(targets))
    pages = {**bilingual_site(3), "/in": html("en", "in", links)}
    pages["/"] = html("en", "home", "<a href=/in>in</a> <a href=/en/>en</a>")
    with serve(pages, redirects={f"/jump/{n}": f"{target}/redirect" for n, target in enumerate(targets)}) as site:
        site.robots = "User-agent: *\nDisallow:\n" + "".join(f"Sitemap: {target}/sitemap.xml\n" for target in targets)
        result = ended_well(crawl(tmp_path, f"{site.url}/", "-a", "scope=web"))
    assert len(documents(tmp_path)) == 2 + 8
    assert contacts == []
    paths = ("link", "redirect", "sitemap.xml")
    found = {url: outcome for url, outcome in outcomes(tmp_path, "").items() if f":{port}/" in url}
    assert found == {f"{target}/{path}": "forbidden-address" for target in targets for path in paths}
    assert result.stderr.count("which is not public") == 1


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 on loopback")
def test_a_seed_with_an_ipv6_address_is_crawled_and_no_other_such_address_is_reached(tmp_path: Path) -> None:
    with serve({"/": html("en", "home", "")}, address="::1") as other, serve(bilingual_site(3)) as mapped:
        targets = [f"{other.url}/", f"http://[::ffff:7f00:1]:{mapped.url.rpartition(':')[2]}/", "http://[fe80::1]/"]
        links = "".join(f"<a href={url}>out</a>" for url in targets)
        pages = {"/": html("en", "home", f"<a href=/in>in</a>{links}"), "/in": html("en", "in", "")}
        with serve(pages, address="::1") as site:
            ended_well(crawl(tmp_path, f"{site.url}/", "-a", "scope=web"))
    reached = dict.fromkeys((f"{site.url}/", f"{site.url}/in"), "document")
    assert outcomes(tmp_path, "") == reached | dict.fromkeys(targets, "forbidden-address")
    assert not other.asked + mapped.asked


def test_an_allowed_network_is_reached(tmp_path: Path, forbidden: Forbidden) -> None:
    port, contacts = forbidden
    with serve({"/": html("en", "home", f"<a href=http://127.0.0.2:{port}/>in</a>")}) as site:
        crawl(tmp_path, site.url, "-a", "scope=web", "-s", "BILINGUAL_ALLOWED_NETWORKS=127.0.0.2")
    assert contacts


def test_without_the_guard_the_crawl_ends_before_it_connects(tmp_path: Path, forbidden: Forbidden) -> None:
    port, contacts = forbidden
    unguarded = ("-s", "TWISTED_DNS_RESOLVER=scrapy.resolver.CachingHostnameResolver", "-s", "JOBDIR=job")
    result = crawl(tmp_path, f"http://127.0.0.2:{port}/", *unguarded)
    assert result.returncode == 1
    assert contacts == []
    assert result.stderr.count("The crawl ends, because nothing would keep it from private addresses") == 1
    assert "Traceback" not in result.stderr
    crawl(tmp_path, f"http://127.0.0.2:{port}/", "-s", "JOBDIR=job", "-s", "RETRY_TIMES=0")
    assert contacts, "the seed is still queued"


TWO_CRAWLS = """
import sys
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings

short, long = sys.argv[1:]
process = CrawlerProcess(get_project_settings())
for seed in (short, long):
    crawler = process.create_crawler("bilingual")
    crawler.settings.set("BILINGUAL_ALIGN", "", priority="cmdline")
    crawler.settings.set("BILINGUAL_OUTPUT_DIR", f"out-{'long' if seed == long else 'short'}", priority="cmdline")
    process.crawl(crawler, pair="eng-spa", seeds=seed, scope="web", policy="bfs")
process.start()
"""


@pytest.mark.slow
def test_of_two_crawls_in_one_process_each_is_guarded_after_the_other_has_ended(
    tmp_path: Path, forbidden: Forbidden
) -> None:
    port, contacts = forbidden
    pages = {**bilingual_site(3), "/in": html("en", "in", f"<a href=http://127.0.0.2:{port}/>in</a>")}
    pages["/en/page-2.html"] = html("en", "last", "<a href=/in>in</a>")
    with serve({"/": html("en", "home", "")}) as short, serve(pages, delay=0.3) as long:
        result = run(tmp_path, [sys.executable, "-c", TWO_CRAWLS, f"{short.url}/", f"{long.url}/en/"], fresh=True)
    assert contacts == []
    rows = {row["url"]: row["outcome"] for row in read_tsv(tmp_path / "out-long" / "crawl.tsv")}
    assert rows[f"http://127.0.0.2:{port}/"] == "forbidden-address", result.stderr
    assert [row["outcome"] for row in read_tsv(tmp_path / "out-short" / "crawl.tsv")][:1] == ["document"]


# names ----------------------------------------------------------------------------------------------------------------

# what a name server would answer for names under .test
SITECUSTOMIZE = """
import socket, time
real = socket.getaddrinfo

def getaddrinfo(host, *others, **named):
    host = host.decode() if isinstance(host, bytes) else host
    if host.startswith("slow"):
        time.sleep(60)
        raise socket.gaierror(socket.EAI_AGAIN, "no answer")
    return real({"four.test": "127.0.0.1", "six.test": "::1"}.get(host, host), *others, **named)

socket.getaddrinfo = getaddrinfo
"""
CONTACT = ("-s", "BILINGUAL_CONTACT=mailto:crawler@example.org")
LOOPBACK = (*CONTACT, "-s", "BILINGUAL_ALLOWED_NETWORKS=127.0.0.0/8,::1/128")


@pytest.fixture
def name_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", ""))).strip(os.pathsep))


@pytest.mark.usefixtures("name_server")
@pytest.mark.parametrize("cached", [0, 1])
def test_slow_names_hold_up_no_other_site(tmp_path: Path, cached: int) -> None:
    with serve(bilingual_site(4)) as site:
        slow = [f"http://slow-{number}.test/" for number in range(40)]
        seeds = ",".join((*slow, site.url.replace("127.0.0.1", "four.test") + "/"))
        chosen = ("-s", "DNS_TIMEOUT=12", "-s", f"DNSCACHE_ENABLED={cached}", "-s", "BILINGUAL_HOST_FAILURES=1")
        ended_well(crawl(tmp_path, seeds, *LOOPBACK, *chosen))
    assert len(documents(tmp_path)) == 2 + 2 * 4
    hosts = [host_of(row["url"]) for row in read_tsv(tmp_path / "out" / "crawl.tsv")]
    assert sum(host.startswith("slow") for host in hosts) >= 40
    # the honest site is done before the first of the names is given up
    first = next(place for place, host in enumerate(hosts) if host.startswith("slow"))
    assert "four.test" not in hosts[first:]


@pytest.mark.usefixtures("name_server")
def test_a_name_may_have_an_ipv6_address_only_unless_it_is_private(tmp_path: Path) -> None:
    with serve(bilingual_site(3), address="::1") as site:
        seed = f"{site.url.replace('[::1]', 'six.test')}/"
        (private := tmp_path / "private").mkdir()
        crawl(private, seed, *CONTACT)
        assert not site.asked
        assert [row["outcome"] for row in read_tsv(private / "out" / "crawl.tsv")] == ["forbidden-address"]
        ended_well(crawl(tmp_path, seed, *LOOPBACK))
    assert len(documents(tmp_path)) == 2 + 2 * 3
