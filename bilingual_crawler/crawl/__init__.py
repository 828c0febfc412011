"""The crawl in Scrapy: from a seed to the frontier, the policy and the outputs.

- ``context``: the checked arguments of a crawl, its folders, what its components share.
- ``description``: a crawl as a TOML file.
- ``visits``: the life of a URL, from the first link until it is done.
- ``learner``: policy and pair ledgers learn from a page, in one order; ``facts`` is that knowledge as bytes.
- ``reading``: what a read response says to policy, log and outputs.
- ``requests``, ``signals``: requests and answers; the keys of ``request.meta``, signals, refusals.
- ``politeness``, ``budgets``: delays and limits of a site; budgets in bytes.
- ``handlers``: download handlers, for HTTP and for replays.
- ``traps``: spider traps, learnt from the pages of a host.
- ``scrapy_internals``: the private names of Scrapy that the crawl needs.
- ``middlewares``, ``spiders``, ``rendering``: Scrapy's middlewares, the two spiders, the browser.

The room may import every room from ``discovery`` downwards. No room below imports it.
"""
