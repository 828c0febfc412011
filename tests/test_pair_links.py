import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.frozen_sites import write_frozen
from support.tables import write_table

from bilingual_crawler.harvest.sites import Task, read_site
from training.parallelness.links import ALL, NOT_ALIKE, TWO, UNDECLARED, WAYS, declared, main, score_site, summarise

HOME = "https://s.org/en/x"
PARTNER, REFUSED, OTHER = "https://s.org/fi/x", "https://s.org/sv/x", "https://s.org/en/y"
HTML = f'<html><link rel=alternate hreflang=sv href="{REFUSED}"><a href="{PARTNER}">Lue</a><a href="{OTHER}">y</a>'


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    """One site: an English page, its Finnish partner, a Swedish address that holds English, another page."""
    rows = {HOME: ("eng", HTML, [PARTNER, REFUSED, OTHER]), PARTNER: ("fin", "", []), REFUSED: ("eng", "", [])}
    write_frozen(tmp_path / "sites" / "s", "https://s.org/", rows | {OTHER: ("eng", "", [])}, [(HOME, PARTNER)])
    columns = "site lang_a lang_b gold_pairs reachable_pages seeds"
    return write_table(tmp_path / "sites" / "tasks.tsv", columns, [("s", "eng", "fin", 1, 4, HOME)]).parent


def by_end(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
    return np.array([{"x": 0.9 if "sv" in v else 0.8, "y": 0.1}[v[-1]] for _, v in pairs], dtype=np.float32)


def test_what_a_page_names_as_its_translation(sites: Path) -> None:
    assert (HOME, REFUSED) in declared(read_site(sites / "s"))
    assert (HOME, OTHER) not in declared(read_site(sites / "s"))


def test_each_way_counts_other_negatives(sites: Path) -> None:
    found = score_site(read_site(sites / "s"), [Task("s", "eng", "fin", (HOME,))], by_end)
    assert {way: int(found.counted[way].sum()) for way in WAYS} == {ALL: 3, UNDECLARED: 2, NOT_ALIKE: 2, TWO: 3}
    assert summarise([found], ALL).average_precision == 0.5
    assert summarise([found], UNDECLARED).average_precision == 1.0
    assert summarise([found], UNDECLARED).calibration_error == pytest.approx(0.15)


def test_command_prints_a_table_and_writes_json(sites: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = sites.parent / "o.json"
    main(["--sites", str(sites), "--model", "rules", "--json", str(out)])
    found = json.loads(out.read_text())
    assert set(found) == set(WAYS)
    assert found[ALL]["sites"] == {"s": 0.5}
    assert "| s | 0.500 | 1.000 | 1.000 | 0.500 |" in capsys.readouterr().out
