"""The detectors of bilingual sites: examples, training, export."""
