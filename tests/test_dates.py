"""Dates in texts of many languages."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilingual_crawler.pages.dates import dates_in


def test_a_date_is_the_same_in_every_language() -> None:
    for text, language in (
        ("Bulletin of 14 March 2022, no. 3", "eng"), ("on March 14th, 2022", "eng"), ("Mar. 14, 2022", "eng"),
        ("14 de marzo de 2022", "spa"), ("2022ko martxoaren 14a", "eus"), ("14. mars 2022", "isl"),
        ("14 ta' Marzu 2022", "mlt"), ("14. maaliskuuta 2022", "fin"), ("2022. március 14.", "hun"),
        ("14. ožujka 2022.", "hrv"), ("14. март 2022.", "srp"), ("14. mart 2022.", "srp"),
        ("2022 m. kovo 14 d.", "lit"), ("2022年3月14日", "jpn"), ("2022년 3월 14일", "kor"), ("14 मार्च 2022", "hin"),
        ("१४ मार्च २०२२", "hin"), ("١٤ مارس ٢٠٢٢", "ara"), ("２０２２年３月１４日", "jpn"), ("14 มีนาคม 2022", "tha"),
        ("2022 මාර්තු 14", "sin"), ("14.3.2022", "deu"), ("2022-03-14T08:00", "eng"),
    ):  # fmt: skip
        assert dates_in(text, language) == {"2022-03-14"}


NO_DATES = ["14 March", "March 2022", "version 20.22.3", "2022-13-14", "from 2019 to 2022", "41 March 2022", "2022"]
LIKE_MONTHS = [("Plaza Mayor 5, 2012", "spa"), ("Via Maggiore 4, 2012", "ita"), ("Rua Maior 3, 2012", "por")]


@pytest.mark.parametrize(("text", "language"), [*((text, "eng") for text in NO_DATES), *LIKE_MONTHS])
def test_what_is_no_date_is_none(text: str, language: str) -> None:
    assert dates_in(text, language) == set()


def test_both_readings_of_a_date_are_given_and_numbers_where_no_month_has_a_name() -> None:
    assert dates_in("3/4/2022", "eng") == {"2022-03-04", "2022-04-03"}
    assert dates_in("14 March 2022, 2022-03-15", "zxx") == {"2022-03-15"}


@given(
    st.text(st.sampled_from("0123459-./ ,年月日marchMÄärz март")), st.sampled_from(["eng", "deu", "srp", "jpn", "zxx"])
)
def test_what_is_found_in_any_text_is_a_date(text: str, language: str) -> None:
    for date in dates_in(f"{text}2024{text}", language):
        assert re.fullmatch(r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", date)
