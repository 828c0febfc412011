"""Serves the example site, crawls it for English and Spanish, and checks the pairs; ``make crawl`` runs it.

Arguments are handed to ``scrapy crawl``, for example ``-a policy=bfs``.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from serve import serving

CHECK = Path(__file__).with_name("check.py")
# The site is our own and on this computer: nobody needs a pause between requests.
OPTIONS = ("-s", "DOWNLOAD_DELAY=0", "-s", "AUTOTHROTTLE_ENABLED=False", "-L", "WARNING")


def main() -> int:
    output_dir = Path("crawls") / f"example-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    with serving() as url:
        arguments = ["-a", "pair=eng-spa", "-a", f"seeds={url}", "-s", f"BILINGUAL_OUTPUT_DIR={output_dir}"]
        crawl = [sys.executable, "-m", "scrapy", "crawl", "bilingual", *arguments, *OPTIONS, *sys.argv[1:]]
        # Ctrl-C reaches the crawl as well, which needs the site, and not to be killed, to end in order.
        signal.signal(signal.SIGINT, lambda *_: None)
        status = subprocess.run(crawl, check=False).returncode
    if status:
        return status
    return subprocess.run([sys.executable, str(CHECK), str(output_dir)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
