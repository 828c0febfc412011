"""Several pairs of languages in one crawl: one download serves all, and each pair has its own one-to-one choice."""

import os
import re
import shutil
import signal
from collections import Counter
from operator import itemgetter
from pathlib import Path

import pytest
from support.crawls import each, refused, succeeds, summary
from support.webserver import html, serve, start_scrapy, varied

from bilingual_crawler.crawl.learner import Learner, news_fact, page_fact, relearn
from bilingual_crawler.frontier.budget import Bandit
from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.items import Pair
from bilingual_crawler.languages.codes import LanguageError, LanguagePair
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pages.model import Link, PageRecord
from bilingual_crawler.plugins import POLICIES
from bilingual_crawler.policies.base import Jointly
from bilingual_crawler.policies.gain import Gain
from bilingual_crawler.reporting.review import sheet_folders
from bilingual_crawler.storage.records import read_json_lines, read_tsv

HOST = "https://a.is"
PAGES = 6
LANGUAGES = {"en": "eng", "es": "spa", "mt": "mlt"}
ALL = {"eng-spa": PAGES + 1, "eng-mlt": PAGES + 1, "spa-mlt": PAGES + 1}


def site() -> dict[str, str]:
    """*PAGES* pages and an index in each of three languages, whose switchers lead to the two others."""
    pages = {"/": html("fi", "etusivu", "".join(f"<a href=/{code}/>{code}</a> " for code in LANGUAGES))}
    for code in LANGUAGES:
        for name in ("", *(f"page-{number}.html" for number in range(PAGES))):
            others = "".join(f"<a href=/{other}/{name}>{other}</a> " for other in LANGUAGES if other != code)
            listing = "".join(f"<a href=/{code}/page-{number}.html>{number}</a> " for number in range(PAGES))
            links = f"<nav class=language-switcher>{others}</nav>{'' if name else listing}"
            pages[f"/{code}/{name}"] = html(code, name or "index", links)
    return varied(pages)


def arguments(url: str, languages: str, *settings: str) -> tuple[str, ...]:
    given = each("-s", "BILINGUAL_OUTPUT_DIR=out", *settings)
    return ("crawl", "bilingual", *each("-a", languages, f"seeds={url}/"), *given)


def rows(folder: Path, name: str = "pairs.tsv") -> Counter[str]:
    """Rows of a table by pair of languages."""
    return Counter(row["pair"] for row in read_tsv(folder / name))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("three")
    with serve(site()) as served:
        outputs = ("BILINGUAL_BITEXT=moses", "BILINGUAL_ENCODER=", "BILINGUAL_ALIGN=auto")
        succeeds(folder, *arguments(served.url, "languages=en,es,mt", *outputs))
        assert max(served.asked.values()) == 1
    return folder / "out"


@pytest.fixture
def folder(crawled: Path, tmp_path: Path) -> Path:
    """A copy of the crawl's outputs."""
    shutil.copytree(crawled, tmp_path / "out")
    return tmp_path / "out"


# languages ------------------------------------------------------------------------------------------------------------


def test_pairs_are_listed_with_commas() -> None:
    for text, pairs in (
        ("eng-isl", "eng-isl"),
        ("en-is, Danish-English", "eng-isl,dan-eng"),
        ("English,Maltese", "eng-mlt"),
        ("zho_Hant,eng_Latn", "zho_Hant-eng_Latn"),
        ("eng-zho_Hans,eng-zho_Hant", "eng-zho_Hans,eng-zho_Hant"),
    ):
        assert str(LanguagePairs.parse(text)) == pairs


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (LanguagePairs.parse, "eng-isl,eng-eng", "a pair needs two languages, not English twice"),
        (LanguagePairs.parse, "eng-isl,isl-eng", "the pair eng-isl is given twice"),
        (LanguagePairs.parse, "eng-isl,eng-xyz", "unknown language 'xyz'"),
        (LanguagePairs.parse, "en-GB,fr-FR", "'en-GB' names GB, which cannot be told from the text"),
        (LanguagePairs.parse, "eng-zho,eng-zho_Hant", "zho includes zho_Hant: give zho alone, or each script"),
        (LanguagePairs.among, "eng,zho_Hans,zho_Hant", "Chinese is given twice"),
        (LanguagePairs.parse, "eng,isl,dan", "languages=eng,isl,dan for all pairs among these languages"),
        (LanguagePairs.among, "eng", "'eng' is one language: give at least two"),
        (LanguagePairs.among, "eng,isl,English", "English is given twice"),
        (LanguagePairs.among, "eng-isl", "names pairs: give pair=eng-isl"),
        (LanguagePairs.among, "eng-isl,fra-deu", "names pairs: give pair=eng-isl,fra-deu"),
        (LanguagePairs.among, "eng,isl,dan,fra,spa,deu,ita", "21 pairs are too many for one crawl: give at most 15"),
    ],
)
def test_what_makes_no_pairs_is_named(parse: object, text: str, message: str) -> None:
    with pytest.raises(LanguageError, match=re.escape(message)):
        parse(text)  # type: ignore[operator]


def test_a_page_counts_as_one_language_in_all_pairs() -> None:
    one = LanguagePairs.parse("eng-hrv")
    both = LanguagePairs.parse("eng-hrv,eng-srp")
    assert (one.side("bos"), one.side("srp")) == ("hrv", "hrv")
    assert (both.side("bos"), both.side("srp"), both.side("hrv")) == (None, "srp", "hrv")
    assert [pair.side("srp") for pair in both] == [None, "srp"]
    assert both.others("eng") == ("hrv", "srp")
    others = [both.is_other(language, of) for language, of in (("srp", "eng"), ("srp", "hrv"), (None, "eng"))]
    assert others == [True, False, False]
    assert (one.max_partners, both.max_partners) == (1, 2)


def test_two_scripts_of_a_language_are_two_languages_of_a_crawl() -> None:
    both = LanguagePairs.parse("eng-zho_Hans,eng-zho_Hant")
    assert (both.side("zho_Hant"), both.side("zho_Hans"), both.side("eng")) == ("zho_Hant", "zho_Hans", "eng")
    assert both.equivalents == {"eng", "zho"}
    assert both.others("eng") == ("zho_Hans", "zho_Hant")
    assert (both.is_other("zho_Hant", "zho_Hans"), both.is_other("zho_Hant", "eng")) == (False, True)


# learner, ledger, policy ----------------------------------------------------------------------------------------------


def page(path: str, language: str, *claims: Link, length: int = 500) -> PageRecord:
    return PageRecord(HOST + path, language, language, length=length, links=claims)


def gain(pairs: str) -> Jointly:
    return Jointly([Gain(pair) for pair in LanguagePairs.parse(pairs)])


def found(learner: Learner) -> dict[str, list[tuple[str, str]]]:
    return {
        str(pair): [(one.url_a.removeprefix(HOST), one.url_b.removeprefix(HOST)) for one in ledger.pairs()]
        for pair, ledger in learner.ledgers.items()
    }


def learn(learner: Learner, path: str, language: str, *claims: Link) -> list[Pair]:
    """The new pairs of a page."""
    return learner.observe_page(page(path, language, *claims), ())


def test_a_page_has_a_partner_in_each_language_but_one_only() -> None:
    learner = Learner(gain("eng-isl,eng-dan"))
    assert not learn(learner, "/is/um", "isl")
    (first,) = learn(learner, "/en/um", "eng")
    (second,) = learn(learner, "/da/um", "dan")
    assert (first.pair, second.pair) == ("eng-isl", "eng-dan")
    assert not learn(learner, "/um?lang=da", "dan")
    assert found(learner) == {"eng-isl": [("/en/um", "/is/um")], "eng-dan": [("/en/um", "/da/um")]}
    assert [one.url for ledger in learner.ledgers.values() for one in ledger.unpaired()] == [f"{HOST}/um?lang=da"]


def test_one_page_completes_a_pair_in_each_language_and_a_better_partner_counts_in_its_own_only() -> None:
    paid = []

    class Told(Bandit):
        """The budget learns the sum."""

        def observe_download(self, site: str, pairs: float, priority: float) -> None:
            paid.append(pairs)

    learner = Learner(gain("eng-isl,eng-dan"), Told(promises=2))
    for path, language in (("/is/um", "isl"), ("/da/um", "dan"), ("/en/um", "eng")):
        learn(learner, path, language)
    assert paid == [0, 0, 2]
    announced = Link(f"{HOST}/en/um", hreflang="eng", alternate=True)
    (better,) = learn(learner, "/is/sida", "isl", announced)
    assert better.method == "hreflang"
    assert found(learner) == {"eng-isl": [("/en/um", "/is/sida")], "eng-dan": [("/en/um", "/da/um")]}


def test_the_worth_of_a_url_is_the_sum_over_the_pairs() -> None:
    pairs = LanguagePairs.parse("eng-isl,eng-dan")
    both, alone = Learner(gain("eng-isl,eng-dan")), [Learner(Gain(pair)) for pair in pairs]
    links = [Link(f"{HOST}/en/um", "About us"), Link(f"{HOST}/is/nytt", "Nýtt")]
    english = f"{HOST}/en/um"
    for learner in (both, *alone):
        for path, language in (("/is/um", "isl"), ("/da/um", "dan")):
            seen = PageRecord(HOST + path, language, learner.pairs.side(language), length=500)
            learner.observe_page(seen, links)
            learner.policy.priorities(seen, links, None)
    weighed = both.policy.reconsider(english, 0.0)
    assert weighed == pytest.approx(sum(learner.policy.reconsider(english, 0.0) for learner in alone))
    assert weighed > 1
    # nothing new for any pair, then news for one of two
    assert both.policy.priorities(page("/is/x", "isl"), links, None) == [NEVER, NEVER]
    news = Link(f"{HOST}/en/um", label="dan", text="Dansk")
    assert both.policy.priorities(page("/is/um", "isl"), [news], None) == [both.policy.reconsider(english, 0.0)]


@pytest.mark.parametrize("name", sorted(POLICIES.built_in.keys() - {"gain", "oracle", "smart"}))
def test_other_policies_order_the_links_of_any_of_the_languages(name: str) -> None:
    policy = Jointly([POLICIES.find(name)(pair) for pair in LanguagePairs.parse("eng-isl,eng-dan")])
    danish, french = page("/da/um", "dan"), PageRecord(f"{HOST}/fr/um", "fra", None)
    links = [Link(f"{HOST}/en/um"), Link(f"{HOST}/is/um"), Link(f"{HOST}/da/nyt")]
    priorities = policy.priorities(danish, links, None)
    assert len(priorities) == 3
    assert NEVER not in priorities
    assert policy.expands(danish)
    assert policy.expands(french) == POLICIES.find(name)(LanguagePair("eng", "isl")).expands(french)
    for link, priority in zip(links, priorities, strict=True):
        assert policy.reconsider(link.url, priority) == priority


def test_a_resume_learns_the_same() -> None:
    before = Learner(gain("eng-isl,eng-dan"))
    facts = []
    switch = Link(f"{HOST}/da/2", hreflang="dan", alternate=True)
    links = [Link(f"{HOST}/en/2", "two"), switch]
    for path, language in (("/is/1", "isl"), ("/da/1", "dan"), ("/en/1", "eng"), ("/fr/1", "fra")):
        seen = PageRecord(HOST + path, language, before.pairs.side(language), length=500, links=(switch,))
        before.observe_page(seen, links)
        facts.append((seen.url, page_fact(seen, links, before.pairs)))
        priorities = before.policy.priorities(seen, links, None)
        news = [link for link, priority in zip(links, priorities, strict=True) if priority != NEVER]
        facts.append((seen.url, news_fact(seen, news)))
    queued = [link.url for link in links]
    after = Learner(gain("eng-isl,eng-dan"))
    assert len(list(relearn(after, facts, iter(queued)))) == 2
    assert found(after) == found(before)
    for url in queued:
        assert after.policy.reconsider(url, 0.0) == before.policy.reconsider(url, 0.0) > 0


# crawls ---------------------------------------------------------------------------------------------------------------


def test_one_crawl_finds_the_pairs_of_all_languages(crawled: Path) -> None:
    assert rows(crawled) == ALL
    for row in read_tsv(crawled / "pairs.tsv"):
        first, second = row["pair"].split("-")
        assert [LANGUAGES[row[side].split("/")[3]] for side in ("url_a", "url_b")] == [first, second]
    documents = Counter(record["language"] for record in read_json_lines(crawled / "documents.jsonl.gz"))
    assert documents == dict.fromkeys(LANGUAGES.values(), PAGES + 1)


def test_summary_report_and_bitext_are_by_pair(crawled: Path) -> None:
    told = summary(crawled.parent)
    assert told["pair"] == "eng-spa,eng-mlt,spa-mlt"
    assert {name: counts["pairs"] for name, counts in told["by_pair"].items()} == ALL
    assert told["pairs"] == sum(ALL.values())
    assert told["left_over"] == 0
    assert told["harvest_rate"] == round(3 * (PAGES + 1) / told["fetched"], 4)
    report = (crawled / "report.html").read_text()
    assert "Parallel documents in English, Spanish and Maltese" in report
    pairs = ["English and Maltese", "English and Spanish", "Spanish and Maltese"]
    assert re.findall(r"<h2>Pairs: (.*?)</h2>", report) == pairs
    assert {path.name for path in (crawled / "bitext").glob("*.ids")} == {"en-es.ids", "en-mt.ids", "es-mt.ids"}


def test_the_report_of_a_folder_counts_the_same(folder: Path) -> None:
    before = summary(folder.parent)
    said = succeeds(folder.parent, "report", "out")
    assert f"pairs (eng-spa {PAGES + 1}, eng-mlt {PAGES + 1}, spa-mlt {PAGES + 1})" in said
    assert summary(folder.parent) == before


def test_align_picks_pairs_and_keeps_the_rows_of_others(folder: Path) -> None:
    parent, out = folder.parent, folder / "pairs.tsv"
    succeeds(parent, "align", "out", "--pair", "spa-mlt,eng-mlt", "--out", "some.tsv", "--review", "review")
    assert rows(parent, "some.tsv") == {"spa-mlt": PAGES + 1, "eng-mlt": PAGES + 1}
    assert [sheet.name for sheet in sheet_folders(parent / "review")] == ["eng-mlt", "spa-mlt"]
    anew = ("align", "out", "--pair", "eng-spa", "--method", "url", "--out", str(out))
    assert f"{2 * (PAGES + 1)} pairs of other languages stay in" in succeeds(parent, *anew)
    assert rows(folder) == ALL
    pairs = out.read_text()
    (folder / "unpaired.tsv").write_text("url\treason\tnearest\tscore\tpair\na\tlow_score\tb\t0,5\tspa-mlt\n")
    assert "unpaired.tsv cannot be read: could not convert" in refused(parent, *anew)
    assert out.read_text() == pairs


def test_the_other_order_of_two_languages_is_no_other_pair(folder: Path) -> None:
    parent, out = folder.parent, folder / "pairs.tsv"
    succeeds(parent, "align", "out", "--pair", "spa-eng", "--method", "url", "--out", str(out))
    found = rows(folder)
    assert "eng-spa" not in found
    assert found["spa-eng"] == PAGES + 1
    turned = list(read_tsv(out))
    assert "eng-spa" not in rows(folder, "unpaired.tsv")
    assert "No eng-spa pair was found" not in succeeds(parent, "report", "out")
    assert summary(parent)["by_pair"].keys() == {"spa-eng", "eng-mlt", "spa-mlt"}
    assert "its pairs are taken" in succeeds(parent, "align", "out", "--out", str(out))
    turned = [row | {"url_a": row["url_b"], "url_b": row["url_a"]} for row in turned if row["pair"] == "spa-eng"]
    again = [row | {"pair": "spa-eng"} for row in read_tsv(out) if row["pair"] == "eng-spa"]
    order = itemgetter("url_a")
    assert sorted(again, key=order) == sorted(turned, key=order)


def test_a_score_on_the_command_line_is_not_that_of_the_crawl(folder: Path) -> None:
    parent = folder.parent
    assert "its pairs are taken" in succeeds(parent, "align", "out", "--out", "taken.tsv")
    said = succeeds(parent, "align", "out", "--out", "anew.tsv", "-s", "BILINGUAL_MIN_SCORE=1")
    assert "its pairs are taken" not in said
    assert all(float(row["score"]) == 1 for row in read_tsv(parent / "anew.tsv"))


def test_align_reads_pages_in_a_language_that_the_crawl_was_not_asked_for(tmp_path: Path) -> None:
    with serve(site()) as served:
        succeeds(tmp_path, *arguments(served.url, "pair=eng-spa"))
    assert rows(tmp_path / "out") == {"eng-spa": PAGES + 1}
    command = ("align", "out", "--pair", "eng-mlt", "--out", "out/pairs.tsv")
    # as an older crawl has written it
    pairs = tmp_path / "out/pairs.tsv"
    pairs.write_text("".join(line.rpartition("\t")[0] + "\n" for line in pairs.read_text().splitlines()))
    succeeds(tmp_path, *command)
    assert rows(tmp_path / "out") == {"eng-spa": PAGES + 1, "eng-mlt": PAGES + 1}
    for archive in (tmp_path / "out").glob("*.warc.gz"):
        archive.unlink()
    said = refused(tmp_path, *command)
    assert f"{PAGES + 1} pages in a language of eng-mlt were no documents, and there is no archive of them" in said


def test_a_killed_crawl_goes_on_and_other_pairs_are_refused(tmp_path: Path) -> None:
    with serve(site(), delay=0.05) as served:
        process = start_scrapy(tmp_path, *arguments(served.url, "pair=eng-spa,eng-mlt", "JOBDIR=job"))
        served.wait_until_asked(12)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        said = refused(tmp_path, *arguments(served.url, "pair=eng-spa", "JOBDIR=job"))
        assert "holds a crawl with pair=eng-spa,eng-mlt, not eng-spa: give those pairs" in said
        # the order of the pairs is no difference
        succeeds(tmp_path, *arguments(served.url, "pair=eng-mlt,eng-spa", "JOBDIR=job"))
    assert rows(tmp_path / "out") == {"eng-spa": PAGES + 1, "eng-mlt": PAGES + 1}
    assert summary(tmp_path)["left_over"] == 0


@pytest.mark.parametrize(
    ("spider", "given", "message"),
    [
        ("bilingual", ("pair=eng-isl,eng-eng",), "pair=eng-isl,eng-eng: a pair needs two languages, not English twice"),
        ("bilingual", ("languages=eng,isl,eng",), "languages=eng,isl,eng: English is given twice"),
        ("bilingual", ("pair=eng-isl", "languages=eng,dan"), "pair=eng-isl, languages=eng,dan: give one of the two"),
        ("discovery", ("pair=eng-isl,eng-dan",), "sites are looked for by one pair; give one"),
    ],
)
def test_wrong_pairs_are_named_at_the_start(tmp_path: Path, spider: str, given: tuple[str, ...], message: str) -> None:
    assert message in refused(tmp_path, "crawl", spider, *each("-a", *given, "seeds=http://127.0.0.1:9/"))
