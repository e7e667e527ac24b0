"""From a claimed run's segments to what is recorded about it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from collector.judging.assess import Standard, assess, assess_both, outcome_of
from collector.judging.bind import (
    Arrival,
    Choice,
    Ending,
    Matches,
    binding_of,
    bound_run,
    choose,
    ending,
    heard,
    text_key,
)
from collector.judging.decisions import decisions_of
from collector.judging.joining import Joined
from collector.judging.policies import Policies, Talk, without_nothing, without_words
from collector.judging.turns import Conversation, as_turn
from collector.judging.words import case_is_unknown
from collector.model import Assessment, Binding, Rebuilt, Run
from collector.settings import Settings
from collector.store.joins import Thread
from collector.store.neighbours import Host
from collector.store.work import Claim, Conclusion
from synth.cases import Case
from synth.formal import Trouble, Verdict
from synth.frozen import quick
from synth.judge import Rules
from synth.observed import USAGE
from synth.policies import RULE_FIELDS, RunBudget, SeenNames

LEFT_OUT = ("messages", USAGE)
"""Fields of a run that its conclusions do not repeat."""
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
    names: Mapping[int, SeenNames | None] = field(default_factory=dict)
    """Project -> the tools that its runs have shown."""
    skews: Mapping[int, float] = field(default_factory=dict)
    """Project -> ms by which two clocks may differ, where it says so."""

    def last_seen(self, claim: Claim) -> float:
        """Arrival of the newest span of a run, of whatever part of it."""
        thread = self.joined.threads.get(claim.run)
        return max(member.last_seen for member in thread.members) if thread else claim.last_seen

    def rules_of(self, project: int) -> tuple[Rules, Rules]:
        """Those of cases and those of policies."""
        skew = self.skews.get(project)
        return self.rules.with_skew(skew), self.policy_rules.with_skew(skew)


@quick
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
    heard: float | None = None
    """When the run counts as heard of last, where that is not when its own spans came."""

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
    conversation: Conversation | None = None,
    *,
    now: float,
    budget: RunBudget | None = None,
) -> Conclusion:
    """Judge one run as far as it has come; `budget` is what its policies may cost.

    Of a run of which all may be there the conclusion says also what it will be once nothing came.
    """
    binding = binding_of(claim.key, traces, claim.project, known.bindings)
    thread = known.joined.threads.get(claim.run)
    if thread is not None and thread.head.run != claim.run:
        wakes = (thread.head.run,) if thread.shows(claim.run) else ()
        return part_of(thread.head.key, claim, rebuilt, binding, wakes)
    if thread is not None and claim.run in known.joined.shown:
        return part_of(known.joined.shown[claim.run], claim, rebuilt, binding, thread.unsettled)
    found = _concluded(_Subject.of(claim, rebuilt, binding, known, policies, conversation), now, budget)
    hosts, guests = known.hosts.get(claim.run, ()), known.guests.get(claim.run, ())
    woken = thread.unsettled if thread else known.joined.left.get(claim.run, ())
    woken = (*woken, *known.joined.doubles.get(claim.run, ()))
    if not hosts:
        return replace(found, wakes=(*guests, *woken)) if guests or woken else found
    hidden = any(within(rebuilt, host) for host in hosts)
    summary = {**found.summary, "listed": found.summary["listed"] and not hidden}
    return replace(found, summary=summary, wakes=(*(host.run for host in hosts), *woken))


def _concluded(subject: _Subject, now: float, budget: RunBudget | None) -> Conclusion:
    """What a run is by now, and if only the grace has to pass, what it will be then."""
    end = subject.ending(now)
    run = subject.run(end)
    if not end.nearly or end.look_again is None:
        return subject.conclusion(
            run, end, assess(run, subject.standard, subject.talk(run, now), budget), now
        )
    then = end.look_again
    later = subject.ending(then)
    ended = subject.run(later)
    talks = subject.talk(run, now), subject.talk(ended, then)
    judged = assess_both(run, ended, subject.standard, talks, budget)
    found = subject.conclusion(run, end, judged[0], now)
    return found.closing_with(subject.conclusion(ended, later, judged[1], then), then, subject.last_seen)


@quick
@dataclass(frozen=True, slots=True)
class _Subject:
    """A claimed run with all that it is judged by but the instant."""

    claim: Claim
    rebuilt: Rebuilt
    binding: Binding | None
    known: Known
    choice: Choice
    standard: Standard
    conversation: Conversation | None
    thread: Thread | None
    last_seen: float
    """Arrival of the newest span of any of its parts."""

    @classmethod
    def of(
        cls,
        claim: Claim,
        rebuilt: Rebuilt,
        binding: Binding | None,
        known: Known,
        policies: Policies,
        conversation: Conversation | None,
    ) -> _Subject:
        project, settings = claim.project, known.settings
        key = text_key(rebuilt.run.query) if known.texts else None
        choice = choose(rebuilt.run, binding, known.texts.get((project, key), {}) if key else {})
        case = known.cases.get((project, choice.case_id)) if choice.case_id else None
        rules, policy_rules = known.rules_of(project)
        names = known.names.get(project)
        standard = Standard(case, policies, rules, policy_rules, choice.problem, names, settings.query_rules)
        thread = known.joined.threads.get(claim.run)
        last_seen = known.last_seen(claim)
        return cls(claim, rebuilt, binding, known, choice, standard, conversation, thread, last_seen)

    def ending(self, now: float) -> Ending:
        arrival = Arrival(now, self.last_seen, self.claim.root_seen)
        return ending(self.rebuilt, self.binding, arrival, self.known.settings)

    def run(self, end: Ending) -> Run:
        """As it is judged."""
        run = bound_run(self.rebuilt, self.binding, end, self.choice.case_id)
        if self.thread is None or not self.thread.is_full:
            return run
        members = len(self.thread.members)
        said = f"only the first {members} traces of this conversation are judged"
        return replace(run, problems=(*run.problems, said))

    def talk(self, run: Run, now: float) -> Talk:
        return Talk.of(run) if self.conversation is None else self.conversation.at(now, run)

    def conclusion(self, run: Run, end: Ending, assessment: Assessment, now: float) -> Conclusion:
        looked = Looked(
            run,
            end.complete,
            end.look_again,
            bound=self.binding is not None,
            joined=self.claim.key if self.thread else None,
            heard=self.last_seen
            if end.complete
            else heard(self.rebuilt, self.last_seen, self.known.settings),
        )
        found = conclusion(self.claim, self.rebuilt, looked, assessment, self._problems(run))
        if self.conversation is None:
            return found
        return self.conversation.concluded(found, assessment.policies, now)

    def _problems(self, run: Run) -> list[str]:
        problems = list(run.problems)
        if self.choice.problem:
            problems.append(self.choice.problem)
        if run.case_id and self.standard.case is None:
            problems.append(case_is_unknown(run.case_id))
        if said := self.standard.policy_rules.clock_warning(run):
            problems.append(said)
        return problems


def turn_of(claim: Claim, rebuilt: Rebuilt, traces: tuple[str, ...], known: Known) -> Run | None:
    """The run as the others of its conversation are judged by it; None where it is part of none."""
    thread = known.joined.threads.get(claim.run)
    shown = claim.run in known.joined.shown or (thread is not None and thread.head.run != claim.run)
    if rebuilt.session is None or shown:
        return None
    binding = binding_of(claim.key, traces, claim.project, known.bindings)
    hidden = any(within(rebuilt, host) for host in known.hosts.get(claim.run, ()))
    if hidden or not (rebuilt.is_agent or binding is not None):
        return None
    return as_turn(rebuilt, binding)


def part_of(
    key: str, claim: Claim, rebuilt: Rebuilt, binding: Binding | None, wakes: tuple[int, ...]
) -> Conclusion:
    """A trace whose calls another run shows: it is not listed."""
    looked = Looked(rebuilt.run, complete=True, bound=binding is not None, joined=key)
    found = conclusion(claim, rebuilt, looked, Assessment(claim.key, None), [])
    body = {"joined_into": key, "binding": binding and [binding.case_id, binding.status]}
    return replace(
        found,
        summary={**found.summary, "listed": False},
        digest=_digest({"verdict": None, **body}, rebuilt.spans, claim.digest),
        wakes=wakes,
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


def given_up(claim: Claim, rebuilt: Rebuilt, why: str, *, our_fault: bool = False) -> Conclusion:
    """What is recorded about a run that cannot be judged; `why` completes "judging this run ...".

    `our_fault`: the run did not ask too much, the collector failed.
    """
    trouble = Trouble("collector", message=f"judging this run {why}") if our_fault else None
    if trouble is not None and rebuilt.run.case_id is not None:
        rebuilt = replace(rebuilt, run=replace(rebuilt.run, trouble=trouble))
        verdict = Verdict(claim.key, rebuilt.run.case_id, "error", None, (), trouble=trouble)
    else:
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
        "extra": {name: value for name, value in run.extra.items() if name not in LEFT_OUT},
    }
    if run.trouble is not None:
        body["trouble"] = run.trouble.to_json()
    if assessment.suggested:
        body["suggested_rules"] = list(assessment.suggested)
    if run.unseen:
        body["unseen"] = [gap.to_json() for gap in run.unseen]
    findings = tuple(_findings(run, assessment))
    summary = {
        "agent": run.agent,
        "service": rebuilt.service,
        "source": run.source,
        "model": run.model,
        "session": rebuilt.session,
        "release": run.version,
        "prompt": run.versions.get("prompt"),
        "environment": run.environment,
        "case_id": run.case_id,
        "outcome": outcome_of(
            assessment, complete=looked.complete, waits=rebuilt.is_paused and not looked.complete
        ),
        "error_type": verdict.error_type if verdict else None,
        "complete": looked.complete,
        "listed": rebuilt.is_agent or looked.bound,
        "calls": len(run.calls),
        "tokens": rebuilt.tokens,
        "spans": rebuilt.spans,
        "started_ns": rebuilt.started_ns,
        "ended_ns": rebuilt.ended_ns,
        "findings": len(findings),
        "joined": looked.joined,
        "heard": looked.heard,
        "title": title_of(run.query),
        "person": rebuilt.person,
    }
    return Conclusion(
        claim=claim,
        summary=summary,
        digest=_digest(body, rebuilt.spans, claim.digest),
        body=orjson.dumps(
            without_nothing({**body, "policies": list(map(without_words, body["policies"]))}),
            option=orjson.OPT_NON_STR_KEYS,
        ).decode(),
        next_due=looked.look_again,
        tools=tuple(dict.fromkeys(call.tool for call in run.calls))[:TOOLS_LISTED],
        findings=findings[:FINDINGS_LISTED],
        policies={result.policy: result.verdict for result in assessment.policies},
        guards=decisions_of(run),
        broken={
            f"policy:{result['policy']}": rule_of(result)
            for result in body["policies"]
            if result["verdict"] == "violated"
        },
    )


TITLE = 200
"""Characters of what was asked that lists show and a search finds."""


def title_of(query: str | None) -> str | None:
    """The beginning of what was asked, on one line."""
    return None if query is None else " ".join(query[: 4 * TITLE].split())[:TITLE] or None


def rule_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Of a result's JSON: which rule it is about, and what of it was broken."""
    return {name: result[name] for name in RULE_FIELDS}


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


def _digest(body: Mapping[str, Any], spans: int, recorded: str | None) -> str:
    """Equal for equal conclusions: what was found and from how much, but not how long Z3 took.

    Nor which version of a policy file it was found by, where the rule is the same, about which run, or which
    instants Z3 showed of an open question: it may show others each time. One `recorded` when run and instants
    were still part of it stays as it is.
    """
    found = _digest_of(body, spans, _lasting)
    if recorded in (None, found):
        return found
    return recorded if recorded == _digest_of(body, spans, _lasting_before) else found


def _lasting(result: Mapping[str, Any]) -> dict[str, Any]:
    """What counts of a policy's result."""
    lasting = {**result, "version": None, "run_id": None}
    return {**lasting, "explanation": None} if result["verdict"] == "undecided" else lasting


def _lasting_before(result: Mapping[str, Any]) -> dict[str, Any]:
    """What counted in earlier releases."""
    return {**result, "version": None}


def _digest_of(body: Mapping[str, Any], spans: int, lasting: Callable[[Mapping[str, Any]], Any]) -> str:
    verdict = body["verdict"]
    said = {
        **body,
        "policies": list(map(lasting, body.get("policies", ()))),
        "verdict": verdict and {k: v for k, v in verdict.items() if k != "z3_ms"},
        "spans": spans,
    }
    packed = orjson.dumps(said, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(packed, digest_size=16).hexdigest()
