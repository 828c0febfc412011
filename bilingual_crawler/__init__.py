"""A focused crawler that finds parallel documents early."""

__version__ = "1.0.0"


def to_install(extra: str) -> str:
    """The command that adds the packages of *extra* to this installation, be it a wheel or a checkout."""
    return f"pip install 'bilingual-crawler[{extra}]'"
