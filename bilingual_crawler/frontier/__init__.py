"""The frontier: all known URLs of a crawl, each fetched once, the best one next."""
