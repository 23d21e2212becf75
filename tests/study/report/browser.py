"""Headless Chromium, driven through its DevTools protocol over two pipes: nothing but the browser is needed."""

from __future__ import annotations

import atexit
import base64
import contextlib
import functools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 120  # seconds: other work may keep the machine busy, but a test has 300


def chromium() -> str | None:
    """The path of Chromium: LOWLAND_CHROMIUM, or the first of its names on the path; None if there is none."""
    names = (
        os.environ.get("LOWLAND_CHROMIUM"),
        "chromium",
        "chromium-browser",
        "chromium-headless-shell",
        "google-chrome",
    )
    return next((found for name in names if name and (found := shutil.which(name))), None)


class Browser:
    """One browser with one page. Errors and warnings of the page are kept in ``problems``."""

    def __init__(self, program: str, folder: Path) -> None:
        ours, theirs = os.pipe(), os.pipe()  # they read from the first and write to the second

        def pipes() -> None:  # file descriptors of the protocol: 3 to read from, 4 to write to
            source, target = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(source, 3)
            os.dup2(target, 4)

        command = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, stdin=quiet, stdout=quiet, stderr=quiet, preexec_fn=pipes, close_fds=False, start_new_session=True
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.write, self.read = ours[1], theirs[0]
        self.rest, self.number, self.session, self.profile = b"", 0, None, None
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []

    def renew(self, width: int) -> None:
        """Close all pages and open one with a new profile: no cookie, storage or setting of the last one is left."""
        self.session = None  # the next commands are for the browser
        if self.profile is not None:
            self.call("Target.disposeBrowserContext", browserContextId=self.profile)
        self.profile = self.call("Target.createBrowserContext")["browserContextId"]
        self.session = self.call("Target.attachToTarget", targetId=self.tab("about:blank"), flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.media("", "light")
        self.size(width, 1000)
        for kept in (self.problems, self.requests, self.dialogs):
            kept.clear()

    def tab(self, address: str) -> str:
        """Open an address in another tab of the same profile; return the id of the tab."""
        return self.call("Target.createTarget", url=address, browserContextId=self.profile)["targetId"]

    def call(self, method: str, **parameters):
        """Send a command to the browser and return its result."""
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        data = json.dumps(asked).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data) :]
        while (answer := self._next(PATIENCE)).get("id") != self.number:
            self._heed(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _next(self, seconds: float):
        until = time.monotonic() + seconds
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read], [], [], max(0, until - time.monotonic()))
            piece = os.read(self.read, 1 << 20) if ready else b""
            if not piece:
                raise TimeoutError("Chromium gave no answer.")
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def _heed(self, event) -> None:
        name, params = event.get("method"), event.get("params", {})
        if name == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif name == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(str([a.get("value") for a in params["args"]]))
        elif name == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{params['entry']['text']} {params['entry'].get('url', '')}".strip())
        elif name == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif name == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
            self.number += 1
            answer = {"id": self.number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
            os.write(self.write, json.dumps({**answer, "sessionId": self.session}).encode() + b"\0")

    def open(self, path: Path) -> None:
        """Open a file, as a double click would, and wait until the report says that it is ready."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.until("document.readyState === 'complete' && document.documentElement.dataset.ready")

    def run(self, code: str):
        """Evaluate an expression in the page and return its value."""
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "It failed."))
        return answer["result"].get("value")

    def until(self, code: str, seconds: float = PATIENCE) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self._holds(code):
            if time.monotonic() > end:
                raise TimeoutError(f"This did not become true: {code}")
            time.sleep(0.02)

    def _holds(self, code: str) -> bool:
        """Whether an expression is true now; a page that gives way to another one gives no answer."""
        try:
            return self.run(f"Boolean({code})")
        except RuntimeError as problem:
            if not re.search("navigated or closed|context was destroyed", str(problem)):
                raise
            return False

    def settle(self) -> None:
        """Wait until everything has been drawn, and no color or place changes any more."""
        self.run(
            "new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 60))"
            ".then(() => Promise.allSettled(document.getAnimations()"
            ".filter((each) => each.effect.getComputedTiming().endTime < 5000).map((each) => each.finished)))"
            ".then(() => null)"
        )

    def size(self, width: int, height: int, scale: float = 1) -> None:
        """Give the page a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def media(self, media: str = "", scheme: str = "light") -> None:
        """Choose the screen or paper, light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def mouse(self, kind: str, x: float, y: float, button: str = "none", buttons: int = 0, **more) -> None:
        """Move, press or release the mouse."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, **more)

    def drag(self, start, end, steps: int = 6, modifiers: int = 0) -> None:
        """Drag with the left button from one place to another."""
        (x, y), (u, v) = start, end
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, "left", 1, clickCount=1, modifiers=modifiers)
        for i in range(1, steps + 1):
            self.mouse("mouseMoved", x + (u - x) * i / steps, y + (v - y) * i / steps, "left", 1, modifiers=modifiers)
        self.mouse("mouseReleased", u, v, "left", 0, clickCount=1, modifiers=modifiers)

    def press(self, key: str, code: str = "", text: str = "") -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, **more)

    def picture(self, path: Path, whole: bool = False) -> None:
        """Write what is seen as a PNG."""
        more = {"captureBeyondViewport": True} if whole else {}
        if whole:
            box = self.call("Page.getLayoutMetrics")["cssContentSize"]
            more["clip"] = {"x": 0, "y": 0, "width": box["width"], "height": box["height"], "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", **more)["data"]
        path.write_bytes(base64.b64decode(data))

    def paper(self, path: Path) -> None:
        """Write the page as it is params, as a PDF."""
        data = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.write)
        os.close(self.read)


@functools.cache
def started(number: int = 0) -> Browser:
    """Start a browser, once for all tests of this process; it is closed at the end."""
    program = chromium()
    if program is None:
        pytest.skip("no Chromium: install it (Debian: apt-get install chromium) or name it in LOWLAND_CHROMIUM")
    folder = Path(tempfile.mkdtemp(prefix="chromium-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    found = Browser(program, folder)
    atexit.register(found.close)
    return found


def fresh_browser(number: int = 0, width: int = 1400) -> Browser:
    """The browser of all tests, with a light page of this width and a new profile."""
    found = started(number)
    found.renew(width)
    return found
