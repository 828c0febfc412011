"""What MkDocs does with a page of this documentation beside its plugins."""

from __future__ import annotations

import re

_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(<code[^>]*>)~?(?:bilingual_crawler\.(?:\w+\.)*)?")


def on_page_content(html: str, **_: object) -> str:
    """*html* with the roles of Sphinx in docstrings as plain code."""
    return _ROLE.sub(r"\1", html)
