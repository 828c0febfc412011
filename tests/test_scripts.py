"""Pairs of which a language has a script: pages and sentences in its other script are in another language."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.crawls import crawl, documents, each, ended_well, outcomes, refused, summary
from support.webserver import run_scrapy, serve

from bilingual_crawler.bitext.align import SentencePair
from bilingual_crawler.bitext.cleaning import Cleaner
from bilingual_crawler.languages.codes import LanguageError, LanguagePair, language_name, parse_language
from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.languages.scripts import SCRIPTS, script_of
from bilingual_crawler.mining.stored import AskedPairs
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.language import Detection
from bilingual_crawler.storage.records import read_tsv
from bilingual_crawler.storage.warc import VARIANT_FIELD, parse_head
from bilingual_crawler.urls.canonical import asked_language, variant
from bilingual_crawler.urls.marks import marked_language

CYRILLIC = "абвгдђежзијклљмнњопрстћуфхцчџш"
LATIN = re.split(" ", "a b v g d đ e ž z i j k l lj m n nj o p r s t ć u f h c č dž š")
UZBEK = "абвгдеёжзийклмнопрстуфхцчшъэюяқғҳў"
UZBEK_LATIN = re.split(" ", "a b v g d e yo j z i y k l m n o p r s t u f x s ch sh ʼ e yu ya q gʻ h oʻ")


def written(text: str, letters: str, others: list[str] | str) -> str:
    table = dict(zip(letters, others, strict=True))
    table |= {letter.upper(): other.capitalize() for letter, other in table.items()}
    return "".join(table.get(letter, letter) for letter in text)


ENGLISH = (
    "The library is open from Monday to Friday. Readers may take 3 books home, free of charge. Children under 12 need "
    "a card of their own, and their parents must sign it. On Saturday we read stories to the youngest. Magazines and "
    "newspapers can be read in the reading room only.",
    "The market opens at 7 in the morning. Farmers sell fresh apples and fish there. Many people come with their "
    "children and buy bread. At 12 the market closes, and everybody goes home. In winter it opens at 9.",
)
CHINESE = (
    "图书馆从星期一到星期五开放。读者可以免费把3本书借回家。12岁以下的儿童需要自己的借书证，父母必须签名。"
    "星期六我们给最小的孩子讲故事。杂志和报纸只能在阅览室里看。",
    "市场早上7点开门。农民们在那里卖新鲜的苹果和鱼。很多人带着孩子来买面包。12点市场关门，大家都回家。冬天9点开门。",
)
TAIWANESE = (
    "圖書館從星期一到星期五開放。讀者可以免費把3本書借回家。12歲以下的兒童需要自己的借書證，父母必須簽名。"
    "星期六我們給最小的孩子講故事。雜誌和報紙只能在閱覽室裡看。",
    "市場早上7點開門。農民們在那裡賣新鮮的蘋果和魚。很多人帶著孩子來買麵包。12點市場關門，大家都回家。冬天9點開門。",
)
SERBIAN = (
    "Библиотека је отворена од понедељка до петка. Читаоци могу бесплатно понети кући 3 књиге. Деци млађој од 12 "
    "година потребна је сопствена карта, коју родитељи морају да потпишу. Суботом читамо приче најмлађима. Часописи и "
    "новине могу се читати само у читаоници.",
    "Пијаца се отвара у 7 сати ујутру. Сељаци тамо продају свеже јабуке и рибу. Многи људи долазе са својом децом и "
    "купују хлеб. У 12 се пијаца затвара и сви иду кући. Зими се отвара у 9.",
)
UZBEK_TEXT = (
    "Кутубхона душанбадан жумагача очиқ. Ўқувчилар уйига 3 та китобни бепул олиб кетишлари мумкин. 12 ёшгача бўлган "
    "болаларга ўз гувоҳномаси керак ва уни ота-оналари имзолаши лозим. Шанба куни биз кичик болаларга эртаклар ўқиб "
    "берамиз. Журнал ва газеталарни фақат ўқув залида ўқиш мумкин.",
    "Бозор эрталаб соат 7 да очилади. Деҳқонлар у ерда янги олма ва балиқ сотадилар. Кўп одамлар болалари билан келиб "
    "нон сотиб оладилар. Соат 12 да бозор ёпилади ва ҳамма уйига кетади. Қишда у соат 9 да очилади.",
)
TEXTS = {
    "en": ENGLISH,
    "zh-Hans": CHINESE,
    "zh-Hant": TAIWANESE,
    "sr-Cyrl": SERBIAN,
    "sr-Latn": tuple(written(text, CYRILLIC, LATIN) for text in SERBIAN),
    "uz-Cyrl": UZBEK_TEXT,
    "uz-Latn": tuple(written(text, UZBEK, UZBEK_LATIN) for text in UZBEK_TEXT),
}


def site(texts: Mapping[str, tuple[str, ...]] = TEXTS) -> dict[str, str]:
    """A page of each text in each language and script, all of which announce each other."""
    pages = {}
    for number in range(len(ENGLISH)):
        alternates = "".join(f"<link rel=alternate hreflang={tag} href=/{tag.lower()}/{number}>" for tag in texts)
        for tag, versions in texts.items():
            sentences = versions[number].replace("。", "。\n").replace(". ", ".\n").split("\n")
            body = "".join(f"<p>{sentence}</p>" for sentence in sentences if sentence)
            links = "".join(f"<a href=/{tag.lower()}/{other}>{other}</a> " for other in range(len(ENGLISH)))
            pages[f"/{tag.lower()}/{number}"] = (
                f"<html lang={tag}><head><meta charset=utf-8>{alternates}<title>{number}</title></head>"
                f"<body><nav>{links}</nav><main>{body}</main></body></html>"
            )
    return pages


def detection(pairs: str) -> Detection:
    return Detection.for_pairs(("cld2",), LanguagePairs.parse(pairs))


# texts ----------------------------------------------------------------------------------------------------------------


def test_script_of_texts() -> None:
    for text, script in (
        *((text, tag.partition("-")[2] or "Latn") for tag, texts in TEXTS.items() for text in texts),
        *(("", None), ("2024, 12:30", None), ("中文", None)),
        ("中文網站 (library)", "Hant"),
        ("嘅啲咗 時間", "Hant"),
        ("The word 图书馆 is Chinese for library", "Latn"),
        ("讀書 (读)", "Hant"),
        ("ᠮᠣᠩᠭᠣᠯ ᠬᠡᠯᠡ", "Mong"),
        ("پنجابی زبان", "Arab"),
        ("ਪੰਜਾਬੀ ਭਾਸ਼ਾ", "Guru"),
        ("ᓄᓇᕗᑦ", "Cans"),
        ("ⵜⴰⵎⴰⵣⵉⵖⵜ", "Tfng"),
        ("ᱥᱟᱱᱛᱟᱲᱤ", "Olck"),
        ("မြန်မာဘာသာ", "Mymr"),
        ("ភាសាខ្មែរ", "Khmr"),
    ):
        assert script_of(text) == script


def test_every_script_has_a_name() -> None:
    names = {language_name(f"srp_{script}") for script in SCRIPTS}
    assert {parse_language(name).partition("_")[2] for name in names} == SCRIPTS


def test_detection_adds_the_script_only_where_a_pair_has_one() -> None:
    plain, scripted = detection("eng-zho"), detection("eng-zho_Hant")
    assert plain.identify_page(TAIWANESE).language == "zho"
    assert scripted.identify_page(TAIWANESE).language == "zho_Hant"
    found = scripted.identify_page(CHINESE, ("zho", "zho_Hant"))
    assert (found.language, found.shares[0][0]) == ("zho_Hans", "zho_Hans")
    assert scripted.identify_page(ENGLISH).language == "eng"


@pytest.mark.parametrize(("tag", "other"), [("sr-Latn", "sr-Cyrl"), ("uz-Cyrl", "uz-Latn"), ("zh-Hant", "zh-Hans")])
def test_pages_in_the_other_script_count_as_no_side(tag: str, other: str) -> None:
    pairs = LanguagePairs.parse(f"en,{tag}")
    found = Detection.for_pairs(("cld2",), pairs)
    sides = [pairs.side(found.identify_page(TEXTS[name]).language) for name in (tag, other)]
    assert sides == [pairs.languages[1], None]


def test_announcements_of_scripts() -> None:
    pair = LanguagePair.parse("eng-zho_Hant")
    tags = ("zh", "zh-Hant", "zh-TW", "zh-Hans", "zh-CN", "en")
    alternates = "".join(f"<link rel=alternate hreflang={tag} href=/{tag}>" for tag in tags)
    page = parse_page(f"<html><head>{alternates}</head><body>a</body></html>", "https://example.org/")
    announced = [link.url.rpartition("/")[2] for link in page.links if pair.is_other(link.hreflang, "eng")]
    assert announced == ["zh", "zh-Hant", "zh-TW"]


def test_variants_name_their_script() -> None:
    url = variant("https://example.org/page", "zho_Hant")
    assert asked_language(url) == "zho_Hant"
    assert marked_language(url, {"eng", "zho"}) == "zho_Hant"
    lines = ("WARC/1.0", "WARC-Type: response", "WARC-Target-URI: https://example.org/page", "Content-Length: 0")
    head = parse_head("\r\n".join((*lines, f"{VARIANT_FIELD}: zho_Hant", "", "")).encode())
    assert head
    assert head.url == url


@pytest.mark.parametrize(
    ("pair", "text", "reason"),
    [
        ("eng-zho_Hant", "圖書館從星期一到星期五開放。", ""),
        ("eng-zho_Hant", "图书馆从星期一到星期五开放。", "language"),
        ("eng-zho", "图书馆从星期一到星期五开放。", ""),
        ("eng-zho_Hant", "圖書館的閱覽室有 Microsoft Windows 和 Visual Studio 。", ""),
        ("eng-srp_Cyrl", "Biblioteka je otvorena od ponedeljka do petka.", "language"),
        ("eng-srp_Cyrl", "Библиотека је отворена од понедељка до петка.", ""),
        ("eng-srp_Latn", f"Biblioteka je otvorena od ponedeljka do petka, a {60 * 'da čitaju '}.", "length"),
    ],
)
def test_sentences_in_the_other_script_are_dropped(pair: str, text: str, reason: str) -> None:
    parsed = LanguagePairs.parse(pair)
    [one] = parsed
    found = SentencePair("The library is open from Monday to Friday.", text, 1.0, "0", "0", 0.9)
    assert Cleaner(one, Detection.for_pairs(("cld2",), parsed)).objection(found) == reason


def test_mining_does_not_tell_two_scripts_apart() -> None:
    assert str(AskedPairs("eng-zho_Hant", ()).among(["eng", "zho"])) == "eng-zho_Hant"
    assert str(AskedPairs("zho_Hant-*", ()).among(["eng", "zho"])) == "zho_Hant-eng"
    with pytest.raises(LanguageError, match="do not tell the scripts of zho apart"):
        AskedPairs("eng-zho_Hant,eng-zho_Hans", ()).among(["eng", "zho"])


# commands -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A crawl for one script of each language, and the address of its site."""
    folder = tmp_path_factory.mktemp("scripts")
    with serve(site()) as served:
        settings = each("-s", "BILINGUAL_BITEXT=moses", "BILINGUAL_ENCODER=", "BILINGUAL_ALIGN=auto")
        pair = "en-zh-Hant,eng-srp_Latn,eng-uzb_Cyrl"
        ended_well(crawl(folder, f"{served.url}/en/0", *settings, policy="", pair=pair))
        return folder, served.url


def test_a_crawl_takes_the_pages_in_the_script(crawled: tuple[Path, str]) -> None:
    folder, url = crawled
    counted = {"eng": 2, "zho_Hant": 2, "srp_Latn": 2, "uzb_Cyrl": 2}
    assert Counter(record["language"] for record in documents(folder).values()) == counted
    assert summary(folder)["documents"] == counted
    assert summary(folder)["pair"] == "eng-zho_Hant,eng-srp_Latn,eng-uzb_Cyrl"
    assert {path for path, outcome in outcomes(folder, url).items() if outcome == "document"} == {
        f"/{tag}/{number}" for tag in ("en", "zh-hant", "sr-latn", "uz-cyrl") for number in (0, 1)
    }
    pairs = [
        (row["pair"], row["url_a"].removeprefix(url), row["url_b"].removeprefix(url))
        for row in read_tsv(folder / "out" / "pairs.tsv")
    ]
    sides = {"zh-hant": "eng-zho_Hant", "sr-latn": "eng-srp_Latn", "uz-cyrl": "eng-uzb_Cyrl"}
    assert {*pairs} == {(pair, f"/en/{number}", f"/{tag}/{number}") for tag, pair in sides.items() for number in (0, 1)}


def test_bitext_of_a_crawl_is_in_the_script(crawled: tuple[Path, str]) -> None:
    folder, _ = crawled
    files = {path.name: path for path in (folder / "out").rglob("en-*.*") if not path.name.endswith((".en", ".ids"))}
    for name, script in (("zh_Hant", "Hant"), ("sr_Latn", "Latn"), ("uz_Cyrl", "Cyrl")):
        lines = files[f"en-{name}.{name}"].read_text(encoding="utf-8").splitlines()
        assert len(lines) >= 6
        assert {script_of(line) for line in lines} <= {script, None}


@pytest.mark.parametrize(
    ("pair", "tag"),
    [
        ("English,Simplified Chinese", "zh-hans"),
        ("eng-zho_Hant", "zh-hant"),
        ("eng-srp_Cyrl", "sr-cyrl"),
        ("English,Uzbek (Latin)", "uz-latn"),
    ],
)
def test_align_takes_the_pages_in_the_script(crawled: tuple[Path, str], tmp_path: Path, pair: str, tag: str) -> None:
    """From the archive, in which the pages in both scripts are."""
    folder, url = crawled
    archives = [str(path) for path in sorted((folder / "out").glob("*.warc.gz"))]
    out = tmp_path / "pairs.tsv"
    given = ("--pair", pair, "--editions", "all", "--out", str(out))
    result = ended_well(run_scrapy(tmp_path, "align", *archives, *given, "-s", "BILINGUAL_ENCODER="))
    found = {(row["url_a"].removeprefix(url), row["url_b"].removeprefix(url)) for row in read_tsv(out)}
    assert found == {(f"/en/{number}", f"/{tag}/{number}") for number in (0, 1)}
    # those in the other script are not even candidates
    _, language = LanguagePairs.parse(pair).languages
    assert f"2 pairs of 2 eng, 2 {language} documents" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("en-pt-BR", "'pt-BR' names BR, which cannot be told from the text of a page: write por"),
        ("English,Brazilian Portuguese", "'Brazilian Portuguese' names BR, which"),
        ("eng-zh_TW", "'zh_TW' names TW, which cannot be told from the text of a page: write zho_Hant"),
        ("eng-zho_Hani", "'zho_Hani' names Hani, which"),
    ],
)
def test_what_no_text_tells_is_refused(tmp_path: Path, pair: str, message: str) -> None:
    assert message in refused(tmp_path, "crawl", "bilingual", "-a", f"pair={pair}", "-a", "seeds=http://127.0.0.1:1/")
    assert message in refused(tmp_path, "align", str(tmp_path), "--pair", pair)
