"""Document and sentence alignment from a script, by the face of the room."""

from __future__ import annotations

from bilingual_crawler.alignment import RawPage, SentenceAligner, align_documents

ENGLISH = {
    "harbour": "The harbour of Valletta was built in 1571. It has 12 quays for ships. The port opens at 6 every day.",
    "bread": "Bread is made of flour, water and salt. The oven must be very hot, 230 degrees. It bakes for 45 minutes.",
}
ICELANDIC = {
    "harbour": "Höfnin í Valletta var byggð árið 1571. Þar eru 12 bryggjur fyrir skip. Höfnin opnar klukkan 6 daglega.",
    "bread": "Brauð er búið til úr hveiti, vatni og salti. Ofninn þarf að vera heitur, 230 gráður. Bakað í 45 mínútur.",
}


def test_two_lists_of_pages_are_paired() -> None:
    english = [RawPage(f"https://a.example/en/{name}", None, text=text) for name, text in ENGLISH.items()]
    icelandic = [RawPage(f"https://a.example/is/{name}", None, text=text) for name, text in ICELANDIC.items()]
    found = align_documents(english, [*icelandic, *english[:1]], "eng-isl", "url")
    assert {(pair.url_a, pair.url_b) for pair in found} == {
        (f"https://a.example/en/{name}", f"https://a.example/is/{name}") for name in ENGLISH
    }
    assert all(0 < pair.score <= 1 and pair.pair == "eng-isl" for pair in found)


def test_pages_of_one_address_in_two_languages_are_variants() -> None:
    """As two crawls with different request headers find them."""
    english = [RawPage(f"https://a.example/{name}", None, text=text) for name, text in ENGLISH.items()]
    icelandic = [RawPage(f"https://a.example/{name}", None, text=text) for name, text in ICELANDIC.items()]
    found = align_documents([*english, *english], [*icelandic, *icelandic], "eng-isl", "url")
    assert {(pair.url_a, pair.url_b) for pair in found} == {
        (f"https://a.example/{name}", f"https://a.example/{name}#!lang=isl") for name in ENGLISH
    }


def test_sentences_of_two_documents_are_aligned() -> None:
    aligner = SentenceAligner("eng", "isl")
    sides = aligner.read([ENGLISH["harbour"]], [ICELANDIC["harbour"]])
    aligner.learn_lexicon([sides])
    found = aligner.align(*sides)
    assert [pair.text_a.split()[1] for pair in found] == ["harbour", "has", "port"]
    assert [pair.text_b.split()[0] for pair in found] == ["Höfnin", "Þar", "Höfnin"]
