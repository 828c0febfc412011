"""Mutations of real pages, as of broken or hostile servers, and pages made only to do harm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_TAG = re.compile(rb"<[^<>]{1,200}>")
ENCODINGS = ("utf-16", "utf-8-sig", "latin-1", "cp1251", "shift_jis", "gb18030", "iso2022_jp", "punycode", "utf-7", "x")


def _place(rng: random.Random, page: bytes) -> int:
    return rng.randrange(len(page) + 1)


def _piece(rng: random.Random, page: bytes) -> bytes:
    start = _place(rng, page)
    return page[start : start + rng.randrange(1, 2000)]


def _insert(rng: random.Random, page: bytes, more: bytes) -> bytes:
    at = _place(rng, page)
    return page[:at] + more + page[at:]


def truncation(rng: random.Random, page: bytes) -> bytes:
    return page[: _place(rng, page)]


def flipped_bytes(rng: random.Random, page: bytes) -> bytes:
    changed = bytearray(page)
    for _ in range(1 + len(changed) // rng.choice((10, 100, 1000))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def nesting(rng: random.Random, page: bytes) -> bytes:
    tag = rng.choice((b"div", b"table", b"ul", b"b", b"a href=x", b"svg", b"math", b"select", b"template", b"p"))
    return _insert(rng, page, b"<" + tag + b">" * rng.randrange(1, 4) + (b"<" + tag + b">") * rng.randrange(1, 20_000))


def repeated_fragments(rng: random.Random, page: bytes) -> bytes:
    return _insert(rng, page, _piece(rng, page) * rng.randrange(1, 300))


def broken_encodings(rng: random.Random, page: bytes) -> bytes:
    name = rng.choice(ENCODINGS)
    text = page.decode("utf-8", "replace")
    try:
        encoded = text.encode(name, "replace")
    except LookupError:
        encoded = page
    declared = f"<meta charset={rng.choice((name, *ENCODINGS))}>".encode()
    return declared + encoded if rng.random() < 0.5 else encoded


def unclosed_comments(rng: random.Random, page: bytes) -> bytes:
    opened = rng.choice(
        (b"<!--", b"<!", b"<?", b"<![CDATA[", b"<script>", b"<style>", b"<textarea>", b"<title>", b"<!-->")
    )
    return _insert(rng, page, opened * rng.randrange(1, 50_000))


def attributes(rng: random.Random, page: bytes) -> bytes:
    value = rng.choice((b"=1", b"='", b'="', b"", b"=" + b"x" * 1000))
    many = b" ".join(b"a%d%s" % (number, value) for number in range(rng.randrange(1, 2000)))
    return _insert(rng, page, rng.choice((b"<p ", b"<a href=x ", b"<html ", b"</p ")) + many + b">")


def crossed_tags(rng: random.Random, page: bytes) -> bytes:
    """All tags of the page, in any order between its texts."""
    tags = _TAG.findall(page)
    rng.shuffle(tags)
    return _TAG.sub(lambda _: tags.pop(), page)


def spliced(rng: random.Random, page: bytes) -> bytes:
    """Pieces of the page in any order."""
    return b"".join(_piece(rng, page) for _ in range(rng.randrange(1, 60)))


def formatting_bomb(rng: random.Random, page: bytes) -> bytes:
    """Open formatting elements that the parser opens anew in every paragraph."""
    opened = b"".join(b"<b i=%d>" % number for number in range(rng.randrange(10, 5000)))
    return opened + b"<p>x" * rng.randrange(10, 5000) + page


def end_tag_bomb(rng: random.Random, page: bytes) -> bytes:
    """As many end tags as start tags, of another name."""
    return b"<span></x>" * rng.randrange(100, 400_000) + page


def attribute_bomb(rng: random.Random, page: bytes) -> bytes:
    return b"<p " + b" ".join(b"a%d" % number for number in range(rng.randrange(1000, 300_000))) + b">" + page


def comment_bomb(rng: random.Random, page: bytes) -> bytes:
    return page + b"<!--" * rng.randrange(1000, 75_000)


def depth_bomb(rng: random.Random, page: bytes) -> bytes:
    tag = rng.choice((b"<div>", b"<i>", b"<table><tr><td>", b"<svg>", b"<ruby><rt>", b"<button>", b"<form><template>"))
    return tag * rng.randrange(1000, 100_000) + page


def table_bomb(rng: random.Random, page: bytes) -> bytes:
    """Text and elements that belong before the table they are in."""
    return b"<table>" * rng.randrange(1, 500) + b"x<b>" * rng.randrange(1, 10_000) + page


def link_bomb(rng: random.Random, page: bytes) -> bytes:
    base = b"<base href=/" + b"a" * rng.randrange(1, 1950) + b"/>"
    return base + b"".join(b"<a href=%d>x</a>" % number for number in range(rng.randrange(100, 50_000))) + page


def switcher_bomb(rng: random.Random, page: bytes) -> bytes:
    one = b"<nav class=language><a hreflang=es href=/%d>es</a><option value=/%d>Espanol</option></nav>"
    return page + b"<select>" * rng.randrange(2) + b"".join(one % (n, n) for n in range(rng.randrange(10, 20_000)))


def text_bomb(rng: random.Random, page: bytes) -> bytes:
    letter = rng.choice((b"a", b"\xe2\x80\x8b", b"&amp;", b"\n<p>b", b"\xd9\x80", b" .", b"\x00", b"&#x1F600;", b"1,"))
    return page + b"<p>" + letter * rng.randrange(1000, 1_000_000 // len(letter))


MUTATIONS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        truncation,
        flipped_bytes,
        nesting,
        repeated_fragments,
        broken_encodings,
        unclosed_comments,
        attributes,
        crossed_tags,
        spliced,
    )
}
BOMBS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        formatting_bomb,
        end_tag_bomb,
        attribute_bomb,
        comment_bomb,
        depth_bomb,
        table_bomb,
        link_bomb,
        switcher_bomb,
        text_bomb,
    )
}
