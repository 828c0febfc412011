"""Detectors of bilingual sites: the verdict on a site by its entry page and a few pages more."""
