"""linguacrawl: ``python linguacrawl_peer.py SEEDS`` in an empty folder; its WARC is in ``warc/``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from linguacrawl.bitext_scout import BitextScout
from linguacrawl.multi_site_crawler import MultiSiteCrawler
from linguacrawl.parse_config import parse

LANGUAGES = ["en", "es"]
CONFIG = {
    "user_agent": "benchmark",
    "langs_of_interest": LANGUAGES,
    "accepted_tlds": [],
    "seed_urls": sys.argv[1].split(","),
    "output_dir": "warc",
    "crawl_delay": 0,
    "connection_timeout": 10,
    "max_jobs": 8,
    "scout_steps": 1_000_000,  # it leaves no site
}

if __name__ == "__main__":
    Path("config.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")  # which is YAML
    config = parse("config.yaml")
    MultiSiteCrawler(config, BitextScout(config["scout_steps"], LANGUAGES, 2, None, 0)).start_crawling()
