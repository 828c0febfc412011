"""Names that are looked up slowly, and names with IPv6 addresses only."""

import os
from pathlib import Path

import pytest
from support.crawls import crawl, documents
from support.webserver import bilingual_site, serve

from bilingual_crawler.storage.records import read_tsv
from bilingual_crawler.urls.hosts import host_of

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


@pytest.fixture(autouse=True)
def name_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", ""))).strip(os.pathsep))


@pytest.mark.parametrize("cached", [0, 1])
def test_slow_names_hold_up_no_other_site(tmp_path: Path, cached: int) -> None:
    with serve(bilingual_site(4)) as site:
        slow = [f"http://slow-{number}.test/" for number in range(40)]
        seeds = ",".join((*slow, site.url.replace("127.0.0.1", "four.test") + "/"))
        chosen = ("-s", "DNS_TIMEOUT=12", "-s", f"DNSCACHE_ENABLED={cached}", "-s", "BILINGUAL_HOST_FAILURES=1")
        result = crawl(tmp_path, seeds, *LOOPBACK, *chosen)
    assert result.returncode == 0, result.stderr
    assert len(documents(tmp_path)) == 2 + 2 * 4
    hosts = [host_of(row["url"]) for row in read_tsv(tmp_path / "out" / "crawl.tsv")]
    assert sum(host.startswith("slow") for host in hosts) >= 40
    # the honest site is done before the first of the names is given up
    first = next(place for place, host in enumerate(hosts) if host.startswith("slow"))
    assert "four.test" not in hosts[first:]


def test_a_name_may_have_an_ipv6_address_only_unless_it_is_private(tmp_path: Path) -> None:
    with serve(bilingual_site(3), address="::1") as site:
        seed = f"{site.url.replace('[::1]', 'six.test')}/"
        (private := tmp_path / "private").mkdir()
        crawl(private, seed, *CONTACT)
        assert not site.asked
        (row,) = read_tsv(private / "out" / "crawl.tsv")
        assert row["outcome"] == "forbidden-address"
        result = crawl(tmp_path, seed, *LOOPBACK)
    assert result.returncode == 0, result.stderr
    assert len(documents(tmp_path)) == 2 + 2 * 3
