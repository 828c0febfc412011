"""``bilingual-crawler doctor``: which optional parts are installed, and what each brings."""

import os
import shutil
from argparse import Namespace
from collections.abc import Iterator
from importlib.util import find_spec

from scrapy.commands import ScrapyCommand
from scrapy.settings import BaseSettings

from bilingual_crawler import ONE_ONNXRUNTIME, to_install
from bilingual_crawler.commands import Tool
from bilingual_crawler.crawl.middlewares.render import missing_for_rendering
from bilingual_crawler.encoders.base import install_command, is_installed
from bilingual_crawler.options import Options, workers
from bilingual_crawler.scoring.models import ProviderError, default_providers


class Command(Tool, ScrapyCommand):
    purpose = "List the optional parts: installed or not, and what each brings"
    inputs = range(1)

    def work(self, inputs: list[str], opts: Namespace) -> None:
        for part, brings, missing in _parts(self.settings):
            print(f"{'no ' if missing else 'yes'}  {part:<10}{brings}{missing and f': {missing}'}")


def _parts(settings: BaseSettings) -> Iterator[tuple[str, str, str]]:
    """Name and benefit of each part, and what is missing of it, empty if nothing is."""
    encoder = Options.of(settings).encoder
    missing = "" if is_installed(encoder) else install_command(encoder)
    yield "encoder", "compares documents and sentences by meaning", missing
    try:
        missing = "" if default_providers()[:-1] else f"{to_install('gpu')} && {ONE_ONNXRUNTIME}"
    except ProviderError as error:
        missing = str(error)
    yield "GPU", "runs the ONNX models faster than the CPU", missing
    yield "Chromium", "renders pages that need JavaScript", missing_for_rendering(settings) or ""
    try:
        workers(2)
        missing = ""
    except ValueError as error:
        missing = str(error)
    yield "Redis", "crawls with several processes (--workers)", missing
    spark = "" if find_spec("pyspark") else to_install("spark")
    java = "" if shutil.which("java") or os.environ.get("JAVA_HOME") else "apt-get install default-jre-headless"
    yield "Java", "mines on Spark, on one machine or many", " && ".join(filter(None, (java, spark)))
