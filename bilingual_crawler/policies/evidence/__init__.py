"""Kinds of evidence about a queued URL; :class:`~bilingual_crawler.policies.gain.Gain` weighs them."""
