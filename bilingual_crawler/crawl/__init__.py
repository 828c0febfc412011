"""The crawl in Scrapy: from a seed to the frontier, the policy and the outputs."""
