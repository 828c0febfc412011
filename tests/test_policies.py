from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from bilingual_crawler.crawl.learner import Learner
from bilingual_crawler.frontier.entry import NEVER
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.model import Link, LinkPosition, PageRecord
from bilingual_crawler.policies.base import Jointly, Policy, PolicyError
from bilingual_crawler.policies.baselines import DepthFirst, Ilsp, ParallelTextIdentification, PPLocator, Random, Smart
from bilingual_crawler.policies.gain import EVIDENCE, Gain
from bilingual_crawler.scoring.links import LinkScore

PAIR = LanguagePair.parse("eng-isl")
HOST = "https://a.is"


def page(path: str, language: str, *, depth: int = 1, length: int = 1000) -> PageRecord:
    return PageRecord(HOST + path, language, PAIR.side(language), depth=depth, length=length)


def links(*paths: str) -> list[Link]:
    return [Link(HOST + path) for path in paths]


def make(policy: type[Policy]) -> Policy:
    return policy(PAIR)


def visit(crawl: Learner, visited: PageRecord, found: Sequence[Link]) -> dict[str, float]:
    """Priorities after *visited* was fetched, by path: of its links and of what changed in the queue."""
    crawl.observe_page(replace(visited, links=tuple(found)), found)
    changed = dict(crawl.policy.changed())
    changed |= dict(zip([link.url for link in found], crawl.policy.priorities(visited, found, None), strict=True))
    return {url.removeprefix(HOST): priority for url, priority in changed.items()}


def test_smart_multiplies_and_treats_unscored_links_as_last() -> None:
    smart = make(Smart)
    assert smart.needs_models
    scores = [LinkScore(0.5, 0.5), LinkScore(0.9, 0.1)]
    assert smart.priorities(page("/", "eng"), links("/a", "/b"), scores) == pytest.approx([0.25, 0.09])
    assert smart.priorities(page("/", "eng"), links("/a"), None) == [0.0]
    assert smart.expands(page("/", "isl"))
    assert not smart.expands(page("/", "fra"))
    assert smart.expands(PageRecord(HOST, "fra", None, seed=True))


def test_depth_first_and_random() -> None:
    depth_first = Learner(make(DepthFirst))
    first = visit(depth_first, page("/", "eng"), links("/a"))["/a"]
    assert visit(depth_first, page("/a", "eng"), links("/b"))["/b"] > first
    resumed = Learner(make(DepthFirst))
    for path in ("/", "/a"):
        resumed.observe_page(page(path, "eng"), ())
    assert visit(resumed, page("/b", "eng"), links("/c"))["/c"] > first + 1
    drawn = make(Random).priorities(page("/", "eng"), links("/a", "/b"), None)
    assert drawn == make(Random).priorities(page("/", "fra"), links("/a", "/b"), None)
    assert drawn[0] != drawn[1]


def test_ilsp_adds_points() -> None:
    found = [
        Link(HOST + "/x"),
        Link(HOST + "/y", hreflang="isl", label="isl"),
        Link(HOST + "/is/z"),
        Link(HOST + "/w", text="Velkomin á vefinn okkar um bókasafnið og sögurnar"),
        Link(HOST + "/v", hreflang="fra"),
    ]
    assert make(Ilsp).priorities(page("/", "eng"), found, None) == [0, 4, 2, 1, 0]


LAST, NEVER_PAIRED = "/en/projects/annual-report-2024", "/en/contact"
PARTNER, OTHER = "/is/projects/annual-report-2024", "/is/projects/annual-report-2023"


@pytest.mark.parametrize(
    ("policy", "partner", "fetched"),
    [
        *((PPLocator, OTHER, True), (PPLocator, "/is/um", False)),
        *((ParallelTextIdentification, PARTNER, True), (ParallelTextIdentification, OTHER, False)),
    ],
)
def test_the_last_level_is_fetched_for_candidate_pairs_only(policy: type[Policy], partner: str, fetched: bool) -> None:
    levels = make(policy)
    assert levels.priorities(page("/", "eng", depth=0), links("/en/a", "/fr/a"), None) == [0.0, NEVER]
    assert levels.priorities(page("/en/a", "eng", depth=2), links(LAST, partner), None) == [-1.0, -1.0]
    assert not levels.expands(page(LAST, "eng", depth=3))
    assert (levels.reconsider(HOST + LAST, -1.0) != NEVER) == fetched
    assert levels.reconsider(HOST + "/en/a", 0.0) == 0.0


@pytest.mark.parametrize("policy", [PPLocator, ParallelTextIdentification])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_url_of_the_last_level_waits_for_a_partner_that_is_found_later(policy: type[Policy], depth: int) -> None:
    crawl = Learner(levels := make(policy))
    visit(crawl, page("/en/a", "eng", depth=2), links(LAST, NEVER_PAIRED, "/is/x"))
    assert [levels.reconsider(HOST + path, -1.0) for path in (LAST, NEVER_PAIRED)] == [NEVER, NEVER]
    visit(crawl, page("/is/a", "isl", depth=depth), links(PARTNER))
    assert levels.reconsider(HOST + PARTNER, -1.0) == -1.0
    assert visit(crawl, page("/is/b", "isl", depth=2), []) == {LAST: -1.0}
    assert levels.reconsider(HOST + LAST, -1.0) == -1.0


def test_what_one_pair_of_several_wants_at_the_last_level_stays_there() -> None:
    joint = Jointly([ParallelTextIdentification(PAIR), ParallelTextIdentification(LanguagePair.parse("eng-fra"))])
    crawl = Learner(joint)
    visit(crawl, page("/en/a", "eng", depth=2), links(LAST, "/is/x", "/fr/x"))
    assert joint.reconsider(HOST + LAST, -1.0) == NEVER
    assert visit(crawl, page("/is/a", "isl", depth=2), links(PARTNER))[PARTNER] == -1.0
    assert joint.reconsider(HOST + PARTNER, -1.0) == -1.0
    assert joint.changed() == {HOST + LAST: -1.0}


@pytest.mark.parametrize("policy", [PPLocator, ParallelTextIdentification])
def test_a_resume_knows_the_candidates_of_the_last_level(policy: type[Policy]) -> None:
    learner = Learner(levels := make(policy))
    learner.observe_page(page("/en/a", "eng", depth=2), ())
    learner.observe_links(page("/en/a", "eng"), links(LAST, NEVER_PAIRED))
    learner.observe_page(page(PARTNER, "isl", depth=3), ())
    learner.observe_redirect(HOST + LAST, HOST + "/en/2024")
    learner.resume([HOST + path for path in ("/en/2024", NEVER_PAIRED)])
    assert levels.reconsider(HOST + "/en/2024", -1.0) == -1.0
    assert levels.reconsider(HOST + NEVER_PAIRED, -1.0) == NEVER


def test_a_more_similar_url_that_is_found_later_takes_the_place_of_the_first() -> None:
    crawl = Learner(levels := make(PPLocator))
    visit(crawl, page("/en/a", "eng", depth=2), links(LAST, OTHER))
    assert levels.reconsider(HOST + OTHER, -1.0) == -1.0
    visit(crawl, page("/is/a", "isl", depth=2), links(PARTNER))
    assert levels.reconsider(HOST + PARTNER, -1.0) == -1.0
    assert levels.reconsider(HOST + OTHER, -1.0) == NEVER


def test_urls_that_name_no_language_stand_in_for_a_language_until_it_is_found() -> None:
    crawl = Learner(levels := make(ParallelTextIdentification))
    visit(crawl, page("/", "eng", depth=2), links("/um", "/is/um", "/is/annad"))
    assert [levels.reconsider(HOST + path, -1.0) for path in ("/um", "/is/um", "/is/annad")] == [-1.0, -1.0, NEVER]
    visit(crawl, page("/b", "eng", depth=2), links("/en/annad"))
    assert [levels.reconsider(HOST + path, -1.0) for path in ("/um", "/is/annad")] == [NEVER, -1.0]


def test_gain_prefers_the_missing_half_whatever_announces_it() -> None:
    crawl = Learner(make(Gain))
    found = [
        Link(HOST + "/en/other"),
        Link(HOST + "/is/um"),
        Link(HOST + "/heim", hreflang="isl", alternate=True, position=LinkPosition.HEAD),
        Link(HOST + "/sagan", label="isl", position=LinkPosition.SWITCHER),
    ]
    worth = visit(crawl, page("/en/um", "eng"), found)
    assert min(worth["/is/um"], worth["/heim"], worth["/sagan"]) > 2 * worth["/en/other"]


def test_gain_raises_a_queued_page_when_its_other_half_arrives() -> None:
    crawl = Learner(Gain(PAIR, without=("cross_links",)))
    before = visit(crawl, page("/", "eng"), links("/is/um", "/is/heim"))
    after = visit(crawl, page("/en/um", "eng"), [])
    assert after["/is/um"] > 2 * before["/is/um"]
    assert "/is/heim" not in after


def test_gain_says_nothing_of_a_queued_page_without_news() -> None:
    crawl = Learner(gain := make(Gain))
    visit(crawl, page("/", "eng"), links("/is/um"))
    assert gain.priorities(page("/x", "eng"), links("/is/um"), None) == [NEVER]
    label = Link(HOST + "/is/um", label="isl", position=LinkPosition.SWITCHER)
    assert visit(crawl, page("/y", "eng"), [label])["/is/um"] > 0.5


def test_gain_does_not_ask_twice_for_a_translation_it_has() -> None:
    crawl = Learner(gain := make(Gain))
    visit(crawl, page("/", "eng"), links("/is/um", "/en/um", "/is/um/", "/en/annad"))
    visit(crawl, page("/en/um", "eng"), [])
    worth = visit(crawl, page("/is/um", "isl"), [])
    assert worth["/is/um/"] < gain.reconsider(HOST + "/en/annad", 1.0)


def test_gain_believes_the_wording_of_a_link() -> None:
    crawl = Learner(gain := Gain(PAIR))
    found = [Link(HOST + "/1", text="Saga bókasafnsins og lesenda þess"), Link(HOST + "/2", text="History and readers")]
    worth = visit(crawl, page("/", "eng"), found)
    first, second = (gain.explain(HOST + path).belief for path in ("/1", "/2"))
    assert first[1] > first[0]
    assert second[0] > second[1]
    # the language that the site has no document in yet is preferred a little
    assert worth["/2"] < worth["/1"] < 1.5 * worth["/2"]


def test_gain_does_not_take_a_stub_for_a_translation() -> None:
    crawl = Learner(make(Gain))
    visit(crawl, page("/en/um", "eng", length=5000), links("/is/um", "/is/um/"))
    assert visit(crawl, page("/is/um", "isl", length=100), [])["/is/um/"] > 0.5


def test_gain_ranks_seeds_by_language_and_crosses_pages_in_others_unless_told_not_to() -> None:
    crossing, staying = make(Gain), Gain(PAIR, bridges=False)
    known, unmarked, other = (crossing.seed_priority(HOST + path) for path in ("/en/", "/", "/fr/"))
    assert min(known, unmarked) > other
    assert crossing.expands(page("/fr", "fra"))
    assert not staying.expands(page("/fr", "fra"))
    assert staying.expands(PageRecord(HOST, "fra", None, seed=True))


def test_gain_unlearns_a_language_folder_that_lies() -> None:
    crawl = Learner(gain := make(Gain))
    names = [f"/is/p{i}" for i in range(20)]
    first = visit(crawl, page("/", "eng"), links("/en/p19", *names))["/is/p19"]
    visit(crawl, page("/en/p19", "eng"), [])
    believed = gain.reconsider(HOST + "/is/p19", 1.0)
    for name in names[:6]:
        visit(crawl, page(name, "eng"), [])
    assert believed > 1.5 * first
    assert gain.reconsider(HOST + "/is/p19", 1.0) < believed / 2


def test_gain_shares_the_trust_in_a_switch_that_always_leads_home() -> None:
    crawl = Learner(make(Gain))
    home = Link(HOST + "/heim", label="isl", position=LinkPosition.SWITCHER)
    worth = [visit(crawl, page(f"/p{i}", "eng"), [home])["/heim"] for i in range(6)]
    assert worth[-1] < worth[0] / 2


def test_gain_follows_what_is_said_of_a_redirected_url_to_its_target() -> None:
    crawl = Learner(gain := make(Gain))
    claim = Link(HOST + "/um", hreflang="isl", alternate=True, position=LinkPosition.HEAD)
    visit(crawl, page("/about", "eng"), [claim])
    crawl.observe_redirect(HOST + "/um", HOST + "/is/um-okkur")
    assert gain.reconsider(HOST + "/is/um-okkur", 1.0) > 0.5


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        ("labels", Link(HOST + "/1", label="isl")),
        ("wording", Link(HOST + "/1", text="Saga bókasafnsins og lesenda þess")),
        ("hreflang", Link(HOST + "/1", hreflang="isl", alternate=True, position=LinkPosition.HEAD)),
        ("switchers", Link(HOST + "/1", position=LinkPosition.SWITCHER)), ("cross_links", Link(HOST + "/is/1")),
        ("marks", Link(HOST + "/is/1")), ("mirrors", Link(HOST + "/is/um")), ("linking_pages", Link(HOST + "/1")),
        ("surplus", Link(HOST + "/is/1")), ("folders", Link(HOST + "/en/1")), ("pair_rate", Link(HOST + "/en/1")),
        ("served", Link(HOST + "/en/old/")),
    ],
)  # fmt: skip
def test_each_kind_of_evidence_of_gain_counts_unless_it_is_switched_off(kind: str, link: Link) -> None:
    def terms(link: Link, *without: str) -> tuple[object, ...]:
        crawl = Learner(gain := Gain(PAIR, without=without))
        visit(crawl, page("/en/old", "eng"), [])
        visit(crawl, page("/is/old", "isl"), [])
        visit(crawl, page("/en/um", "eng"), [*links("/is/queued"), link])
        worth = gain.explain(link.url)
        return worth.belief, worth.completes, worth.later

    assert terms(link, *EVIDENCE.keys() - {kind}) != terms(link, *EVIDENCE)


def test_the_terms_of_gain_are_those_of_its_priorities() -> None:
    crawl = Learner(gain := Gain(PAIR))
    seed = gain.seed_priority(HOST + "/is/seed")
    assert seed == gain.explain(HOST + "/is/seed").total
    visit(crawl, page("/en/old", "eng"), [])
    visit(crawl, page("/is/old", "isl"), [])
    found = [*links("/is/queued"), Link(HOST + "/is/um", "Um okkur", hreflang="isl", alternate=True), *links("/en/x")]
    source = page("/en/um", "eng")
    crawl.observe_page(source, found)
    priorities = gain.priorities(source, found, None)
    assert len(set(priorities)) == len(found)
    assert priorities == [gain.explain(link.url).total for link in found]


def test_gain_takes_weights_by_name_and_names_the_evidence_there_is() -> None:
    doubtful, sure = (Gain(PAIR, weights={"marks.trust": trust}) for trust in (0.4, 0.99))
    assert sure.explain(HOST + "/is/um").belief[1] > doubtful.explain(HOST + "/is/um").belief[1] + 0.2
    future = Gain(PAIR, weights={"gain.future": 1.0})
    assert future.explain(HOST).later == pytest.approx(4 * Gain(PAIR).explain(HOST).later)
    with pytest.raises(PolicyError, match=r"no evidence marsk; there are folders, .*served"):
        Gain(PAIR, weights={"marsk.trust": 1.0})
    with pytest.raises(PolicyError, match="no evidence marsk"):
        Gain(PAIR, without=["marsk"])
