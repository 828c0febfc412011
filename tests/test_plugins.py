"""Names to classes: built-in ones, entry points, paths of classes, and what each mistake says."""

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from support.crawls import refused
from support.example_site import EXAMPLES

from bilingual_crawler import plugins
from bilingual_crawler.bitext.align import SentencePair
from bilingual_crawler.bitext.cleaning import refusal
from bilingual_crawler.crawl.spiders.arguments import parse_arguments
from bilingual_crawler.frontier.entry import Entry
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.options import Options
from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.pages.outline import outline_of_text
from bilingual_crawler.plugins import (
    ENCODERS,
    EXPORTS,
    FRONTIER_STORES,
    GAIN_EVIDENCE,
    LANGUAGE_DETECTORS,
    POLICIES,
    SENTENCE_FILTERS,
    SITE_DETECTORS,
    PluginError,
    Plugins,
)
from bilingual_crawler.policies.base import PolicyError
from bilingual_crawler.policies.gain import Gain

KINDS = {kind.group: kind for kind in vars(plugins).values() if isinstance(kind, Plugins)}
BUILT_IN = [(kind, name) for kind in KINDS.values() for name in kind.built_in]
PAIR = LanguagePair.parse("eng-spa")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Writes ``own_plugin.py`` with a text into the current folder, which is not on the path."""

    def write(text: str) -> Path:
        (tmp_path / "own_plugin.py").write_text(text)
        return tmp_path

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "own_plugin", raising=False)
    plugins._plugin.cache_clear()
    return write


@pytest.fixture(autouse=True)
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their classes can be imported."""
    monkeypatch.syspath_prepend(EXAMPLES / "plugins")


# names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), BUILT_IN, ids=[f"{kind.group} {name}" for kind, name in BUILT_IN])
def test_a_built_in_class_is_what_a_plug_in_has_to_be(kind: Plugins, name: str) -> None:
    if kind.missing(name):
        pytest.skip(f"needs the extra {kind.packages[name][0]}")
    try:
        found = kind.find(name)
    except ImportError as error:
        pytest.skip(str(error))
    if kind not in (LANGUAGE_DETECTORS, POLICIES):
        assert plugins._plugin(kind, kind.built_in[name]) is found
    assert getattr(found, "name", name) == name


def test_the_path_of_a_class_has_a_dot_or_a_colon_and_only_a_built_in_name_has_an_argument(
    module: Callable[[str], Path],
) -> None:
    module("class Short:\n    def __init__(self, languages): ...\n    def keep(self, pair): return True\n")
    assert SENTENCE_FILTERS.find("own_plugin:Short") is SENTENCE_FILTERS.find("own_plugin.Short")
    read = Options.of(Settings({"BILINGUAL_SENTENCE_FILTERS": "own_plugin:Short"}))
    assert read.sentence_filters == ("own_plugin:Short",)
    assert LANGUAGE_DETECTORS.split("fasttext:lid.bin") == ("fasttext", ["lid.bin"])
    assert LANGUAGE_DETECTORS.split("own_plugin:Words") == ("own_plugin:Words", [])


# mistakes -------------------------------------------------------------------------------------------------------------

FILTER = "class Own:\n    def __init__(self, languages): ...\n"
UNMADE = "class Own:\n    def keep(self, pair): return True"
BASE = "from bilingual_crawler.policies.base import Policy\n"
POLICY = f"{BASE}class Own(Policy):\n    def expands(self, page): return True\n"
RANKS = "    def priorities(self, page, links, scores): return []\n"
NAME = "    name = 'own'\n"
ENCODER = "from bilingual_crawler.encoders.base import Encoder\nclass Own(Encoder):\n"


@pytest.mark.parametrize(
    ("kind", "text", "name", "message"),
    [
        (POLICIES, "", "gian", r"^choose one of bfs, .*, or give the path of a class.*; did you mean gain\?$"),
        (SENTENCE_FILTERS, "", "short", r"^give the path of a class, as in package.module.Class$"),
        (POLICIES, "", "no_plugin.Own", r"^no_plugin.Own: there is no module no_plugin in this folder"),
        (POLICIES, "", "own_plugin.sub.Own", r"^own_plugin.sub.Own: there is no module own_plugin.sub"),
        (POLICIES, "import no_plugin", "own_plugin.Own", r"own_plugin cannot be imported: .*no module named 'no_plug"),
        (POLICIES, "1 /\n0", "own_plugin.Own", r"^own_plugin.Own: the module own_plugin cannot be imported: SyntaxErr"),
        (POLICIES, "1 / 0", "own_plugin.Own", r"cannot be imported: ZeroDivisionError: division by zero$"),
        (POLICIES, "class Own: ...", "own_plugin.Onw", r"the module own_plugin has no Onw; did you mean Own\?$"),
        (POLICIES, "def own(): ...", "own_plugin.own", r"^own_plugin.own is no class: function$"),
        (POLICIES, "class Own: ...", "own_plugin.Own", r"^own_plugin.Own is no subclass of .*policies.base.Policy$"),
        (EXPORTS, "class Own: ...", "own_plugin.Own", r"no subclass of .*exports.Export or .*monolingual.Monolingual$"),
        (SENTENCE_FILTERS, FILTER, "own_plugin.Own", r"^own_plugin.Own lacks the method keep of SentenceFilter$"),
        (SENTENCE_FILTERS, "class Own:\n    keep = None", "own_plugin.Own", r"lacks the method keep of SentenceFilter"),
        (SENTENCE_FILTERS, UNMADE, "own_plugin.Own", r"^own_plugin.Own cannot be made with \(languages\): too many po"),
        (POLICIES, POLICY + NAME, "own_plugin.Own", r"^own_plugin.Own lacks the method priorities of Policy$"),
        (POLICIES, POLICY + RANKS, "own_plugin.Own", r"^own_plugin.Own lacks the attribute name of Policy$"),
        (ENCODERS, ENCODER + NAME, "own_plugin.Own", r"^own_plugin.Own lacks the method encode of Encoder$"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_missing(
    module: Callable[[str], Path], kind: Plugins, text: str, name: str, message: str
) -> None:
    module(text)
    with pytest.raises(PluginError, match=f"(?i){message}") as caught:
        kind.check(name)
    assert "\n" not in str(caught.value)


SETTINGS = dict.fromkeys(("POLICY", "GAIN_EVIDENCE", "ENCODER", "ALIGN", "SENTENCE_FILTERS"), "no_plugin.Own")
SETTINGS |= {"DETECTORS": "cld2,no_plugin.Own", "BITEXT": "tmx,no_plugin.Own", "FRONTIER": "no_plugin.Own://a"}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_that_names_a_class_says_what_is_missing(name: str) -> None:
    with pytest.raises(UsageError, match=f"^BILINGUAL_{name}={SETTINGS[name]}: no_plugin.Own: there is no module"):
        Options.of(Settings({f"BILINGUAL_{name}": SETTINGS[name]}))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("crawl", "bilingual", "-a", "policy=no_plugin.Own"), "policy=no_plugin.Own: no_plugin.Own: there is no mod"),
        (("crawl", "discovery", "-a", "policy=no_plugin.Own"), "policy=no_plugin.Own: no_plugin.Own: there is no mod"),
        (("crawl", "discovery", "-a", "detector=barbossa"), "detector=barbossa: choose one of evidence, barbosa, or g"),
        (("align", "--method", "strcture"), "--method=strcture: choose one of auto, url, "),
        (("align", "--bitext", "b", "--formats", "tmx,no_plugin.Own"), "--formats=tmx,no_plugin.Own: no_plugin.Own: t"),
        (("align", "--bitext", "b", "--filters", "no_plugin.Own"), "--filters=no_plugin.Own: no_plugin.Own: there is"),
        (("align", "--filters", "no_plugin.Own"), "--filters=no_plugin.Own: give a folder for the sentences, too"),
        (("harvest", "--policies", "bfs,smrat"), "--policies=bfs,smrat: choose one of bfs, "),
    ],
)
def test_every_argument_that_names_a_class_says_what_is_missing(
    tmp_path: Path, command: tuple[str, ...], message: str
) -> None:
    (tmp_path / "tasks.tsv").write_text("site\tlang_a\tlang_b\n")
    inputs = {"crawl": ("--pair", "eng-spa", "--seeds", "http://127.0.0.1:9/"), "align": (".", "--pair", "eng-spa")}
    assert message in refused(tmp_path, *command, *inputs.get(command[0], (".",)))
    assert [path.name for path in tmp_path.iterdir()] == ["tasks.tsv"]


def test_a_kind_of_evidence_has_a_name_of_its_own(module: Callable[[str], Path]) -> None:
    module(
        "from bilingual_crawler.policies.evidence.base import Prospect\nclass Own(Prospect):\n    name = 'marks'\n"
        "    def factor(self, target): return 1.0\n"
    )
    settings = Settings({"BILINGUAL_GAIN_EVIDENCE": "own_plugin.Own", "BILINGUAL_ALIGN": ""})
    with pytest.raises(UsageError, match=r"^BILINGUAL_GAIN_EVIDENCE=own_plugin.Own: gain has another evidence marks"):
        parse_arguments(settings, pair="eng-spa", seeds="http://127.0.0.1:9/")
    with pytest.raises(PolicyError, match=r"gain has no evidence other; there are folders, .*marks"):
        Gain(PAIR, without=["other"])


# the examples ---------------------------------------------------------------------------------------------------------


def test_evidence_of_ones_own_has_a_say_in_the_worth_of_a_url() -> None:
    kind = GAIN_EVIDENCE.find("shallow_first.ShallowFirst")
    plain, added = Gain(PAIR), Gain(PAIR, added=[kind])
    halved = Gain(PAIR, added=[kind], weights={"shallow_first.folder": 0.5})
    off = Gain(PAIR, added=[kind], without=["shallow_first"])
    url = "https://a.es/one/two/page"
    worth = plain.explain(url).later
    assert worth > 0
    assert [gain.explain(url).later / worth for gain in (added, halved, off)] == pytest.approx([0.81, 0.25, 1])


def test_the_example_of_a_language_detector() -> None:
    detector = LANGUAGE_DETECTORS.find("word_list.WordList")()
    assert detector.identify("The tables of the harbour are on the wall.").language == "eng"
    assert detector.identify("Las tablas del puerto están en la pared.").language == "spa"
    assert detector.identify("Xyzzy plugh foobar").language == "un"


def test_the_example_of_a_site_detector(tmp_path: Path) -> None:
    detector = SITE_DETECTORS.find("link_count.LinkCount").load(tmp_path, None)
    for lang, bilingual in (("es", True), ("fr", False)):
        page = parse_page(f"<html lang=en><link rel=alternate hreflang={lang} href=/{lang}/>", "https://a.es/")
        entry = PageRecord(page.url, "eng", links=page.links, outline=outline_of_text("", []))
        inspection = detector.inspect(PAIR, entry)
        assert inspection.next() is None
        assert inspection.verdict.bilingual == bilingual


def test_the_example_of_an_encoder(tmp_path: Path) -> None:
    encoder = ENCODERS.find("trigrams.Trigrams")(tmp_path)
    a, b, other = encoder.encode(["The national museum", "El museo nacional", "Un paseo por la playa"], 64)
    assert np.isclose(a @ a, 1)
    assert a @ b > a @ other


def test_the_example_of_a_sentence_filter_has_a_reason_and_one_without_counts_by_its_name() -> None:
    class Nothing:
        def keep(self, pair: SentencePair) -> bool:
            return False

    own = SENTENCE_FILTERS.find("max_length.MaxLength")(PAIR)
    short, long = (SentencePair("A ship.", "Un barco." * count, 0.9, "0", "0") for count in (1, 50))
    assert [refusal([own], pair) for pair in (short, long)] == ["", "too_long"]
    assert refusal([Nothing()], short) == "Nothing"


def test_the_example_of_a_store_goes_on_where_it_was(tmp_path: Path) -> None:
    url = f"folder_store.FolderStore://{tmp_path / 'frontier'}"
    assert Options.of(Settings({"BILINGUAL_FRONTIER": url})).frontier == url
    kind = FRONTIER_STORES.find("folder_store.FolderStore")
    with closing(kind(url, "worker")) as store:
        store.push([Entry("https://a.es/", "a.es", priority=1.0)])
    with closing(kind(url, "worker")) as store:
        assert store.pop("a.es").url == "https://a.es/"
