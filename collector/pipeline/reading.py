"""What a batch of claimed runs is judged by, read from the store for all of them together.

`Reading` is what their spans tell, of one transaction. Then the conversations among them are joined, which
writes, and `known` reads the rest in a second one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import orjson

from collector.judging.bind import Matches, text_key
from collector.judging.conclude import Known
from collector.judging.joining import Read, join
from collector.judging.policies import Policies, load_all, readable, stored_files
from collector.model import Binding, Run, Span
from collector.otlp.spans import spans_of
from collector.rebuild import inside, rebuild
from collector.settings import MIB, Settings
from collector.store import Store, catalog, neighbours, projects
from collector.store.neighbours import Host
from collector.store.stored import RUN_BYTES, Sizes, Stored, payloads
from collector.store.work import Claim
from synth.cases import Case, case_from_json
from synth.judge import Rules

log = logging.getLogger("collector.checker")

TIMES = 20
"""Spans take so many times their stored bytes in memory, at most but for odd ones."""
OWN_MIB = 32
"""What runs of one part may take; for a run that takes more there has to be room."""
SPANS_AT_ONCE, BYTES_AT_ONCE = 10_000, OWN_MIB * MIB // TIMES
"""Of a batch that are in memory together."""
KEPT_SECONDS = 30.0
"""What a checker keeps of runs for later ones goes after so long: deleted ones are in it, too."""


def parts_of(claims: Sequence[Claim], weights: Mapping[int, tuple[int, int]]) -> Iterator[list[Claim]]:
    """The claims in parts that fit into memory together; a run alone may be bigger.

    `weights` are (spans, bytes) of each run.
    """
    part: list[Claim] = []
    spans = size = 0
    for claim in claims:
        count, length = weights.get(claim.run, (0, 0))
        if part and (spans + count > SPANS_AT_ONCE or size + length > BYTES_AT_ONCE):
            yield part
            part, spans, size = [], 0, 0
        part.append(claim)
        spans += count
        size += length
    yield part


@dataclass(frozen=True, slots=True)
class Reading:
    """What the spans of a batch tell, and what they are near to."""

    claims: Sequence[Claim]
    rebuilt: dict[int, Read]
    """Claimed run -> the run as its spans tell it. `join` puts whole conversations in."""
    hosts: Mapping[int, Sequence[Host]]
    guests: Mapping[int, Sequence[int]]

    @classmethod
    def of(
        cls,
        connection: Any,
        claims: Sequence[Claim],
        policies: Mapping[int, Policies],
        sizes: Sizes,
        read: Callable[[Claim, Stored, Sequence[Stored], Policies], Read],
    ) -> Reading:
        """Read in the transaction of `connection`; `policies` of every project among the claims.

        `sizes` are those of the runs, and `read` makes a run of what is stored of it and its guests.
        """
        ids = [claim.run for claim in claims]
        guests, hosts = neighbours.guests(connection, ids), neighbours.hosts(connection, ids)
        stored = payloads(connection, ids, sizes=sizes.within(ids))
        beside = payloads(connection, [g for some in guests.values() for g in some], in_all=RUN_BYTES)
        rebuilt = {
            claim.run: read(
                claim,
                stored[claim.run],
                [beside[guest] for guest in guests.get(claim.run, ())],
                policies[claim.project],
            )
            for claim in claims
        }
        return cls(claims, rebuilt, hosts, guests)

    @property
    def runs(self) -> Iterator[tuple[int, Run]]:
        """(project, run) of each claim."""
        return ((claim.project, self.rebuilt[claim.run][0].run) for claim in self.claims)

    @property
    def traces(self) -> list[str]:
        """Every trace under which a harness may have registered one of the runs."""
        return [claim.key for claim in self.claims] + [t for _, ids in self.rebuilt.values() for t in ids]


def known(store: Store, reading: Reading, settings: Settings, rules: Rules, policy_rules: Rules) -> Known:
    """What the runs of a batch are judged by; joins the conversations among them first."""
    joined = join(store, reading.claims, reading.rebuilt, reading.hosts, rebuilt_run)
    with store.read() as connection:
        bindings = neighbours.bindings(connection, reading.traces)
        texts = matches_of(connection, reading)
        return Known(
            bindings=bindings,
            cases=cases_of(connection, reading, bindings, texts),
            hosts=reading.hosts,
            guests=reading.guests,
            rules=rules,
            policy_rules=policy_rules,
            settings=settings,
            joined=joined,
            texts=texts,
            skews=projects.clock_skews(connection, (claim.project for claim in reading.claims)),
        )


def matches_of(connection: Any, reading: Reading) -> dict[tuple[int, str], Matches]:
    """Cases with the text of a run's query, for the runs that do not name their case."""
    keys: dict[int, set[str]] = {}
    for claim in reading.claims:
        run = reading.rebuilt[claim.run][0].run
        if run.case_id is None and (key := text_key(run.query)):
            keys.setdefault(claim.project, set()).add(key)
    return {
        (project, key): matches
        for project, some in keys.items()
        for key, matches in catalog.cases_by_text(connection, project, some).items()
    }


def cases_of(
    connection: Any,
    reading: Reading,
    bindings: Mapping[tuple[int, str], Binding],
    texts: Mapping[tuple[int, str], Matches],
) -> dict[tuple[int, str], Case]:
    """Every case that one of the runs may be bound to."""
    wanted: dict[int, set[str]] = {}
    for claim in reading.claims:
        if case_id := reading.rebuilt[claim.run][0].run.case_id:
            wanted.setdefault(claim.project, set()).add(case_id)
    for (project, _), binding in bindings.items():
        wanted.setdefault(project, set()).add(binding.case_id)
    for (project, _), matches in texts.items():
        wanted.setdefault(project, set()).update(first for _, first, _ in matches.values())
    return {
        (project, case_id): parsed_case(body)
        for project, ids in wanted.items()
        for case_id, body in catalog.cases(connection, project, ids).items()
    }


def rebuilt_run(key: str, stored: Stored, guests: Sequence[Stored] = (), *, details: bool = True) -> Read:
    """The run of a claim, and the traces its spans belong to; what cannot be read becomes a problem of it.

    `guests` are spans of the same trace that carry no run id: another library's view of the same calls.
    `details` as for `rebuild`.
    """
    problems = list(dict.fromkeys(said for one in (stored, *guests) for said in one.problems))
    spans: list[Span] = []
    try:
        spans = list(spans_of(stored.payloads, stored.shared))
        spans += inside(spans, [span for guest in guests for span in spans_of(guest.payloads, guest.shared)])
        rebuilt = rebuild(key, spans, details=details)
    except Exception as failure:
        log.exception("run %s could not be rebuilt", key)
        problems.append(f"the spans could not be read: {_why(failure)}")
        rebuilt = rebuild(key, [])
    if problems:
        run = replace(rebuilt.run, problems=(*rebuilt.run.problems, *problems))
        rebuilt = replace(rebuilt, run=run, is_agent=True)
    return rebuilt, tuple(dict.fromkeys(span.trace_id for span in spans))


def _why(failure: Exception) -> str:
    if isinstance(failure, MemoryError) or "alloc failed" in str(failure):
        return "they take more memory than a judging process may have (--checker-memory)"
    return f"{type(failure).__name__}: {failure}"


@lru_cache(maxsize=4096)
def parsed_case(body: str) -> Case:
    return case_from_json(orjson.loads(body))


class ActivePolicies:
    """The policies of each project, parsed again only after some file has changed."""

    def __init__(self) -> None:
        self._state: object = None
        self._known: dict[int, Policies] = {}

    def of(self, connection: Any, projects: set[int]) -> Mapping[int, Policies]:
        """Project -> its policies as they are now, of these projects at least."""
        state = catalog.policy_state(connection)
        if state != self._state:
            self._state, self._known = state, {}
        for project in projects - self._known.keys():
            files = catalog.active_policies(connection, project)
            self._known[project] = load_all(readable(stored_files(files)))
        return self._known
