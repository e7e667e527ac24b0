"""API keys: who may do what, in which project, and what a collector refuses without them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from collector.access import Gate, expiry, new_key
from collector.api import bodies
from collector.errors import BadStore, Forbidden, Unauthorized
from collector.otlp import intake
from collector.server import running
from collector.store import open_store
from tests.support.traces import JSON, PROTOBUF, Client, agent_request, case_json, new_id, settings


def make(client: Client, name: str, *scopes: str, token: str | None = None, **more: str) -> str:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    body = {"name": name, "scopes": list(scopes), **more}
    answer = client.http.post("/api/v1/keys", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["key"])


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_the_first_key_closes_the_collector(fresh: Client) -> None:
    run = new_id()
    assert fresh.send(agent_request(run, ["a"])).status_code == 200
    assert fresh.http.post("/api/v1/keys", json={"name": "x", "scopes": ["read"]}).status_code == 400
    root = make(fresh, "root", "admin")
    assert fresh.http.get("/api/v1/runs").status_code == 401
    assert fresh.send(agent_request(new_id(), ["a"])).status_code == 401
    assert fresh.http.get("/api/v1/runs", headers=bearer(root)).status_code == 200
    assert fresh.send(agent_request(new_id(), ["a"]), {**PROTOBUF, **bearer(root)}).status_code == 200
    assert fresh.http.get("/healthz").status_code == 200


def test_scopes_allow_what_they_say_and_nothing_else(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    ingest, read, write = (make(fresh, scope, scope, token=root) for scope in ("ingest", "read", "write"))
    body = agent_request(new_id(), ["a"])

    def statuses(token: str) -> list[int]:
        http, headers = fresh.http, bearer(token)
        return [
            fresh.send(body, {**PROTOBUF, **headers}).status_code,
            http.get("/api/v1/runs", headers=headers).status_code,
            http.get("/metrics", headers=headers).status_code,
            http.post("/api/v1/cases", json=case_json("c"), headers=headers).status_code,
            http.post("/api/v1/keys", json={"name": "n", "scopes": ["read"]}, headers=headers).status_code,
        ]

    assert statuses(root) == [200, 200, 200, 201, 201]
    assert statuses(ingest) == [200, 403, 403, 403, 403]
    assert statuses(read) == [403, 200, 200, 403, 403]
    assert statuses(write) == [403, 403, 403, 201, 403]


def test_projects_do_not_see_each_other(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    other = make(fresh, "other", "admin", token=root, project="other")
    mine, theirs = new_id(), new_id()
    fresh.send(agent_request(mine, ["a"]), {**PROTOBUF, **bearer(root)})
    fresh.send(agent_request(theirs, ["b"]), {**PROTOBUF, **bearer(other)})
    fresh.send(agent_request(mine, ["x", "y"]), {**PROTOBUF, **bearer(other)})  # the same run id elsewhere
    fresh.http.post("/api/v1/cases", json=case_json("secret"), headers=bearer(root))

    def runs(token: str) -> set[str]:
        return {item["id"] for item in fresh.http.get("/api/v1/runs", headers=bearer(token)).json()["items"]}

    assert runs(root) == {mine}
    assert runs(other) == {mine, theirs}
    for path in (f"/runs/{theirs}", f"/runs/{theirs}/spans"):
        assert fresh.http.get(f"/api/v1{path}", headers=bearer(root)).status_code == 404
    assert fresh.http.get("/api/v1/cases/secret", headers=bearer(other)).status_code == 404
    spans = fresh.http.get(f"/api/v1/runs/{mine}/spans", headers=bearer(root)).json()["items"]
    assert len(spans) == 2


def test_projects_neither_decide_nor_guard_for_each_other(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    other = make(fresh, "other", "admin", token=root, project="other")

    def said(method: str, path: str, token: str, **body: object) -> httpx.Response:
        return fresh.http.request(method, f"/api/v1{path}", json=body or None, headers=bearer(token))

    asked = said("POST", "/approvals", root, tool="refund", text="Not run.").json()
    assert said("GET", "/approvals", other).json()["items"] == []
    assert said("POST", "/approvals", other, id=asked["id"]).status_code == 404
    assert said("PUT", f"/approvals/{asked['id']}", other, decision="approve").status_code == 404
    assert said("POST", "/approvals", root, id=asked["id"]).json()["state"] == "open"
    numbers = [
        said("POST", "/guard", token, run_id="same", call={"name": "verify"}).json()["call"]
        for token in (root, other, root)
    ]
    assert numbers == [0, 0, 1]


def test_a_revoked_key_stops_working_at_once_and_the_collector_stays_closed(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    second = make(fresh, "second", "read", token=root)
    assert fresh.http.get("/api/v1/runs", headers=bearer(second)).status_code == 200
    key_id = second.split("_")[1]
    assert fresh.http.delete(f"/api/v1/keys/{key_id}", headers=bearer(root)).status_code == 200
    assert fresh.http.get("/api/v1/runs", headers=bearer(second)).status_code == 401
    own = root.split("_")[1]
    assert fresh.http.delete(f"/api/v1/keys/{own}", headers=bearer(root)).status_code == 200
    assert fresh.http.get("/api/v1/runs").status_code == 401


def test_admins_of_the_default_project_list_and_revoke_the_keys_of_all(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    leaked = make(fresh, "leaked", "admin", token=root, project="shop")
    leaked_id, root_id = leaked.split("_")[1], root.split("_")[1]

    def seen(token: str) -> set[tuple[str, str]]:
        items = fresh.http.get("/api/v1/keys", headers=bearer(token)).json()["items"]
        return {(item["id"], item["project"]) for item in items}

    assert seen(root) == {(root_id, "default"), (leaked_id, "shop")}
    assert seen(leaked) == {(leaked_id, "shop")}
    assert fresh.http.delete(f"/api/v1/keys/{root_id}", headers=bearer(leaked)).status_code == 404
    assert fresh.http.delete(f"/api/v1/keys/{leaked_id}", headers=bearer(root)).status_code == 200
    assert fresh.http.get("/api/v1/keys", headers=bearer(leaked)).status_code == 401


def test_a_key_that_expired_is_told_so_and_others_go_on(fresh: Client, tmp_path: Path) -> None:
    """Both `expires` of a request and the check against a clock that goes on by itself."""
    root = make(fresh, "root", "admin")
    made = make(fresh, "short", "read", token=root, expires="12h")
    listed = fresh.http.get("/api/v1/keys", headers=bearer(root)).json()["items"]
    assert [item["expires"] is None for item in listed] == [True, False]
    now = time.time()
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    gate = Gate(store, wall=lambda: now)
    assert gate.grant(made, "read").actor == made.split("_")[1]
    now += 12 * 3600 + 60
    with pytest.raises(Unauthorized, match="expired at 20"):
        gate.grant(made, "read")
    assert gate.grant(root, "read").actor == root.split("_")[1]
    store.close()
    projects = fresh.http.get("/api/v1/projects", headers=bearer(root)).json()["items"]
    assert projects[0]["keys"] == 2


@pytest.mark.parametrize("wrong", ["soon", "2001-01-01", 5, "0d"])
def test_an_expiry_that_is_none_is_refused(fresh: Client, wrong: object) -> None:
    root = make(fresh, "root", "admin")
    body = {"name": "x", "scopes": ["read"], "expires": wrong}
    assert fresh.http.post("/api/v1/keys", json=body, headers=bearer(root)).status_code == 400


def test_the_first_key_may_not_expire(fresh: Client) -> None:
    body = {"name": "root", "scopes": ["admin"], "expires": "90d"}
    assert fresh.http.post("/api/v1/keys", json=body).status_code == 400


def test_an_expiry_is_a_span_or_an_instant() -> None:
    assert expiry("12h", 0) == 12 * 3600
    assert expiry("2w", 100) == 100 + 14 * 86400
    assert expiry("1970-01-02", 0) == expiry("1970-01-02T01:00:00+01:00", 0) == 86400


def test_the_secret_is_shown_once_and_stored_nowhere(fresh: Client, tmp_path: Path) -> None:
    root = make(fresh, "root", "admin")
    secret = root.split("_", 2)[2]
    listed = fresh.http.get("/api/v1/keys", headers=bearer(root)).text
    assert root.split("_")[1] in listed
    assert secret not in listed
    connection = sqlite3.connect(tmp_path / "store.db")
    dump = "\n".join(connection.iterdump())
    connection.close()
    assert secret not in dump


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "pdk_",
        "pdk_aaaaaaaaaaaa_" + "a" * 43,
        "pdk_' OR 1=1--_" + "a" * 43,
        "pdk_" + "é" * 60,
        "\x00",
    ],
)
def test_wrong_keys_are_refused(tmp_path: Path, token: str) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    new_key(store, project="default", name="root", scopes=["admin"])
    with pytest.raises(Unauthorized):
        Gate(store).grant(token, "read")
    store.close()


def test_another_keys_secret_does_not_fit(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    one = new_key(store, project="default", name="one", scopes=["admin"])
    two = new_key(store, project="default", name="two", scopes=["ingest"])
    mixed = f"pdk_{one.split('_', 2)[1]}_{two.split('_', 2)[2]}"
    gate = Gate(store)
    assert gate.grant(one, "ingest").actor == one.split("_")[1]
    with pytest.raises(Unauthorized):
        gate.grant(mixed, "read")
    with pytest.raises(Forbidden):
        gate.grant(two, "read")
    store.close()


def test_unknown_scopes_make_no_key(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    for scopes in (["root"], []):
        with pytest.raises(ValueError, match="unknown scope"):
            new_key(store, project="default", name="x", scopes=scopes)
    store.close()


def test_beyond_loopback_nothing_starts_without_a_key(tmp_path: Path) -> None:
    open_to_all = settings(tmp_path, host="0.0.0.0", checkers=0)
    service = running(open_to_all)
    with pytest.raises(BadStore, match="no API key"), service:
        raise AssertionError("the collector started")
    store = open_store(open_to_all.store_url)
    token = new_key(store, project="default", name="root", scopes=["admin"])
    store.close()
    with running(open_to_all) as url, Client(url.replace("0.0.0.0", "127.0.0.1")) as client:
        assert client.http.get("/api/v1/runs").status_code == 401
        assert client.http.get("/api/v1/runs", headers=bearer(token)).status_code == 200


def test_pages_ask_for_the_key_and_keep_it_in_a_cookie(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    http = fresh.http
    asked = http.get("/runs/abc")
    assert (asked.status_code, "needs a key" in asked.text) == (401, True)
    wrong = http.post("/login", data={"key": "pdk_wrong", "next": "/"})
    assert (wrong.status_code, wrong.cookies) == (401, {})
    right = http.post("/login", data={"key": root, "next": "//evil.example"})
    assert (right.status_code, right.headers["location"]) == (303, "/")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert http.get("/").status_code == 200


def test_who_logs_in_comes_to_the_very_list_that_was_asked_for(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    wanted = "/?outcome=fail&agent=a%20%26%20b"
    asked = fresh.http.get(wanted)
    assert 'name="next" value="/?outcome=fail&amp;agent=a%20%26%20b"' in asked.text
    wrong = fresh.http.post("/login", data={"key": "pdk_wrong", "next": wanted})
    assert 'name="next" value="/?outcome=fail&amp;agent=a%20%26%20b"' in wrong.text
    right = fresh.http.post("/login", data={"key": root, "next": wanted})
    assert (right.status_code, right.headers["location"]) == (303, wanted)


def test_a_visitor_whose_key_may_not_read_can_log_in_with_another(fresh: Client) -> None:
    """A browser sends the cookie of one collector to another one on the same host."""
    root = make(fresh, "root", "admin")
    ingest = make(fresh, "sender", "ingest", token=root)
    cookie = {"cookie": f"pdoctor_key={ingest}"}
    asked = fresh.http.get("/runs/abc?x=1", headers=cookie)
    assert (asked.status_code, asked.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "This needs a key with scope read, this one has ingest." in asked.text
    assert 'name="next" value="/runs/abc?x=1"' in asked.text
    for path in ("/api/v1/runs", "/metrics"):  # for programs
        answer = fresh.http.get(path, headers=cookie)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


def test_another_sites_form_cannot_use_the_cookie(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    cookie = {"cookie": f"pdoctor_key={root}", "origin": "http://evil.example"}
    assert fresh.http.post("/api/v1/cases", json=case_json("c"), headers=cookie).status_code == 403


def test_changes_leave_a_trail(fresh: Client) -> None:
    root = make(fresh, "root", "admin")
    policy = "actions: {a: a}\npolicies:\n  - {id: p, text: t, rule: A must happen at most 1 time.}\n"
    put = fresh.http.put("/api/v1/policies/p", content=policy, headers=bearer(root))
    assert put.status_code == 200, put.text
    trail = fresh.http.get("/api/v1/audit", headers=bearer(root)).json()["items"]
    assert [entry["action"] for entry in trail] == ["policy.put", "key.create"]
    assert trail[0]["actor"] == root.split("_")[1]


@pytest.mark.parametrize(
    ("scope", "method", "path", "kind"),
    [
        ("ingest", "POST", "/v1/traces", PROTOBUF),
        ("ingest", "POST", "/api/v1/runs", JSON),
        ("write", "POST", "/api/v1/cases", JSON),
    ],
)
def test_a_key_that_is_revoked_while_a_body_comes_has_nothing_stored(
    fresh: Client, monkeypatch: pytest.MonkeyPatch, scope: str, method: str, path: str, kind: dict[str, str]
) -> None:
    monkeypatch.setattr(intake, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(bodies, "SLOW_SECONDS", 0.0)
    root = make(fresh, "root", "admin")
    body = agent_request(new_id(), ["a"])
    if kind is JSON:
        said = case_json("c") if scope == "write" else {"run_id": new_id(), "calls": [{"name": "a"}]}
        body = orjson.dumps(said)

    def status(token: str, meanwhile: Callable[[], object]) -> int:
        def slowly() -> Iterator[bytes]:
            yield body[:9]
            meanwhile()
            yield body[9:]

        headers = {**kind, **bearer(token)}
        return fresh.http.request(method, path, content=slowly(), headers=headers).status_code

    lost, good = (make(fresh, name, scope, token=root) for name in ("lost", "good"))

    def revoke() -> None:
        with httpx.Client(base_url=fresh.url) as other:
            gone = other.delete(f"/api/v1/keys/{lost.split('_')[1]}", headers=bearer(root))
            assert gone.status_code == 200

    assert status(lost, revoke) == 401
    read = bearer(root)
    assert fresh.http.get("/api/v1/stats", headers=read).json()["runs"] == 0
    assert fresh.http.get("/api/v1/cases", headers=read).json()["items"] == []
    assert status(good, lambda: time.sleep(0.05)) in (200, 201)
