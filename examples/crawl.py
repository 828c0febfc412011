"""Serves the example site, crawls it, and checks the pairs; ``make crawl`` runs it.

``--pair`` names pairs of its languages, English and Spanish if it is not given. Other arguments are handed to
``scrapy crawl``, for example ``-a policy=bfs``.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from serve import LANGUAGES, serving

from bilingual_crawler.languages.codes import LanguageError, parse_language
from bilingual_crawler.languages.pairs import LanguagePairs

CHECK = Path(__file__).with_name("check.py")
SERVE = Path(__file__).with_name("serve.py")
# The site is our own and on this computer: nobody needs a pause between requests.
OPTIONS = ("-s", "DOWNLOAD_DELAY=0", "-s", "AUTOTHROTTLE_ENABLED=False", "-L", "WARNING")


def main() -> int:
    parser = argparse.ArgumentParser(description="Crawl the example site.", allow_abbrev=False)
    parser.add_argument("--pair", default="eng-spa", type=_pairs, help="pairs of its languages (%(default)s)")
    arguments, options = parser.parse_known_args()
    output_dir = Path("crawls") / f"example-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    with serving() as url:
        spider = ["-a", f"pair={arguments.pair}", "-a", f"seeds={url}", "-s", f"BILINGUAL_OUTPUT_DIR={output_dir}"]
        crawl = [sys.executable, "-m", "scrapy", "crawl", "bilingual", *spider, *OPTIONS, *options]
        # Ctrl-C reaches the crawl as well, which needs the site, and not to be killed, to end in order.
        signal.signal(signal.SIGINT, lambda *_: None)
        status = subprocess.run(crawl, check=False).returncode
    if status:
        return status
    status = subprocess.run([sys.executable, str(CHECK), str(output_dir)], check=False).returncode
    again = f"{sys.executable} {SERVE} --port {urlsplit(url).port}"
    print(f"The example site is no longer served; to follow the links in the report: {again}")
    return status


def _pairs(text: str) -> LanguagePairs:
    there = [parse_language(language) for language in LANGUAGES]
    try:
        pairs = LanguagePairs.parse(text)
    except LanguageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not {*pairs.languages} <= set(there):
        raise argparse.ArgumentTypeError(
            f"the example site is in {', '.join(there)}; to crawl websites for {pairs}, give SEEDS=https://…"
        )
    return pairs


if __name__ == "__main__":
    sys.exit(main())
