"""The example site, its server and its true pairs."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
LINK = re.compile(r'(?:href|src)="([^"#]+)"')


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


serve = load("serve")
check = load("check")
PAGES = serve.load_pages()
