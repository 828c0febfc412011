"""Every setting is read in one place, and an invalid one ends the command with one line before anything else."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support.crawls import crawl, each, ended_well, refused
from support.webserver import ALIGNED, bilingual_site, serve

from bilingual_crawler import settings as project
from bilingual_crawler.options import Options

CRAWL = ("crawl", "bilingual", "-a", "pair=eng-spa", "-a", "seeds=http://127.0.0.1:9/")


def test_every_setting_of_the_project_is_read_and_has_a_default() -> None:
    names = {name.removeprefix("BILINGUAL_").lower() for name in vars(project) if name.startswith("BILINGUAL_")}
    assert names == set(Options.__dataclass_fields__)
    given = {name: value for name, value in vars(project).items() if name.isupper()}
    assert Options.of(Settings()) == Options.of(Settings(given))


def test_values_are_read_from_text_as_scrapyd_hands_them_on() -> None:
    texts = {
        **{"BRIDGE": "0", "WARC": "false", "MAX_BYTES": "1000", "BACKOFF_START": "0.2"},
        **{"LINK_SOURCES": "a, sitemap", "ALIGN": "", "CONTACT": "mailto:me@example.org"},
        "FRONTIER": "rediss://user:word@redis.example:6380/1?ssl_ca_certs=/etc/ca.pem#maltese",
        "EQUIVALENT_LANGUAGES": "hrv bos,nor nno",
    }
    read = Options.of(Settings({f"BILINGUAL_{name}": text for name, text in texts.items()}))
    assert (read.bridge, read.warc, read.max_bytes, read.backoff_start) == (False, False, 1000, 0.2)
    assert (read.link_sources, read.align, read.contact) == (("a", "sitemap"), "", "mailto:me@example.org")
    assert read.frontier.endswith("#maltese")
    assert read.equivalent_languages == {frozenset({"hrv", "bos"}), frozenset({"nor", "nno"})}


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("ALIGN", "foo", "choose one of auto, url, content, structure, structure-content, or give the path"),
        ("STALE_PAGES", "x", "give a whole number"),
        ("MAX_BYTES", "-1", "give a whole number"),
        ("HOST_FAILURES", "0", "give a whole number of 1 or more"),
        ("BRIDGE", "maybe", "give True or False"),
        ("CONTACT", "me", "mailto:"),
        ("CONTACT", "mailto:me@example.org\nX-Header: 1", "mailto:"),
        ("LINK_SOURCES", "a,b", "choose one of a, area"),
        ("MODELS_DIR", "/srv/no-models", "there is no such folder"),
        ("FRONTIER", "redis://:secret@host:port/", "give redis://"),
        ("FRONTIER", "redis://host:port/?password=secret", "give redis://"),
        ("BACKOFF_MAX", "nan", "give a number of seconds"),
        ("USER_AGENT", "", "give one line of text"),
        ("ALLOWED_NETWORKS", "10.0.0.0/99", "give networks as in"),
        ("EQUIVALENT_LANGUAGES", "hrv klingonese", "unknown language 'klingonese'"),
        ("EQUIVALENT_LANGUAGES", 5, "unknown language '5'"),
        ("EQUIVALENT_LANGUAGES", [["hrv", 5]], "unknown language '5'"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(name: str, value: object, right: str) -> None:
    with pytest.raises(UsageError) as caught:
        Options.of(Settings({f"BILINGUAL_{name}": value}))
    message = str(caught.value)
    assert message.startswith(f"BILINGUAL_{name}=")
    assert right in message
    assert [part for part in ("\n", "secret") if part in message] == []


@pytest.mark.parametrize("command", ["crawl", "align", "harvest"])
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("BILINGUAL_ALGIN=url", "BILINGUAL_ALGIN: unknown setting; did you mean BILINGUAL_ALIGN?"),
        ("BILINGUAL_STALE_PAGES=x", "BILINGUAL_STALE_PAGES=x: give a whole number"),
        ("CLOSESPIDER_TIMEOUT=soon", "CLOSESPIDER_TIMEOUT=soon: give a number of seconds"),
        ("LOG_FILE=missing/log", "LOG_FILE=missing/log: nothing can be written there; give a file in a folder"),
        ("LOG_LEVEL=FOO", "LOG_LEVEL=FOO: choose one of CRITICAL"),
        ("RETRY_HTTP_CODES=abc", "RETRY_HTTP_CODES=abc: give HTTP statuses, as in 500,502,503"),
        ("TWISTED_DNS_RESOLVER=scrapy.resolver.No", "TWISTED_DNS_RESOLVER=scrapy.resolver.No: Module"),
        ("DNS_RESOLVER=no.Module", "DNS_RESOLVER=no.Module: No module named 'no'; give the path of a class"),
    ],
)
def test_every_command_checks_the_settings_at_its_start(
    tmp_path: Path, command: str, setting: str, message: str
) -> None:
    arguments = {"crawl": CRAWL[1:], "align": (".", "--pair", "eng-spa"), "harvest": (".",)}
    assert message in refused(tmp_path, command, *arguments[command], "-s", setting)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("BILINGUAL_POLICY=best",), "BILINGUAL_POLICY=best: choose one of"),
        (("BILINGUAL_ENCODER=e5-smal",), "BILINGUAL_ENCODER=e5-smal: choose one of e5-small"),
        (("BILINGUAL_FRONTIER=redis://127.0.0.1:9/",), "BILINGUAL_FRONTIER: Redis at 127.0.0.1:9 cannot be used"),
        (("BILINGUAL_OUTPUT_DIR=file/out",), "is no folder; give one that can be written"),
        (("BILINGUAL_OUTPUT_DIR=/proc/out",), "BILINGUAL_OUTPUT_DIR=/proc/out: "),
        (("BILINGUAL_OUTPUT_DIR=out", "JOBDIR=out"), "/out: is the JOBDIR as well; give two folders"),
        (("JOBDIR=file",), "JOBDIR=file: "),
        (("JOBDIR=/proc/job",), "JOBDIR=/proc/job: "),
        (("JOBDIR=other",), "not a usable frontier"),
        (("JOBDIR=empty",), "/output_dir names no folder; write the path of the crawl's output folder into it"),
        (("JOBDIR=garbage",), "/output_dir names no folder; write the path of the crawl's output folder into it"),
        (("JOBDIR=long",), "which is gone; move it back"),
        (("BILINGUAL_ALIGN=url", "BILINGUAL_PROVIDERS=Cuda"), "BILINGUAL_PROVIDERS=Cuda: this onnxruntime has"),
        # models that the end of the crawl needs
        (("BILINGUAL_MODELS_DIR=models",), "models/document-pairs"),
    ],
)
def test_a_crawl_finds_out_what_it_cannot_use_before_it_begins(
    tmp_path: Path, settings: tuple[str, ...], message: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "models" / "document-pairs").mkdir(parents=True)
    (tmp_path / "other" / "frontier").mkdir(parents=True)
    (tmp_path / "other" / "frontier" / "data.mdb").write_bytes(b"not a frontier" * 1000)
    for name, memo in (("empty", b""), ("garbage", b"\0\xff\n\x1b"), ("long", b"/" + b"x" * 5_000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "output_dir").write_bytes(memo)
    assert message in refused(tmp_path, *CRAWL, "-a", "policy=", *ALIGNED, *each("-s", *settings))
    assert not (tmp_path / "crawls").exists()


@pytest.mark.parametrize(("name", "scheme"), [("http_proxy", "socks5h"), ("https_proxy", "socks4")])
def test_a_proxy_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, scheme: str
) -> None:
    monkeypatch.setenv(name, f"{scheme}://me:secret@127.0.0.1:1080")
    remedy = "SOCKS is not supported; give an HTTP proxy, or none"
    assert refused(tmp_path, *CRAWL) == f"{name}={scheme}://127.0.0.1:1080: {remedy}"


def test_a_missing_client_of_redis_is_named(tmp_path: Path) -> None:
    (tmp_path / "redis.py").write_text("raise ImportError('no redis here')\n")
    code = "from scrapy.cmdline import execute; execute()"
    command = [sys.executable, "-c", code, *CRAWL, "-s", "BILINGUAL_FRONTIER=redis://127.0.0.1:9/"]
    environment = {"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}", "SCRAPY_SETTINGS_MODULE": project.__name__}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "Redis needs its client" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_path_in_the_settings_of_a_project_is_a_list_of_one() -> None:
    assert Options.of(Settings({"BILINGUAL_REPLAY": Path("a,b.warc")})).replay == ("a,b.warc",)
    with pytest.raises(UsageError, match="BILINGUAL_DOCUMENTS=5: choose one of html, pdf"):
        Options.of(Settings({"BILINGUAL_DOCUMENTS": 5}))


EXTENSIONS = """
from scrapy.extension import ExtensionManager
from scrapy.utils.misc import load_object
from scrapy.utils.project import get_project_settings
for extension in ExtensionManager._get_mwlist_from_settings(get_project_settings()):
    load_object(extension)
"""
JUDGES = """
from scrapy.settings import Settings
from bilingual_crawler.pairing.methods import method_of
method_of("auto", Settings())
"""


HEAVY = ["onnxruntime", "scipy", "torch", "numpy"]


@pytest.mark.parametrize(
    ("code", "unused"),
    [("import bilingual_crawler.options", HEAVY), (JUDGES, ["scipy"]), (EXTENSIONS, ["aiohttp"])],
    ids=["settings", "judges of an alignment", "extensions that are off"],
)
def test_nothing_heavy_is_imported_to_read_and_check_settings(code: str, unused: list[str]) -> None:
    code = f"import sys\n{code}\nprint([name for name in {unused} if name in sys.modules])"
    environment = os.environ | {"SCRAPY_SETTINGS_MODULE": project.__name__}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert result.stdout.strip() == "[]"


def test_a_crawl_imports_nothing_heavy_that_it_does_not_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with serve(bilingual_site(2)) as site:
        agent = ("-s", "BILINGUAL_USER_AGENT=my-bot/2")
        result = ended_well(crawl(tmp_path, f"{site.url}/en/", *agent, policy="", fresh=True))
    imported = set(re.findall(r"^import time:.*\| +(\w+)", result.stderr, re.MULTILINE))
    assert "tokenizers" in imported
    unused = {"duckdb", "matplotlib", "onnxruntime", "pandas", "playwright", "prometheus_client", "pypdfium2", "redis"}
    assert not (unused | {"scipy"}) & imported
    assert site.agents == {"my-bot/2"}, "a setting that is well reaches its part"
