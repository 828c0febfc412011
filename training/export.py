"""`python -m training.export --from-hub NAME`: a fine-tuned XLM-R, such as the authors' models, as a model folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from training.transformer.hub import HubError, from_hub

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Convert a fine-tuned XLM-R into a model folder for the crawler."""
    parser = argparse.ArgumentParser(prog="python -m training.export", description=main.__doc__)
    parser.add_argument("--from-hub", required=True, help="name on the hub or folder")
    parser.add_argument("--kind", choices=("language", "parallelness"), required=True)
    parser.add_argument("--precision", choices=("fp32", "fp16", "int8"), default="fp32")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        print(f"{options.out}: {from_hub(options.from_hub, options.kind, options.out, options.precision)}")
    except HubError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
