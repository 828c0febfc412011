"""The crawl in Scrapy: from a seed to the frontier, the policy and the outputs.

``visits`` is the life of a URL, ``learner`` the order in which policy and ledgers learn, ``context`` what components
share. The room may import every room from ``discovery`` downwards. No room below imports it.
"""
