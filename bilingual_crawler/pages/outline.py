"""The outline of a page: the little that a page has in common with its translation, whatever their languages."""

import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from heapq import nlargest, nsmallest
from itertools import accumulate
from math import log2
from typing import Annotated
from urllib.parse import urlsplit
from zlib import crc32

from msgspec import Meta, Struct

from bilingual_crawler.pages.tables import NOT_PAGES
from bilingual_crawler.pages.words import western_digits

MAX_CHARACTERS = 10_000  # characters of a text that are read
MAX_READ = 1000  # numbers and files that are looked at, of which some are kept
MAX_NUMBERS, MAX_NAMES, MAX_FILES = 64, 96, 40
MAX_LINES = 48  # lines that are kept: the longest ones, as navigation is short

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:[.,:٫٬．，]\d+)*")
_MARKS = str.maketrans("", "", ".,:٫٬．，")
_SPREAD = 2654435761  # multiplier of Knuth's hash, which makes near numbers far ones
_MASK = 0xFFFFFFFF


class Outline(Struct, frozen=True, array_like=True):
    """What a page shares with its translation, at most 1,150 bytes packed; arrays are 32-bit, little-endian."""

    length: Annotated[int, Meta(ge=0)]  # characters of the main text: all but navigation
    count: Annotated[int, Meta(ge=0)]  # its lines
    numbers: Annotated[bytes, Meta(max_length=4 * MAX_NUMBERS)]  # in the main text; hashed over nine digits
    names: Annotated[bytes, Meta(max_length=4 * MAX_NAMES)]  # hashes: words with a capital inside a line, or digits
    files: Annotated[bytes, Meta(max_length=4 * MAX_FILES)]  # hashes: images, linked files, links to other hosts
    lines: Annotated[bytes, Meta(max_length=4 * MAX_LINES)]  # hashes of the longest lines, in order
    lengths: Annotated[bytes, Meta(max_length=MAX_LINES)]  # of each of these, four times the binary logarithm

    def __post_init__(self) -> None:
        """Raise ValueError if the parts do not fit together: what wrote them reads what strangers wrote."""
        arrays = (self.numbers, self.names, self.files, self.lines)
        if any(len(array) % 4 for array in arrays) or len(self.lines) != 4 * len(self.lengths):
            raise ValueError("not an outline")


def outline_of_text(title: str, lines: Sequence[str], files: Iterable[str] = ()) -> Outline:
    """The outline of a document with this main text, which shows, or links to, *files*."""
    lengths = list(map(len, lines))
    read = bisect_right(list(accumulate(lengths)), MAX_CHARACTERS)
    text = [title[:MAX_CHARACTERS], *(lines[:read] or [line[:MAX_CHARACTERS] for line in lines[:1]])]
    least = nlargest(MAX_LINES, lengths)[-1] if lengths else 0
    longest = [line for line in lines if len(line) >= least][:MAX_LINES]
    numbers = (int(number) if len(number) < 10 else hash_text(number) for number in numbers_in("\n".join(text)))
    return Outline(
        length=sum(lengths),
        count=len(lines),
        numbers=_sample(numbers, MAX_NUMBERS),
        names=_sample(map(hash_text, names_in(text)), MAX_NAMES),
        files=_sample(map(hash_text, files), MAX_FILES),
        lines=_array([hash_text(line) for line in longest]),
        lengths=bytes(round(4 * log2(len(line))) for line in longest),
    )


def numbers_in(text: str) -> list[str]:
    """The first 1,000 numbers of *text* in order, in the digits of English, without the marks between them."""
    return [western_digits(number).translate(_MARKS) for number in _NUMBER.findall(text)[:MAX_READ]]


def names_in(lines: Iterable[str]) -> set[str]:
    """Words with a capital inside a line, and words of letters and digits; in lower case."""
    first: set[str] = set()
    inner: set[str] = set()
    for line in lines:
        words = _WORD.findall(line)
        first.update(words[:1])
        inner.update(words[1:])
    # a set is looked at once, for most words come often
    found = {lower for word in inner if (lower := word.lower()) != word and not word.isdigit()}
    found.update(word.lower() for word in first | inner if not word.isalpha() and not word.isdigit())
    return found


def hash_text(text: str) -> int:
    """CRC-32 of *text*."""
    return crc32(text.encode("utf-8", "surrogatepass"))


def files_in(images: Iterable[str], hrefs: Sequence[str], url: str) -> set[str]:
    """Names of *images* and linked files, and where *hrefs* to other hosts than that of *url* lead, in lower case."""
    host = urlsplit(url).netloc
    found = {_path(source).rpartition("/")[2] for source in set(images) if not source.startswith("data:")}
    for href in set(hrefs[:MAX_READ]):
        path = _path(href)
        if path.rpartition(".")[2] in NOT_PAGES:
            found.add(path.rpartition("/")[2])
        elif "//" in path[:8] and (target := path.partition("//")[2]).partition("/")[0] != host:
            found.add(target.rstrip("/"))
    return found


def _path(address: str) -> str:
    return address.partition("#")[0].partition("?")[0].lower()


def _sample(items: Iterable[int], limit: int) -> bytes:
    """The items with the smallest hashes, the same ones on all pages that have them (bottom-k sampling)."""
    found = set(items)
    few = found if len(found) <= limit else nsmallest(limit, found, key=lambda item: item * _SPREAD & _MASK)
    return _array(sorted(few))


def _array(items: list[int]) -> bytes:
    return struct.pack(f"<{len(items)}I", *items)
