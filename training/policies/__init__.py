"""Learning the weights of crawl policies."""
