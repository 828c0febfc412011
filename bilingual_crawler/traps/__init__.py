"""Spider traps: the crawl learns from the pages of a host which of its URLs are not worth a fetch."""
