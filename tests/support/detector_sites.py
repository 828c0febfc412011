"""Sites that detectors judge."""

from bilingual_crawler.discovery.detector.base import Detector, Verdict
from bilingual_crawler.languages.codes import LanguagePair
from bilingual_crawler.pages.jobs import PageJob
from bilingual_crawler.pages.model import PageRecord
from bilingual_crawler.plugins import SITE_DETECTORS
from bilingual_crawler.scoring.models import LanguageModel, models_folder

PAIR = LanguagePair("eng", "spa")
HOME = "https://halvorsen.example/"
LANGUAGE_MODEL = LanguageModel(models_folder(None) / "url-language")
DETECTOR: Detector = SITE_DETECTORS.find("evidence").load(models_folder(None), LANGUAGE_MODEL)
ENGLISH = (
    "<h1>Halvorsen pumps</h1><p>In 1897 the firm Halvorsen built the first X-400 pump in the old harbour of Bergen, and"
    " since then it has sold 12650 of them.<p>Our workshop has been open since 1931, from 8:30 to 17:15, and the"
    " telephone number is 5551897.<p>Every pump is tested for 72 hours before it leaves the house.<img src=/x400.jpg>"
)
SPANISH = (
    "<h1>Bombas Halvorsen</h1><p>En 1897 la firma Halvorsen construyó la primera bomba X-400 en el viejo puerto de"
    " Bergen, y desde entonces ha vendido 12650 de ellas.<p>Nuestro taller está abierto desde 1931, de 8:30 a 17:15, y"
    " el número de teléfono es 5551897.<p>Cada bomba se prueba durante 72 horas antes de salir de la casa."
    "<img src=/x400.jpg>"
)
OTHER = (
    "<p>La receta de la tortilla de patatas necesita seis huevos, dos cebollas y medio litro de aceite."
    + "".join(f"<p>Paso {step}: se fríe despacio, se mueve con cuidado y se deja reposar." for step in range(2, 14))
    + "<a href=/es/lindqvist.html>Lindqvist 2004</a><img src=tortilla-88.png><p>Publicado en 2019 por Lindqvist."
)
SWITCHER = "<nav class=language-switcher><a href=/ hreflang=en>English</a> <a href=/es/ hreflang=es>Español</a></nav>"


def page(url: str, html: str, attributes: str = "") -> PageRecord:
    body = f"<html {attributes}><body>{html}".encode()
    return PageJob(body, "text/html; charset=utf-8", url).run()


def judge(site: dict[str, str], entry: str = HOME, detector: Detector = DETECTOR) -> tuple[Verdict, list[str]]:
    """The verdict on a site of pages by URL, and the URLs that were asked for."""
    inspection = detector.inspect(PAIR, page(entry, site[entry]))
    asked: list[str] = []
    while (url := inspection.next()) is not None:
        asked.append(url)
        inspection.observe_page(url, page(url, site[url]) if url in site else None)
    return inspection.verdict, asked
