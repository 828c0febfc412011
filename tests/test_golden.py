"""The hashes of what crawls give: the same for the same site, others for a changed one."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import fork_server
from support.frozen_sites import write_frozen
from support.harvest_site import BASE
from support.pdf_files import report
from support.webserver import scrapy_environment

from benchmarks import golden

LANGUAGES = {"en": "eng", "es": "spa"}
PAGES = 4


def site(changed: str = "") -> Callable[[Path], golden.Archived]:
    """Pages in English that lead to each other and to their Spanish translations; *changed* stands on the last one."""

    def write(scratch: Path) -> golden.Archived:
        pages = {}
        for number in range(PAGES):
            for tag, language in LANGUAGES.items():
                links = [
                    f"{BASE}{other}/{n}" for n in range(PAGES) for other in LANGUAGES if (other, n) != (tag, number)
                ]
                title, paragraphs = report(tag, number)
                text = "".join(f"<p>{paragraph}" for paragraph in paragraphs)
                more = changed if (tag, number) == ("es", PAGES - 1) else ""
                anchors = "".join(f"<a href={link}>{link}</a> " for link in links)
                html = f"<html lang={tag}><title>{title}</title><body>{anchors}<h1>{title}</h1>{text}{more}</body>"
                pages[f"{BASE}{tag}/{number}"] = (language, html, links)
        write_frozen(scratch / "site", BASE, pages, [])
        return golden.Archived(scratch / "site", (f"{BASE}en/0",))

    return write


def test_equal_sites_give_equal_hashes_and_a_changed_page_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # processes forked from one that has the imports begin at once
    monkeypatch.setattr(subprocess, "Popen", fork_server.Popen)
    monkeypatch.setattr(golden, "environment", scrapy_environment)
    saved = tmp_path / "before.json"
    monkeypatch.setattr(golden, "REPLAYS", {"site": golden.Replay("eng-spa", site())})
    golden.main(["--out", str(saved)])
    with pytest.raises(SystemExit, match="0"):
        golden.main(["--compare", str(saved)])
    capsys.readouterr()
    monkeypatch.setattr(golden, "REPLAYS", {"site": golden.Replay("eng-spa", site("<p>Nada más se sabe de ello."))})
    with pytest.raises(SystemExit, match="1"):
        golden.main(["--compare", str(saved)])
    table = capsys.readouterr().out
    assert "documents.jsonl.gz" in table
    assert "Nada más se sabe de ello" in table
