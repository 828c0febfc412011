"""Regular expressions over text of the web: every pattern of the package, also a new one, takes linear time."""

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import bilingual_crawler

LENGTHS = (500, 2_000, 8_000)
"""Characters of the inputs: a linear pattern takes 4 times as long for 4 times as many, a quadratic one 16 times."""
QUADRATIC = 9.0
SHORT = 0.01
"""Seconds that no linear pattern takes for so many characters."""
METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")
CLASSES = {
    op.CATEGORY_DIGIT: "1", op.CATEGORY_NOT_DIGIT: "a", op.CATEGORY_SPACE: " ", op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_WORD: "a", op.CATEGORY_NOT_WORD: "-",
}  # fmt: skip
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE
ENDINGS = ("\x01", " \x01")
"""Most patterns match neither, so that they try all ways to match what is before."""
MAX_UNITS = 6
"""Different repetitions of a pattern that are combined."""
MAX_PARTS = 30
"""Parts of a set from which only some are tried; a set of 60 has twice as many."""
DYNAMIC = {
    "bilingual_crawler.bitext.splitting": 1,
    "bilingual_crawler.pages.robots": 1,
    "bilingual_crawler.urls.rewriting": 1,
}
"""Patterns that are compiled when needed, by module; here of literals and lookarounds of one character."""


def sources() -> Iterator[tuple[str, Path]]:
    root = Path(bilingual_crawler.__file__).parent
    for module in pkgutil.walk_packages([str(root)], "bilingual_crawler."):
        path = root.joinpath(*module.name.split(".")[1:])
        yield module.name, path / "__init__.py" if module.ispkg else path.with_suffix(".py")


def methods_of(name: str, nodes: Sequence[ast.AST]) -> set[str]:
    """The methods of the pattern *name* that the *nodes* of its module call; all if it is used in another way."""
    called: set[str] = set()
    uses = 0
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            called.add(node.attr)
            uses -= 1
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            uses += 1
    return {*METHODS} if uses or not called else called & {*METHODS}


def patterns() -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    """Each pattern at the top of a module: its name, the pattern, the methods called."""
    for module_name, path in sources():
        source = path.read_text()
        if "re.compile" not in source:
            continue
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute | ast.Name)]
        module = importlib.import_module(module_name)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield f"{module_name.partition('.')[2]}.{name}", value, methods_of(name, nodes)


PATTERNS = {name: (pattern, methods) for name, pattern, methods in patterns()}


def inner(kind: Any, argument: Any) -> Sequence[Any]:
    """The patterns inside one part of a pattern."""
    if kind is op.BRANCH:
        return argument[1]  # type: ignore[no-any-return]
    if kind is op.ATOMIC_GROUP:
        return [argument]
    place = {op.SUBPATTERN: 3, op.ASSERT: 1, op.ASSERT_NOT: 1, **dict.fromkeys(REPEATS, 2)}.get(kind)
    return [] if place is None else [argument[place]]


def sample(parsed: Any) -> str:
    """A short text that a parsed pattern matches, about."""
    text = ""
    for kind, argument in parsed:
        if kind is op.LITERAL:
            text += chr(argument)
        elif kind is op.IN:
            text += members(argument)[0]
        elif kind in (op.ANY, op.NOT_LITERAL):
            text += "b" if argument == ord("a") else "a"
        elif kind in REPEATS:
            text += sample(argument[2]) * argument[0]
        elif kind is not op.ASSERT_NOT and not (kind is op.ASSERT and argument[0] > 0):
            text += "".join(map(sample, inner(kind, argument)[:1]))
    return text


def members(argument: Any) -> list[str]:
    """A character of each part of a set, or one that a negated set has; of every few parts of a set with hundreds."""
    if argument[0][0] is op.NEGATE:
        names = {op.CATEGORY_DIGIT: r"\d", op.CATEGORY_SPACE: r"\s", op.CATEGORY_WORD: r"\w",
                 op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_NOT_WORD: r"\W"}  # fmt: skip
        parts = {
            op.LITERAL: lambda value: re.escape(chr(value)),
            op.RANGE: lambda value: f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}",
            op.CATEGORY: names.__getitem__,
        }
        inner = "".join(parts[kind](value) for kind, value in argument[1:])
        return [char for char in "a1 -/<x\uffff" if re.fullmatch(f"[^{inner}]", char)][:2]
    of_kind = {op.LITERAL: chr, op.RANGE: lambda value: chr(value[0]), op.CATEGORY: CLASSES.__getitem__}
    return [of_kind[kind](value) for kind, value in argument[:: max(1, len(argument) // MAX_PARTS)]]


def repeated(parsed: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """What a pattern can match many times, with what it matches before."""
    for place, (kind, argument) in enumerate(parsed):
        prefix = before + sample(parsed[:place])
        parts = inner(kind, argument)
        if kind in REPEATS and argument[1] > LENGTHS[-1]:
            (body,) = parts
            units = members(body[0][1]) if len(body) == 1 and body[0][0] is op.IN else [sample(body)]
            yield from ((prefix, unit) for unit in units if unit)
        for part in parts:
            yield from repeated(part, prefix)


def inputs(pattern: re.Pattern[Any], length: int) -> Iterator[Any]:
    """What the pattern can match many times, after what begins a match and as often as that; with two endings."""
    is_text = isinstance(pattern.pattern, str)
    parsed = parser.parse(pattern.pattern if is_text else pattern.pattern.decode("latin-1"), pattern.flags & FLAGS)
    found = list(dict.fromkeys(repeated(parsed)))
    units = list(dict.fromkeys(unit for _, unit in found))[:MAX_UNITS]
    pieces = dict.fromkeys([*found, *(("", unit) for unit in units), *product(units, units), (sample(parsed), "")])
    for before, unit in pieces:
        once, often = (before, unit) if unit else ("", before)
        for text in (once + _run(often, length), _run(before + unit, length)):
            for ending in ENDINGS if text else ():
                yield text + ending if is_text else (text + ending).encode("latin-1", "replace")


def _run(unit: str, length: int) -> str:
    return unit * (length // max(1, len(unit)))


def seconds(pattern: re.Pattern[Any], methods: Iterable[str], text: Any) -> float:
    best = float("inf")
    for _ in range(3):
        begun = time.thread_time()
        for method in methods:
            if method in ("sub", "subn"):
                pattern.sub(text[:0], text)
            elif method == "finditer":
                for _ in pattern.finditer(text):
                    pass
            else:
                getattr(pattern, method)(text)
        best = min(best, time.thread_time() - begun)
        if best < SHORT:
            break
    return best


def slow_inputs(pattern: re.Pattern[Any], methods: Iterable[str]) -> Iterator[str]:
    """The beginnings of inputs for which four times the length takes many times the time."""
    for inputs_of_a_kind in zip(*(inputs(pattern, length) for length in LENGTHS), strict=True):
        before = 0.0
        for text in inputs_of_a_kind:
            taken = seconds(pattern, methods, text)
            if taken > SHORT and taken > QUADRATIC * before:
                yield f"{text[:40]!r}… of {len(text):,} characters: {taken:.2f} s"
                break
            before = taken


@pytest.mark.parametrize("name", PATTERNS)
def test_time_grows_with_the_length_not_with_its_square(name: str) -> None:
    pattern, methods = PATTERNS[name]
    assert next(slow_inputs(pattern, methods), None) is None


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"([^=&;?/]+)=([^&;]*)", "finditer"), (r"\s+$", "search"), (r"^name[ \t]*:[ \t]*(.*?)[ \t]*\r$", "search"),
        (r"\S+/\S*$", "match"), (r"<!--.*?-->", "sub"), (r"\d+[a-z]", "search"), (rb"<[^>]+>", "findall"),
    ],
)  # fmt: skip
def test_the_test_finds_slow_patterns(pattern: Any, method: str) -> None:
    # four times, as one search of the shortest takes hardly as long as what counts as slow
    assert next(slow_inputs(re.compile(pattern, re.DOTALL), [method] * 4), None)


def test_every_pattern_is_known() -> None:
    """A pattern inside of a function would not be tested."""
    inside = {}
    for name, path in sources():
        tree = ast.parse(path.read_text())
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        calls = sum(
            isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
            for function in functions
            for node in ast.walk(function)
        )
        if calls:
            inside[name] = calls
    assert inside == DYNAMIC
    assert len(PATTERNS) > 80
