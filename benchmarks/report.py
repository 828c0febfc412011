"""The tables of figures in the documentation: measured by benchmarks, kept as JSON, rendered into the pages.

    python -m benchmarks.report                           render the tables into README.md and docs/
    python -m benchmarks.report pairs.real                measure this run of a table again, and render
    python -m benchmarks.report pairs                     measure all runs of it again
    python -m benchmarks.report pairs.real --read OUT     take what its command has written to OUT, and render

``docs/data/NAME.json`` is a table. ``columns`` maps its headings to fields (``macro.f1``: of a field of fields), or to
format strings over fields (``{macro[f1]:.2f}``). ``runs`` have a ``name``, the ``command`` that measures them in a
shell at the root of the repository, the ``commit``, ``date`` and ``machine`` of the figures, and ``rows`` of fields.
``labels`` are fields of all rows of a run; if ``keys`` maps the ``name`` of a row to its label, other rows of the
command are left out. The command writes its rows to the place that it calls OUT: a JSON object, a list of them, objects
by name, a text that ends with a line of them, the folder of a
``scrapy harvest``, or one that holds a single JSON file. It may make other files whose names begin with OUT.

A page has a table between ``<!-- table: NAME -->`` and ``<!-- end -->``, with a line on its measurement, and some of
its columns, without this line, after ``<!-- table: NAME: HEADING | HEADING -->``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from string import Formatter
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bilingual_crawler.harvest.results import ALL_FOUND, SHARES, bootstrap, by_policy, in_interval, pages_to, with_gold
from bilingual_crawler.harvest.run import ResultStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).parent.parent
DATA = ROOT / "docs" / "data"
_REGION = re.compile(r"(<!-- table: ([\w-]+)(?:: (.+?))? -->\n).*?(?=<!-- end -->)", re.DOTALL)
_OUT = re.compile(r"\bOUT\b")
_NO_ZERO = re.compile(r"\b0(?=\.\d{2})")

Row = dict[str, Any]
"""Fields of one line of a table."""


def read_table(name: str) -> dict[str, Any]:
    """The table *name*; raises ValueError if there is none."""
    try:
        table: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"no table {name}; there are {', '.join(sorted(table_names()))}") from None
    return table


def table_names() -> list[str]:
    return [path.stem for path in DATA.glob("*.json")]


# measuring ------------------------------------------------------------------------------------------------------------


def measure(run: Row, columns: Iterable[str], read: Path | None = None) -> None:
    """Replace the rows of *run* by the fields in *columns* that its command gives now, or has written to *read*."""
    with TemporaryDirectory() as folder:
        out = read or Path(folder, "out")
        if read is None:
            command = _OUT.sub(str(out), run["command"])
            print(command, file=sys.stderr)
            path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
            subprocess.run(command, shell=True, check=True, cwd=ROOT, env=os.environ | {"PATH": path})
        found = list(read_rows(out))
    if keys := run.get("keys"):
        by_name = {row.get("name"): row for row in found}
        if missing := keys.keys() - by_name.keys():
            raise ValueError(f"{run['name']}: its command gives no {', '.join(sorted(missing))}")
        found = [by_name[key] for key in keys]
    fields = {"name"}.union(*map(_fields, columns))
    found = [{name: value for name, value in row.items() if name in fields} for row in found]
    run |= {"commit": _commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": _machine(), "rows": found}


def _fields(column: str) -> set[str]:
    """The fields of a row that *column* shows."""
    named = [name for _, name, _, _ in Formatter().parse(column) if name] if "{" in column else [column]
    return {re.split(r"[.[]", name)[0] for name in named}


def read_rows(out: Path) -> Iterator[Row]:
    """The rows that a command has written to *out*."""
    if (out / "results.json").exists():
        yield from _harvest_rows(out)
        return
    if (out / "together.json").exists():
        yield from _joint_rows(json.loads((out / "together.json").read_text(encoding="utf-8")))
        return
    if out.is_dir():
        (out,) = out.glob("*.json")
    text = out.read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except ValueError:
        found = json.loads(text.splitlines()[-1])
    if isinstance(found, list):
        yield from found
    elif all(isinstance(value, dict) for value in found.values()):
        yield from ({"name": name, **row} for name, row in found.items())
    else:
        yield found


def _harvest_rows(out: Path) -> Iterator[Row]:
    """A row for each policy of ``scrapy harvest``."""
    for policy, group in by_policy(with_gold(ResultStore(out / "results.json").results)).items():
        low, high = bootstrap(group)
        found, gold = sum(one.found for one in group), sum(one.gold_pairs for one in group)
        yield {
            "name": policy,
            "tasks": len(group),
            "auc": fmean(one.relative_auc for one in group),
            "low": low,
            "high": high,
            "worst": min(one.relative_auc for one in group),
            "text": fmean(one.relative_text_auc for one in group),
            "complete": sum(one.found >= ALL_FOUND * one.gold_pairs for one in group),
            "recall": found / gold,
            "worst_recall": min(one.found / one.gold_pairs for one in group),
            "downloads": sum(one.downloads for one in group) / sum(one.reachable_pages for one in group),
            "inside": sum(in_interval(one) for one in group),
            **{f"to_{share}": fmean(pages_to(one, share) for one in group) for share in SHARES},
        }


def _joint_rows(crawls: Sequence[Row]) -> Iterator[Row]:
    """A row for each budget of ``scrapy harvest --together``: shares found by pair of languages, and their means."""
    for budget in dict.fromkeys(crawl["budget"] for crawl in crawls):
        group = [crawl for crawl in crawls if crawl["budget"] == budget]
        means = map(fmean, zip(*(crawl["shares"] for crawl in group), strict=True))
        yield {
            "name": budget,
            "by_pair": {crawl["pair"]: crawl["shares"][-1] for crawl in group},
            "means": {f"after_{percent}": mean for percent, mean in enumerate(means)},
        }


def _commit() -> str:
    """The commit of the working tree, with a plus sign if more than the documentation differs from it."""
    git = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True)
    commit = git(("git", "rev-parse", "--short=8", "HEAD"), check=True).stdout.strip()
    differs = git(("git", "diff", "--quiet", "HEAD", "--", ".", ":!docs", ":!README.md")).returncode
    return f"{commit}{'+' * bool(differs)}"


def _machine() -> str:
    cpu = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.+)", cpu.read_text()) if cpu.exists() else []
    return f"{os.cpu_count()} cores, {models[0] if models else platform.machine()}"


# rendering ------------------------------------------------------------------------------------------------------------


def render(page: str) -> str:
    """The text of *page* with its tables as the data have them."""
    return _REGION.sub(lambda found: found[1] + _rendered(found[2], found[3]), page)


def _rendered(name: str, chosen: str | None) -> str:
    table = read_table(name)
    columns: dict[str, str] = table["columns"]
    if chosen:
        columns = {heading: columns[heading] for heading in chosen.split(" | ")}
    rows = [row | run.get("labels", {}) | _label(run, row) for run in table["runs"] for row in run["rows"]]
    lines = [list(columns), *([_cell(field, row) for field in columns.values()] for row in rows)]
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    text = "\n".join((head, f"|---|{'---:|' * (len(columns) - 1)}", *body))
    return f"\n{text}\n" + ("\n" if chosen else f"\n{_made_by(name, table['runs'])}\n\n")


def _label(run: Row, row: Row) -> Row:
    return {"name": run["keys"][row["name"]]} if "keys" in run else {}


def _cell(field: str, row: Row) -> str:
    if "{" in field:
        try:
            return _NO_ZERO.sub("", field.format(**row)).replace("%", " %")
        except (KeyError, TypeError):
            return "–"
    value: Any = row
    for part in field.split("."):
        value = (value or {}).get(part)
    if isinstance(value, float):
        return f"{value:.3f}".removeprefix("0")
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _made_by(name: str, runs: Sequence[Row]) -> str:
    made = ", ".join(dict.fromkeys(f"`{run['commit']}` ({run['date']})" for run in runs))
    return f"[Measured](data/{name}.json) at {made}."


def pages() -> list[Path]:
    """The pages that may have tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and render."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="TABLE[.RUN]", help="what to measure again")
    parser.add_argument("--read", type=Path, metavar="OUT", help="what the command of the one run has written")
    options = parser.parse_args(arguments)
    try:
        for given in options.runs:
            name, _, only = given.partition(".")
            table = read_table(name)
            chosen = [run for run in table["runs"] if only in ("", run["name"])]
            if not chosen or (options.read and len(chosen) > 1):
                there = ", ".join(f"{name}.{run['name']}" for run in table["runs"])
                parser.error(f"{given}: {'--read is for one run; ' * bool(chosen)}choose among {there}")
            for run in chosen:
                measure(run, table["columns"].values(), options.read)
                text = json.dumps(table, indent=1, ensure_ascii=False) + "\n"
                (DATA / f"{name}.json").write_text(text, encoding="utf-8")
        for page in pages():
            before = page.read_text(encoding="utf-8")
            if (after := render(before)) != before:
                page.write_text(after, encoding="utf-8")
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
