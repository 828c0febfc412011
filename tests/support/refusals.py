"""Commands that end with an error."""

from collections.abc import Callable, Sequence

import pytest


def refused(
    capsys: pytest.CaptureFixture[str],
    main: Callable[[list[str]], object],
    command: str | Sequence[object],
    code: int = 2,
) -> str:
    """The last line on standard error of *main* when it returns or ends with *code*; *command* is its arguments."""
    try:
        ended = main([str(one) for one in (command.split() if isinstance(command, str) else command)])
    except SystemExit as error:
        ended = error.code
    said = capsys.readouterr().err
    assert ended == code
    assert "Traceback" not in said
    return said.splitlines()[-1]
