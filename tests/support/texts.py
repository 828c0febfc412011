"""Texts and pages in two languages for alignments."""

from pathlib import Path

from bilingual_crawler.languages.pairs import LanguagePairs
from bilingual_crawler.pairing.corpus import Corpus, Domain
from bilingual_crawler.pairing.reading import DocumentJob, RawPage

MODELS = Path(__file__).parents[2] / "models"
PAIRS = LanguagePairs.parse("eng-spa")
ENGLISH = (
    "The river rises in the mountains and flows through two small towns before it reaches the sea.",
    "Every spring the farmers repair the old bridge, which was built by their grandparents.",
    "Visitors may borrow a boat at the mill, but they have to bring it back before sunset.",
    "The museum is closed on Mondays and on public holidays.",
    "Nobody remembers why the tower has no door on its northern side.",
)
SPANISH = (
    "El río nace en las montañas y atraviesa dos pueblos pequeños antes de llegar al mar.",
    "Cada primavera los campesinos reparan el viejo puente, que construyeron sus abuelos.",
    "Los visitantes pueden tomar prestada una barca en el molino, pero deben devolverla antes del anochecer.",
    "El museo está cerrado los lunes y los días festivos.",
    "Nadie recuerda por qué la torre no tiene puerta en el lado norte.",
)


def html(sentences: tuple[str, ...], head: str = "", more: str = "") -> bytes:
    body = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    return f"<html><head><title>x</title>{head}</head><body>{body}{more}</body></html>".encode()


def alternate(language: str, url: str) -> str:
    return f'<link rel="alternate" hreflang="{language}" href="{url}">'


def corpus(pages: dict[str, bytes], redirects: dict[str, str] | None = None) -> Corpus:
    found = Corpus(PAIRS)
    for url, body in pages.items():
        document = DocumentJob(RawPage(url, body), PAIRS).run()
        if document is not None:
            found.add(document)
    found.redirect(redirects or {}, {})
    return found


def only_domain(documents: Corpus) -> Domain:
    """The documents of a corpus that are all of one site."""
    (group,) = documents.groups()
    return Domain(group, documents, PAIRS.pairs[0], documents.profiles(group))
