"""The attribute names of tracer and collector are two tables that must say the same."""

from __future__ import annotations

from collector.dialects import names
from pdoctor_trace import semconv


def table(module: object) -> dict[str, str]:
    return {name: value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)}


def test_every_name_the_collector_reads_is_the_tracers() -> None:
    ours, theirs = table(names), table(semconv)
    only_standard = {
        "SERVICE_NAME",
        "SERVICE_VERSION",
        "SYSTEM_INSTRUCTIONS",
        "OUTPUT_MESSAGES",
    }  # of other instrumentations
    assert {name: theirs.get(name) for name in ours if name not in only_standard} == {
        name: value for name, value in ours.items() if name not in only_standard
    }
