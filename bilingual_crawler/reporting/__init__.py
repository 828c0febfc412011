"""What a crawl says of itself: counts, live line, summary, status pages, report and review."""
