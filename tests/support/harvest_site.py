"""A small frozen site with pages in English and Icelandic."""

from pathlib import Path

from support.frozen_sites import write_frozen
from support.tables import write_table

BASE = "https://saga.example/"
TEXT = {
    "eng": "The library is open every day from nine to five, and everybody is welcome to read the old books, "
    "listen to the stories and ask the staff for help with whatever they are looking for in this house. ",
    "isl": "Bókasafnið er opið alla daga frá níu til fimm og allir eru velkomnir að lesa gömlu bækurnar, "
    "hlusta á sögurnar og biðja starfsfólkið um aðstoð við hvað sem þeir eru að leita að í þessu húsi. ",
    "deu": "Die Bibliothek ist jeden Tag von neun bis fünf geöffnet, und alle sind willkommen, die "
    "alten Bücher zu lesen, den Geschichten zuzuhören und sich von den Mitarbeitern helfen zu lassen. ",
}
PAGES: dict[str, tuple[str, list[str]]] = {
    "": ("eng", ["en/news", "en/books", "de/", "is/"]),
    "en/news": ("eng", ["", "en/books"]),
    "en/books": ("eng", ["en/news", "is/bokin"]),
    "de/": ("deu", ["de/mehr"]),
    "de/mehr": ("deu", ["de/gone"]),
    "is/": ("isl", ["is/frettir"]),
    "is/frettir": ("isl", ["is/"]),
    "is/bokin": ("isl", []),
    "en/island": ("eng", []),
    "is/eyja": ("isl", []),
}
PAIRS = [("", "is/"), ("en/news", "is/frettir"), ("is/bokin", "en/books"), ("en/island", "is/eyja")]


def build_site(directory: Path) -> Path:
    """Write the site above in the format of the shared sites."""
    directory.mkdir(parents=True)
    columns = "site lang_a lang_b gold_pairs reachable_pages seeds"
    write_table(directory / "tasks.tsv", columns, [("saga", "eng", "isl", 3, 8, BASE)])
    pages = {}
    for path, (language, links) in PAGES.items():
        anchors = "".join(f'<p><a href="{BASE}{link}">{link}</a></p>' for link in links)
        content = f"<html><body><p>{TEXT[language] * 3}</p>{anchors}</body></html>"
        pages[BASE + path] = (language, content, [BASE + link for link in links if link in PAGES])
    pairs = [(BASE + a, BASE + b) for a, b in PAIRS]
    copies = {f"{BASE}is/index.html": f"{BASE}is/"}
    more = {"home": BASE, "seeds": [BASE], "alias_bases": ["saga.pages.example/saga"]}
    write_frozen(directory / "saga", BASE, pages, pairs, copies, **more)
    (directory / "saga" / "redirects.tsv").write_text(f"{BASE}is\t{BASE}is/\n")
    return directory
