import csv
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.example_site import EXAMPLES, PAGES, serve

from bilingual_crawler.harvest.sites import read_site
from bilingual_crawler.pages.decode import decode_body
from bilingual_crawler.pages.html import outline_of, walk_through
from bilingual_crawler.pages.outline import Outline
from bilingual_crawler.pairing.resemblance import CONFIRMED_BY_OUTLINE, FOLDER, Resemblance, ResemblanceWeights
from bilingual_crawler.scoring.models import ModelError, models_folder
from bilingual_crawler.storage.archive import open_archive
from bilingual_crawler.storage.warc import ArchivedResponse

WEIGHTS = ResemblanceWeights.load(models_folder(None))
URL = "https://example.org/"


def outline(html: str) -> Outline:
    return outline_of(walk_through(html), URL)


ENGLISH = outline("<h1>Pumps</h1><p>In 1897 the firm Halvorsen built the first X-400 pump.<img src=/x400-side.jpg>")
SPANISH = outline("<h1>Bombas</h1><p>En 1897 la firma Halvorsen hizo la primera bomba X-400.<img src=x400-side.jpg>")
OTHER = outline("<h1>Tubos</h1><p>La fabrica de tubos fue vendida por Lindqvist en 1931.<img src=tubos-1931.jpg>")


def after(documents: Sequence[tuple[Outline, int]]) -> Resemblance:
    resemblance = Resemblance(WEIGHTS)
    for document, side in documents:
        resemblance.see(document, side)
    return resemblance


def test_two_documents_are_enough_to_confirm_and_to_refute() -> None:
    assert after([(ENGLISH, 0), (SPANISH, 1)]).score(ENGLISH, SPANISH) > CONFIRMED_BY_OUTLINE
    assert after([(ENGLISH, 0), (OTHER, 1)]).score(ENGLISH, OTHER) < 0.5


def test_what_all_documents_have_says_nothing() -> None:
    def page(side: int, number: int) -> Outline:
        words = ("Call", "today", "Office") if side == 0 else ("Llame", "hoy", "Oficina")
        return outline(f"<p>{words[0]} Halvorsen {words[1]} 5551897<p>{words[2]} {number}<img src=logo-halvorsen.png>")

    few = after([(page(0, 0), 0), (page(1, 0), 1)]).score(page(0, 0), page(1, 0))
    many = after([(page(side, number), side) for number in range(100, 130) for side in (0, 1)])
    assert many.score(page(0, 100), page(1, 129)) < few
    assert many.score(page(0, 100), page(1, 129)) < CONFIRMED_BY_OUTLINE


def test_a_text_that_nobody_has_translated_is_not_confirmed() -> None:
    assert after([(ENGLISH, 0), (ENGLISH, 1)]).score(ENGLISH, ENGLISH) <= 0.5
    best = after([(ENGLISH, 0), (ENGLISH, 1), (OTHER, 1)]).best(ENGLISH, 0, [OTHER, ENGLISH])
    assert best is not None
    assert best.place == 1
    assert best.probability <= 0.5


def test_pages_that_say_nothing_of_themselves_stay_undecided() -> None:
    empty = [outline(f"<h1>{word}</h1><p>{word} {word}") for word in ("alpha", "beta")]
    assert 0.1 < after([(empty[0], 0), (empty[1], 1)]).score(*empty) < CONFIRMED_BY_OUTLINE


def test_the_translation_is_the_best_of_several_in_either_direction() -> None:
    resemblance = after([(ENGLISH, 0), (OTHER, 1), (SPANISH, 1)])
    best = resemblance.best(ENGLISH, 0, [OTHER, SPANISH])
    assert best is not None
    assert best.place == 1
    assert best.probability > CONFIRMED_BY_OUTLINE
    assert resemblance.best(SPANISH, 1, [ENGLISH]) == (0, resemblance.score(ENGLISH, SPANISH))
    assert resemblance.best(ENGLISH, 0, []) is None


def test_rivals_as_good_as_the_best_make_it_doubtful() -> None:
    resemblance = after([(ENGLISH, 0), (SPANISH, 1)])
    alone, contested = (resemblance.best(ENGLISH, 0, [SPANISH] * count) for count in (1, 2))
    assert alone is not None
    assert contested is not None
    assert contested.probability < alone.probability


FINGERPRINTS = st.lists(st.binary(min_size=4, max_size=4), max_size=40).map(b"".join)


@st.composite
def outlines(draw: st.DrawFn) -> Outline:
    lines = draw(st.integers(0, 48))
    arrays = draw(st.tuples(FINGERPRINTS, FINGERPRINTS, FINGERPRINTS))
    return Outline(draw(st.integers(0, 10**9)), lines, *arrays, bytes(4 * lines), bytes(lines))


@given(st.lists(st.tuples(outlines(), st.integers(0, 1)), min_size=2, max_size=12))
def test_a_score_is_a_probability_whatever_the_outlines(documents: list[tuple[Outline, int]]) -> None:
    resemblance = after(documents)
    for one, _ in documents:
        for other, _ in documents:
            assert 0 < resemblance.score(one, other) < 1


def test_the_partners_of_the_example_site_are_the_best_of_all_its_pages() -> None:
    outlines = {address: outline(serve.render(page)) for address, page in PAGES.items()}
    with (EXAMPLES / "gold.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    pairs = [(row["eng"], row["spa"]) for row in rows if row["eng"] and row["spa"]]
    resemblance = after([(outlines[url], side) for pair in pairs for side, url in enumerate(pair)])
    partners = [b for _, b in pairs]
    candidates = [outlines[url] for url in partners]
    best = {a: resemblance.best(outlines[a], 0, candidates) for a, _ in pairs}
    right = [a for a, b in pairs if (found := best[a]) and partners[found.place] == b]
    assert len(right) >= 0.9 * len(pairs)
    wrong = [a for a, found in best.items() if a not in right and found and found.probability > CONFIRMED_BY_OUTLINE]
    assert wrong == []


@pytest.mark.parametrize("name", ["deb.debmake", "gaitegi", "masslabs"])
def test_gold_pairs_are_told_from_their_neighbours(shared_data: Path, name: str) -> None:
    folder = shared_data / "sites" / "dev" / name
    archive = open_archive([folder])
    gold = sorted({(p.url_a, p.url_b) for p in read_site(folder).pairs if p.lang_a == "eng"})
    gold = list({a: (a, b) for a, b in gold}.values())
    outlines = {}
    for url in {url for pair in gold for url in pair}:
        response = archive.find(url)
        assert isinstance(response, ArchivedResponse)
        outlines[url] = outline_of(walk_through(decode_body(response.body, "text/html")), url)
    resemblance = after([(outlines[url], side) for pair in gold for side, url in enumerate(pair)])
    confirmed = [resemblance.score(outlines[a], outlines[b]) > CONFIRMED_BY_OUTLINE for a, b in gold]
    neighbours = [(a, b) for (a, _), (_, b) in pairwise(gold)]
    mistaken = [resemblance.score(outlines[a], outlines[b]) > CONFIRMED_BY_OUTLINE for a, b in neighbours]
    assert sum(confirmed) >= 0.5 * len(confirmed)
    assert sum(mistaken) <= 0.25 * len(mistaken)


def test_weights_that_do_not_fit_are_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    file = tmp_path / FOLDER / "config.json"
    file.write_text("{")
    with pytest.raises(ModelError, match=r"config\.json: not the weights"):
        ResemblanceWeights.load(tmp_path)
    content = json.loads((Path(str(models_folder(None))) / FOLDER / "config.json").read_text())
    file.write_text(json.dumps(content | {"pair": {"intercept": 0, "weights": {"shape": 1.0}}}))
    with pytest.raises(ModelError, match="train it again"):
        ResemblanceWeights.load(tmp_path)
