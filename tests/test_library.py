"""The package as a library: the names that a script imports from it, on texts, folders and a server."""

import doctest
import gzip
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support import fork_server
from support.example_site import PAGES, check
from support.example_site import serve as example
from support.webserver import bilingual_site, scrapy_environment, serve, varied

import bilingual_crawler.api
from bilingual_crawler import (
    Pair,
    align,
    align_sentences,
    identify_language,
    own_text,
    read_bitext,
    read_documents,
    read_pairs,
    run_crawl,
)
from bilingual_crawler.languages.codes import LanguageError
from bilingual_crawler.pages.sandbox import pool
from bilingual_crawler.pairing import methods
from bilingual_crawler.scoring.models import models_folder

ROOT = Path(__file__).parent.parent
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAIR = "eng-mlt"
ENGLISH = {
    "dignity": "Article 1\nAll human beings are born free and equal in dignity and rights. They are endowed with "
    "reason and conscience and should act towards one another in a spirit of brotherhood.",
    "life": "Article 3\nEveryone has the right to life, liberty and security of person.",
    "slavery": "Article 4\nNo one shall be held in slavery or servitude; slavery and the slave trade shall be "
    "prohibited in all their forms.",
}
MALTESE = {
    "ħajja": "Artiklu 3\nKulħadd għandu d-dritt għall-ħajja, għal-libertà u għas-sigurtà tal-persuna.",
    "jasar": "Artiklu 4\nĦadd m'għandu jinżamm fil-jasar jew fl-iskjavitù; l-iskjavitù u n-negozju tal-iskjavi "
    "għandhom ikunu projbiti fil-forom kollha tagħhom.",
    "dinjità": "Artiklu 1\nIl-bnedmin kollha jitwieldu ħielsa u ugwali fid-dinjità u d-drittijiet. Huma mogħnija "
    "bir-raġuni u bil-kuxjenza u għandhom iġibu ruħhom ma' xulxin bi spirtu ta' aħwa.",
}
GOLD = {("dignity", "dinjità"), ("life", "ħajja"), ("slavery", "jasar")}
QUICK = {"DOWNLOAD_DELAY": 0, "AUTOTHROTTLE_ENABLED": False, "BILINGUAL_ENCODER": ""}
NOBODY = "http://127.0.0.1:9/"


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the folders of texts ``english`` and ``maltese``."""
    for folder, texts in (("english", ENGLISH), ("maltese", MALTESE)):
        (tmp_path / folder / "articles").mkdir(parents=True)
        for name, text in texts.items():
            (tmp_path / folder / "articles" / f"{name}.txt").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def named(pairs: list[Pair]) -> set[tuple[str, str]]:
    return {(pair.url_a, pair.url_b) for pair in pairs}


@pytest.fixture(autouse=True)
def no_encoder_and_forked_crawls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder comes with an extra; processes forked from one that has the imports begin at once."""
    monkeypatch.setattr(methods, "is_installed", lambda name: False)
    monkeypatch.setattr(bilingual_crawler.api, "Popen", fork_server.Popen)
    monkeypatch.setattr(pool, "environment", scrapy_environment)


def test_the_names_are_there_and_load_nothing_before_they_are_used() -> None:
    assert len(bilingual_crawler.__all__) <= 9
    for name in bilingual_crawler.__all__:
        assert getattr(bilingual_crawler, name).__name__ == name
        assert getattr(bilingual_crawler, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        bilingual_crawler.missing  # type: ignore[attr-defined]  # noqa: B018
    code = "import sys; before = set(sys.modules); import bilingual_crawler; print(*(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if name.startswith("bilingual_crawler")] == ["bilingual_crawler"]
    assert {"numpy", "scrapy", "msgspec"}.isdisjoint(loaded)


def test_the_example_of_the_documentation_aligns_two_folders(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example, *_) = EXAMPLE.findall((ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8"))
    assert len(list(filter(None, example.splitlines()))) == 5
    exec(compile(example, "index.md", "exec"), {})
    rows = {tuple(line.split("\t")[:2]) for line in capsys.readouterr().out.splitlines()}
    sentences = {(ENGLISH[a].split("\n")[1], MALTESE[b].split("\n")[1]) for a, b in GOLD}
    assert rows >= {(english, maltese) for english, maltese in sentences if "They" not in english}


@pytest.mark.parametrize("function", [align, align_sentences, identify_language, own_text])
def test_the_examples_of_the_docstrings_run(function: Callable[..., object]) -> None:
    (example,) = doctest.DocTestFinder().find(function, globs=vars(bilingual_crawler.api).copy())
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_folders_files_and_texts_are_paired_by_paths_and_names(folders: Path) -> None:
    found = align("english", folders / "maltese", PAIR)
    root = folders / "maltese" / "articles"
    assert named(found) == {(f"english/articles/{a}.txt", str(root / f"{b}.txt")) for a, b in GOLD}
    assert all(0 < pair.score <= 1 and pair.pair == PAIR for pair in found)
    assert [pair.score for pair in found] == sorted((pair.score for pair in found), reverse=True)
    files = sorted(Path("english").rglob("*.txt"))
    assert named(align(files, MALTESE.items(), PAIR)) == {(f"english/articles/{a}.txt", b) for a, b in GOLD}


def test_pages_of_a_site_are_paired(tmp_path: Path) -> None:
    gold = {(a, b) for a, b in check.gold_pairs("eng-spa") if a.startswith("/en/") and b.startswith("/es/")}
    for path in {path for pair in gold for path in pair}:
        file = tmp_path / path[1:] / ("index.html" if path.endswith("/") else "")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(example.render(PAGES[path]), encoding="utf-8")
    found = align(tmp_path / "en", tmp_path / "es", "eng-spa")
    paths = {tuple(url.removeprefix(str(tmp_path)).removesuffix("index.html") for url in pair) for pair in named(found)}
    assert len(paths & gold) >= 0.9 * len(gold)
    assert len(paths - gold) <= 1


@pytest.mark.parametrize("site", ["https://a.example/{}/{}", "{}/{}"])
def test_addresses_and_plain_names_stay_as_they_are_given(site: str) -> None:
    english = [(site.format("en", name), text) for name, text in ENGLISH.items()]
    maltese = [(site.format("mt", name), text) for name, text in MALTESE.items()]
    found = align(english, [*maltese, *maltese], PAIR)
    assert named(found) == {(site.format("en", a), site.format("mt", b)) for a, b in GOLD}


def test_both_lists_may_have_the_same_addresses() -> None:
    """As two crawls with different request headers find them."""
    english = [(f"https://a.example/{number}", text) for number, text in enumerate(ENGLISH.values())]
    maltese = [(f"https://a.example/{number}", MALTESE[dict(GOLD)[name]]) for number, name in enumerate(ENGLISH)]
    assert named(align(english, maltese, PAIR, "url")) == {(url, url) for url, _ in english}


def test_equal_names_are_evidence_and_contents_are_more() -> None:
    english = list(zip("12", (ENGLISH["dignity"], ENGLISH["slavery"]), strict=True))
    maltese = list(zip("12", (MALTESE["dinjità"], MALTESE["jasar"]), strict=True))
    assert named(align(english, maltese, PAIR, "url")) == {("1", "1"), ("2", "2")}
    assert named(align(english, [("1", maltese[1][1]), ("2", maltese[0][1])], PAIR)) == {("1", "2"), ("2", "1")}


class Topics:
    """An encoder that knows what three articles are about."""

    name = "topics"
    words = (("free", "born", "ħielsa"), ("life", "ħajja"), ("slave", "skjav"))

    def encode(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        rows = [[0.1, *(float(any(word in text for word in topic)) for topic in self.words)] for text in texts]
        return np.array([np.array(row) / np.linalg.norm(row) for row in rows], dtype=np.float32)


def test_texts_without_numbers_and_names_in_common_are_compared_by_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "is_installed", lambda name: name == "topics")
    given: dict[str, Any] = {"models": models_folder(None), "threshold": 0.5, "encoder": "topics", "cache": Path()}
    tools = methods.Tools(**given, load=lambda *_: Topics())
    monkeypatch.setattr(methods, "method_of", lambda *_: methods.AutoMethod(tools))
    a, b = ({name: text.split("\n")[1] for name, text in texts.items()} for texts in (ENGLISH, MALTESE))
    assert named(align(a.items(), b.items(), PAIR)) == GOLD


def test_html_is_read_without_its_frame(folders: Path) -> None:
    html = f"<html lang=mt><nav><a href=/>Paġna ewlenija</a></nav><h1>Dinjità</h1><p>{MALTESE['dinjità']}".encode()
    assert named(align("english", [("page", html)], PAIR)) == {("english/articles/dignity.txt", "page")}


def test_a_document_in_another_language_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert named(align([*ENGLISH.items(), ("stray", MALTESE["jasar"])], MALTESE.items(), PAIR)) == GOLD
    assert "stray, which is not in English" in caplog.text


def test_sentences_of_two_texts_are_aligned() -> None:
    english = "The harbour opens at 6. It closes at 22.\n\nA ship pays 120 euros for a day."
    spanish = "El puerto abre a las 6. Cierra a las 22.\n\nUn barco paga 120 euros por un día."
    found = align_sentences(english, spanish, "eng-spa")
    first_words = [(one.text_a.split()[0], one.text_b.split()[0]) for one in found]
    assert first_words == [("The", "El"), ("It", "Cierra"), ("A", "Un")]
    assert [one.paragraph_a for one in found] == ["0", "0", "2"]
    assert not align_sentences("", spanish, "eng-spa")
    with pytest.raises(LanguageError):
        align_sentences(english, spanish, "eng-eng")


def test_languages_are_identified() -> None:
    assert identify_language(MALTESE["dinjità"]).language == "mlt"
    assert identify_language("OK 2027").language == "un"
    assert identify_language("Valletta 2027", declared=("x-default", "mt")).language == "mlt"
    # no detector knows it
    sardinian = "Totu sos èsseres umanos naschint lìberos e eguales in dinnidade e in deretos."
    assert identify_language(sardinian, ["sc"]).language == "srd"
    assert identify_language(ENGLISH["dignity"], ["sc"]).language == "eng"


def test_own_text_is_without_the_frame() -> None:
    html = "<nav><a href=/>Home</a> <a href=/fees>Fees</a></nav><h1>Tides</h1><p>The tide tables of the harbour."
    assert own_text(html) == "Tides\nThe tide tables of the harbour."
    assert own_text("") == ""


def test_a_crawl_is_run_and_its_outputs_are_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pages = varied(bilingual_site(3))
    with serve(pages) as site:
        settings = QUICK | {"BILINGUAL_OUTPUT_DIR": tmp_path / "out", "BILINGUAL_BITEXT": "bitextor"}
        folder = run_crawl("eng-spa", [f"{site.url}/en/", f"{site.url}/es/"], max_pages=50, **settings)
    assert folder == tmp_path / "out"
    assert "Spider opened" in capfd.readouterr().err
    documents = {document.url.removeprefix(site.url): document for document in read_documents(folder)}
    assert set(documents) >= {f"/{lang}/page-{number}.html" for lang in ("en", "es") for number in range(3)}
    one = documents["/es/page-1.html"]
    assert (one.language, one.status, type(one.shares[0])) == ("spa", 200, tuple)
    assert "La cosecha del año" in one.text
    pairs = list(read_pairs(folder))
    paths = {(pair.url_a.removeprefix(site.url), pair.url_b.removeprefix(site.url)) for pair in pairs}
    assert paths >= {(f"/en/page-{number}.html", f"/es/page-{number}.html") for number in range(3)}
    assert all(isinstance(pair, Pair) and 0 < pair.score <= 1 for pair in pairs)
    bitext = list(read_bitext(folder))
    assert bitext == list(read_bitext(folder / "bitext")) == list(read_bitext(folder / "bitext" / "en-es.sent.gz"))
    assert {(one.url_a, one.url_b) for one in bitext} <= {(pair.url_a, pair.url_b) for pair in pairs}
    assert all(one.text_a and one.text_b and 0 <= one.quality <= 1 for one in bitext)
    with pytest.raises(ValueError, match="out: holds another crawl; choose a new folder"):
        run_crawl("eng-spa", site.url, BILINGUAL_OUTPUT_DIR=tmp_path / "out")


def pairing(a: Any, b: Any, pair: str = PAIR, *more: str) -> Callable[[], object]:
    return lambda: align(a, b, pair, *more)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (pairing([("ftp://a.example/en", "The tide")], MALTESE.items()), ValueError, "ftp://a.example/en"),
        (pairing([("https://", "The tide")], MALTESE.items()), ValueError, "no address of http or https"),
        (pairing([("", "The tide tables")], MALTESE.items()), ValueError, "no address of http or https"),
        (pairing([("https://a.example/en", ENGLISH["life"])], MALTESE.items()), ValueError, "no site has documents"),
        (pairing(MALTESE.items(), ENGLISH.items()), ValueError, "no document in English among 3, such as ħajja"),
        (pairing(ENGLISH.items(), []), ValueError, "no document in Maltese in an empty list"),
        (pairing(ENGLISH, MALTESE), FileNotFoundError, "'dignity': no such file or folder; give a text as"),
        (pairing([ENGLISH["slavery"] * 50], []), FileNotFoundError, "give a text as (name, text)"),
        (pairing("empty", MALTESE.items()), ValueError, "empty: has no file that ends in .txt"),
        (pairing("a.pdf", MALTESE.items()), ValueError, "a.pdf: is no file that ends in .txt"),
        (pairing("latin1.txt", MALTESE.items()), ValueError, "latin1.txt: is not UTF-8"),
        (pairing(ENGLISH.items(), MALTESE.items(), "eng-spam"), LanguageError, "unknown language 'spam'"),
        (pairing(ENGLISH.items(), MALTESE.items(), PAIR, "magic"), ValueError, "method=magic: choose one of auto, url"),
        (lambda: run_crawl("eng-spam", NOBODY), ValueError, "pair=eng-spam: unknown language 'spam'"),
        (lambda: run_crawl("eng-spa", NOBODY, pages=9), ValueError, "pages"),
        (lambda: run_crawl("eng-spa", NOBODY, BILINGUAL_WARC="maybe"), ValueError, "BILINGUAL_WARC=maybe"),
        (lambda: run_crawl("eng-spa", [NOBODY, "http://a.b/,c"]), ValueError, "'http://a.b/,c' has a comma"),
        (lambda: run_crawl("eng-spa", ()), ValueError, "where to start?"),
        (lambda: run_crawl("eng-spa", NOBODY, RETRY_ENABLED=False, **QUICK), RuntimeError, "1 of 1 seeds gave no page"),
        (lambda: list(read_documents(".")), FileNotFoundError, "documents.jsonl.gz: there is no such file"),
        (lambda: list(read_pairs("nowhere")), FileNotFoundError, "nowhere/pairs.tsv: there is no such file"),
        (lambda: list(read_pairs("crawl.tsv")), ValueError, "crawl.tsv: has no column url_a"),
        (lambda: list(read_bitext(".")), FileNotFoundError, "crawl with BILINGUAL_BITEXT=bitextor"),
        (lambda: list(read_bitext("crawl.tsv")), ValueError, "crawl.tsv: has no column src_text"),
    ],
)
def test_alignments_crawls_and_readers_tell_what_is_wrong(
    call: Callable[[], object], error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("a.pdf").write_bytes(b"%PDF-1.4")
    Path("latin1.txt").write_bytes("café".encode("latin-1"))
    Path("crawl.tsv").write_text("time\tstatus\n1\t200\n")
    with pytest.raises(error, match=re.escape(message)) as raised:
        call()
    assert len(str(raised.value).splitlines()) == 1


def test_an_interrupted_crawl_writes_its_outputs(tmp_path: Path) -> None:
    options = "BILINGUAL_ALIGN='', BILINGUAL_OUTPUT_DIR='out'"
    code = f"import sys; from bilingual_crawler import run_crawl; run_crawl('eng-spa', sys.argv[1], {options})"
    with serve(varied(bilingual_site(50)), delay=0.05) as site:
        command = [sys.executable, "-c", code, f"{site.url}/en/"]
        script = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
        site.wait_until_asked(5)
        script.send_signal(signal.SIGINT)
        _, said = script.communicate(timeout=60)
    assert said.endswith("KeyboardInterrupt\n")
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["finish_reason"] == "shutdown"


def test_a_damaged_document_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "documents.jsonl.gz").write_bytes(gzip.compress(b'{"url": "https://a.example/", "depth": "deep"}\n'))
    assert not list(read_documents(tmp_path))
    assert "https://a.example/" in caplog.text
