import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.detector_sites import DETECTOR, ENGLISH, HOME, LANGUAGE_MODEL, OTHER, PAIR, SPANISH, SWITCHER, judge, page
from support.frozen_sites import write_frozen
from support.tables import write_table

from benchmarks.detector import MEASURED, Judged, LinkPredictor, figures, leave_out, main, without_traps
from bilingual_crawler.discovery.detector import features
from bilingual_crawler.discovery.detector.barbosa import FILE, BarbosaDetector
from bilingual_crawler.discovery.detector.base import MAX_DOWNLOADS, Reason, Verdict
from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.plugins import SITE_DETECTORS, PluginError
from bilingual_crawler.scoring.linear import LinearModel
from bilingual_crawler.scoring.models import ModelError, models_folder
from training.discovery.cuts import CutWeb, FrozenWeb, Instance, Variant, halves, make_instances

SITES = Path(__file__).parents[2] / "shared" / "data" / "sites" / "train"


@pytest.mark.parametrize("entry", ["", "es/"])
def test_the_switcher_leads_to_a_confirmed_pair_in_the_order_of_the_languages(entry: str) -> None:
    verdict, asked = judge({HOME: SWITCHER + ENGLISH, f"{HOME}es/": SWITCHER + SPANISH}, entry=HOME + entry)
    assert verdict.bilingual
    assert verdict.reason is Reason.BILINGUAL
    assert verdict.pair == (HOME, f"{HOME}es/")
    assert asked == [HOME if entry else f"{HOME}es/"]
    assert verdict.languages == {"eng": 1, "spa": 1}
    assert verdict.evidence["hreflang"] == 1


DANISH = (
    "<p>Firmaet blev grundlagt i den gamle havn, og siden har vi solgt mange pumper til hele verden. Værkstedet er"
    " åbent hver dag, og alle pumper bliver prøvet, før de forlader huset. Kom og besøg os, og se dem på nært hold."
    + "".join(f"<a href=/pumper/{number}.html>{number}</a> " for number in range(9))
)


TO_SPANISH = "<nav class=language-switcher><a href=/es/ hreflang=es>Español</a></nav>"
TWO_FORMS = "<a href=/es/inicio hreflang=es>Español</a> <a href=/es/inicio/ hreflang=es>Español</a>"
SHARED = "".join(f"<li>Halvorsen &amp; Lindqvist {number}, Bergen" for number in range(1, 16))
SHORT_ENGLISH = "<p>In 1897 the firm Halvorsen built the first pump in the old harbour of Bergen, and sold it." * 2
SHORT_SPANISH = "<p>En 1897 la firma Halvorsen construyó la primera bomba en el puerto de Bergen, y la vendió." * 2
JUDGED: dict[str, tuple[dict[str, str], Reason, list[str]]] = {
    "an announced page that is not there": ({"": SWITCHER + ENGLISH}, Reason.ONE_LANGUAGE, ["es/"]),
    "another text": ({"": SWITCHER + ENGLISH, "es/": SWITCHER + OTHER}, Reason.NO_TRANSLATION, ["es/"]),
    "the same page": ({"": SWITCHER + ENGLISH, "es/": SWITCHER + ENGLISH}, Reason.SAME_PAGE, ["es/"]),
    "texts too short": (
        {"": SWITCHER + SHORT_ENGLISH, "es/": SWITCHER + SHORT_SPANISH}, Reason.NO_TRANSLATION, ["es/"],
    ),
    "half of a page is names that both have": (
        {"": SWITCHER + ENGLISH + SHARED, "es/": SWITCHER + SPANISH + SHARED}, Reason.BILINGUAL, ["es/"],
    ),
    "a page that only leads to others": (
        {"": "<a href=/en/>English</a> <a href=/es/>Español</a>", "en/": ENGLISH, "es/": SPANISH},
        Reason.BILINGUAL, ["es/", "en/"],
    ),
    "an address that no link names is guessed": (
        {"en/pumps.html": ENGLISH, "es/pumps.html": SPANISH}, Reason.BILINGUAL, ["es/pumps.html"],
    ),
    "an index file is no other address to guess": (
        {"en/": "<a href=/es/index.html hreflang=es>Español</a>" + ENGLISH}, Reason.ONE_LANGUAGE, ["es/index.html"],
    ),
    "two forms of one address are one download": ({"": TWO_FORMS + ENGLISH}, Reason.ONE_LANGUAGE, ["es/inicio", "es/"]),
    "a language that the home page does not name is not sought through the other": (
        {"": DANISH + TO_SPANISH, "es/": SPANISH}, Reason.ONE_LANGUAGE, [],
    ),
    "of two languages of a third page the less likely comes first": (
        {"": DANISH + TO_SPANISH + "<a href=/en/pumps.html>Pumps</a>", "es/": SPANISH},
        Reason.ONE_LANGUAGE, ["en/pumps.html"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("site", "reason", "expected"), JUDGED.values(), ids=JUDGED)
def test_a_site_is_judged_by_few_downloads(site: dict[str, str], reason: Reason, expected: list[str]) -> None:
    """Of its pages, the first is the entry page."""
    pages = {HOME + path: html for path, html in site.items()}
    verdict, asked = judge(pages, entry=next(iter(pages)))
    assert verdict.reason is reason
    assert verdict.bilingual is (reason is Reason.BILINGUAL)
    assert asked == [HOME + path for path in expected]


def test_a_redirect_to_another_site_is_counted() -> None:
    inspection = DETECTOR.inspect(PAIR, page(HOME, SWITCHER + ENGLISH))
    url = inspection.next()
    assert url is not None
    inspection.observe_page(url, page("https://elsewhere.example/es/", SPANISH))
    assert inspection.verdict.reason is Reason.OTHER_SITE
    assert not inspection.verdict.bilingual


def test_a_parked_domain_costs_no_download() -> None:
    for html in (
        "<h1>halvorsen.example</h1><p>This domain is for sale. Buy this domain now.",
        "<p>halvorsen.example</p><a href=https://sedo.com/search?domain=halvorsen.example>Inquire</a>",
        "<p>El dominio está en venta</p>",
    ):
        verdict, asked = judge({HOME: html + SWITCHER})
        assert verdict.reason is Reason.PARKED
        assert asked == []
        assert verdict.likelihood == 0


def test_marks_are_rewritten_as_the_site_spells_them() -> None:
    for url, language, guess in (
        ("https://x.example/en/a.html", "fra", "https://x.example/fr/a.html"),
        ("https://x.example/en-US/a.html", "fra", "https://x.example/fr-FR/a.html"),
        ("https://x.example/index.en.html", "deu", "https://x.example/index.de.html"),
        ("https://x.example/?lang=EN", "spa", "https://x.example/?lang=ES"),
        ("https://en.pumps.org/a", "isl", "https://is.pumps.org/a"),
        ("https://x.example/english/a.html", "deu", "https://x.example/deutsch/a.html"),
        ("https://x.example/german/a.html", "fra", "https://x.example/french/a.html"),
    ):
        assert next(features.rewritten(url, language)) == guess


def test_no_mark_is_guessed_as_a_folder_and_a_folder_is_left_out() -> None:
    assert list(features.rewritten("https://x.example/about", "fra")) == []
    assert features.folder_of("https://x.example/docs/index.html", "fra") == "https://x.example/docs/fr/"
    assert features.without_folder("https://x.example/es/about") == "https://x.example/about"
    assert features.without_folder("https://x.example/about") is None


PATHS = st.sampled_from(["", "es/", "en/", "es/a", "a", "index.es.html", "?lang=es", "b/c"])
CONTENTS = st.sampled_from([ENGLISH, SPANISH, OTHER, "", "<p>Pumps", None])
LINKS = st.lists(PATHS, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(PATHS, st.tuples(CONTENTS, LINKS), max_size=6), LINKS)
def test_downloads_are_few_and_never_repeated(pages: dict[str, tuple[str | None, list[str]]], links: list[str]) -> None:
    def html(content: str, paths: list[str]) -> str:
        return content + "".join(f"<a href='{HOME}{path}'>{path or 'Español'}</a>" for path in paths)

    site = {HOME + path: html(content, paths) for path, (content, paths) in pages.items() if content is not None}
    verdict, asked = judge({**site, HOME: html(ENGLISH, links)})
    assert len(asked) == verdict.downloads <= MAX_DOWNLOADS
    assert max(Counter([HOME, *asked]).values()) == 1
    assert 0 <= verdict.likelihood <= 1
    assert verdict.bilingual == (verdict.pair is not None)


def test_barbosa_accepts_both_languages_whatever_they_say() -> None:
    barbosa = SITE_DETECTORS.find("barbosa").load(models_folder(None), LANGUAGE_MODEL)
    verdict, asked = judge({HOME: SWITCHER + ENGLISH, f"{HOME}es/": SWITCHER + OTHER}, detector=barbosa)
    assert asked == [f"{HOME}es/"]
    assert verdict.bilingual


def test_barbosa_follows_links_from_its_threshold_on() -> None:
    predictor = LinearModel(0.0, {"anchor:<sought>": 2.0, "anchor:contact": -2.0})
    site = {HOME: f"{ENGLISH}<a href=/x>Español</a><a href=/y>Contact</a><a href=/z>Pumps</a>"}
    for threshold, expected in ((0.9, []), (0.8, ["x"]), (0.5, ["x", "z"]), (0.0, ["x", "z", "y"])):
        _, asked = judge(site, detector=BarbosaDetector(predictor, threshold))
        assert asked == [HOME + path for path in expected]
        verdict, asked = judge(site, detector=LinkPredictor(predictor, threshold))
        assert (verdict.bilingual, asked) == (bool(expected), [])


def test_an_unknown_detector_is_named() -> None:
    with pytest.raises(PluginError, match="choose one of evidence, barbosa"):
        SITE_DETECTORS.find("magic").load(models_folder(None), LANGUAGE_MODEL)


def test_missing_and_foreign_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=features.EVIDENCE):
        features.EvidenceWeights.load(tmp_path)
    folder = tmp_path / features.FOLDER
    folder.mkdir()
    (folder / FILE).write_text("[]")
    with pytest.raises(ModelError, match=f"{FILE}: not the weights"):
        BarbosaDetector.load(tmp_path, LANGUAGE_MODEL)
    weights = features.EvidenceWeights.load(models_folder(None))
    other = msgspec.structs.replace(weights, parallel=weights.language)
    (folder / features.EVIDENCE).write_bytes(msgspec.json.encode(other))
    with pytest.raises(ModelError, match="train it again"):
        features.EvidenceWeights.load(tmp_path)


@pytest.mark.skipif(not SITES.exists(), reason="needs the shared data")
def test_cut_sites_are_not_bilingual_any_more_and_told_from_the_whole_one() -> None:
    web = FrozenWeb(read_site(SITES / "AllerSec.ubela"))
    instances = {(one.variant, one.kept): one for one in make_instances(web.site)}
    whole = instances[Variant.WHOLE, ""]
    assert {whole.lang_a, whole.lang_b} == {"eus", "spa"}
    assert whole.linked
    for variant, dangling in ((Variant.MONO_CLEAN, False), (Variant.MONO_DEAD, True)):
        cut = CutWeb.from_instance(web, instances[variant, "spa"])
        read = cut.fetch(instances[Variant.MONO_CLEAN, "spa"].entry)
        assert read is not None
        assert any(web.target(link.url) in cut.removed for link in read.links) is dangling
    disjoint = CutWeb.from_instance(web, instances[Variant.DISJOINT, ""])
    for pair in web.site.pairs:
        assert disjoint.fetch(pair.url_a) is None or disjoint.fetch(pair.url_b) is None
    assert instances[Variant.ABSENT, ""].lang_b not in web.site.languages.values()
    for instance in instances.values():
        cut = CutWeb.from_instance(web, instance)
        entry = cut.fetch(instance.entry)
        assert entry is not None
        inspection = DETECTOR.inspect(instance.pair, entry)
        while (url := inspection.next()) is not None:
            inspection.observe_page(url, cut.fetch(url))
        assert inspection.verdict.bilingual == (instance.variant is Variant.WHOLE)


def test_a_site_without_translations_has_no_unnamed_ones_left_either(tmp_path: Path) -> None:
    """Gold lacks home pages beside the folders, and pairs in a language that counts as that of the pair."""
    texts = {"en.html": "eng", "pt.html": "por", "a": "eng", "pt/a": "por", "b/id": "ind", "b/pt": "por"}
    pages = {HOME + path: (language, "<p>Pumps", ()) for path, language in texts.items()}
    write_frozen(tmp_path / "x", HOME, pages, [(f"{HOME}b/id", f"{HOME}b/pt")], seeds=[f"{HOME}en.html"])
    site = read_site(tmp_path / "x")

    def left(lang_a: str, *pairs: tuple[str, str]) -> list[int]:
        removed = halves(site, Instance("x", lang_a, "por", Variant.DISJOINT, f"{HOME}en.html"))
        return [len({HOME + a, HOME + b} - removed) for a, b in pairs]

    assert left("eng", ("en.html", "pt.html"), ("a", "pt/a"), ("b/id", "b/pt")) == [1, 1, 2]
    assert left("msa", ("en.html", "pt.html"), ("b/id", "b/pt")) == [2, 1]


def one_verdict(site: str, variant: Variant, bilingual: bool, downloads: int = 0) -> Judged:
    instance = Instance(site, "eng", "spa", variant, HOME, linked=variant is Variant.WHOLE)
    reason = Reason.BILINGUAL if bilingual else Reason.ONE_LANGUAGE
    verdict = Verdict(bilingual, float(bilingual), reason, downloads=downloads)
    return instance, dict.fromkeys(MEASURED, verdict)


def test_the_worst_decile_is_below_the_mean_and_a_site_without_positives_has_no_recall() -> None:
    judged = [one_verdict(f"site{number}", Variant.WHOLE, number % 2 == 0) for number in range(10)]
    judged += [one_verdict("negative", Variant.ABSENT, bilingual=False)]
    rows = leave_out(judged, lambda site: "even" if site[-1] in "02468" else "odd")
    recall = {name: row["evidence"]["recall"] for name, row in rows.items()}
    assert (recall["even"], recall["odd"], recall["mean of sites"]) == (1, 0, 0.5)
    assert 0.2 <= recall["worst decile"] < 0.4


def test_traps_are_no_positives(tmp_path: Path) -> None:
    write_table(tmp_path / "traps.tsv", "site lang_a lang_b", ["given\tspa\teng"])
    trap, other = (one_verdict(site, Variant.WHOLE, bilingual=True) for site in ("given", "other"))
    cut = one_verdict("given", Variant.MONO_CLEAN, bilingual=False)
    assert without_traps([trap, other, cut], [tmp_path]) == ([other, cut], [trap])


def test_a_trap_whose_entry_page_cannot_be_read_is_not_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = {HOME + path: (language, "<p>Pumps", ()) for path, language in (("en", "eng"), ("es", "spa"))}
    write_frozen(tmp_path / "x", HOME, pages, [(f"{HOME}en", f"{HOME}es")], seeds=[f"{HOME}en"])
    write_table(tmp_path / "traps.tsv", "site lang_a lang_b", ["x\teng\tspa"])
    columns = "site lang_a lang_b variant entry kept_language link_depth_from_entry"
    row = ("x", "eng", "spa", Variant.WHOLE, f"{HOME}gone", "", "")
    instances = write_table(tmp_path / "instances.tsv", columns, [row])
    monkeypatch.setattr(sys, "argv", ["detector", str(tmp_path), "--instances", str(instances)])
    main()
    assert capsys.readouterr().out.endswith("trap x eng-spa: -\n")


def test_sites_weigh_equally_and_positives_as_much_as_negatives() -> None:
    judged = [
        *(one_verdict("large", Variant.WHOLE, True, 1) for _ in range(3)),
        one_verdict("small", Variant.WHOLE, False, 3),
        one_verdict("large", Variant.MONO_DEAD, False, 3),
        one_verdict("small", Variant.ABSENT, True, 1),
        one_verdict("small", Variant.ABSENT, False, 1),
        one_verdict("small", Variant.DISJOINT, True, 1),
    ]
    expected = {"recall": 0.5, "precision": 0.6667, "downloads": 2.0, "disjoint": 1.0}
    assert figures(judged, "evidence") == expected
