"""The page about deployment, word for word, on a real Scrapyd and a real Redis on loopback; other jobs on its node."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from support.components import free_port, program
from support.crawls import refused, succeeds
from support.environments import copy_checkout, lend_packages, outside_environment, rename_bot
from support.waits import wait_for
from support.webserver import Site, bilingual_site, serve, varied

from bilingual_crawler.reporting.results import one_to_one
from bilingual_crawler.storage.records import read_json_lines, read_tsv

PAGE = Path(__file__).parent.parent / "docs" / "deploy.md"
AS_ROOT = ("apt-get", "chgrp", "chown", "systemctl", "useradd")
"""Commands that change the machine; they do nothing here."""
_BLOCK = re.compile(r"(?P<before>[^\n]*)\n+```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED_FILE = re.compile(r"`((?:/|~/)[\w./-]+|scrapy\.cfg)`.*:$")
"""In the line before a block: the file that the block is the content of."""


class Block(NamedTuple):
    """Commands, or with *path* the content of a file."""

    path: str | None
    body: str


class Machine:
    """A node as the page makes it, with its files under *folder*."""

    def __init__(self, folder: Path, changes: Mapping[str, str], checkout: Path | None = None) -> None:
        """*changes* are texts of the page and what is here instead.

        The project is not installed again if it is in *checkout*, where another node has installed it.
        """
        self.folder = folder
        self.checkout = checkout or folder / "opt"
        self._installed = checkout is not None
        self.home = folder / "home"
        self.state = folder / "var"
        for directory in (self.home, self.state, folder / "etc", folder / "bin"):
            directory.mkdir(parents=True)
        for name in AS_ROOT:
            (folder / "bin" / name).write_text("#!/bin/sh\n")
            (folder / "bin" / name).chmod(0o755)
        text = PAGE.read_text(encoding="utf-8")
        paths = {"/opt/bilingual-crawler": self.checkout, "/var/lib/scrapyd": self.state, "/etc/": f"{folder / 'etc'}/"}
        for old, new in {**changes, **paths}.items():
            assert old in text
            text = text.replace(old, str(new))
        self._sections = dict(section.split("\n", 1) for section in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:])

    def follow(self, *titles: str) -> str:
        """Write the files and run the commands of these sections, in order; the output of the commands."""
        return "".join(self._do(block) for title in titles for block in self._blocks(title))

    @contextmanager
    def service(self) -> Iterator[None]:
        """Start what the systemd unit starts; stop it as systemd does."""
        (path,) = self.folder.glob("etc/systemd/system/*.service")
        unit = RawConfigParser()
        unit.optionxform = str  # type: ignore[assignment]
        unit.read(path)
        # Scrapyd reads /etc/scrapyd, then these two
        for name, source in (("scrapyd.conf", "scrapyd.conf"), (".scrapyd.conf", "conf.d/private.conf")):
            (self.state / name).symlink_to(self.folder / "etc" / "scrapyd" / source)
        with (self.folder / "scrapyd.log").open("w") as log:
            process = subprocess.Popen(
                shlex.split(unit["Service"]["ExecStart"]),
                cwd=unit["Service"]["WorkingDirectory"],
                env=outside_environment(HOME=str(self.state)),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield
        finally:
            assert unit["Service"]["KillMode"] == "control-group"
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=30)

    def run(self, commands: str) -> str:
        """Run *commands* where the checkout is; their output."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        # what pip would download is lent
        pip = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        lent = {"PYTHONPATH": sysconfig.get_path("purelib")} if "pip install" in commands else {}
        result = subprocess.run(
            ("bash", "-euo", "pipefail", "-c", commands),
            cwd=self.checkout if self.checkout.exists() else self.folder,
            env=outside_environment(HOME=str(self.home), PATH=path, **pip, **lent),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, f"{commands}\n{result.stdout}{result.stderr}"
        return result.stdout

    def _blocks(self, title: str) -> list[Block]:
        found = []
        for match in _BLOCK.finditer(self._sections[title]):
            named = _NAMED_FILE.search(match["before"])
            found.append(Block(named[1] if named else None, match["body"]))
        return found

    def _do(self, block: Block) -> str:
        if block.path is None:
            return "" if self._installed and "git clone" in block.body else self.run(block.body)
        path = self.checkout / block.path.replace("~", str(self.home))  # all but scrapy.cfg are absolute
        kept = path.read_text().partition("[deploy]")[0] if block.path == "scrapy.cfg" else ""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kept + block.body, encoding="utf-8")
        return ""


PAGES = 4
SITE = varied(bilingual_site(PAGES, "mt"))
DOCUMENTS = 2 * PAGES + 2


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with this project, for ``git clone``."""
    checkout = copy_checkout(tmp_path_factory.mktemp("repository") / "checkout", "deployed")
    program("curl", package="curl")
    tester = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    git = (program("git", package="git"), "-C", str(checkout), *tester)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "this project")):
        subprocess.run((*git, *command), check=True)
    return checkout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """The checkout of a node, installed as on the page, with what pip would have downloaded; all nodes use it."""
    node = Machine(tmp_path_factory.mktemp("installed"), {"<this repository>": str(repository)})
    node.follow("One node")
    lend_packages(node.checkout / ".venv")
    for name in ("scrapyd", "scrapyd-deploy"):
        script = Path(sysconfig.get_path("scripts"), name).read_text().partition("\n")[2]
        copy = node.checkout / ".venv" / "bin" / name
        copy.write_text(f"#!{node.checkout}/.venv/bin/python\n{script}")
        copy.chmod(0o755)
    return node.checkout


def jobs(node: Machine, url: str, state: str = "finished") -> list[str]:
    answer = node.run(f"curl -sn {url}/listjobs.json?project=bilingual_crawler")
    return [job["id"] for job in json.loads(answer)[state]]


def wait_for_server(address: str, port: int) -> None:
    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((address, port)) == 0

    wait_for(answers, f"nobody answers at {address}:{port}", pause=0.5)


def log_of(node: Machine, job: str) -> Path:
    return node.state / "logs" / "bilingual_crawler" / "bilingual" / f"{job}.log"


def documents_of(node: Machine, job: str) -> list[str]:
    """URLs of the documents of *job*, whose log has no error in it."""
    log = log_of(node, job).read_text()
    assert "(bot: deployed)" in log
    assert "ERROR" not in log
    assert "Traceback" not in log
    return [record["url"] for record in read_json_lines(node.state / "crawls" / job / "documents.jsonl.gz")]


@pytest.fixture(scope="module")
def deployed(
    tmp_path_factory: pytest.TempPathFactory, installed: Path, repository: Path
) -> Iterator[tuple[Machine, str, Site]]:
    """The node of the page, to which the project has been deployed, its address, and the first site of its crawl."""
    port = free_port()
    with serve(SITE) as site, serve(SITE, address="127.0.0.2") as other:
        seeds = {"https://example.org/": f"{site.url}/", "https://example.com/": f"{other.url}/"}
        node = Machine(tmp_path_factory.mktemp("node"), {"6800": str(port), **seeds}, installed)
        node.follow("One node")
        (installed / "scrapy.cfg").write_text((repository / "scrapy.cfg").read_text().replace("6800", str(port)))
        with node.service():
            wait_for_server("127.0.0.1", port)
            assert '"status": "ok"' in node.follow("Deploy")
            yield node, f"http://localhost:{port}", site


def log_of_job(deployed: tuple[Machine, str, Site], *arguments: str, spider: str = "bilingual") -> Path:
    """Schedule a job with these arguments and wait until it has ended; its log, named after it."""
    node, url, _ = deployed
    quick = ("setting=DOWNLOAD_DELAY=0", "setting=AUTOTHROTTLE_ENABLED=0")
    given = (*quick, "project=bilingual_crawler", f"spider={spider}", *arguments)
    data = shlex.join(part for one in given for part in ("--data-urlencode", one))
    job = json.loads(node.run(f"curl -sn {url}/schedule.json {data}"))["jobid"]
    wait_for(lambda: job in jobs(node, url), f"{job} goes on", pause=0.5)
    return node.state / "logs" / "bilingual_crawler" / spider / f"{job}.log"


@pytest.mark.slow
def test_a_job_crawls_with_the_code_and_models_of_the_egg(deployed: tuple[Machine, str, Site]) -> None:
    node = deployed[0]
    feed = node.folder / "feed.jl"
    with serve(bilingual_site(PAGES)) as site:
        feeds = f"setting=FEEDS={json.dumps({str(feed): {'format': 'jsonlines'}})}"
        job = log_of_job(deployed, "pair=eng-spa", f"seeds={site.url}/en/", "policy=smart", feeds).stem
    folder = node.state / "crawls" / job
    found = {(row["url_a"], row["url_b"]) for row in read_tsv(folder / "pairs.tsv")}
    names = ["", *(f"page-{number}.html" for number in range(PAGES))]
    assert found == {(f"{site.url}/en/{name}", f"{site.url}/es/{name}") for name in names}
    # its templates are in the egg, which is no folder
    assert f"The {len(found)} best of {len(found)} pairs" in (folder / "report.html").read_text(encoding="utf-8")
    succeeds(folder, "align", str(folder), "--pair", "eng-spa", "--out", "aligned.tsv")
    rows = [sorted(map(tuple, map(dict.items, read_tsv(folder / name)))) for name in ("pairs.tsv", "aligned.tsv")]
    assert rows[0] == rows[1], "the crawl ends with the same alignment"
    assert len(documents_of(node, job)) == len(feed.read_text().splitlines()) == DOCUMENTS


@pytest.mark.slow
def test_a_job_discovers_with_the_models_of_the_egg(deployed: tuple[Machine, str, Site]) -> None:
    with serve(bilingual_site(PAGES)) as site:
        log = log_of_job(deployed, "pair=eng-spa", f"seeds={site.url}/en/", spider="discovery")
    assert "Traceback" not in log.read_text()
    (judged,) = read_tsv(deployed[0].state / "crawls" / log.stem / "sites.tsv")
    assert judged["verdict"] == "bilingual"


@pytest.mark.slow
def test_what_keeps_a_job_from_starting_is_in_its_log(deployed: tuple[Machine, str, Site]) -> None:
    gone = "BILINGUAL_MODELS_DIR=/srv/none"
    for given, message in (
        (("pair=eng-spam",), "did you mean"),
        (("pair=eng-spa", f"setting={gone}"), f"{gone}: there is no such folder"),
    ):
        log = log_of_job(deployed, "seeds=http://127.0.0.1:9/", "policy=smart", *given)
        assert message in log.read_text()
        assert not (deployed[0].state / "crawls" / log.stem).exists()


def test_a_node_has_models_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILINGUAL_MODELS_DIR", "/srv/no-models")
    arguments = ("-a", "pair=eng-spa", "-a", "seeds=http://127.0.0.1:9/", "-a", "policy=smart")
    said = refused(tmp_path, "crawl", "bilingual", *arguments)
    assert said.startswith("BILINGUAL_MODELS_DIR=/srv/no-models: there is no such folder")


@pytest.mark.slow
def test_one_node(deployed: tuple[Machine, str, Site], installed: Path) -> None:
    node, url, site = deployed
    assert json.loads(node.follow("Schedule"))["jobid"] == "maltese-1"
    site.wait_until_asked(6)
    assert json.loads(node.follow("Pause and resume"))["prevstate"] == "running"
    wait_for(lambda: jobs(node, url).count("maltese-1") == 1, "the job goes on", pause=0.5)
    assert not site.asked.keys() >= SITE.keys()
    time.sleep(1)  # versions of eggs are seconds
    rename_bot(installed, "upgraded")
    assert '"status": "ok"' in node.follow("Deploy")
    rename_bot(installed, "deployed")
    assert json.loads(node.follow("Schedule"))["jobid"] == "maltese-1"
    wait_for(lambda: jobs(node, url).count("maltese-1") == 2, "the job goes on", pause=0.5)
    assert len(documents_of(node, "maltese-1")) == 2 * DOCUMENTS
    log = log_of(node, "maltese-1").read_text()
    assert log.index("(bot: deployed)") < log.index("(bot: upgraded)")
    assert len(list(read_tsv(node.state / "crawls" / "maltese-1" / "pairs.tsv"))) == DOCUMENTS
    assert {count for path, count in site.asked.items() if path in SITE} == {1}


@pytest.mark.slow
def test_several_nodes_with_one_redis(tmp_path: Path, installed: Path, repository: Path) -> None:
    shutil.copy(repository / "scrapy.cfg", installed)
    server = program("redis-server", package="redis-server")
    program("openssl", package="openssl")
    port, redis_port = free_port(), free_port()
    redis = tmp_path / "redis"
    addresses = ("127.0.0.2", "127.0.0.3")
    here = {
        **{"6800": str(port), "6379": str(redis_port)},
        **{"node1.internal": addresses[0], "node2.internal": addresses[1], "redis.internal": "localhost"},
        **{"127.0.0.1 10.0.0.1": "127.0.0.1", "/srv/seeds/": f"{tmp_path}/"},
        **{"/etc/redis": str(redis), "/etc/ssl/": f"{redis}/tls/"},
    }
    nodes = [Machine(tmp_path / address, here | {"10.0.0.2": address}, installed) for address in addresses]

    def has_ended(address: str) -> bool:
        return jobs(nodes[0], f"http://{address}:{port}") == [f"maltese-{address}"]

    def begun() -> bool:
        logs = [log_of(node, f"maltese-{address}") for node, address in zip(nodes, addresses, strict=True)]
        return all(log.exists() and "Spider opened" in log.read_text() for log in logs)

    redis.mkdir()
    (redis / "redis.conf").write_text(f"dir {redis}\n")
    with ExitStack() as stack:
        sites = [stack.enter_context(serve(SITE, address=f"127.0.0.{number}")) for number in range(4, 8)]
        (tmp_path / "maltese.txt").write_text("".join(f"{site.url}/\n" for site in sites))
        for node in nodes:
            node.follow("One node")
        nodes[0].follow("Redis")
        process = subprocess.Popen((server, redis / "redis.conf"), stdout=subprocess.DEVNULL)
        stack.callback(process.terminate)
        wait_for_server("127.0.0.1", redis_port)
        for node, address in zip(nodes, addresses, strict=True):
            node.follow("Nodes")
            stack.enter_context(node.service())
            wait_for_server(address, port)
        # the node that begins first has all hosts; it can give some away only while it has pages left on them
        for site in sites:
            site.answers.clear()
        assert nodes[0].follow("One crawl on all nodes").count('"status": "ok"') == 4
        wait_for(begun, "both jobs begin")
        for site in sites:
            site.answers.set()
        for address in addresses:
            wait_for(partial(has_ended, address), f"the job at {address} goes on", pause=0.5)
    found = [documents_of(node, f"maltese-{address}") for node, address in zip(nodes, addresses, strict=True)]
    assert all(found)
    assert len({*found[0], *found[1]}) == len(found[0]) + len(found[1]) == 4 * DOCUMENTS
    for node, address, urls in zip(nodes, addresses, found, strict=True):
        held = {(url, url.replace("/en/", "/mt/")) for url in urls if "/en/" in url}
        # a pair found on the way may be replaced by a better one; a shared crawl is not aligned at its end
        rows = one_to_one(read_tsv(node.state / "crawls" / f"maltese-{address}" / "pairs.tsv"))
        assert {(row["url_a"], row["url_b"]) for row in rows} == {pair for pair in held if pair[1] in urls}
    assert {count for site in sites for path, count in site.asked.items() if path in SITE} == {1}
