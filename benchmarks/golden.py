"""What crawls of frozen sites give, before and after a refactoring, which should change none of it.

``python -m benchmarks.golden [SITES…] --out before.json`` crawls each site with the real spider, one request at a time,
aligns and writes bitext, and writes the hash of each output. The lines are in ``before.json.lines/`` beside that file.
``python -m benchmarks.golden [SITES…] --compare before.json`` does the same and prints the first differing line of each
output that differs; it exits with 1 if there is one. Times and places in the archive are left out.

The sites are frozen ones, from ``../shared/data/sites`` if it is there, and those of ``benchmarks/golden_sites.py``.
Each is crawled in a process of its own. ``PYTHONHASHSEED`` is 0 unless the environment has another one.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.golden_sites import write_pdfs, write_variants, write_web
from bilingual_crawler.harvest.run import crawl_environment, tail
from bilingual_crawler.storage.sites import site_prefixes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SHARED = Path(__file__).parents[2] / "shared"
SITES = SHARED / "data" / "sites"
OUTPUTS = ("crawl.tsv", "sites.tsv", "pairs.tsv", "unpaired.tsv", "documents.jsonl.gz", "bitext/*")
"""What is compared, of a crawl and of the crawl that follows a discovery."""
PLACES = {"warc_file", "warc_offset"}
"""Keys of documents that are left out: records in the archive have random ids, so their sizes differ."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
SETTINGS = {
    "BILINGUAL_ALIGN": "auto",
    "BILINGUAL_ENCODER": "",
    "BILINGUAL_BITEXT": "bitextor,tmx,moses,jsonl,dropped,documents,monolingual",
    "CONCURRENT_REQUESTS": "1",
}
Lines: TypeAlias = dict[str, list[str]]
"""Output -> its lines."""


@dataclass(frozen=True)
class Archived:
    """A site, or a web of them, as an archive."""

    folder: Path
    seeds: tuple[str, ...]


@dataclass(frozen=True)
class Replay:
    """One crawl."""

    pair: str
    archive: Callable[[Path], Archived]
    """Makes the archive in an empty folder, or finds it elsewhere."""
    spider: str = "bilingual"
    arguments: tuple[str, ...] = ()
    """``name=value`` arguments of the spider."""
    settings: tuple[str, ...] = ()
    """``NAME=VALUE``"""


def made(write: Callable[[Path], str]) -> Callable[[Path], Archived]:
    """A site of :mod:`benchmarks.golden_sites`."""
    return lambda scratch: Archived(scratch, (write(scratch),))


def generated(site: str, start: str = "") -> Callable[[Path], Archived]:
    """A site of ``sites/generated``, from the page *start*."""

    def archive(_: Path) -> Archived:
        [seed] = [row["seed"] for row in _rows(SITES / "generated" / "sites.tsv") if row["site"] == site]
        return Archived(SITES / "generated" / site / "crawl.warc.gz", (seed + start,))

    return archive


def frozen(kind: str, site: str) -> Callable[[Path], Archived]:
    """A site of ``sites/<kind>``."""
    return lambda _: _frozen(SITES / kind, site)


def changed(kind: str, site: str, tool: str, *options: str) -> Callable[[Path], Archived]:
    """A site of ``sites/<kind>`` as a script of ``shared/tools`` changes it."""

    def archive(scratch: Path) -> Archived:
        before, after = scratch / "before", scratch / "after"
        before.mkdir()
        (before / site).symlink_to((SITES / kind / site).resolve())
        head, *rows = (SITES / kind / "tasks.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
        (before / "tasks.tsv").write_text(head + "".join(row for row in rows if row.startswith(f"{site}\t")), "utf-8")
        command = [sys.executable, str(SHARED / "tools" / tool), str(before), str(after), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return _frozen(after, site)

    return archive


def _frozen(sites: Path, site: str) -> Archived:
    seeds = next(row["seeds"] for row in _rows(sites / "tasks.tsv") if row["site"] == site)
    return Archived(sites / site, tuple(seeds.split()))


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t"))


FROZEN = {
    "generated-nikola": Replay("eng-fin", generated("nikola")),
    "generated-mediawiki": Replay("eng-cym", generated("mediawiki", "en/index.php/Main_Page")),
    "real-cyberfair": Replay("eng-zho", frozen("real", "cyberfair")),
    "real-orgolife": Replay("ara-eng", frozen("real", "orgolife")),
    "cms-signo": Replay("eng-por", frozen("cms", "signo")),
    "dev-digital-justice": Replay("eng-fin", frozen("dev", "digital-justice")),
    "half": Replay("eng-isl", changed("dev", "irhpc", "half_translated.py", "--whole", "0.5")),
    "silent": Replay("eng-fin", changed("dev", "deskreen", "hard_variants.py", "--variant", "silent")),
    "two-pairs": Replay("eng-fra,fra-nld", frozen("cms", "aumontdescollines")),
}
MADE = {
    "variants": Replay("eng-spa", made(write_variants)),
    "pdf": Replay("eng-spa", made(write_pdfs), settings=("BILINGUAL_DOCUMENTS=html,pdf",)),
    "discovery": Replay("eng-spa", made(write_web), spider="discovery", arguments=("then=crawl",)),
}
REPLAYS = (FROZEN if SITES.is_dir() else {}) | MADE  # name -> crawl


def crawl(replay: Replay, folder: Path) -> Lines:
    """Crawl in the empty *folder*; returns the outputs. SystemExit with the end of the log if the crawl fails."""
    began = datetime.now(UTC).isoformat(timespec="seconds")
    scratch, out = folder / "archive", folder / "out"
    scratch.mkdir()
    archived = replay.archive(scratch)
    settings = SETTINGS | {"BILINGUAL_REPLAY": str(archived.folder), "BILINGUAL_OUTPUT_DIR": str(out)}
    if prefixes := site_prefixes(archived.folder):
        settings["BILINGUAL_SCOPE_PREFIXES"] = ",".join(prefixes)
    arguments = (f"pair={replay.pair}", f"seeds={','.join(archived.seeds)}", *replay.arguments)
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", replay.spider),
        *(part for argument in arguments for part in ("-a", argument)),
        *(part for name, value in settings.items() for part in ("-s", f"{name}={value}")),
        *(part for setting in replay.settings for part in ("-s", setting)),
    ]
    with (folder / "crawl.log").open("wb") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=environment(), cwd=folder, check=False)
    if done.returncode:
        raise SystemExit(f"{folder.name}: exit status {done.returncode}:\n{tail(folder / 'crawl.log')}")
    return read_outputs(out, began)


def environment() -> Mapping[str, str]:
    """That of a crawl; sets have the same order in each."""
    return {"PYTHONHASHSEED": "0", **crawl_environment()}


def read_outputs(out: Path, began: str) -> Lines:
    """Read what a crawl that *began* at this UTC time has written, without later times and places in the archive."""
    paths = sorted({path for name in OUTPUTS for path in out.rglob(name)})
    return {str(path.relative_to(out)): _read(path, began) for path in paths}


def _read(path: Path, began: str) -> list[str]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    text = TIME.sub(lambda found: "now" if found[0] >= began else found[0], text.removesuffix("\n"))
    # not splitlines: texts may hold other characters that end a line
    lines = text.split("\n")
    if path.name == "documents.jsonl.gz":
        records = map(json.loads, filter(None, lines))
        return [_dump({key: value for key, value in record.items() if key not in PLACES}) for record in records]
    return lines


def _dump(record: Mapping[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False)


def hashes(outputs: Mapping[str, Lines]) -> dict[str, dict[str, str]]:
    """Site -> output -> SHA-256 of its lines."""
    return {
        site: {name: hashlib.sha256("\n".join(lines).encode()).hexdigest() for name, lines in files.items()}
        for site, files in outputs.items()
    }


def save(outputs: Mapping[str, Lines], path: Path) -> None:
    """Write the hashes into *path*, and the lines into a folder beside it."""
    for site, files in outputs.items():
        for name, lines in files.items():
            file = _lines_of(path, site, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines), encoding="utf-8", newline="")
    path.write_text(json.dumps(hashes(outputs), indent=1) + "\n", encoding="utf-8")


def _lines_of(path: Path, site: str, name: str) -> Path:
    return path.with_name(f"{path.name}.lines") / site / name.removesuffix(".gz")


def differences(path: Path, outputs: Mapping[str, Lines]) -> list[tuple[str, str, int, str, str]]:
    """Compare with what was saved as *path*: site, output, number and both forms of the first differing line."""
    before, now = json.loads(path.read_text(encoding="utf-8")), hashes(outputs)
    found = []
    for site, files in now.items():
        old = before.get(site, {})
        for name in sorted(files.keys() | old.keys()):
            if files.get(name) != old.get(name):
                lines = _lines_of(path, site, name).read_bytes().decode().split("\n") if name in old else []
                found.append((site, name, *_first_difference(lines, outputs[site].get(name, []))))
    return found


def _first_difference(before: list[str], now: list[str]) -> tuple[int, str, str]:
    pairs = enumerate(zip_longest(before, now, fillvalue="(no line)"), 1)
    number, (old, new) = next((number, pair) for number, pair in pairs if pair[0] != pair[1])
    same = next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = max(same - 20, 0)
    return number, _excerpt(old, start), _excerpt(new, start)


def _excerpt(line: str, start: int, length: int = 90) -> str:
    return f"{'…' * (start > 0)}{line[start : start + length]}{'…' * (len(line) > start + length)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Crawl, save and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="*", metavar="SITES", help=f"{', '.join(REPLAYS)} (default: all)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the hashes here")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="compare with the hashes of an earlier --out")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="crawls at a time (%(default)s)")
    args = parser.parse_args(arguments)
    if unknown := set(args.sites) - REPLAYS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: choose among {', '.join(REPLAYS)}")
    if not (args.out or args.compare):
        parser.error("give --out, --compare or both")
    if args.compare and not args.compare.is_file():
        parser.error(f"--compare {args.compare}: no such file; give one that --out has written")
    sites = args.sites or list(REPLAYS)
    outputs: dict[str, Lines] = {}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(args.jobs) as pool:
        folders = [Path(scratch, site) for site in sites]
        for folder in folders:
            folder.mkdir()
        crawled = pool.map(crawl, [REPLAYS[site] for site in sites], folders)
        for site, lines in zip(sites, crawled, strict=True):
            outputs[site] = lines
            print(f"{site}: {len(lines)} outputs, {sum(map(len, lines.values()))} lines", flush=True)
    if args.out:
        save(outputs, args.out)
    if args.compare:
        found = differences(args.compare, outputs)
        for site, name, number, old, new in found:
            print(f"\n{site:20} {name:34} line {number}\n  - {old}\n  + {new}")
        print(f"\n{len(found)} of {sum(map(len, outputs.values()))} outputs differ")
        sys.exit(int(bool(found)))


if __name__ == "__main__":
    main()
