"""The one path from alignments to document pairs, unpaired documents and bitext: of a crawl, ``align`` and ``mine``."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from bilingual_crawler.bitext.monolingual import open_monolingual
from bilingual_crawler.bitext.personal import masked
from bilingual_crawler.bitext.produce import BitextProducer, open_exports

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from bilingual_crawler.bitext.exports import Sink
    from bilingual_crawler.encoders.base import Encoder
    from bilingual_crawler.items import Pair, Unpaired
    from bilingual_crawler.languages.codes import LanguagePair
    from bilingual_crawler.options import Options
    from bilingual_crawler.pages.language import Detection
    from bilingual_crawler.pairing.corpus import Domain
    from bilingual_crawler.pairing.model import Alignment

    MainText: TypeAlias = Callable[[str], list[str]]


class AlignedDocuments:
    """The document pairs, unpaired documents and bitext of alignments; personal data masked if asked for."""

    def __init__(
        self,
        results: Iterable[tuple[Domain, Alignment]],
        options: Options,
        bitext_of: Callable[[LanguagePair], BitextProducer | None],
        on_group: Callable[[LanguagePair, Alignment, MainText], None] = lambda pair, alignment, main: None,
    ) -> None:
        """*bitext_of* returns what aligns the sentences of two languages, or None. *on_group* is called after each."""
        self.pairs: list[Pair] = []
        self.unpaired: list[Unpaired] = []
        self.refused: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Refused candidate pairs by language pair and reason."""
        for domain, alignment in results:
            pair, texts = domain.pair, (domain.main_text, domain.origin)
            main, origin = masked(*texts, pair) if options.mask_personal else texts
            if bitext := bitext_of(pair):
                bitext.add(alignment.pairs, main, origin, domain.distinct(alignment.paired))
            self.pairs += alignment.pairs
            self.unpaired += alignment.rows_of_unpaired(str(pair))
            self.refused[str(pair)].update(alignment.refused)
            on_group(pair, alignment, main)
            del domain, texts, main, origin  # or two would be in memory at once


def open_bitext(
    pairs: Iterable[LanguagePair],
    detection: Detection,
    options: Options,
    encoder: Encoder | None,
    formats: Collection[str],
    folder: Path | None,
    samples: Mapping[LanguagePair, Sink] | None = None,
) -> dict[LanguagePair, BitextProducer]:
    """What writes the bitext of each of *pairs* in *formats* into *folder*, if one is given, and into *samples*."""

    def opened(pair: LanguagePair) -> BitextProducer:
        sinks: list[Sink] = [*open_exports(formats, folder, pair)] if folder else []
        if samples:
            sinks.append(samples[pair])
        monolingual = open_monolingual(formats, folder, pair) if folder else []
        return BitextProducer(pair, detection, sinks, encoder, monolingual, options.sentence_filters)

    return {pair: opened(pair) for pair in pairs}
