"""Site-level evidence for a pair: announcements, addresses, and the conventions of the site, shown by sure pairs."""

from collections import Counter
from dataclasses import fields

import numpy as np

from bilingual_crawler.pairing.arrays import Columns, Floats, Floats32, Mask, Places
from bilingual_crawler.pairing.candidates import NUMBER, Editions, Found, overlaps
from bilingual_crawler.pairing.corpus import Domain
from bilingual_crawler.pairing.matching import highest, lead
from bilingual_crawler.pairing.urls import UrlEvidence, agrees
from bilingual_crawler.scoring.linear import logit

SITE_FEATURES = (
    *("held", "lead_a", "lead_b"),
    *("said", "said_by_both", "held_if_said", "contradicted", "site_contradicted"),
    *("refused", "rivals_a", "rivals_b", "marked_otherwise"),
    *("usual_wrong", "usual_unknown", "site_said", "site_mutual", "site_unsaid", "title_numbers", "url_numbers"),
)
"""Features of a candidate: its log-odds by content, *held*, and their leads over the rivals of both pages; for claimed
ones, how far *held* is below :data:`CONTRADICTED` and, if below 0, how often content contradicts the site; how many of
the two pages have another announced partner, and an address of another language; for unclaimed ones, log-odds by the
conventions of the site, and differing numbers in titles, and numbers or kinds of pages in addresses."""

CONFIRMED_BY_CONTENT = 0.0  # log-odds by content that confirm an announcement by only one of two registered domains
CONTRADICTED = -5.0
"""Log-odds by content that hardly any translation falls below, even if short or without a common word."""
CONVINCING = 2.0  # minimum log-odds by content of a pair that refutes what a site claims of its documents
LISTED = 0.5  # minimum similarity of what they link to, 0 to 1
ELSEWHERE = 0.2  # maximum similarity of what lists of other pages link to
MARGIN = 4.0  # how far above the claimed pair they are
BETTER = 2.0  # difference in log-odds by content from which a candidate is better for both documents than others
MISTAKEN = (
    0.3  # minimum share of wrong claims by addresses of a group of pages, or by links, for disbelieving all of them
)
MIN_MISTAKEN = 3  # and their minimum number, by addresses
MIN_KIND = 3  # minimum pages of each side with one name, for it to be that of a kind of page
MAX_HELD, MAX_HELD_LEAD = 8.0, 6.0  # clipping bounds of log-odds
NO_RIVAL = -12.0  # log-odds in place of a missing rival
MIN_WRONG_CANDIDATES = 3  # minimum wrong candidates of sure pairs for the conventions of a site
SELDOM = 0.01  # clipping bound of shares, before their log-odds


def url_columns(domain: Domain, found: Found, i: Places, j: Places, pages: Editions) -> dict[str, Floats32]:
    """The columns of the candidates *i*, *j* by announcements, switchers, addresses and titles, ``(candidates,)``.

    A candidate is outvoted, and no rival, if the site claims another one of its documents more, unlike a home page.
    """
    columns = {field.name: np.zeros(len(i), dtype=np.float32) for field in fields(UrlEvidence)}
    for place, candidate in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        if candidate in found:
            for name, column in columns.items():
                column[place] = getattr(found[candidate], name)
    voices = _voices(columns["hreflang"], columns)
    others = (i, pages.b[j]), (j, pages.a[i])
    outvoted = (voices > 0) & np.any([_rivals(voices, voices + 1, *other) for other in others], axis=0)
    columns["outvoted"] = outvoted.astype(np.float32)
    heard, least = np.where(outvoted, 0, voices), np.maximum(voices, 1)
    for name, other in zip(("rivals_a", "rivals_b"), others, strict=True):
        columns[name] = np.where(outvoted, _rivals(voices, least, *other), _rivals(heard, least, *other))
    otherwise = [[not agrees(one.marked, one.language, domain.pair) for one in side] for side in (domain.a, domain.b)]
    marked_a, marked_b = (np.array(side, dtype=np.float32) for side in otherwise)
    columns["marked_otherwise"] = marked_a[i] + marked_b[j]
    columns["title_numbers"] = _differing(domain, i, j)
    columns["url_numbers"] = _of_other_pages(domain, i, j)
    return columns


def _rivals(voices: Floats32, least: Floats32, places: Places, pages: Places) -> Floats32:
    """Number of other candidates, *pages*, of the document of each, *places*, with *least* voices or more."""
    _, same = np.unique(places * (pages.max(initial=0) + 1) + pages, return_inverse=True)
    rivals = np.zeros(len(voices), dtype=np.float32)
    for level in np.unique(least):
        counts, own = (np.bincount(of, weights=voices >= level, minlength=1)[of] for of in (places, same))
        rivals = np.where(least == level, counts - own, rivals)
    return np.asarray(rivals, dtype=np.float32)


def _differing(domain: Domain, i: Places, j: Places) -> Floats32:
    """Share of the numbers in the titles of each candidate that only one page has, 0 to 1; 0 if neither has one."""
    a, b = ([np.intersect1d(one.title, one.numbers) for one in side] for side in (domain.a, domain.b))
    return np.asarray(1 - np.nan_to_num(overlaps(a, b, i, j), nan=1), dtype=np.float32)


def _of_other_pages(domain: Domain, i: Places, j: Places) -> Floats32:
    """1 where addresses are of two kinds of pages, ``/12-4-1/data`` and ``/12-4-1/map``, or renumbered, ``/12-5-1``.

    A single number may be an id. A kind of page has one name, apart from digits, on both sides of the site.
    """
    keys = np.array([profile.key.partition("/")[2] for profile in (*domain.a, *domain.b)], dtype=object)
    shapes = np.array([NUMBER.sub("#", key) for key in keys], dtype=object)
    several = np.array([shape.count("#") > 1 for shape in shapes], dtype=bool)
    names = np.array([shape.rstrip("/").rpartition("/")[2] for shape in shapes], dtype=object)
    on_a, on_b = map(Counter, np.split(names, [len(domain.a)]))
    of_kind = np.isin(names, [name for name, pages in (on_a & on_b).items() if pages >= MIN_KIND])
    k = len(domain.a) + j
    renumbered = (shapes[i] == shapes[k]) & several[i] & (keys[i] != keys[k])
    return np.asarray(renumbered | (of_kind[i] & of_kind[k] & (names[i] != names[k])), dtype=np.float32)


def contradictions(held: Floats, columns: Columns) -> float:
    """Share, 0 to 1, of the site's claims that content contradicts, shrunk towards 0 where claims are few."""
    sure = says(held, columns) & (columns["outvoted"] == 0)
    return float((sure & (held < CONTRADICTED)).sum() / (sure.sum() + 2))


def site_columns(
    held: Floats, columns: Columns, places: tuple[Places, Places], alike: tuple[Places, Places], contradicted: float
) -> dict[str, Floats]:
    """The columns of :data:`SITE_FEATURES`, ``(candidates,)``, by *columns* of :func:`url_columns`.

    *held*: log-odds of each candidate by content; *places*: of the candidates in both sides; *alike*: groups of
    near-duplicates of both sides, ``(documents,)``; *contradicted*: see :func:`contradictions`.
    """
    (i, j), (alike_a, alike_b) = places, (alike[0][places[0]], alike[1][places[1]])
    said = says(held, columns)
    unsaid = ~said
    sure = said & (columns["outvoted"] == 0)
    known_wrong = _usual_wrong(held, sure, i, j, alike_a, alike_b)
    mutual = (held >= highest(held, i)[i]) & (held >= highest(held, j)[j])
    likely = (unsaid & mutual & (held > 0)).sum()
    smaller = max(1, min(map(len, alike)))
    clipped = held.clip(-MAX_HELD, MAX_HELD)
    return {
        "held": clipped,
        "lead_a": lead(held - NO_RIVAL, i, alike_b).clip(-MAX_HELD_LEAD, MAX_HELD_LEAD),
        "lead_b": lead(held - NO_RIVAL, j, alike_a).clip(-MAX_HELD_LEAD, MAX_HELD_LEAD),
        "said": said.astype(float),
        "said_by_both": (columns["hreflang"] == 2).astype(float),
        "held_if_said": said * clipped,
        "contradicted": said * np.maximum(0, CONTRADICTED - clipped),
        "site_contradicted": said * (held < 0) * contradicted,
        "refused": columns["refused"].astype(float),
        "rivals_a": np.minimum(columns["rivals_a"], 2).astype(float),
        "rivals_b": np.minimum(columns["rivals_b"], 2).astype(float),
        "marked_otherwise": columns["marked_otherwise"].astype(float),
        "usual_wrong": unsaid * (0.0 if known_wrong is None else _log_odds(known_wrong)),
        "usual_unknown": unsaid * float(known_wrong is None),
        "site_said": unsaid * (min(len(np.unique(i[sure])), len(np.unique(j[sure]))) / smaller),
        "site_mutual": unsaid * (mutual.sum() / smaller),
        "site_unsaid": unsaid * _log_odds((likely + 1) / (sure.sum() + likely + 2)),
        "title_numbers": unsaid * columns["title_numbers"].astype(float),
        "url_numbers": unsaid * columns["url_numbers"].astype(float),
    }


def announced(columns: Columns) -> Mask:
    """Which candidates an announcement, a switcher or equal addresses claim, be it on one page only."""
    names = ("hreflang", "one_sided", "switcher", "key")
    return np.asarray(np.any([columns[name] > 0 for name in names], axis=0))


def announcing(held: Floats, columns: Columns) -> Floats32:
    """Number of pages that announce the other, 0 to 2; one-sided announcements between domains count if confirmed."""
    confirmed = (columns["one_sided"] > 0) & (held >= CONFIRMED_BY_CONTENT)
    return np.asarray(np.where(confirmed, 1, columns["hreflang"]), dtype=np.float32)


def disbelieving(columns: Columns, i: Places, j: Places, wrong: Places) -> dict[str, Floats32]:
    """*columns* without the site's claims for the candidates *wrong*, which then count against no other candidate."""
    found = dict(columns)
    for name in ("hreflang", "one_sided", "switcher", "key"):
        found[name] = columns[name].copy()
        found[name][wrong] = 0
    for name, places in (("rivals_a", i), ("rivals_b", j)):
        gone = np.bincount(places[wrong], minlength=places.max() + 1)[places]
        gone[wrong] -= 1
        found[name] = np.maximum(0, columns[name] - gone).astype(np.float32)
    found["refused"] = np.where(beside(wrong, i, j), 0, columns["refused"]).astype(np.float32)
    return found


def without_mistaken(held: Floats, columns: dict[str, Floats32], i: Places, j: Places) -> dict[str, Floats32]:
    """*columns* without claims by addresses or links alone that content shows to be none.

    These are addresses of lists of other pages, and of pages that the site numbers otherwise in each language: content
    finds better partners for both documents of many claims of a group of pages. The links of a site count nowhere if
    they lead on, as to the next article: for one document of many that link to each other there is a better partner.
    """
    by_key = (columns["key"] > 0) & (columns["hreflang"] + columns["one_sided"] == 0) & (columns["switcher"] < 2)
    unsupported = held < CONFIRMED_BY_CONTENT
    wrong = by_key & unsupported & (columns["outlinks"] < LISTED)
    claimed = (columns["key"] > 0) & (columns["numbered"] > 0)
    better = np.minimum(*_best_others(held, columns["key"] > 0, i, j)) > held + BETTER
    groups = columns["numbered"].astype(int) * claimed
    mistaken = np.bincount(groups, claimed & better)
    renumbered = claimed & (mistaken >= np.maximum(MIN_MISTAKEN, MISTAKEN * np.bincount(groups)))[groups]
    if (wrong | renumbered).any():
        columns = disbelieving(columns, i, j, np.flatnonzero(wrong | renumbered))
    if renumbered.any():
        columns["url_numbers"] = np.zeros_like(columns["url_numbers"])
    linked = (columns["linked"] > 0) & ~announced(columns)
    better = np.maximum(*_best_others(held, columns["linked"] > 0, i, j)) > held + BETTER
    if (linked & better & unsupported).sum() >= MISTAKEN * linked.sum():
        columns = columns | {"linked": np.where(linked, 0, columns["linked"])}
    return columns


def _best_others(held: Floats, claimed: Mask, i: Places, j: Places) -> tuple[Floats, Floats]:
    """The best of *held* of the candidates of each document of each candidate that are not *claimed*."""
    others = np.where(claimed, -np.inf, held)
    return highest(others, i)[i], highest(others, j)[j]


def beside(chosen: Places | Mask, i: Places, j: Places) -> Mask:
    """Which candidates *i*, *j* share a document with one of the *chosen*."""
    return np.isin(i, i[chosen]) | np.isin(j, j[chosen])


def convincing(held: Floats, columns: Columns, i: Places, j: Places) -> Mask:
    """Which candidates are best of both documents by content, link to pairs, and have no other mark."""
    best = (held >= highest(held, i)[i]) & (held >= highest(held, j)[j]) & (held >= CONVINCING)
    return np.asarray(best & (columns["outlinks"] >= LISTED) & (columns["marked_otherwise"] == 0))


def unrivalled(held: Floats, columns: Columns, places: tuple[Places, Places], alike: tuple[Places, Places]) -> Mask:
    """Which candidates are :data:`BETTER` than all others of both documents, and no title or address speaks against."""
    (i, j), (alike_a, alike_b) = places, (alike[0][places[0]], alike[1][places[1]])
    ahead = np.minimum(lead(held - NO_RIVAL, i, alike_b), lead(held - NO_RIVAL, j, alike_a))
    others = columns["url_numbers"] + columns["title_numbers"] + columns["marked_otherwise"]
    return np.asarray((ahead >= BETTER) & (others == 0))


def outshone(held: Floats, best: Mask, i: Places, j: Places) -> Mask:
    """Which candidates that content does not support share a document with one of the *best*, by :data:`MARGIN`."""
    values = np.where(best, held, -np.inf)
    margin = np.maximum(highest(values, i)[i], highest(values, j)[j]) - held
    return np.asarray((held < CONFIRMED_BY_CONTENT) & (margin >= MARGIN))


def says(held: Floats, columns: Columns) -> Mask:
    """Whether the site claims each candidate: by announcements, both switchers, addresses, or uncontradicted links."""
    linked = (columns["linked"] > 0) & (held >= CONTRADICTED)
    return np.asarray((_voices(announcing(held, columns), columns) > 0) | linked)


def _voices(announced: Floats32, columns: Columns) -> Floats32:
    """Number of claims for each candidate: an announcement on each page, both switchers, the addresses."""
    return np.asarray(announced + (columns["switcher"] == 2) + (columns["key"] > 0), dtype=np.float32)


def _log_odds(share: Floats | float) -> Floats:
    return np.asarray(logit(np.clip(share, SELDOM, 1 - SELDOM)))


def _usual_wrong(held: Floats, said: Mask, i: Places, j: Places, alike_a: Places, alike_b: Places) -> Floats | None:
    """Share of best wrong candidates of surely paired documents that are as good as each candidate; None if few."""
    wrong = []
    for places, others in ((i, alike_b), (j, alike_a)):
        width = others.max(initial=0) + 1
        partnered = np.isin(places, places[said])
        other = partnered & ~np.isin(places * width + others, (places * width + others)[said])
        best = highest(held[other], places[other])
        wrong.append(best[np.isfinite(best)])
    known = np.sort(np.concatenate(wrong))
    if len(known) < MIN_WRONG_CANDIDATES:
        return None
    return np.asarray((len(known) - np.searchsorted(known, held, side="left") + 0.5) / (len(known) + 1))
