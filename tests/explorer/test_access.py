import asyncio

import httpx
import pytest

from lowland.explorer.access import Access


def test_without_the_token_nothing_is_answered(explorer):
    for path in ("/", "/api/session", "/api/tables", "/pages/explorer/index.html", "/api/openapi.json"):
        answer = httpx.get(explorer.address + path)
        assert answer.status_code == 401, path
        assert "token" in answer.json()["error"]


@pytest.mark.parametrize("given", ["wrong", "é", "wrong wrong"])
def test_a_wrong_token_is_refused(explorer, given):
    assert httpx.get(f"{explorer.address}/", params={"token": given}).status_code == 401
    headers = {"Authorization": f"Bearer {given}".encode()}
    assert httpx.get(f"{explorer.address}/api/session", headers=headers).status_code == 401
    cookie = {"Cookie": f"lowland_{explorer.port}={given}".encode()}
    assert httpx.get(f"{explorer.address}/api/session", headers=cookie).status_code == 401


def test_the_printed_address_is_the_page_and_sets_a_cookie(explorer):
    """Without a redirect: a browser that comes from another site would not send the new cookie along with it."""
    answer = httpx.get(f"{explorer.address}/", params={"token": explorer.token})
    assert answer.status_code == 200
    assert "main.js" in answer.text
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "no-store" in answer.headers["cache-control"]
    name, _, value = cookie.partition(";")[0].partition("=")
    assert httpx.get(f"{explorer.address}/api/session", cookies={name: value}).status_code == 200


def test_a_person_without_the_token_sees_a_page(explorer):
    for params in ({}, {"token": "wrong"}):
        answer = httpx.get(f"{explorer.address}/", params=params, headers={"Accept": "text/html,*/*"})
        assert answer.status_code == 401
        assert answer.headers["content-type"].startswith("text/html")
        assert "printed" in answer.text
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil"])
def test_a_foreign_host_is_refused(explorer, host):
    answer = explorer.get("/api/session", headers={"Host": host.format(port=explorer.port)})
    assert answer.status_code == 403
    assert "host" in answer.json()["error"]


def test_localhost_is_this_machine(explorer):
    assert explorer.get("/api/session", headers={"Host": f"localhost:{explorer.port}"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(explorer, origin):
    answer = explorer.get("/api/session", headers={"Origin": origin.format(port=explorer.port)})
    assert answer.status_code == 403
    assert "not allowed" in answer.json()["error"]


def test_the_own_origin_is_accepted(explorer):
    assert explorer.get("/api/session", headers={"Origin": explorer.address}).status_code == 200


def test_every_answer_has_safe_headers(explorer):
    for answer in (explorer.get("/api/session"), explorer.get("/nothing"), httpx.get(explorer.address)):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1", 401), ("127.0.0.1:80", 401), ("evil.example", 403)])
def test_browsers_leave_out_port_80(host, status):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": "/", "query_string": b"", "headers": [(b"host", host.encode())]}
    asyncio.run(Access(None, token="t", host="127.0.0.1", port=80)(scope, None, send))
    assert sent[0]["status"] == status
