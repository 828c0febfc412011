"""Files of a crawl: WARC archives and logs, written safe against a kill, read within bounds."""
