"""The detectors of bilingual sites, trained on made sites, on a site that they have not seen."""

import random
import sys
from pathlib import Path

import pytest
from support.detector_sites import ENGLISH, HOME, LANGUAGE_MODEL, OTHER, SPANISH, SWITCHER, judge
from support.frozen_sites import write_frozen

from bilingual_crawler.plugins import SITE_DETECTORS
from bilingual_crawler.scoring.models import models_folder
from training.discovery.__main__ import main

KINDS = ("deb.", "iad-")
"""Each is left out once, to measure."""
DOCUMENTS = 4
SIDES = {"en": ("eng", ENGLISH, "English"), "es": ("spa", SPANISH, "Español")}


def write_bilingual(folder: Path, seed: str) -> None:
    """A site whose documents are *ENGLISH* and *SPANISH*, each pair with numbers of its own."""
    base = f"https://www.{seed.replace('.', '-')}.example/"
    dice = random.Random(seed)
    names = ["", *(f"page-{number}.html" for number in range(DOCUMENTS))]
    pages = {}
    for name in names:
        # not the 1 of headings
        digits = str.maketrans("23456789", "".join(dice.sample("23456789", 8)))
        for own, other in (("en", "es"), ("es", "en")):
            language, text, _ = SIDES[own]
            links = {f"{base}{own}/{one}": one or "home" for one in names} | {f"{base}{other}/{name}": SIDES[other][2]}
            anchors = "".join(f"<p><a href={url}>{label}</a>" for url, label in links.items())
            body = f"<html lang={own}><body>{text.translate(digits)}{anchors}"
            pages[f"{base}{own}/{name}"] = (language, body, links)
    pairs = [(f"{base}en/{name}", f"{base}es/{name}") for name in names]
    write_frozen(folder, base, pages, pairs, seeds=[f"{base}en/"])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models of the package, but with detectors trained on six made sites."""
    folder: Path = tmp_path_factory.mktemp("models")
    for kind in KINDS:
        for number in range(3):
            write_bilingual(folder / "sites" / f"{kind}{number}", f"{kind}{number}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["training", str(folder / "sites"), "--out", str(folder / "discovery")])
        main()
    for model in models_folder(None).iterdir():
        if model.name != "discovery":
            (folder / model.name).symlink_to(str(model))
    return folder


@pytest.mark.parametrize("name", ["evidence", "barbosa"])
def test_a_trained_detector_finds_the_translation_on_a_site_that_it_has_not_seen(models: Path, name: str) -> None:
    detector = SITE_DETECTORS.find(name).load(models, LANGUAGE_MODEL)
    english, spanish = SWITCHER + ENGLISH, f"{HOME}es/"
    verdict, asked = judge({HOME: english, spanish: SWITCHER + SPANISH}, detector=detector)
    assert verdict.bilingual
    assert asked == [spanish]
    assert not judge({HOME: english}, detector=detector)[0].bilingual
    if name == "evidence":  # the other one accepts any text
        assert not judge({HOME: english, spanish: SWITCHER + OTHER}, detector=detector)[0].bilingual
