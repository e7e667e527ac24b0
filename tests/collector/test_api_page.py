"""The page of the API: a list of its addresses, and for each a line that one can send."""

from __future__ import annotations

import re
import shlex
from html import unescape

from tests.support.traces import Client

TO_SEND = re.compile(r"<summary>To send it</summary><pre tabindex=\"0\">(.*?)</pre>", re.DOTALL)


def test_what_stands_there_to_be_sent_is_taken(fresh: Client) -> None:
    page = fresh.http.get("/docs").text
    lines = [shlex.split(unescape(line)) for line in TO_SEND.findall(page)]
    anchors = re.findall(r'<li><a href="#([^"]+)">', page)
    assert len(lines) == len(anchors) > 50
    assert all(f'id="{anchor}"' in page for anchor in anchors)
    assert all(line[:1] == ["curl"] for line in lines)
    asked = [line[1] for line in lines if len(line) == 2 and not re.search(r"/[A-Z_]+(/|$)", line[1])]
    assert fresh.url + "/api/v1/runs" in asked
    for address in asked:
        status = fresh.http.get(address).status_code
        assert status in (200, 400) or address.endswith("/readyz"), address  # some need a parameter
    posted = [
        line for line in lines if "--data-binary" in line and line[3].endswith(("/cases", "/views/NAME"))
    ]
    assert len(posted) == 2
    for _, _, method, address, _, header, _, body in posted:
        about = dict([header.split(": ", 1)])
        answer = fresh.http.request(method, address, content=body, headers=about)
        assert answer.is_success, (address, answer.text)


def test_a_collector_with_keys_says_where_the_key_goes(fresh: Client) -> None:
    assert "Authorization: Bearer" not in fresh.http.get("/docs").text
    key = fresh.post("/keys", {"name": "root", "scopes": ["admin"]}).json()["key"]
    fresh.http.headers["authorization"] = f"Bearer {key}"
    page = unescape(fresh.http.get("/docs").text)
    assert "'Authorization: Bearer pdk_...'" in page
    assert key not in page
