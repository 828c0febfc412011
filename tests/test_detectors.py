"""How the language of a text is told: one detector, a vote of several, and what pages declare."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fasttext
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support import crawls
from support.crawls import documents, ended_well, pairs
from support.webserver import ALIGNED, Site, run_scrapy, serve

from bilingual_crawler.languages.codes import UNKNOWN, LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.options import Options
from bilingual_crawler.pages.detectors.base import NOTHING, RANGE, Ensemble, Identification, by_ranges, load_detector
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.language import BY_DEFAULT, Detection, LanguageDetectorError, known_languages
from bilingual_crawler.pages.sandbox.pool import processes, submit

# Sentences after the Universal Declaration of Human Rights.
SAMI = [
    "Buot olbmot leat riegádan friddjan ja olmmošárvvu ja olmmošvuoigatvuođaid dáfus. Sii leat jierbmalaš olbmot geain "
    "lea oamedovdu ja sii gálggaše leat dego vieljačagat.",
    "Juohke olbmos lea vuoigatvuohta eallimii, friddjavuhtii ja persovnnalaš oadjebasvuhtii.",
    "Ii oktage galgga dollojuvvot šlávvan dahje bággu bálvalusas. Šlávvavuohta ja šlávvagávppi joraheapmi, vaikko "
    "guđege vuogi mielde, galgá leat gildojuvvon.",
    "Ii oktage galgga illastusa vuollái dagahuvvot dahje goaves, olmmošmeahttun dahje vuolideaddji gieđahallama dahje "
    "ráŋggáštusa vuollái.",
    "Ii oktage galgga sahte sivas gitta váldojuvvot, giddagassii biddjojuvvot dahje riikkabáhtarussii áddjojuvvot.",
    "Juohkehaččas lea vuoigatvuohta stáhtaboargárvuhtii. Ii ovttasge galgga evttolaččat váldojuvvot eret "
    "stáhtaboargárvuohta, dahje biehttaluvvot vuoigatvuohta molsut stáhtaboargarvuođa.",
]
SORANI = [
    "هەموو مرۆڤێک ئازاد و یەکسان لە کەرامەت و مافدا لەدایک دەبن. ئەوان خاوەن هۆش و ویژدانن و پێویستە لەگەڵ یەکتر بە "
    "گیانی برایەتی هەڵسوکەوت بکەن.",
    "هەموو کەسێک مافی ژیان و ئازادی و ئاسایشی تایبەتی خۆی هەیە.",
    "نابێت هیچ کەسێک بکرێتە کۆیلە، کۆیلایەتی و بازرگانی کردن بە کۆیلەوە بە هەموو شێوەیەک قەدەغەیە.",
    "نابێت هیچ کەسێک ئازار بدرێت یان سزای دڕندانە و نامرۆڤانەی بەسەردا بدرێت.",
    "نابێت هیچ کەسێک بە شێوەیەکی نایاسایی بگیرێت یان دوور بخرێتەوە.",
    "هەموو کەسێک مافی ئەوەی هەیە ڕەگەزنامەی هەبێت و نابێت لێی بسەنرێتەوە.",
]
ENGLISH = (
    "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and "
    "should act towards one another in a spirit of brotherhood. Everyone has the right to life, liberty and security. "
)
TEXTS = {"sme": "\n".join(SAMI), "ckb": "\n".join(SORANI)}
PAIR = LanguagePair.parse("sme-ckb")
OF_BOTH = ("cld2", "heliport")


def detection(*detectors: str, pair: LanguagePair = PAIR) -> Detection:
    return Detection.for_pairs(detectors or ("cld2",), LanguagePairs((pair,)))


# the vote -------------------------------------------------------------------------------------------------------------


class Says:
    """A detector that gives one answer, or None."""

    def __init__(self, answer: str, knows: str) -> None:
        self.languages = frozenset(knows.split())
        self._answer = answer

    def identify(self, text: str) -> Identification:
        return Identification(self._answer, ((self._answer, 100),), True) if self._answer else NOTHING

    def confirms(self, text: str, language: str) -> bool:
        return True


VOTES = {
    "most": ([Says("eng", "eng fra"), Says("eng", "eng fra"), Says("fra", "eng fra")], "eng"),
    "first of equals": ([Says("fra", "eng fra"), Says("eng", "eng fra")], "fra"),
    "abstention": ([Says("", "eng"), Says("fra", "fra")], "fra"),
    "knows both": ([Says("fas", "fas"), Says("fas", "fas"), Says("ckb", "ckb fas")], "ckb"),
    "nobody knows both": ([Says("fas", "fas"), Says("sme", "sme")], "fas"),
    "a part of the other": ([Says("kur", "kur"), Says("ckb", "ckb")], "ckb"),
    "nothing": ([Says("", "eng"), Says("", "fra")], UNKNOWN),
}


@pytest.mark.parametrize(("detectors", "elected"), VOTES.values(), ids=VOTES)
def test_a_vote(detectors: list[Says], elected: str) -> None:
    assert Ensemble(detectors).identify(ENGLISH).language == elected


def test_the_ranges_of_a_text_are_its_shares() -> None:
    text = "e" * 3 * RANGE + "f" * RANGE + " " * RANGE
    found = by_ranges(text, lambda part: {"e": "eng", "f": "fra"}[part[0]])
    assert found == Identification("eng", (("eng", 60), ("fra", 20)), True)


# the detectors --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A fastText model with labels as GlotLID has them."""
    folder = tmp_path_factory.mktemp("fasttext")
    labels = {"sme_Latn": SAMI, "ckb_Arab": SORANI, "en": ENGLISH.split(". ")}
    lines = [f"__label__{label} {text}" for label, texts in labels.items() for text in texts for _ in range(20)]
    (folder / "texts").write_text("\n".join(lines), encoding="utf-8")
    chosen = {"dim": 8, "epoch": 20, "lr": 0.5, "minn": 1, "maxn": 3, "bucket": 2000, "thread": 1, "verbose": 0}
    fasttext.train_supervised(str(folder / "texts"), **chosen).save_model(str(folder / "model.bin"))
    return f"fasttext:{folder / 'model.bin'}"


@pytest.mark.parametrize(("language", "text"), TEXTS.items(), ids=TEXTS)
def test_what_cld2_does_not_know_others_do(language: str, text: str, model: str) -> None:
    assert BY_DEFAULT.identify(text).language != language
    for names in (("heliport",), OF_BOTH, (model,), ("cld2", model)):
        found = load_detector(names).identify(text)
        assert (found.language, found.reliable) == (language, True)


@pytest.mark.parametrize("names", [("cld2",), ("heliport",), OF_BOTH])
def test_english_stays_english(names: tuple[str, ...]) -> None:
    assert load_detector(names).identify(5 * ENGLISH).language == "eng"
    assert load_detector(names).identify("2024 | 12:30") == NOTHING


def test_a_declaration_does_not_count_against_a_heliport_that_is_confident() -> None:
    told = Detection(("heliport",), frozenset({"tum"}))
    assert told.identify(3 * ENGLISH, ("tum",)).language == "eng"
    assert told.identify("Wanthu wose wakubabika ŵali na wanangwa", ("tum",)).language == "tum"


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=1500))
def test_no_text_is_an_error(text: str) -> None:
    for lang, share in load_detector(OF_BOTH).identify(text).shares:
        assert len(lang) == 3
        assert 0 <= share <= 100


def test_a_model_reads_lines_and_what_is_no_text(model: str) -> None:
    assert load_detector((model,)).identify("\n\r\0\ud800".join(SAMI)).language == "sme"


def test_the_languages_that_detectors_know(model: str) -> None:
    assert known_languages((model,)) == {"sme", "ckb", "eng"}
    assert {"sme", "ckb", "eng", "zho"} <= known_languages(("heliport",))
    assert known_languages(("cld2",)).isdisjoint({"sme", "ckb"})
    assert known_languages(OF_BOTH) == known_languages(("cld2",)) | known_languages(("heliport",))


def test_the_table_of_the_docs_lists_what_is_known() -> None:
    table = Path(__file__).parent.parent / "docs" / "data" / "languages.tsv"
    _, *rows = table.read_text(encoding="utf-8").splitlines()
    assert {row.partition("\t")[0] for row in rows} == known_languages(OF_BOTH)


def test_a_heavy_detector_does_not_wear_helpers_out() -> None:
    """What it loads is no growth: the processes that have loaded it answer all jobs."""
    job = PageJob(ENGLISH.encode(), "text/html", "http://example.org/", detection=Detection(("heliport",)))
    jobs = [submit(job) for _ in range(4 * processes())]
    assert {found.result(120).language for found in jobs} == {"eng"}


# declarations ---------------------------------------------------------------------------------------------------------


def test_a_declaration_counts_where_detectors_cannot_know() -> None:
    for text, declared, language in (
        (TEXTS["ckb"], ("ckb", None), "ckb"), (SORANI[1], (None, "ckb"), "ckb"), (ENGLISH, ("fas",), "eng"),
        (TEXTS["sme"], ("eng", "sme"), "sme"), (TEXTS["sme"], ("sme",), "sme"), (3 * ENGLISH, ("ckb",), "eng"),
        (TEXTS["ckb"], (None, None), "kur"), (SORANI[1], ("fra",), "fas"),
    ):  # fmt: skip
        assert detection().identify(text, declared).language == language


def test_a_declaration_does_not_count_where_a_detector_can_know() -> None:
    knowing = detection(*OF_BOTH)
    assert not knowing.undetectable
    assert knowing.identify(TEXTS["ckb"], ("sme",)).language == "ckb"


def test_languages_that_count_as_one_are_detectable_together() -> None:
    assert not detection(pair=LanguagePair.parse("eng-hrv")).undetectable
    assert detection(pair=LanguagePair.parse("eng-sme", equivalents=["sme smj"])).undetectable == {"sme", "smj"}


# errors ---------------------------------------------------------------------------------------------------------------


def test_settings_that_name_no_detector() -> None:
    for value, message in (
        ("cld3", "choose one of cld2, heliport, fasttext, or give the path of a class"),
        ("", "choose one of cld2, heliport, fasttext, or several"),
        ("cld2,fasttext:nowhere.bin", "there is no such file"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            Options.of(Settings({"BILINGUAL_DETECTORS": value}))


def test_a_detector_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilingual_crawler.plugins.find_spec", lambda name: None if name == "heliport" else name)
    with pytest.raises(UsageError, match=r"heliport is missing: pip install 'bilingual-crawler\[languages\]'"):
        Options.of(Settings({"BILINGUAL_DETECTORS": "cld2,heliport"}))


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"no model")
    with pytest.raises(LanguageDetectorError, match=r"BILINGUAL_DETECTORS=.*model.bin is no model of fastText"):
        detection(f"fasttext:{tmp_path / 'model.bin'}")


# crawls ---------------------------------------------------------------------------------------------------------------

PAGES = len(SAMI)
ANNOUNCED = "/ckb/0.html"
STRAY = "/ckb/stray.html"
"""A page in English, which says that it is in Sorani."""


def site_of(*, declared: bool) -> dict[str, str]:
    """The same pages in Northern Sami and in Sorani, which say in which language they are, or do not.

    Of one that does not, only its translation does.
    """
    pages = {STRAY: f"<!doctype html><html lang=ckb><title>A</title><p>{3 * ENGLISH}"}
    for code, other, texts in (("se", "ckb", SAMI), ("ckb", "se", SORANI)):
        for number, text in enumerate(texts):
            path, twin = f"/{code}/{number}.html", f"/{other}/{number}.html"
            links = "".join(f"<a href=/{code}/{to}.html>{to}</a> " for to in range(PAGES))
            links += f"<link rel=alternate hreflang={other} href={twin}>" if declared else ""
            links += f"<a href={twin}>{other}</a> <a href={STRAY}>A</a>"
            lang = f" lang={code}" if declared and path != ANNOUNCED else ""
            head = f"<!doctype html><html{lang}><head><meta charset=utf-8><title>{text[:20]}</title></head>"
            pages[path] = f"{head}<body>{links}<p>{text} {texts[number - 1]}</p></body></html>"
    return pages


def crawl(folder: Path, site: Site, *more: str, start: str = "/se/0.html") -> Any:
    return crawls.crawl(folder, f"{site.url}{start}", *more, pair="sme-ckb")


@pytest.fixture(scope="module")
def declaring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Site, Any]]:
    folder = tmp_path_factory.mktemp("declaring")
    with serve(site_of(declared=True)) as site:
        yield folder, site, ended_well(crawl(folder, site, "-s", "BILINGUAL_BITEXT=tmx,jsonl", *ALIGNED))


ALL_PAIRS = {(f"/se/{number}.html", f"/ckb/{number}.html") for number in range(PAGES)}


@pytest.mark.slow
def test_all_pairs_by_a_detector_that_knows_the_languages(tmp_path: Path) -> None:
    with serve(site_of(declared=False)) as site:
        done = ended_well(crawl(tmp_path, site, "-s", "BILINGUAL_DETECTORS=cld2,heliport"))
    assert pairs(tmp_path, site) == ALL_PAIRS
    assert "does not know" not in done.stderr


def test_all_pairs_by_declaration(declaring: tuple[Path, Site, Any]) -> None:
    folder, site, done = declaring
    assert pairs(folder, site) == ALL_PAIRS
    assert f"{site.url}{STRAY}" not in documents(folder)
    assert "BILINGUAL_DETECTORS=cld2 does not know Northern Sami or" in done.stderr
    assert "extra languages" in done.stderr


def test_an_error_names_the_extra_where_nothing_can_tell(tmp_path: Path) -> None:
    def hidden(text: str) -> str:
        return text.replace("/se/", "/x/").replace("/ckb/", "/y/")

    with serve({hidden(path): hidden(html) for path, html in site_of(declared=False).items()}) as site:
        done = crawl(tmp_path, site, start="/x/0.html")
    assert done.returncode == 1
    assert "No page declares to be in Northern Sami" in done.stderr
    assert "extra languages" in done.stderr


@pytest.mark.slow
def test_align_reads_with_the_detectors_of_the_settings(declaring: tuple[Path, Site, Any], tmp_path: Path) -> None:
    folder, _, _ = declaring
    options = ("--out", "pairs.tsv", "--bitext", "bitext", "--method", "content", "-s", "BILINGUAL_DETECTORS=heliport")
    done = ended_well(run_scrapy(tmp_path, "align", str(folder / "out"), *options))
    assert f"{folder / 'out'} was crawled with BILINGUAL_DETECTORS=cld2" in done.stdout
    assert f"{PAGES} sme, {PAGES} ckb documents" in done.stdout
