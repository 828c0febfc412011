"""Which documents are partners, one to one."""

from __future__ import annotations


class Partners:
    """Documents in pairs, by URL. ``len()`` is the number of pairs, ``in`` tells whether a document is in one."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._of) // 2

    def __contains__(self, url: str) -> bool:
        return url in self._of

    def of(self, url: str) -> str | None:
        """The partner of the document at *url*."""
        return self._of.get(url)

    def join(self, url: str, partner: str) -> list[tuple[str, str]]:
        """Make both partners; returns the pairs that they were in before, which are none any more."""
        parted = []
        for one in (url, partner):
            former = self._of.pop(one, None)
            if former is not None:
                del self._of[former]
                parted.append((one, former))
        self._of[url], self._of[partner] = partner, url
        return parted
