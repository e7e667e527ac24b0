"""Runs of one worker share the connections to their model."""

from __future__ import annotations

from synth.agents.model import Settings
from synth.agents.openai_client import client_of


def test_clients_have_their_own_key_and_endpoint_and_common_connections() -> None:
    one = client_of(Settings("m", "http://127.0.0.1:1/v1", "key-1"))
    other = client_of(Settings("m", "http://127.0.0.1:2/v1", "key-2"))
    assert one._client is other._client
    assert (one.api_key, str(one.base_url)) == ("key-1", "http://127.0.0.1:1/v1/")
    assert (other.api_key, str(other.base_url)) == ("key-2", "http://127.0.0.1:2/v1/")
