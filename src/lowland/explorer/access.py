"""Who may talk to the server: the token, the Host and the Origin are checked before any route sees a request."""

from __future__ import annotations

import atexit
import contextlib
import hmac
import ipaddress
import json
import os
import tempfile
import webbrowser
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
PAGE = "<!doctype html><html lang=en><title>Lowland explorer</title><h1>Lowland explorer</h1><p>{}</p></html>"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Access:
    """ASGI middleware: 403 for a foreign Host or Origin, 401 without the token, safe headers on every answer."""

    def __init__(self, app: Any, *, token: str, host: str, port: int) -> None:
        self.app, self.token, self.port = app, token, port
        self.any_address = host in ("0.0.0.0", "::")
        names = set(LOOPBACK) if host in LOOPBACK else {*LOOPBACK, host}
        self.hosts = {f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names}
        self.cookie = f"lowland_{port}"  # cookies do not tell ports apart

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Check a request, then pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(headers)
        if refused is not None:
            await _answer(send, 403, refused)
            return
        query = parse_qs(scope["query_string"].decode("latin-1"))
        own = list(HEADERS)
        if scope["path"] == "/" and "token" in query:  # the printed address: the page, and the cookie for its requests
            given, sentence = query["token"][-1], "The token in the address is wrong. Use the address that was printed."
            cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            own += [(b"set-cookie", cookie.encode()), (b"cache-control", b"no-store")]
        else:
            given = self._token_of(headers)
            sentence = "The token is missing. Open the address that lowland explore printed when it started."
        if not self._is_token(given):
            wants_page = scope["path"] == "/" and "text/html" in headers.get(b"accept", "")
            await _answer(send, 401, sentence, as_page=wants_page)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        await self.app(scope, receive, with_headers)

    def _refused(self, headers: dict[bytes, str]) -> str | None:
        host = headers.get(b"host", "")
        whole = f"{host}:80" if self.port == 80 and not host.endswith(":80") else host  # browsers leave it out
        own = whole in self.hosts
        if not own and self.any_address:  # a numeric address: only a name can be made to resolve to us by others
            name, _, port = whole.rpartition(":")
            with contextlib.suppress(ValueError):
                ipaddress.ip_address(name.strip("[]"))
                own = port == str(self.port)
        if not own:
            return f"The host {host[:100]!r} is not the address of this explorer. Use the address that it printed."
        origin = headers.get(b"origin")
        if origin is not None and origin != f"http://{host}":
            return f"Requests from {origin[:100]!r} are not allowed. Use the page of the explorer."
        return None

    def _token_of(self, headers: dict[bytes, str]) -> str:
        kind, _, given = headers.get(b"authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return given.strip()
        try:
            found = SimpleCookie(headers.get(b"cookie", "")).get(self.cookie)
        except CookieError:
            return ""
        return found.value if found else ""

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


async def _answer(send: Any, status: int, sentence: str, *, as_page: bool = False) -> None:
    """Send an error as JSON, or as a page for a person."""
    body = PAGE.format(sentence) if as_page else json.dumps({"error": sentence, "type": "AccessError"})
    kind = b"text/html; charset=utf-8" if as_page else b"application/json"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})


def open_browser(address: str) -> None:
    """Open an address with a token in the browser.

    The browser gets the name of a file, which only this user can read and which leads to the address: other users of
    the machine can see the arguments of processes. Without a browser nothing happens, since the address is printed.
    """
    handle, name = tempfile.mkstemp(prefix="lowland-", suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Open</a>')
    atexit.register(Path(name).unlink, missing_ok=True)
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(Path(name).as_uri())
