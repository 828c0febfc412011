"""Processes of tests that are forked from one that has imported what a crawl does, so that they begin at once.

They are what ``subprocess`` would start: children of the process that asks for them, with the same outputs, working
folder, environment, process group, signals and exit status. A server begins with the first of them. Each forked process
has a server of its own, from which its helpers and its alignment are forked: none has seen another crawl.
"""

import atexit
import ctypes
import fcntl
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

HELPER = "bilingual_crawler.pages.sandbox.helper"
WORKER = "bilingual_crawler.commands.worker"
PROGRAMS = {"scrapy", "bilingual_crawler", "bilingual_crawler.alignment.at_end", "support.probe", WORKER, HELPER}
"""Modules that are run in forked processes."""
VARYING = ("PYTEST_", "SCRAPY_", "BILINGUAL_CACHE_DIR", "KMP_", "TORCHINDUCTOR_")
"""Environment variables with these prefixes change nothing before a program begins.

Crawls and alignments name their cache folder to their helpers, those in the process of the tests for all that follow;
torch sets variables of the last two.
"""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What may be sent to the process group of a server; it ends when its connection does."""
_PATIENCE = 300.0
_PR_SET_CHILD_SUBREAPER = 36
_real = subprocess.Popen
_prctl = ctypes.CDLL(None).prctl


class _Server:
    """The connection to the server of this process, which has been started with *environment*."""

    def __init__(self, connection: socket.socket, pid: int, environment: Any, *, nested: bool = False) -> None:
        connection.settimeout(_PATIENCE)
        self._connection = connection
        self.pid = pid
        self._lock = threading.Lock()
        self.nested = nested
        """Whether it serves a forked process; this hands its own module search path on."""
        self._varying = (*VARYING, "PYTHONPATH") if nested else VARYING
        self._environment = self._fixed(environment)

    def _fixed(self, environment: Any) -> dict[str, str]:
        return {name: value for name, value in environment.items() if not name.startswith(self._varying)}

    def suits(self, environment: Any) -> bool:
        """Whether a process with *environment* is what a new interpreter would be."""
        return self._fixed(environment) == self._environment

    def fork(self, request: dict[str, Any], files: list[int]) -> int | None:
        """The id of the new process, a child of this one; None if a test has killed the server."""
        with self._lock:
            _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._connection, [json.dumps(request).encode()], files)
                return int(self._connection.recv(100) or 0) or None
            except OSError:
                return None
            finally:
                _prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


_server: _Server | None = None
environment: dict[str, str] = dict(os.environ)
"""That of the tests, before one of them changes it."""
used = False
"""Whether programs are forked: in tests, not in benchmarks."""


class Popen(subprocess.Popen[str]):
    """A process as ``subprocess`` starts it; it is forked if it is one of `PROGRAMS` and nothing forbids that."""

    def _execute_child(
        self, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any, cwd: Any, env: Any, *rest: Any
    ) -> None:
        _, _, shell, *pipes = rest[:9]
        _, *owner_and_mask, new_session, group = rest[9:]
        files = [given if given >= 0 else fd for fd, given in enumerate((pipes[0], pipes[3], pipes[5]))]
        environment = os.environ if env is None else env
        plain = (
            not (executable or preexec_fn or shell or isinstance(args, str))
            and list(args[:2]) == [sys.executable, "-m"]
            and args[2] in PROGRAMS
            and owner_and_mask == [None, None, None, -1]
            and group == -1
            and not any(map(os.isatty, files[1:]))
        )
        server = plain and _server_here()
        if server and server.suits(environment):
            request = {
                "program": list(args[2:]),
                "folder": os.path.abspath(cwd or os.curdir),
                "environment": dict(environment),
                "new_session": bool(new_session),
                "files": [0, 1, 2, *pass_fds],
            }
            pid = server.fork(request, [*files, *pass_fds])
            assert pid or server.nested, "the fork server has failed"
            if pid:
                self.pid = pid
                self._child_created = True
                self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
                return
        super()._execute_child(args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest)  # type: ignore[misc]


def is_server(pid: int) -> bool:
    """Whether the process *pid* is the server of this one."""
    return _server is not None and _server.pid == pid


def _server_here() -> _Server:
    global _server
    if _server is None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            end = theirs.fileno()
            command = (sys.executable, __file__, str(end))
            # a test that has changed the environment may be the first one that needs the server
            nothing = subprocess.DEVNULL
            process = _real(command, pass_fds=(end,), env=environment, stdin=nothing, stdout=nothing)
        _server = _Server(ours, process.pid, environment)
    return _server


def _next_request(connection: socket.socket) -> tuple[dict[str, Any], list[int], socket.socket]:
    """Wait for requests; returns in the new processes only. Ends when the process that asks does."""
    parent = os.getppid()
    before = [signal.signal(number, signal.SIG_IGN) for number in _IGNORED]
    while True:
        message, files, _, _ = socket.recv_fds(connection, 1 << 20, 64)
        if not message:
            os._exit(0)
        # the process between them ends at once, so that the new one becomes a child of the process that asks
        between = os.fork()
        if between:
            os.waitpid(between, 0)
            for file in files:
                os.close(file)
            continue
        between = os.getpid()
        if os.fork():
            os._exit(0)
        for number, handler in zip(_IGNORED, before, strict=True):
            signal.signal(number, handler)
        while os.getppid() == between:
            time.sleep(0.0005)
        if os.getppid() != parent:
            os._exit(1)  # which has ended
        return json.loads(message), files, connection


def _keep(files: list[int], places: list[int]) -> None:
    """Keep of all open files only *files*, as the numbers *places*."""
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, max(places) + 1) for file in files]
    for file in map(int, os.listdir("/proc/self/fd")):
        if file not in moved:
            with suppress(OSError):  # the folder itself
                os.close(file)
    for file, place in zip(moved, places, strict=True):
        os.dup2(file, place)
        os.close(file)


def _serve(connection: socket.socket, own_path: list[str]) -> list[str]:
    """Serve *connection*; returns the program and its arguments, in the new process in which it is to be run."""
    global _server
    while True:
        request, files, connection = _next_request(connection)
        if request["new_session"]:
            os.setsid()
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.path[:] = [request["folder"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *own_path]
        reply = max(request["files"]) + 1
        _keep([*files, connection.detach()], [*request["files"], reply])
        program: list[str] = request["program"]
        if program[0] != HELPER:  # which starts no process
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            server = os.fork()
            if not server:
                nothing = os.open(os.devnull, os.O_RDWR)
                _keep([nothing, nothing, nothing, theirs.detach()], [0, 1, 2, 3])
                ours.detach()
                connection = socket.socket(fileno=3)
                continue
            theirs.close()
            _server = _Server(ours, server, os.environ, nested=True)
            subprocess.Popen = Popen  # type: ignore[misc, assignment]
        with socket.socket(fileno=reply) as asked:
            asked.send(str(os.getpid()).encode())
        return program


def main() -> None:
    del sys.path[0]
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    own_path = [path for path in sys.path if path not in given]
    sys.path.insert(0, str(Path(__file__).parents[1]))
    importlib.import_module("support.crawl_loads").load()
    gc.collect()
    gc.freeze()
    with warnings.catch_warnings():
        # no thread runs but those of OpenBLAS, which knows forks
        warnings.simplefilter("ignore", DeprecationWarning)
        module, *sys.argv[1:] = _serve(socket.socket(fileno=int(sys.argv[1])), own_path)
    importlib.invalidate_caches()
    # loaded by those that start it
    sys.modules.pop(module, None) if "." in module else None
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _end(ended.code or 0)
    _end(0)


def _end(status: int) -> None:
    """End as the interpreter does, except that modules are not taken apart: that would copy all memory of the server.

    Threads are waited for, callbacks of ``atexit`` run and the standard streams are flushed.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (AttributeError, OSError, ValueError):
        sys.exit(status)  # without a stream, or with a closed one: the interpreter knows what follows
    os._exit(status)


if __name__ == "__main__":
    main()
