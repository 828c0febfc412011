"""Where pages come from and what they opt out of: right in every output of a crawl, and whatever a site sends."""

import base64
import gzip
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from lxml import etree
from support.costs import processor_seconds, within
from support.crawls import each, ended_well
from support.redis_server import redis_server
from support.scripted import Answer, Scripted, scripted, several
from support.tables import json_lines
from support.webserver import run_scrapy

from bilingual_crawler.bitext.exports import DocumentPair
from bilingual_crawler.bitext.personal import MAX_MASKED, PersonalData
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.origin import FACTS, MAX_RULES, Origin, declared_for, rules_in
from bilingual_crawler.storage.records import read_json_lines, read_tsv

SUBJECTS = (
    "farmer granjero, teacher maestro, doctor médico, painter pintor, baker panadero, soldier soldado, "
    "singer cantante, lawyer abogado, fisherman pescador, carpenter carpintero, journalist periodista, "
    "priest sacerdote, shepherd pastor, cook cocinero, sailor marinero"
)
OBJECTS = (
    "bridge puente, garden jardín, harbour puerto, castle castillo, forest bosque, market mercado, museum museo, "
    "village pueblo, road camino, river río, palace palacio, theatre teatro, hospital hospital, cemetery cementerio, "
    "train tren"
)
FRAMES = (
    (
        "The {} wrote a long letter about the {} of his parents.",
        "In winter no {} could see the old {} from the window.",
        "Yesterday our {} bought a map of the {} for his friends.",
        "Nobody asked whether that {} had ever painted a {} before.",
    ),
    (
        "El {} escribió una carta larga sobre el {} de sus padres.",
        "En invierno ningún {} podía ver el viejo {} desde la ventana.",
        "Ayer nuestro {} compró un mapa del {} para sus amigos.",
        "Nadie preguntó si aquel {} había pintado antes un {}.",
    ),
)


def sentences(number: int, side: int) -> list[str]:
    """The sentences of page *number* in English (0) or Spanish (1); no two pages share one."""
    subjects, objects = ([pair.split()[side] for pair in words.split(", ")] for words in (SUBJECTS, OBJECTS))
    chosen = (objects[(3 * place + number) % len(objects)] for place in range(len(FRAMES[side])))
    return [frame.format(subjects[number], one) for frame, one in zip(FRAMES[side], chosen, strict=True)]


INJECTED = 'Ana\t"<b>&amp;\x01]]>\u202eEvil\r\n</prop>'
"""What comes of it: tabs and line breaks become blanks, invisible characters are left out."""
CLEAN = 'Ana "<b>&]]>Evil </prop>'
LICENCE = "https://creativecommons.org/licenses/by-sa/4.0/"
HEADS = {
    "author": f"<meta name=author content='{INJECTED}'>",
    "personal": "<meta name=author content='Ana (ana@example.org)'><script type='application/ld+json'>"
    '{"@type": "Book", "translator": {"name": "ana@example.org"}}</script>',
    "dates": '<meta property="article:published_time" content="2024-02-03T10:00:00+01:00">'
    '<script type="application/ld+json">{"@type": "NewsArticle", "dateModified": "2024-03-04"}</script>',
    "plugin": '<script src="https://cdn.weglot.com/weglot.min.js"></script>',
    "noai-meta": "<meta name=robots content='noai'>",
    "noarchive": "<meta name=robots content='NoArchive, noimageai'>",
    "tdm-meta": "<meta name=tdm-reservation content=1><meta name=tdm-policy content='/policy.json'>",
    "free/tdm": "<meta name=tdm-reservation content=0>",
}
"""Name of a page in both languages -> what its head has."""
HEADERS = {
    "noai-header": {"X-Robots-Tag": "noai"},
    "tdm-header": {"tdm-reservation": "1", "tdm-policy": "https://example.org/p"},
}
RESERVED = dict.fromkeys(("noai-meta", "noai-header"), "noai")
RESERVED |= dict.fromkeys(("tdm-meta", "tdm-header", "filed/a"), "tdm-reservation")
NAMES = ("plain", "licence", "text", "machine", "filed/a", *HEADS, *HEADERS)
TDM_RULES = [
    {"location": "/*/filed/", "tdm-reservation": 1, "tdm-policy": "/policies/1"},
    {"location": "/*/free/*", "tdm-reservation": 1},
    {"location": "/*/plain$", "tdm-reservation": 0},
]
FOOTERS = {
    "licence": f"<a rel=license href='{LICENCE}'>licence</a>",
    "text": "<p>Unless noted, CC BY 4.0 applies.</p>",
    "personal": "<p>Unless ana@example.org says no, CC BY 4.0 applies.</p>",
}


def body(name: str, language: str) -> str:
    side = ("en", "es").index(language)
    lines = sentences(NAMES.index(name), side)
    if name == "personal":
        lines.append(("Write to ana@example.org now.", "Escriba a ana@example.org ahora.")[side])
        lines.append(("Please call +34 912 345 678 today.", "Llame al +34 912 345 678 hoy mismo.")[side])
    links = "".join(f"<a href=/{language}/{one}>{one}</a> " for one in NAMES) if name == "plain" else ""
    other = ("es", "en")[side]
    marks = "class=translated-ltr" if (name, language) == ("machine", "es") else ""
    return (
        f"<!doctype html><html lang={language}-GB {marks}><head><meta charset=utf-8><title>{name} {language}</title>"
        f"{HEADS.get(name, '')}<link rel=alternate hreflang={other} href=/{other}/{name}></head>"
        f"<body><nav>{links}</nav><main><h1>{name}</h1>{''.join(f'<p>{line}</p>' for line in lines)}</main>"
        f"<footer>{FOOTERS.get(name, '')}</footer></body></html>"
    )


def answer(path: str) -> Answer:
    language, _, name = path[1:].partition("/")
    if path == "/.well-known/tdmrep.json":
        return Answer(json.dumps(TDM_RULES), kind="application/json")
    if language in ("en", "es") and name in NAMES:
        return Answer(body(name, language), headers={"ETag": '"1"', **HEADERS.get(name, {})})
    return Answer(status=404)


ALIGNED = "BILINGUAL_ALIGN=auto"


def outcomes_of(folder: Path, url: str) -> dict[str, str]:
    """The outcome of each page of a site by language and name."""
    rows = [row for row in read_tsv(folder / "crawl.tsv") if row["url"].startswith(url)]
    return {row["url"].removeprefix(f"{url}/"): row["outcome"] for row in rows}


def crawl(folder: Path, url: str, *settings: str, others: Iterable[str] = ()) -> dict[str, str]:
    """Crawl into *folder*, without the alignment at the end unless *settings* have it; the outcomes of *url*."""
    chosen = (f"BILINGUAL_OUTPUT_DIR={folder}", "BILINGUAL_ENCODER=", "BILINGUAL_STALE_PAGES=0", *settings)
    seeds = ",".join(f"{site}/en/plain" for site in (url, *others))
    arguments = ("-a", "pair=eng-spa", "-a", f"seeds={seeds}", *each("-s", *chosen))
    assert "Traceback" not in ended_well(run_scrapy(folder.parent, "crawl", "bilingual", *arguments)).stderr
    return outcomes_of(folder, url)


def documents(folder: Path, url: str) -> dict[str, dict[str, Any]]:
    return {record["url"].removeprefix(f"{url}/"): record for record in read_json_lines(folder / "documents.jsonl.gz")}


@pytest.fixture
def site() -> Iterator[Scripted]:
    with scripted(answer) as site:
        yield site


EXPECTED: dict[str, dict[str, str]] = {
    "en/plain": {},
    "en/author": {"author": CLEAN},
    "en/personal": {
        **{"author": "Ana (ana@example.org)", "translator": "ana@example.org"},
        "licence": "footer Unless ana@example.org says no, CC BY 4.0 applies.",
    },
    "en/dates": {"published": "2024-02-03", "modified": "2024-03-04"},
    "en/licence": {"licence": f"rel=license {LICENCE}"},
    "en/text": {"licence": "footer Unless noted, CC BY 4.0 applies."},
    "en/plugin": {"offers_translation": "weglot"},
    "en/machine": {},
    "es/machine": {"machine_translated": "google-translate"},
    "en/noai-meta": {"opt_outs": "noai"},
    "en/noai-header": {"opt_outs": "noai"},
    "en/noarchive": {"opt_outs": "noarchive noimageai"},
    "en/tdm-meta": {"opt_outs": "tdm-reservation", "tdm_policy": "{url}/policy.json"},
    "en/tdm-header": {"opt_outs": "tdm-reservation", "tdm_policy": "https://example.org/p"},
    "en/filed/a": {"opt_outs": "tdm-reservation", "tdm_policy": "{url}/policies/1"},
    "en/free/tdm": {},
}


def facts(record: Mapping[str, Any]) -> dict[str, str]:
    return {name: record[name] for name in FACTS if record.get(name) and name not in ("fetched_at", "locale")}


def test_each_fact_is_in_every_output(tmp_path: Path, site: Scripted) -> None:
    out = tmp_path / "out"
    formats = "bitextor,tmx,moses,jsonl,parquet,documents,documents-parquet,monolingual"
    outcomes = crawl(out, site.url, ALIGNED, "BILINGUAL_TDM=record", f"BILINGUAL_BITEXT={formats}")
    expected = {
        page: {name: value.replace("{url}", site.url) for name, value in known.items()}
        for page, known in EXPECTED.items()
    }
    assert {outcomes[page] for page in expected} == {"document"}
    held = documents(out, site.url)
    assert {page: facts(held[page]) for page in expected} == expected
    assert {record["locale"] for record in held.values()} == {"en-GB", "es-GB"}
    assert not set(FACTS) - {"fetched_at", "locale"} & held["en/plain"].keys(), "no empty columns"

    by_url = {record["url"]: facts(record) for record in held.values()}
    lines = json_lines(out / "bitext" / "en-es.jsonl.gz")
    whole = json_lines(out / "bitext" / "en-es.documents.jsonl.gz")
    assert len({row["url"]["en"] for row in lines}) == len(whole) == len(NAMES)
    for row in (*lines, *whole):
        for language, url in row["url"].items():
            assert facts({name: row[name][language] for name in FACTS}) == by_url[url]
            assert row["fetched_at"][language] == held[url.removeprefix(f"{site.url}/")]["fetched_at"]
    assert len({tuple(row) for row in lines}) == 1, "readers take the keys from the first line"
    directions = {row["url"]["en"].removeprefix(f"{site.url}/en/"): row["direction"] for row in lines}
    assert {name: direction for name, direction in directions.items() if direction} == {"machine": "en-es"}
    assert {row["url"]["en"].removeprefix(f"{site.url}/en/"): row["direction"] for row in whole} == directions
    personal = {row["personal"]: row["translation"]["es"] for row in lines if row["personal"]}
    assert personal.keys() == {"email", "phone"}
    assert "ana@example.org" in personal["email"]

    table = pq.read_table(out / "bitext" / "en-es.parquet").to_pylist()
    for row, line in zip(table, lines, strict=True):
        for language in ("en", "es"):
            own = {name: row[f"{name}_{language}"] or "" for name in FACTS}
            assert own == {name: line[name][language] for name in FACTS}
        assert (row["direction"] or "", row["personal"] or "") == (line["direction"], line["personal"])
    assert table[0]["tdm_policy_en"] != ""
    table = pq.read_table(out / "bitext" / "en-es.documents.parquet").to_pylist()
    for row, line in zip(table, whole, strict=True):
        for name in line.keys() - {"document_score", "beads"}:
            if isinstance(line[name], dict):
                assert line[name] == {side: row[f"{name}_{side}"] or "" for side in line[name]}
            else:
                assert line[name] == (row[name] or "")
    alone = json_lines(out / "bitext" / "en-es.monolingual.jsonl.gz")
    assert {row["url"]: facts(row) for row in alone} == by_url
    assert all(row["paired"] for row in alone)

    tree = etree.fromstring(gzip.decompress((out / "bitext" / "en-es.tmx.gz").read_bytes()))
    for unit, line in zip(tree.iter("tu"), lines, strict=True):
        for variant, language in zip(unit.iter("tuv"), ("en", "es"), strict=True):
            props = {prop.get("type"): prop.text for prop in variant.iter("prop")}
            assert facts(props) == facts({name: line[name][language] for name in FACTS})
            assert props["source-document"] == line["url"][language]
        assert unit.xpath("string(prop[@type='direction'])") == line["direction"]
        assert unit.xpath("string(prop[@type='personal'])") == line["personal"]

    records = _table(out / "bitext" / "en-es.documents.gz")
    assert len(records) == len(NAMES)
    for record in records:
        for side in ("src", "trg"):
            assert facts({name: record[f"{side}_{name}"] for name in FACTS}) == by_url[record[f"{side}_url"]]
    records = _table(out / "bitext" / "en-es.sent.gz")
    assert [record["personal"] for record in records] == [line["personal"] for line in lines]

    summary = json.loads((out / "summary.json").read_text())
    counted = {"noai": 4, "noarchive": 2, "noimageai": 2, "tdm-reservation": 6}
    assert summary["opt_outs"] == dict(sorted(counted.items(), key=lambda item: -item[1]))

    masked = tmp_path / "masked"
    options = f"--out pairs.tsv --mask-personal --formats {formats},monolingual-parquet -s BILINGUAL_ENCODER=".split()
    ended_well(run_scrapy(tmp_path, "align", str(out), "--bitext", str(masked), *options))
    again = json_lines(masked / "en-es.jsonl.gz")
    assert {row["personal"]: row["translation"] for row in again if row["personal"]} == {
        "email": {"en": "Write to __EMAIL__ now.", "es": "Escriba a __EMAIL__ ahora."},
        "phone": {"en": "Please call __PHONE__ today.", "es": "Llame al __PHONE__ hoy mismo."},
    }
    names = (*FACTS, "direction", "direction_evidence")
    before, after = ({json.dumps([row[name] for name in names]) for row in rows} for rows in (lines, again))
    assert after == {one.replace("ana@example.org", "__EMAIL__") for one in before}
    records = _table(masked / "en-es.documents.gz")
    texts = [base64.b64decode(record[side]) for record in records for side in ("src_doc", "trg_doc")]
    texts += [gzip.decompress(path.read_bytes()) for path in masked.glob("*.gz")]
    texts += [str(pq.read_table(path).to_pylist()).encode() for path in masked.glob("*.parquet")]
    texts += [path.read_bytes() for path in masked.iterdir() if path.suffix not in (".gz", ".parquet")]
    assert not [text for text in texts if b"ana@" in text or b"912 345" in text]


def test_the_beginning_of_a_long_line_is_masked_and_stays() -> None:
    personal = PersonalData(("eng", "isl"))
    sentence = "Write to jon@example.is, or call +354 525 4000. "
    first, last = personal.mask_lines(["Short.", sentence * 5000, "More."])
    assert first == "Short."
    assert last.count("Write to __EMAIL__, or call __PHONE__.") == len(last + " ") // 39 == 199_994 // len(sentence)
    assert not set("@+5") & set(last)
    assert personal.mask_lines(["x" * 300_000, "More."]) == []
    assert len(personal.mask_lines(["x" * (MAX_MASKED // 4)] * 40)) == 4


def _table(path: Path) -> list[dict[str, str]]:
    header, *rows = (line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().rstrip("\n").split("\n"))
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_a_reservation_is_respected_in_crawl_recrawl_and_replay(tmp_path: Path, site: Scripted) -> None:
    def check(folder: Path, outcomes: dict[str, str]) -> None:
        assert {page: outcome for page, outcome in outcomes.items() if page.startswith(("en/", "es/"))} == {
            f"{language}/{name}": RESERVED.get(name, "document") for language in ("en", "es") for name in NAMES
        }
        assert documents(folder, site.url).keys() == {page for page in outcomes if outcomes[page] == "document"}
        summary = json.loads((folder / "summary.json").read_text())
        assert summary["dropped"]["tdm-reservation"] == 6
        assert summary["dropped"]["noai"] == summary["opt_outs"]["noai"] == 4
        assert summary["opt_outs"]["noarchive"] == 2

    first = tmp_path / "first"
    check(first, crawl(first, site.url, ALIGNED))
    assert site.paths().count("/.well-known/tdmrep.json") == 1
    pairs = (first / "pairs.tsv").read_text()
    assert "tdm-meta" not in pairs
    assert "noarchive" in pairs
    again, replayed = tmp_path / "again", tmp_path / "replayed"
    check(again, crawl(again, site.url, f"BILINGUAL_KNOWN={first}"))
    assert json.loads((again / "summary.json").read_text())["known"]["unchanged"] == 2 * len(NAMES)
    check(replayed, crawl(replayed, site.url, f"BILINGUAL_REPLAY={first}"))


def test_resumed_and_shared_crawls_respect_a_reservation(tmp_path: Path, site: Scripted) -> None:
    out, job = tmp_path / "out", f"JOBDIR={tmp_path / 'job'}"
    crawl(out, site.url, job, "CLOSESPIDER_PAGECOUNT=6")
    assert len(documents(out, site.url)) < 2 * (len(NAMES) - len(RESERVED))
    outcomes = crawl(out, site.url, job)
    assert reserved(outcomes) == RESERVED
    with redis_server(tmp_path) as server:
        assert crawl(tmp_path / "shared", site.url, f"BILINGUAL_FRONTIER={server.url}") == outcomes


def reserved(outcomes: Mapping[str, str]) -> dict[str, str]:
    return {page.partition("/")[2]: outcome for page, outcome in outcomes.items() if outcome in RESERVED.values()}


HOSTILE = {
    "too long": Answer(json.dumps([{"location": "/", "tdm-reservation": 1}] * 20_000), kind="application/json"),
    "deep": Answer("[" * 400_000, kind="application/json"),
    "a page": Answer("<html><h1>Not found</h1>", kind="text/html"),
    "a loop": Answer(status=302, headers={"Location": "/.well-known/tdmrep.json"}),
    "broken": Answer(raw=[b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n[{"]),
    "an error": Answer(status=503),
}


def test_a_hostile_or_forbidden_tdmrep_json_blocks_nothing(tmp_path: Path) -> None:
    def hostile(kind: str, path: str) -> Answer:
        if path == "/robots.txt" and kind == "forbidden":
            return Answer("User-agent: *\nDisallow: /.well-known/")
        return HOSTILE[kind] if path == "/.well-known/tdmrep.json" and kind in HOSTILE else answer(path)

    kinds = (*HOSTILE, "forbidden")
    with several(partial(hostile, kind) for kind in kinds) as sites:
        began = time.monotonic()
        crawl(tmp_path / "out", sites[0].url, others=[site.url for site in sites[1:]])
        assert time.monotonic() - began < 180
    for kind, site in zip(kinds, sites, strict=True):
        outcomes = outcomes_of(tmp_path / "out", site.url)
        assert reserved(outcomes) == {name: found for name, found in RESERVED.items() if name != "filed/a"}, kind
        assert outcomes["en/filed/a"] == "document", kind
        assert site.paths().count("/.well-known/tdmrep.json") in ((0,) if kind == "forbidden" else range(1, 7)), kind


def test_locations_match_as_in_robots_txt() -> None:
    matching = "/ /a, /a /ab, /a$ /a, /*.html$ /x/y.html, /*/b /a/b/c, * /anything, /%C3%B1 /ñ, /a%24 /a$"
    others = "/a$ /ab, /*.html$ /x/y.html?z, /a*a$ /a, /b /a/b"
    for cases, reserved in ((matching, True), (others, None)):
        for location, path in map(str.split, cases.split(", ")):
            rules = rules_in(json.dumps([{"location": location, "tdm-reservation": 1}]).encode(), "https://a.org/")
            assert declared_for(f"https://a.org{path}", rules).reserved is reserved, (location, path)


def test_the_first_rule_that_matches_counts_and_a_policy_is_an_address() -> None:
    given = [
        {"location": "/free/", "tdm-reservation": 0},
        {"location": "/", "tdm-reservation": 1, "tdm-policy": "javascript:alert(1)"},
        {"location": 3, "tdm-reservation": 1},
        {"location": "/half a character: \ud800", "tdm-reservation": 1},
        {"location": "/", "tdm-reservation": 7},
        "text",
    ]
    rules = rules_in(json.dumps(given).encode(), "https://a.org/.well-known/tdmrep.json")
    assert [declared.reserved for _, declared in rules] == [False, True, True]
    assert all(location.encode() for location, _ in rules)
    assert declared_for("https://a.org/free/x", rules).reserved is False
    assert declared_for("https://a.org/x", rules).names == ("tdm-reservation",)
    assert not declared_for("https://a.org/x", rules).policy


def test_many_rules_with_many_wildcards_take_linear_time() -> None:
    rule = {"location": "/*a" * 600, "tdm-reservation": 1}
    rules = rules_in(json.dumps([rule] * (2 * MAX_RULES)).encode(), "https://a.org/")
    assert len(rules) == MAX_RULES
    assert within(5, lambda: declared_for("https://a.org/" + "/a" * 500 + "b" * 1000, rules))


def test_what_a_page_declares_is_read() -> None:
    for head, name, value in (
        ('<meta name="dc.creator" content=" Jane  Doe ">', "author", "Jane Doe"),
        ('<meta property="article:author" content="https://facebook.com/x">', "author", ""),
        ('<script type="application/ld+json">[{"@graph": [{"@type": ["WebPage"], "author": {"@id": "#p"}}, '
         '{"@id": "#p", "@type": "Person", "name": "Jón"}]}]</script>', "author", "Jón"),
        ('<script type="application/ld+json">{"@type": "Comment", "author": "Troll"}</script>', "author", ""),
        ('<script type="application/ld+json">{"@type": "Article", "author": ["A", {"name": "B"}, 3]}</script>',
         "author", "A, B"),
        ('<script type="application/ld+json">' + "[" * 90_000 + "</script>", "author", ""),
        ("<a rel=author href=/jane>Jane</a>", "author", "Jane"),
        ("<time class='entry-date published' datetime='2020-05-06T00:00'>May</time>", "published", "2020-05-06"),
        ("<time datetime='2020-05-06'>of an event</time>", "published", ""),
        ("<time class=published datetime=2020-05-06>a</time><time class=published datetime='2020-05-06T09:00'>b</time>",
         "published", "2020-05-06"),
        # a list of articles
        ("<time class=published datetime=2020-05-06>a</time><time class=published datetime=2020-05-01>b</time>",
         "published", ""),
        ("<meta itemprop=dateModified content=2020-05-06><meta itemprop=dateModified content=2020-05-01>",
         "modified", ""),
        ("<meta itemprop=datePublished content=2020-05-06T10:00>", "published", "2020-05-06"),
        ("<meta name=date content=2020-05-06><time class=published datetime=2020-05-06>a</time>"
         "<time itemprop=datePublished datetime=2020-05-01>b</time>", "published", "2020-05-06"),
        ("<meta name=date content='20200506'>", "published", "2020-05-06"),
        ("<meta name=date content='2020-13-06'>", "published", ""),
        ("<meta name=date content='0001-01-01T00:00:00Z'>", "published", ""),
        ("<meta name=date content='6/5/2020'>", "published", ""),
        ("<meta property='og:updated_time' content='2020/5/6'>", "modified", "2020-05-06"),
        (f"<link rel=license href={LICENCE}>", "licence", f"rel=license {LICENCE}"),
        ('<script type="application/ld+json">{"@type": "WebPage", "license": "CC-BY-4.0 | x"}</script>',
         "licence", "json-ld CC-BY-4.0 / x"),
        (f"<p>A photo by <a href={LICENCE}>CC</a>", "licence", f"link {LICENCE}"),
        ("<p>" + "A long paragraph. " * 30 + "It is about Creative Commons.", "licence", ""),
        ("<footer>© 2026 Example. All rights reserved.</footer>", "licence", ""),
        (f"<link rel=license href={LICENCE}>", "licence_name", LICENCE),
        ("<footer>[ A. GNU Free Documentation License > ]</footer>", "licence_name", "GNU Free Documentation License"),
        ("<footer>Unless noted, CC BY-SA 4.0 applies.</footer>", "licence_name", "CC BY-SA 4.0"),
        ("<footer>Creative Commons Attribution-ShareAlike 3.0 or later</footer>", "licence_name",
         "Creative Commons Attribution-ShareAlike 3.0"),
        ("<p>Text", "licence_name", ""),
        ("<html lang=en_gb>", "locale", "en-GB"),
        ("<html lang=zh-hant-tw>", "locale", "zh-Hant-TW"),
        ("<html lang=en>", "locale", ""),
        ("<link rel=alternate hreflang=es-MX href=/x>", "locale", "es-MX"),
        ("<html lang=is-x-mtfrom-en>", "machine_translated", "google-translate"),
        ("<meta http-equiv=X-Translated-By content=Google>", "machine_translated", "google-translate"),
        ("<meta name=ms.translationtype content=MT>", "machine_translated", "microsoft-translator"),
        ("<p>Weglot and GTranslate are plugins, see <a href=/weglot>weglot</a>", "offers_translation", ""),
        ("<div id=google_translate_element></div>", "offers_translation", "google-translate"),
        ("<a href='https://translate.google.com/translate?u=x'>English</a>", "offers_translation", "google-translate"),
        ("<a href='https://translate.google.com/intl/en/about'>read</a>", "offers_translation", ""),
        ("<link rel='alternate machine-translated-from' hreflang=en href=/en>", "translation_of", "https://a.org/en"),
        ('<script type="application/ld+json">{"@type": "Book", "translationOfWork": {"@id": "/o"}, '
         '"translator": {"name": "Eve"}}</script>', "translator", "Eve"),
        ('<script type="application/ld+json">{"@type": "Book", '
         '"translationOfWork": {"url": " ", "@id": "/o"}}</script>',
         "translation_of", "https://a.org/o"),
        ("<link rel=alternate hreflang=x-default href=/en>", "x_default", "https://a.org/en"),
    ):  # fmt: skip
        assert getattr(parse_page(f"{head}<body><p>Text", "https://a.org/x").origin, name) == value


ARTICLE = '{"@type": "Article", "name": "a // b, [c,]", "author": {"name": "Ann Doe"}, "datePublished": "2020-05-10"}'


@pytest.mark.parametrize(
    ("kind", "linked"),
    [
        pytest.param("", ARTICLE.replace("b, ", "b,\n"), id="line break in a text"),
        pytest.param("", ARTICLE.replace("b, ", "b,\t"), id="tab in a text"),
        pytest.param("", f"//<![CDATA[\n{ARTICLE}\n//]]>", id="CDATA in lines of comments"),
        pytest.param("", f"/*<![CDATA[*/ {ARTICLE} /*]]>*/", id="CDATA in comments"),
        pytest.param("", f"<![CDATA[{ARTICLE}]]>", id="CDATA"),
        pytest.param("", f"<!-- {ARTICLE} -->", id="HTML comment"),
        pytest.param("", f"<!--\n{ARTICLE}\n//-->", id="HTML comment that a script comment ends"),
        pytest.param("", f"// the article\n/* of\nAnn */ {ARTICLE} // end", id="comments of a script"),
        pytest.param("", ARTICLE[:-1] + ", }", id="comma at the end of an object"),
        pytest.param("", f"[{ARTICLE}, ]", id="comma at the end of a list"),
        pytest.param("", f"{ARTICLE},\n", id="comma at the end"),
        pytest.param("", f"{ARTICLE};", id="semicolon at the end"),
        pytest.param("", f"\ufeff{ARTICLE}", id="byte order mark"),
        pytest.param("; charset=utf-8", ARTICLE, id="parameter of the type"),
    ],
)
def test_linked_data_that_search_engines_read_are_read(kind: str, linked: str) -> None:
    origin = parse_page(f'<script type="application/ld+json{kind}">{linked}</script>', "https://a.org/").origin
    assert (origin.author, origin.published) == ("Ann Doe", "2020-05-10")


@pytest.mark.parametrize("repeated", ["/*", "//", '"', "<!--", ", ", "/* ", " ", "\\", '",'])
def test_linked_data_that_are_no_json_take_linear_time(repeated: str) -> None:
    html = f'<script type="application/ld+json">[{repeated * (90_000 // len(repeated))}</script>'
    assert within(1, lambda: parse_page(html, "https://a.org/"))


def test_a_page_of_nothing_but_facts_takes_no_longer_than_others() -> None:
    parts = (
        f"<a rel=license href={LICENCE}?{{n}}>CC BY</a>",
        "<link rel=alternate hreflang=en-GB href=/{n}>",
        "<meta name=author content=x{n}><time class=published datetime=x></time>",
        '<script type="application/ld+json">[{{"@graph": [{{"@type": "Article"}}]}}]</script>',
        "<script>weglo{n}</script>",
    )
    for part in parts:
        page = "".join(part.format(n=number) for number in range(20_000))
        began = time.thread_time()
        origin = parse_page(f"<body>{page}", "https://a.org/").origin
        assert time.thread_time() - began < 10
        assert all(len(fact) <= 500 for fact in origin.known().values())


EN, ES = "https://a.org/en", "https://a.org/es"


def test_the_direction_is_what_all_declarations_agree_on() -> None:
    for english, spanish, direction, evidence in (
        (Origin(), Origin(), "", ""),
        (Origin(), Origin(machine_translated="x"), "en-es", "machine_translated"),
        (Origin(translator="Eve"), Origin(), "es-en", "translator"),
        (Origin(x_default=EN), Origin(x_default=EN), "en-es", "x_default"),
        (Origin(x_default=EN), Origin(x_default=ES), "", ""),
        (Origin(x_default="https://a.org/"), Origin(), "", ""),
        (Origin(), Origin(translation_of=EN), "en-es", "translation_of"),
        (Origin(published="2020-01-02"), Origin(published="2020-01-01"), "es-en", "published"),
        (Origin(published="2020-01-02", x_default=EN), Origin(published="2020-01-01"), "", ""),
        (Origin(published="2020-01-01", x_default=EN), Origin(published="2020-01-02"), "en-es", "x_default published"),
    ):
        documents = DocumentPair(EN, ES, "", "", 1.0, "url", english, spanish)
        assert documents.direction(("en", "es")) == {"direction": direction, "direction_evidence": evidence}


def test_personal_data_is_found_and_masked() -> None:
    for text, masked in (
        ("Write to Jon.O-x@example.co.uk.", "Write to __EMAIL__."),
        ("jon (at) example.is", "__EMAIL__"),
        ("Mail: info(AT)example.is, jon[at]example[dot]is.", "Mail: __EMAIL__, __EMAIL__."),
        ("Call +354 525 4000 or 525 4000.", "Call __PHONE__ or __PHONE__."),
        ("IBAN GB82 WEST 1234 5698 7654 32 BIC ABCD", "IBAN __IBAN__ BIC ABCD"),
        ("IBAN GB83 WEST 1234 5698 7654 32", "IBAN GB83 WEST 1234 5698 7654 32"),
        ("Kt. 120174-3399, DNI 12345678Z, RSSMRA85T10A562S", "Kt. __ID__, DNI __ID__, __ID__"),
        ("DNI 12345678A", "DNI 12345678A"),
        ("In 2019-2020 there were 1234567 users (12.345.678).", "In 2019-2020 there were 1234567 users (12.345.678)."),
        ("ISBN 978-3-16-148410-0, 192.168.100.100, 2020-12-31 10:20:30", None),
        ("@home and a@b", None),
        ("info(a)example.fi, a.b [ät] example.fi, c (arroba) example.es", "__EMAIL__, __EMAIL__, __EMAIL__"),
        ("Art. 5(a) e.g. this, 12(a) i.e. that", None),
        ("Idatzi info@example.eus-era.", "Idatzi __EMAIL__-era."),
        ("メールinfo@example.jpまでお願いします。", "メール__EMAIL__までお願いします。"),
        ("邮箱zhang＠example．cn，身份证11010519491231002X。", "邮箱__EMAIL__，身份证__ID__。"),
        ("อีเมลinfo@example.thได้", "อีเมล__EMAIL__ได้"),
        ("Sími ５２５－４０００ eða 525–4000", "Sími __PHONE__ eða __PHONE__"),
    ):
        personal = PersonalData(("eng", "isl"))
        assert personal.mask(text) == (masked or text)
        assert bool(personal.kinds([text])) == (personal.mask(text) != text)
        assert personal.kinds([personal.mask(text)]) == personal.kinds([text]), "the flag outlives the mask"
        assert personal.mask(personal.mask(text)) == personal.mask(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        *("a", "a@", "1 ", "+354 ", "a.b-", "GB82 ", "GB82A7B3C9D1E5F2A7B3C9D1E5F2A7B3C9D1 ", "12345678901 ", "(at)"),
        *("a[dot]", "+354 525 4000 "),
    ],
)
def test_masking_takes_bounded_time(part: str) -> None:
    personal = PersonalData(("eng", "isl"))
    line = part * (MAX_MASKED // 4 // len(part))
    assert processor_seconds(lambda: (personal.mask(line), personal.kinds([line]))) < 15
