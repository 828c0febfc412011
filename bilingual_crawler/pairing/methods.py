"""The methods of document alignment by name; each scores the candidate pairs of a domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from bilingual_crawler.encoders.base import Encoder, is_installed, load_encoder
from bilingual_crawler.options import Options
from bilingual_crawler.pairing import convention, sentences
from bilingual_crawler.pairing.candidates import alike_urls, rewritten_urls, url_evidence
from bilingual_crawler.pairing.evidence import FOLDER, NO_PAIRS, CandidateEvidence, PairClassifier, load_judge
from bilingual_crawler.pairing.matching import greedy
from bilingual_crawler.pairing.sentences import BitextReader
from bilingual_crawler.pairing.urls import SCORES
from bilingual_crawler.plugins import ALIGNMENT_METHODS
from bilingual_crawler.scoring.linear import expit, logit
from bilingual_crawler.scoring.models import ParallelnessModel, models_folder
from bilingual_crawler.settings import BILINGUAL_MIN_SCORE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from numpy.typing import NDArray
    from scrapy.settings import BaseSettings

    from bilingual_crawler.pairing.arrays import Floats, Floats32, Places
    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.evidence import Proposals

MANY_MISTAKES = 0.05  # expected share of wrong decisions from which words and vectors are compared as well
SURE_BY_URL = 0.95
"""Probability from which the URL model alone makes a pair: it confuses URLs that end in names, as of talks."""
FEW_MISTAKES = 2
"""Expected wrong decisions up to which the encoder is not loaded where there is HTML: 400 MB and a second."""
SILENT = 0.1
"""Share of the documents of the smaller side with an announced partner, under which a site announces nothing."""
ROUNDS = 2  # times that claims are read: a refuted one makes room for others
REFUTED = 0.5  # probability under which a claim is discarded, whatever BILINGUAL_MIN_SCORE
LEADS = 0.2  # sum of both leads by content from which content is the strongest evidence


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scored candidate pairs of one domain; arrays have shape ``(candidates,)``."""

    a: Places
    """Places in ``domain.a``."""
    b: Places
    """Places in ``domain.b``."""
    scores: Floats
    """0 to 1."""
    names: list[str]
    """The strongest evidence: ``hreflang``, ``switcher``, ``url``, ``structure`` or ``content``."""
    threshold: float
    """Score from which a candidate may become a pair."""
    refuted: int = 0
    """Claims that sentences have refuted, and links in the text that content contradicts."""

    def pairs(self, least: float) -> tuple[Places, Places]:
        """Return the places of one-to-one pairs with scores of *least* or more, best first."""
        chosen = greedy(self.a, self.b, self.scores, least)
        return self.a[chosen], self.b[chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a method is made with."""

    models: Traversable
    """Folder of models."""
    threshold: float
    """Score from which a candidate may become a pair, 0 to 1."""
    encoder: str = ""
    """Name of the sentence encoder; empty without one."""
    cache: Path
    """Folder of the vectors that the encoder has made."""
    providers: Sequence[str] = ()
    """What runs the model of URLs; without any, see :func:`~bilingual_crawler.scoring.models.default_providers`."""
    load: Callable[[str, Path], Encoder] = load_encoder

    @property
    def has_encoder(self) -> bool:
        return is_installed(self.encoder)

    def load_encoder(self) -> Encoder:
        """Load the sentence encoder; raises EncoderError if it is not installed."""
        return self.load(self.encoder, self.cache)


class Method(Protocol):
    """Finds and scores the candidates of a domain. It is made with :class:`Tools`."""

    def __call__(self, domain: Domain) -> Candidates:
        """Score the candidates of *domain*."""


class UrlMethod:
    """Language marks in URLs, ``hreflang``, switchers; then the URL model; then rewritings. Reads no text."""

    def __init__(self, tools: Tools) -> None:
        self._model = ParallelnessModel(tools.models / "url-parallelness", tools.providers)
        self._threshold = tools.threshold

    def __call__(self, domain: Domain) -> Candidates:
        evidence = url_evidence(domain)
        scored = [(*places, found.score, found.method) for places, found in evidence.items()]
        alike = alike_urls(domain, {(i, j) for i, j, score, _ in scored if score})
        urls = [(domain.a[i].url, domain.b[j].url) for i, j in alike]
        for (i, j), probability in zip(alike, self._model.probabilities(urls), strict=True):
            sure = probability >= SURE_BY_URL
            scored.append((i, j, SCORES["url"] * float(probability) if sure else 0.0, "url"))
        rewritten = rewritten_urls(domain, {(i, j) for i, j, score, _ in scored if score})
        scored += [(i, j, SCORES["url"] * reliability, "url") for i, j, reliability in rewritten]
        a, b = np.array([row[:2] for row in scored], dtype=np.intp).reshape(-1, 2).T
        return Candidates(a, b, np.array([row[2] for row in scored]), [row[3] for row in scored], self._threshold)


class SiteJudge:
    """Scores candidates by content and site evidence; aligns the sentences of those that content leaves in doubt."""

    def __init__(self, models: Traversable, threshold: float) -> None:
        self._site = load_judge(models, "site", convention.SITE_FEATURES)
        self._claims = load_judge(models, "claims", sentences.CLAIM_FEATURES)
        self._bitext = load_judge(models, "bitext", sentences.BITEXT_FEATURES)
        self._threshold = threshold

    def __call__(self, domain: Domain, proposed: Proposals, held: Floats, encoder: Encoder | None = None) -> Candidates:
        """Score the *proposed* candidates; *held*: their log-odds by content, ``(candidates,)``.

        Sentences of claims that content hardly supports are aligned. What they refute, and what content contradicts, is
        discarded, and the claims of the rivals count more.
        """
        i, j = proposed.a, proposed.b
        contradicted = convention.contradictions(held, proposed.columns)
        candidates = self._judge(domain, proposed, held, contradicted)
        said, foreign = convention.says(held, proposed.columns), proposed.columns["one_sided"]
        # who writes links into a text knows where they lead, templates do not
        disputed = convention.announced(proposed.columns) & said & ((held < sentences.SUPPORTED) | (foreign > 0))
        # where there is little to compare, the claim decides, but for lists of other pages
        little = proposed.columns["shorter"] < np.log1p(sentences.COMPARED)
        disputed &= (foreign > 0) | ~little | (proposed.columns["outlinks"] < convention.ELSEWHERE)
        best = ~said & convention.convincing(held, proposed.columns, i, j)
        worse = convention.outshone(held, best, i, j)
        limit = np.array([float(not (worse[k] and domain.objection(i[k], j[k]))) for k in range(len(i))])
        reader = None
        for _ in range(ROUNDS):
            scores = np.minimum(candidates.scores, limit)
            asked = sentences.doubtful(domain, i, j, scores, disputed & (limit == 1))
            if len(asked):
                reader = reader or BitextReader(domain, i, j, scores, encoder)
                read = reader.shares(asked)
                clipped = held[asked].clip(sentences.MIN_HELD, sentences.SUPPORTED)
                columns = {"held": clipped, "aligned": read.aligned, "outshone": worse[asked].astype(float)}
                confirmed = (foreign[asked] == 0) | (read.aligned * (1 - read.same) >= sentences.TRANSLATED)
                limit[asked] = confirmed * expit(self._claims.predict(columns))
            refuted = said & ((limit < REFUTED) | ((held < convention.CONTRADICTED) & (candidates.scores < REFUTED)))
            if not refuted.any():
                break
            columns = convention.disbelieving(proposed.columns, i, j, np.flatnonzero(refuted))
            candidates = self._judge(domain, replace(proposed, columns=columns), held, contradicted)
        better = best & convention.beside(refuted & worse, i, j)
        scores = np.where(better, expit(held), np.minimum(candidates.scores, limit))
        unbelieved = (limit < REFUTED) | ((proposed.columns["linked"] > 0) & ~said)
        return replace(candidates, scores=scores, refuted=int(unbelieved.sum()))

    def _judge(self, domain: Domain, proposed: Proposals, held: Floats, contradicted: float) -> Candidates:
        i, j, columns = proposed.a, proposed.b, proposed.columns
        scores = expit(held)
        if len(i):
            said = convention.site_columns(held, columns, (i, j), (domain.alike_a, domain.alike_b), contradicted)
            found = expit(self._site.predict(said))
            html_a, html_b = (np.array([bool(profile.tags) for profile in side]) for side in (domain.a, domain.b))
            # missing site evidence never raises a score, nor lowers the score of plain texts, which cannot announce
            unsaid = np.where(html_a[i] & html_b[j], np.minimum(found, scores), scores)
            scores = np.where(said["said"] > 0, found, unsaid)
        names = _strongest(columns)
        names[convention.says(held, columns)] = "linked"
        names[columns["key"] >= 1] = "url"
        names[columns["switcher"] >= 2] = "switcher"
        names[convention.announcing(held, columns) >= 1] = "hreflang"
        return Candidates(i, j, scores, names.tolist(), self._threshold)

    def read(
        self, domain: Domain, proposed: Proposals, held: Floats, candidates: Candidates, encoder: Encoder | None = None
    ) -> Candidates:
        """Score doubtful candidates that nobody claims again, by sentences; other unclaimed ones score no higher.

        The content alone counts, whatever the site says of other pages, if the sentences align and it knows no rival.
        """
        i, j, scores = candidates.a, candidates.b, candidates.scores.copy()
        unsaid = np.isin(candidates.names, ("structure", "content"))
        asked = sentences.doubtful(domain, i, j, scores, unsaid & (scores <= sentences.SURE))
        if not len(asked):
            return candidates
        columns = BitextReader(domain, i, j, scores, encoder).columns(asked)
        found = expit(logit(scores[asked]) + self._bitext.predict(columns))
        clear = convention.unrivalled(held, proposed.columns, (i, j), (domain.alike_a, domain.alike_b))[asked]
        aligned = (columns["unaligned"] == 0) & (columns["behind"] <= sentences.HARDLY_BEHIND)
        found = np.where(clear & aligned, np.maximum(found, expit(held[asked])), found)
        limit_a, limit_b = np.ones(len(domain.a)), np.ones(len(domain.b))
        limit_a[i[asked]], limit_b[j[asked]] = found, found
        scores[unsaid] = np.minimum(scores, np.minimum(limit_a[i], limit_b[j]))[unsaid]
        scores[asked] = found
        return replace(candidates, scores=scores)


def _strongest(columns: Mapping[str, Floats32]) -> NDArray[np.object_]:
    """The strongest evidence in the pages of each candidate: ``structure`` or ``content``."""
    names = np.full(len(next(iter(columns.values()))), "structure" if "tags" in columns else "content", dtype=object)
    if "dde" in columns:
        names[columns["dde_lead_a"] + columns["dde_lead_b"] > LEADS] = "content"
    return names


class StructureMethod:
    """Candidates and scores by one view of what pages hold, a name of :data:`.evidence.VIEWS`."""

    view: ClassVar[str] = "structure"
    needs_encoder: ClassVar[bool] = False

    def __init__(self, tools: Tools) -> None:
        self._encoder = tools.load_encoder() if self.needs_encoder else None
        self._threshold = tools.threshold
        self._classifier = PairClassifier(tools.models, self.view)

    def __call__(self, domain: Domain) -> Candidates:
        proposed = CandidateEvidence(domain, self.view, self._encoder).candidates()
        scores = self._classifier.probabilities(proposed.columns)
        return Candidates(proposed.a, proposed.b, scores, _strongest(proposed.columns).tolist(), self._threshold)


class ContentMethod(StructureMethod):
    view = "content"
    needs_encoder = True


class StructureContentMethod(ContentMethod):
    view = "structure-content"


class AutoMethod:
    """Structure, site evidence and sentences; also words of plain texts, or vectors, if many pairs are uncertain."""

    def __init__(self, tools: Tools) -> None:
        self._structure = PairClassifier(tools.models, "structure")
        self._thorough = PairClassifier(tools.models, "thorough")
        self._site = SiteJudge(tools.models, tools.threshold)
        self._threshold = tools.threshold
        self._load_encoder = tools.load_encoder if tools.has_encoder else None

    def __call__(self, domain: Domain) -> Candidates:
        """Score by structure and site, then maybe with a glossary learnt from these pairs, and the encoder."""
        if not (domain.a and domain.b):
            # without scipy and onnxruntime, which take longer than the crawl of a page
            return Candidates(*NO_PAIRS, np.zeros(0), [], self._threshold)
        proposed, held = _believed(CandidateEvidence(domain, "structure", urls=True).candidates(), self._structure)
        candidates = self._site(domain, proposed, held)
        smaller = min(len(domain.a), len(domain.b))
        html = any(profile.tags for profile in (*domain.a, *domain.b))
        chosen = greedy(candidates.a, candidates.b, candidates.scores)
        scores = candidates.scores[chosen]
        # texts without a number or name in common have no candidate here, and may be translations all the same
        unknown = 0 if html or len(candidates.a) else smaller
        mistakes = np.minimum(scores, 1 - scores).sum() + unknown + candidates.refuted / 2
        allowed = max(FEW_MISTAKES if html else 0, MANY_MISTAKES * smaller)
        encoder = None
        # the encoder knows no better than a site that announces its pairs
        silent = convention.announced(proposed.columns)[chosen].sum() < SILENT * smaller
        if mistakes > allowed and (not html or (silent and self._load_encoder)):
            encoder = self._load_encoder and self._load_encoder()
            evidence = CandidateEvidence(domain, "thorough", encoder, urls=True)
            again = evidence.candidates(candidates.pairs(candidates.threshold))
            proposed, held = _believed(again, self._thorough)
            candidates = self._site(domain, proposed, held, encoder)
        return self._site.read(domain, proposed, held, candidates, encoder)


def _believed(proposed: Proposals, classifier: PairClassifier) -> tuple[Proposals, Floats]:
    """The *proposed* candidates, without claims that content shows to be no claims here, and log-odds by content."""
    held = classifier.log_odds(proposed.columns)
    columns = convention.without_mistaken(held, proposed.columns, proposed.a, proposed.b)
    return replace(proposed, columns=columns), held


def make_method(
    name: str,
    models: Traversable,
    encoder: str,
    cache: Path,
    threshold: float = BILINGUAL_MIN_SCORE,
    load: Callable[[str, Path], Encoder] = load_encoder,
    providers: Sequence[str] = (),
) -> Method:
    """Return the method *name*: ``auto``, ``url``, ``content``, ``structure``, ``structure-content``, or a plug-in.

    The other arguments are as in :class:`Tools`. Raises PluginError, ModelError or EncoderError for what is missing.
    """
    kind = ALIGNMENT_METHODS.find(name)
    tools = Tools(models=models, threshold=threshold, encoder=encoder, cache=cache, providers=providers, load=load)
    method: Method = kind(tools)
    return method


def method_of(name: str, settings: BaseSettings, load: Callable[[str, Path], Encoder] = load_encoder) -> Method:
    """Return the method *name* by Scrapy's *settings*; a models folder without document judges is for crawling only."""
    options = Options.of(settings)
    models = models_folder(options.models_dir)
    if name != "url" and not (models / FOLDER).is_dir():
        models = models_folder(None)
    return make_method(name, models, options.encoder, options.cache_dir, options.min_score, load, options.providers)


def encoder_of(settings: BaseSettings) -> Encoder | None:
    """Return the sentence encoder of Scrapy's *settings*; None if it is not installed."""
    options = Options.of(settings)
    return load_encoder(options.encoder, options.cache_dir) if is_installed(options.encoder) else None
