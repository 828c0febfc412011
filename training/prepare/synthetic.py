"""`python -m training.prepare.synthetic`: URLs made up for training from word lists and the shapes of real URLs.

Two kinds, told apart in the column `source`: `synthetic-slug` has the path of a real URL with its words replaced by
words of another language; `synthetic-marker` is a real URL with a language mark put in. Never for evaluation.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import langcodes
from wordfreq import top_n_list

from bilingual_crawler.languages.codes import names_of, to_bcp47
from bilingual_crawler.urls.model_input import AMBIGUOUS, LANGUAGE_OF
from training.common.data import DataError, read_tsv
from training.common.options import refuse_bad_input
from training.prepare.romanisation import romanise

if TYPE_CHECKING:
    from collections.abc import Sequence

WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff])+")
GENERIC = ("com", "com", "com", "org", "net", "info", "eu")
QUERY_KEYS = ("lang", "lang", "language", "hl", "locale", "l", "lng", "idioma", "sprache", "setlang")
SHAPES = 60_000
SHARED = 10
OWN_LETTERS = 0.2  # the share of slugs that are not romanised: in the lists .01 of most languages, .3 of Arabic
HOME_PAGES = 0.3
PLACES = 0.05
NAMED = 0.25
MEDIA = ("news", "tv", "radio", "24", "online", "live", "times", "today", "daily", "media", "express", "press", "info")
FUNCTION_WORDS_OF = ("en", "fr", "es", "de", "it", "pt", "nl")  # languages whose words stand in URLs of all others


class Vocabulary:
    """Phrases of one language: from sentences where there are some, else words drawn at random. Both name towns."""

    def __init__(self, folder: Path, language: str) -> None:
        self.words = _lines(folder / f"{language}.words.txt")
        self.places = _lines(folder / f"{language}.places.txt")
        self.lines = [words for line in _lines(folder / f"{language}.lines.txt") if (words := WORD.findall(line))]

    def __bool__(self) -> bool:
        return len(self.words) + len(self.lines) > 200

    def phrase(self, length: int, rng: random.Random) -> list[str]:
        """`length` words, as they are written in running text."""
        found: list[str] = []
        running = self.lines and (not self.words or rng.random() < 0.4)
        while len(found) < length:
            if self.places and rng.random() < PLACES:
                found.append(rng.choice(self.places))
            elif running:
                line = rng.choice(self.lines)
                start = rng.randrange(len(line))
                found += [word[:12] if ord(word[0]) > 0x0E00 else word for word in line[start : start + length]]
            else:
                found.append(rng.choice(self.words))
        return found[:length]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def spell(words: list[str], language: str, rng: random.Random) -> list[str]:
    """The words as one site would write them in a URL: romanised, or in their own letters, or capitalised."""
    text = " ".join(words)
    if rng.random() > OWN_LETTERS:
        text = re.sub(r"[^\w ]", "", romanise(text, language, rng))
    return (text if rng.random() < 0.1 else text.lower()).split()


def host_label(vocabulary: Vocabulary, language: str, rng: random.Random) -> str:
    """The name of a made-up site, in ASCII, as registries demand."""
    words = vocabulary.phrase(rng.choice((1, 1, 2, 2)), rng)
    if rng.random() < NAMED:
        words[rng.randrange(len(words))] = rng.choice(vocabulary.places or words)
    text = romanise(" ".join(words), language, rng).lower()
    if rng.random() < NAMED:
        text += f" {rng.choice(MEDIA)}" if rng.random() < 0.8 else f" {rng.choice(names_of(language) or MEDIA)}"
    parts = [part for word in text.split() if (part := re.sub(r"[^a-z0-9]", "", word))]
    return rng.choice(["", "", "-"]).join(parts) or "a"


class Shapes:
    """Paths of real URLs, and their words without a language (category, wp-content, news …).

    DataError if all URLs name a language.
    """

    def __init__(self, rows: Sequence[tuple[str, ...]], rng: random.Random) -> None:
        languages: dict[str, set[str]] = defaultdict(set)
        paths: list[str] = []
        self.urls: dict[bool, list[str]] = {True: [], False: []}
        for url, lang in rows:
            path = url.partition("://")[2].partition("/")[2]
            for word in set(WORD.findall(path.lower())):
                languages[word].add(lang)
            if lang != "unk" and len(WORD.findall(path)) >= 2 and len(path) < 150:
                paths.append("/" + unquote(path))
            if lang != "unk" and not any(part in LANGUAGE_OF for part in re.split(r"[/=.]", path.lower())):
                self.urls[lang == "eng"].append(url)
        shared = {word for word, found in languages.items() if len(found) >= SHARED}
        self.shared = shared.difference(*(top_n_list(code, 60) for code in FUNCTION_WORDS_OF))
        self.paths = rng.sample(paths, min(SHAPES, len(paths)))
        if not any(self.urls.values()):
            raise DataError("there is no URL without a mark of a language: give more real URLs")

    def fill(self, vocabulary: Vocabulary, language: str, rng: random.Random) -> str:
        """The path of a real URL in words of the vocabulary."""
        path = rng.choice(self.paths) if self.paths else ""
        own = [m for m in WORD.finditer(path) if m[0].lower() not in self.shared]
        if not own:
            return "/" + "-".join(spell(vocabulary.phrase(rng.randint(1, 5), rng), language, rng))
        words = spell(vocabulary.phrase(len(own), rng), language, rng)
        for match, word in reversed(list(zip(own, words, strict=False))):
            path = path[: match.start()] + word + path[match.end() :]
        return path


def slug_url(vocabulary: Vocabulary, language: str, shapes: Shapes, rng: random.Random) -> str:
    """A URL of a made-up site with a neutral suffix."""
    host = f"{'www.' if rng.random() < 0.5 else ''}{host_label(vocabulary, language, rng)}.{rng.choice(GENERIC)}"
    path = "" if rng.random() < HOME_PAGES else shapes.fill(vocabulary, language, rng)
    return f"https://{host}{path}"


def marks(language: str, rng: random.Random) -> str:
    """A way to write the language in a URL."""
    short = to_bcp47(language).split("-")[0]
    kind = rng.random()
    if kind < 0.5:
        return short
    if kind < 0.6:
        return language
    if kind < 0.8:
        territory = langcodes.Language.get(short).maximize().territory or ""
        return rng.choice([f"{short}-{territory.lower()}", f"{short}_{territory}", f"{short}-{territory}"])
    if kind < 0.9:
        names = [name.lower().replace(" ", "-") for name in names_of(language)]
        return rng.choice(names or [short])
    tokens = [t for t, found in LANGUAGE_OF.items() if found == language and t not in AMBIGUOUS]
    return rng.choice(tokens or [short])


def marker_url(language: str, shapes: Shapes, rng: random.Random) -> str:
    """A URL of another language, mostly English, with the mark of this one put in."""
    english = language != "eng" and rng.random() < 0.7
    parts = urlsplit(rng.choice(shapes.urls[english] or shapes.urls[not english]))
    mark, kind = marks(language, rng), rng.random()
    host = parts.netloc
    if rng.random() < 0.5:
        host = host.rpartition(".")[0] + "." + rng.choice(GENERIC)
    path, query = parts.path or "/", parts.query
    if kind < 0.6:
        path = f"/{mark}{path}"
    elif kind < 0.75:
        host = f"{mark}.{host.removeprefix('www.')}"
    elif kind < 0.9:
        query = f"{query}{'&' if query else ''}{rng.choice(QUERY_KEYS)}={mark}"
    elif kind < 0.95:
        path = f"{path.rstrip('/')}/{mark}"
    else:
        stem, dot, suffix = path.rstrip("/").rpartition(".")
        path = f"{stem or '/index'}{rng.choice('.-_')}{mark}{dot or '.'}{suffix if dot else 'html'}"
    return f"https://{host}{path}{'?' if query else ''}{query}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write --out, a TSV like the real lists."""
    parser = argparse.ArgumentParser(prog="python -m training.prepare.synthetic", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="real URLs (training part): url, lang")
    parser.add_argument("--words", type=Path, required=True, help="what training.prepare.wordlists wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--slugs", type=int, default=4000, help="per language")
    parser.add_argument("--markers", type=int, default=300, help="per language")
    parser.add_argument("--seed", type=int, default=71213)
    options = parser.parse_args(arguments)
    rng = random.Random(options.seed)
    with refuse_bad_input(parser):
        table = read_tsv(options.data, ("url", "lang"))
        print(table.report())
        shapes = Shapes(table.rows, rng)
    languages = sorted({lang for _, lang in table.rows} - {"unk"})
    made = 0
    with gzip.open(options.out, "wt", encoding="utf-8") as stream:
        stream.write("url\tlang\tsource\n")
        for language in languages:
            vocabulary = Vocabulary(options.words, language)
            slugs = (slug_url(vocabulary, language, shapes, rng) for _ in range(options.slugs if vocabulary else 0))
            marked = (marker_url(language, shapes, rng) for _ in range(options.markers))
            for source, urls in (("synthetic-slug", slugs), ("synthetic-marker", marked)):
                for url in urls:
                    stream.write("\t".join((re.sub(r"\s", "-", url), language, source)) + "\n")
                    made += 1
    print(f"{made} synthetic URLs of {len(languages)} languages in {options.out}")


if __name__ == "__main__":
    main()
