"""``results.json``: the measured crawls of a benchmark, kept as they come."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING

from bilingual_crawler.files import replacing
from bilingual_crawler.harvest.curve import Result
from bilingual_crawler.harvest.sites import SiteError

if TYPE_CHECKING:
    from pathlib import Path


class ResultStore:
    """The results in a file; those of earlier runs stay until the same task and policy is measured again."""

    def __init__(self, path: Path, links: str) -> None:
        """Read what is there; :class:`SiteError` if it cannot be read or was measured with other links."""
        self._path = path
        self._results: dict[tuple[str, str], Result] = {}
        for result in _read(path):
            self._results[result.task, result.policy] = result
            if result.links != links:
                raise SiteError(f"{path} holds crawls with --links {result.links}: choose another --out")

    @property
    def results(self) -> list[Result]:
        """All results, by task and policy."""
        return [self._results[key] for key in sorted(self._results)]

    def add(self, result: Result) -> None:
        """Keep a result and write the file anew."""
        self._results[result.task, result.policy] = result
        lines = ",\n".join(json.dumps(r.as_dict(), ensure_ascii=False) for r in self.results)
        with replacing(self._path) as part:
            part.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _read(path: Path) -> list[Result]:
    if not path.exists():
        return []
    names = {f.name for f in fields(Result)}
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [Result(**{name: value for name, value in row.items() if name in names}) for row in rows]
    except (ValueError, TypeError, AttributeError) as error:
        raise SiteError(f"{path} is no results file of this scrapy harvest, choose another --out: {error}") from error
