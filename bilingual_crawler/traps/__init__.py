"""Spider traps: what is learnt of a host while it is crawled, and which URLs are therefore not worth a fetch."""
