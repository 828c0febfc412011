"""Commands of ``scrapy``: in the project, and by the entry points in ``pyproject.toml`` in every other folder."""

from __future__ import annotations

from bilingual_crawler import settings

PROJECT_SETTINGS = {name: value for name, value in vars(settings).items() if name.isupper()}
"""Settings of the commands if Scrapy knows no project, or another one."""
