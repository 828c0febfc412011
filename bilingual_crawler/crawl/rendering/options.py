"""How Chromium is found and started."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilingual_crawler import to_install

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NO_NETWORK = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # the name of that argument in older versions
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
"""Arguments that cut the browser off from the network. WebRTC over TCP, and WebTransport, look up addresses, too."""
_REMOTE = ("PLAYWRIGHT_CDP_URL", "PLAYWRIGHT_CONNECT_URL")


def missing_for_rendering(settings: BaseSettings) -> str | None:
    """What has to be installed before pages can be rendered; None if all is there."""
    if find_spec("scrapy_playwright") is None:
        return f"the package scrapy-playwright is missing: {to_install('playwright')}"
    if any(settings.get(name) for name in _REMOTE):
        return None
    executable = launch_options(settings).get("executable_path")
    if executable:
        return None if shutil.which(executable) else f"PLAYWRIGHT_LAUNCH_OPTIONS: there is no browser {executable}"
    own = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "~/.cache/ms-playwright")).expanduser()
    if any(own.glob("chromium*")):
        return None
    return "no browser was found: apt-get install chromium, or python -m playwright install chromium"


def launch_options(settings: BaseSettings) -> dict[str, Any]:
    """``PLAYWRIGHT_LAUNCH_OPTIONS`` over our own: the system's Chromium, in its sandbox unless we are root."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    ours = {"chromium_sandbox": os.geteuid() != 0} | ({"executable_path": found} if found else {})
    given = settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS")
    return ours | given | {"args": [*NO_NETWORK, *given.get("args", ())]}
