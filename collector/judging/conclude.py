"""From a claimed run's segments to what is recorded about it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from collector.judging.assess import assess, outcome_of
from collector.judging.bind import Arrival, Matches, binding_of, bound_run, choose, ending, text_key
from collector.judging.joining import Joined
from collector.judging.policies import Policies
from collector.model import Assessment, Binding, Rebuilt, Run
from collector.settings import Settings
from collector.store.joins import Thread
from collector.store.work import Claim, Conclusion, Host
from synth.cases import Case
from synth.formal import Verdict
from synth.judge import Rules

TOOLS_LISTED = 200
FINDINGS_LISTED = 200


@dataclass(frozen=True, slots=True)
class Known:
    """What a batch of runs is judged by, read once for all of them."""

    bindings: Mapping[tuple[int, str], Binding]
    """(project, trace id) -> registration."""
    cases: Mapping[tuple[int, str], Case]
    """(project, case id) -> case."""
    hosts: Mapping[int, Sequence[Host]]
    """Group of spans without a run id -> the runs in its trace."""
    guests: Mapping[int, Sequence[int]]
    """The reverse."""
    rules: Rules
    policy_rules: Rules
    settings: Settings
    joined: Joined
    """The conversations that come as many traces."""
    texts: Mapping[tuple[int, str], Matches] = field(default_factory=dict)
    """(project, digest of a query) -> cases that have this text."""


@dataclass(frozen=True, slots=True)
class Looked:
    """One look at a claimed run: as what it was seen."""

    run: Run
    """As it was judged."""
    complete: bool
    look_again: float | None = None
    """Unix seconds; None = only when something arrives."""
    bound: bool = False
    """A harness registered it: it is listed even where no span says that an agent ran."""
    joined: str | None = None
    """Key of the run that shows this trace."""

    @classmethod
    def given_up(cls, run: Run, joined: str | None) -> Looked:
        """A run that cannot be judged: listed, and not looked at again until something arrives."""
        return cls(run, complete=True, bound=True, joined=joined)


def conclude(
    claim: Claim,
    rebuilt: Rebuilt,
    traces: tuple[str, ...],
    known: Known,
    policies: Policies,
    earlier: Sequence[Run],
    *,
    now: float,
) -> Conclusion:
    """Judge one run as far as it has come; `earlier` are the runs of its conversation before it."""
    binding = binding_of(claim.key, traces, claim.project, known.bindings)
    thread = known.joined.threads.get(claim.run)
    if thread is not None and thread.head.run != claim.run:
        return part_of(thread, claim, rebuilt, binding)
    last_seen = max(member.last_seen for member in thread.members) if thread else claim.last_seen
    end = ending(rebuilt, binding, Arrival(now, last_seen, claim.root_seen), known.settings)
    key = text_key(rebuilt.run.query) if known.texts else None
    choice = choose(rebuilt.run, binding, known.texts.get((claim.project, key), {}) if key else {})
    run = bound_run(rebuilt, binding, end, choice.case_id)
    case = known.cases.get((claim.project, run.case_id)) if run.case_id else None
    problems = list(run.problems)
    if thread is not None and thread.is_full:
        problems.append(f"only the first {len(thread.members)} traces of this conversation are judged")
        run = replace(run, problems=tuple(problems))
    if choice.problem:
        problems.append(choice.problem)
    if run.case_id and case is None:
        problems.append(f"case {run.case_id} is not known here; post it to /api/v1/cases")
    assessment = assess(
        run, case, policies, known.rules, known.policy_rules, earlier, ambiguous=choice.problem
    )
    hosts, guests = known.hosts.get(claim.run, ()), known.guests.get(claim.run, ())
    looked = Looked(
        run, end.complete, end.look_again, bound=binding is not None, joined=claim.key if thread else None
    )
    found = conclusion(claim, rebuilt, looked, assessment, problems)
    woken = thread.unsettled if thread else known.joined.left.get(claim.run, ())
    if not hosts:
        return replace(found, wakes=(*guests, *woken)) if guests or woken else found
    hidden = any(within(rebuilt, host) for host in hosts)
    summary = {**found.summary, "listed": found.summary["listed"] and not hidden}
    return replace(found, summary=summary, wakes=(*(host.run for host in hosts), *woken))


def part_of(thread: Thread, claim: Claim, rebuilt: Rebuilt, binding: Binding | None) -> Conclusion:
    """A trace whose calls the run of its conversation shows: it is not listed, and wakes that run."""
    looked = Looked(rebuilt.run, complete=True, bound=binding is not None, joined=thread.head.key)
    found = conclusion(claim, rebuilt, looked, Assessment(claim.key, None), [])
    body = {"joined_into": thread.head.key, "binding": binding and [binding.case_id, binding.status]}
    return replace(
        found,
        summary={**found.summary, "listed": False},
        digest=_digest({"verdict": None, **body}, rebuilt.spans),
        wakes=(thread.head.run,) if thread.shows(claim.run) else (),
    )


def within(rebuilt: Rebuilt, host: Host) -> bool:
    """Every call of a group of spans was made during a run that has its own id: the run shows them."""
    if host.started_ns is None or host.ended_ns is None:
        return True
    return all(
        host.started_ns <= call.start[0] and call.end[1] <= host.ended_ns
        for call in rebuilt.run.calls
        if call.start and call.end
    )


def given_up(claim: Claim, rebuilt: Rebuilt, why: str) -> Conclusion:
    """What is recorded about a run that cannot be judged; `why` completes "judging this run ..."."""
    verdict = Verdict(claim.key, rebuilt.run.case_id, "undecided", None, ())
    looked = Looked.given_up(rebuilt.run, claim.joined)
    return conclusion(claim, rebuilt, looked, Assessment(claim.key, verdict), [f"judging this run {why}"])


def conclusion(
    claim: Claim, rebuilt: Rebuilt, looked: Looked, assessment: Assessment, problems: list[str]
) -> Conclusion:
    """The rows that say what was concluded."""
    run, verdict = looked.run, assessment.verdict
    body: dict[str, Any] = {
        "verdict": verdict.to_json() if verdict else None,
        "policies": [result.to_json() for result in assessment.policies],
        "problems": problems,
        "status": run.status,
        "complete": looked.complete,
        "case_id": run.case_id,
        "wall_seconds": run.wall_seconds,
        "iterations": run.iterations,
        "extra": dict(run.extra),
    }
    if run.unseen:
        body["unseen"] = [gap.to_json() for gap in run.unseen]
    findings = tuple(_findings(run, assessment))
    summary = {
        "agent": run.agent,
        "service": rebuilt.service,
        "source": run.source,
        "model": run.model,
        "session": rebuilt.session,
        "case_id": run.case_id,
        "outcome": outcome_of(assessment, complete=looked.complete),
        "error_type": verdict.error_type if verdict else None,
        "complete": looked.complete,
        "listed": rebuilt.is_agent or looked.bound,
        "calls": len(run.calls),
        "spans": rebuilt.spans,
        "started_ns": rebuilt.started_ns,
        "ended_ns": rebuilt.ended_ns,
        "findings": len(findings),
        "joined": looked.joined,
    }
    return Conclusion(
        claim=claim,
        summary=summary,
        digest=_digest(body, rebuilt.spans),
        body=orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS).decode(),
        next_due=looked.look_again,
        tools=tuple(dict.fromkeys(call.tool for call in run.calls))[:TOOLS_LISTED],
        findings=findings[:FINDINGS_LISTED],
        policies={result.policy: result.verdict for result in assessment.policies},
    )


def _findings(run: Run, assessment: Assessment) -> Iterator[dict[str, Any]]:
    """One row per finding that is more than a note."""
    verdict = assessment.verdict
    if verdict is not None:
        for found in verdict.findings:
            if found.type != "note":
                rule, said = f"case:{verdict.case_id}", found.explanation
                yield _row(run, rule, found.type, found.code, found.calls, said, found.sentence)
    for result in assessment.policies:
        if result.verdict == "violated":
            rule = f"policy:{result.policy}"
            yield _row(run, rule, "policy", "violated", result.violations, result.explanation)


def _row(
    run: Run,
    rule: str,
    type_: str,
    code: str,
    calls: tuple[int, ...],
    explanation: str,
    sentence: int | None = None,
) -> dict[str, Any]:
    last = calls[-1] if calls else None
    return {
        "rule": rule,
        "type": type_,
        "code": code,
        "tool": run.calls[last].tool if last is not None and last < len(run.calls) else None,
        "sentence": sentence,
        "calls": orjson.dumps(calls).decode(),
        "explanation": explanation,
    }


def _digest(body: Mapping[str, Any], spans: int) -> str:
    """Equal for equal conclusions: what was found and from how much, but not how long Z3 took."""
    verdict = body["verdict"]
    lasting = {
        **body,
        "verdict": verdict and {k: v for k, v in verdict.items() if k != "z3_ms"},
        "spans": spans,
    }
    packed = orjson.dumps(lasting, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(packed, digest_size=16).hexdigest()
