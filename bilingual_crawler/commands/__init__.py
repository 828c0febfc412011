"""Commands of ``scrapy``: of the project, and of every other folder by the entry points in ``pyproject.toml``."""

from __future__ import annotations

from bilingual_crawler import settings

PROJECT_SETTINGS = {name: value for name, value in vars(settings).items() if name.isupper()}
"""What the commands go by where Scrapy knows no project, or another one."""
