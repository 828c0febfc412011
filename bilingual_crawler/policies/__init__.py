"""Crawl policies: from the links of a page to the priorities of their URLs."""
