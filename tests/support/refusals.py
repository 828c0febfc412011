"""Commands that end with an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def refused(
    capsys: pytest.CaptureFixture[str],
    main: Callable[[list[str]], object],
    command: str | Sequence[object],
    code: int = 2,
) -> str:
    """What *main* says on standard error, as one line, when it ends with *code*; *command* is its arguments."""
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in (command.split() if isinstance(command, str) else command)])
    assert ended.value.code == code
    return " ".join(capsys.readouterr().err.split())
