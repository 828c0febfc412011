"""Other tools read the bitext: Hugging Face datasets, pandas, DuckDB, translate-toolkit, OpusFilter, OpusCleaner."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import duckdb
import pandas as pd
import pytest
from support.crawls import ended_well
from support.environments import lend_packages, outside_environment
from support.finnish_texts import ENGLISH, FINNISH
from support.tables import json_lines

from bilingual_crawler.bitext.monolingual import open_monolingual
from bilingual_crawler.bitext.produce import BitextProducer, open_exports
from bilingual_crawler.items import Pair
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.language import BY_DEFAULT
from bilingual_crawler.pages.origin import UNKNOWN, Origin
from bilingual_crawler.plugins import EXPORTS

PAIR = LanguagePair.parse("eng-fin")
SITES = 40
LATE = "https://39.example/en"
"""The only page with an author, in the last rows."""


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences that are hard to read: tabs, quotes, markup, and facts that are first known in the last rows."""
    folder = tmp_path_factory.mktemp("bitext")
    given = EXPORTS.built_in, folder, PAIR
    producer = BitextProducer(PAIR, BY_DEFAULT, open_exports(*given), monolingual=open_monolingual(*given))
    for n in range(SITES):
        urls = f"https://{n}.example/en", f"https://{n}.example/fi"
        name = f"{'KLMNPRSTVH'[n % 10]}{'aeio'[n // 10]}vala"
        english = f'{name} lives in {name}nen, said "yes"\tand <b>left</b> & went\u2028 home.'
        finnish = f'{name} asuu {name}sessa, sanoi "kyllä"\tja <b>lähti</b> & meni\u2028 kotiin.'
        alone = f"Vain suomeksi: {name} ei ole muualla."
        texts = {urls[0]: [*ENGLISH, english], urls[1]: [*FINNISH, finnish, alone]}
        origin = lambda url: Origin(author="Aino") if url == LATE else UNKNOWN  # noqa: E731
        documents = [("eng", urls[0], True, [True] * 9), ("fin", urls[1], True, [True] * 9)]
        producer.add([Pair(*urls, 0.9, "url", "eng-fin")], texts.__getitem__, origin, documents)
    producer.close()
    return folder


@pytest.fixture(scope="module")
def lines(bitext: Path) -> dict[str, list[dict[str, Any]]]:
    """The JSON Lines of each kind, read by line."""
    read = {kind: json_lines(bitext / f"en-fi.{kind}jsonl.gz") for kind in ("", "documents.", "monolingual.")}
    assert len(read[""]) >= SITES
    assert (len(read["documents."]), len(read["monolingual."])) == (SITES, 2 * SITES)
    return read


def duck(kind: str, path: Path) -> list[dict[str, Any]]:
    relation = duckdb.sql(f"select * from read_{kind}('{path}')")
    assert relation is not None
    return [*relation.to_arrow_table().to_pylist()]


def hugging_face(kind: str, path: Path) -> list[dict[str, Any]]:
    return list(datasets.load_dataset(kind, data_files=str(path), cache_dir=str(path.parent / "cache"))["train"])


def pandas(kind: str, path: Path) -> list[dict[str, Any]]:
    table = pd.read_json(path, lines=True, dtype=False) if kind == "json" else pd.read_parquet(path)
    # through JSON, for pandas has arrays in cells
    return [*json.loads(table.to_json(orient="records", double_precision=15))]


READERS = {"datasets": hugging_face, "pandas": pandas, "duckdb": duck}


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """A line as a row of the table with the same content."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            named = "text" if name == "translation" else name
            found |= {f"{named}_{language}": side for language, side in value.items()}
        else:
            found[name] = value
    return {name: None if value == "" else value for name, value in found.items()}


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == pytest.approx(other, abs=1e-6) if isinstance(one, float) and other is not None else one == other)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["", "documents.", "monolingual."])
def test_tables_are_read(reader: str, kind: str, bitext: Path, lines: dict[str, list[dict[str, Any]]]) -> None:
    read: Callable[[str, Path], list[dict[str, Any]]] = READERS[reader]
    expected = lines[kind]
    assert alike(expected, read("json", bitext / f"en-fi.{kind}jsonl.gz"))
    assert alike(list(map(flat, expected)), read("parquet", bitext / f"en-fi.{kind}parquet"))
    authors = {json.dumps(row["author"]) for row in expected}
    assert len(authors) == (2 if kind else len(authors)), "a fact that comes late is read"


def test_translate_toolkit_reads_the_tmx(bitext: Path, lines: dict[str, list[dict[str, Any]]]) -> None:
    tmx = pytest.importorskip("translate.storage.tmx", reason="translate-toolkit, of the extra dev, is not installed")
    with gzip.open(bitext / "en-fi.tmx.gz") as file:
        units = tmx.tmxfile(file, "en", "fi").units
    assert [(unit.source, unit.target) for unit in units] == [tuple(row["translation"].values()) for row in lines[""]]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of OpusFilter and OpusCleaner, with older packages where they do not take those of this project."""
    environment = tmp_path_factory.mktemp("tools") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    lend_packages(environment)
    install = [str(environment / "bin/python"), "-m", "pip", "install", "-q", "--no-compile"]
    install += ["opuscleaner>=0.7", "opusfilter>=3.3"]
    done = subprocess.run(install, env=outside_environment(), capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        pytest.skip(f"OpusFilter and OpusCleaner could not be installed: {done.stderr.splitlines()[-1]}")
    return environment / "bin"


def moses(bitext: Path) -> list[tuple[str, str]]:
    read = ((bitext / f"en-fi.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "fi"))
    return list(zip(*read, strict=True))


@pytest.mark.slow
def test_opusfilter_reads_the_moses_files(bitext: Path, tools: Path, tmp_path: Path) -> None:
    files = {"inputs": [str(bitext / "en-fi.en"), str(bitext / "en-fi.fi")], "outputs": ["kept.en", "kept.fi"]}
    filters = [{"LengthFilter": {"unit": "word", "min_length": 6, "max_length": 100}}, {"LengthRatioFilter": {}}]
    steps = [{"type": "filter", "parameters": files | {"filters": filters}}]
    # JSON is YAML
    (tmp_path / "filter.yaml").write_text(json.dumps({"steps": steps}), encoding="utf-8")
    run(tools / "opusfilter", "filter.yaml", folder=tmp_path)
    kept = [(tmp_path / f"kept.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "fi")]
    long = [pair for pair in moses(bitext) if min(len(side.split()) for side in pair) >= 6]
    assert 0 < len(long) < len(moses(bitext))
    assert list(zip(*kept, strict=True)) == long


@pytest.mark.slow
def test_opuscleaner_reads_the_moses_files(bitext: Path, tools: Path, tmp_path: Path) -> None:
    for side in ("en", "fi"):
        (tmp_path / f"en-fi.{side}.gz").write_bytes(gzip.compress((bitext / f"en-fi.{side}").read_bytes()))
    length = {"filter": "max_length", "parameters": {"MAXLENGTH": 100, "MINLENGTH": 6}, "language": None}
    pipeline = {"version": 1, "files": ["en-fi.en.gz", "en-fi.fi.gz"], "filters": [length]}
    (tmp_path / "en-fi.filters.json").write_text(json.dumps(pipeline), encoding="utf-8")
    done = run(tools / "opuscleaner-clean", "en-fi.filters.json", folder=tmp_path)
    kept = [tuple(line.split("\t")) for line in done.stdout.splitlines()]
    assert kept == [pair for pair in moses(bitext) if min(len(side.split()) for side in pair) >= 6]


def run(*command: str | Path, folder: Path) -> Any:
    environment = outside_environment(PATH=f"{Path(command[0]).parent}:/usr/bin:/bin")
    return ended_well(subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300))
