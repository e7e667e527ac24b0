"""Which case a run belongs to, and whether it has ended.

What binds a run to a case, the strongest first; the first that says anything decides alone:

1. a trace id that a harness registered;
2. `pdoctor.case.id` on its spans;
3. its query text, where it is the query of a stored case, else where it is the paragraph of one (case,
   white space and Unicode spelling do not matter). Several cases with this text: the run is undecided,
   with the reason, never a guess.

A run that is bound to no case is judged by what its own query states in our language (see
`synth.policies.stated`). Policies apply by their own selectors (service, agent, tools, session), whether
or not there is a case. A run that nothing of this reaches shows its calls and metrics.

A run has ended when its root span
and every announced call are here; without an announcement, after a grace time; without a root, after
an idle time. A conversation without a run span has ended when its newest model call asks for no tool
and a grace time passed; while it asks, an idle time. All waiting counts from arrival, never from the
times in the spans. A run that waits for a person or a timer is not complete; after `--paused-idle` it is
abandoned. One that ended with calls of which nobody knows whether they ran has the grace time.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from collector.model import Binding, Rebuilt, Run
from collector.rebuild.messages import certain_messages
from collector.settings import Settings
from synth.cases import Case
from synth.formal import Trouble
from synth.frozen import quick
from synth.observed import Status, Unseen


@quick
@dataclass(frozen=True, slots=True)
class Arrival:
    """When a run's spans came, Unix seconds."""

    now: float
    last_seen: float
    root_seen: float | None


@quick
@dataclass(frozen=True, slots=True)
class Ending:
    """Whether a run is complete; if not, when to look again."""

    complete: bool
    look_again: float | None = None
    gap: Unseen | None = None
    abandoned: bool = False
    """Nobody went on with a run that waited."""
    nearly: bool = False
    """All may be there: it ends when the grace time has passed and nothing came."""


def ending(rebuilt: Rebuilt, binding: Binding | None, arrival: Arrival, settings: Settings) -> Ending:
    """Decide completeness; `gap` says what is missing although the wait is over."""
    ended = binding is not None and binding.status is not None
    paused = rebuilt.is_paused and not ended
    if rebuilt.all_calls_arrived and rebuilt.waits is None:
        return Ending(True)
    quiet_since, nearly = arrival.last_seen, False
    if binding is not None and ended:
        quiet_since, nearly = max(quiet_since, binding.at), True
    elif not paused:
        nearly = rebuilt.has_root if rebuilt.pending is None else not rebuilt.pending
    silent = settings.paused_idle_seconds if paused else settings.idle_seconds
    over = quiet_since + (settings.grace_seconds if nearly else silent)
    if arrival.now >= over:
        return Ending(True, gap=lacking(rebuilt, binding), abandoned=paused)
    return Ending(False, look_again=over, nearly=nearly)


def heard(rebuilt: Rebuilt, last_seen: float, settings: Settings) -> float:
    """When a run counts as heard of last: one that waits for somebody is not silent."""
    return last_seen + settings.paused_idle_seconds if rebuilt.is_paused else last_seen


def lacking(rebuilt: Rebuilt, binding: Binding | None = None) -> Unseen | None:
    """What is missing of a run of which nothing more is waited for."""
    if rebuilt.all_calls_arrived:
        return None
    if binding is not None and binding.status is not None:
        return _missing(rebuilt, rootless_is_gap=binding.status == "ok")
    return _missing(rebuilt, rootless_is_gap=True) if rebuilt.pending is None else None


def with_gap(run: Run, gap: Unseen | None) -> Run:
    if gap is None:
        return run
    return replace(run, problems=(*run.problems, gap.problem), unseen=(*run.unseen, gap))


def _missing(rebuilt: Rebuilt, *, rootless_is_gap: bool) -> Unseen | None:
    if rebuilt.expected_calls is not None and rebuilt.arrived_calls < rebuilt.expected_calls:
        said = f"the run announced {rebuilt.expected_calls} calls, {rebuilt.arrived_calls} arrived"
        lost = Unseen(calls=rebuilt.expected_calls - rebuilt.arrived_calls)
        return replace(rebuilt.tail or lost, problem=said)
    if rootless_is_gap and not rebuilt.spans and rebuilt.run.problems:
        return None  # they did arrive, and cannot be read
    if rootless_is_gap and not rebuilt.spans:
        said = "no span of this run ever arrived: is the agent's program traced, and to this collector?"
        return Unseen(said)
    if rootless_is_gap and not (rebuilt.has_root or rebuilt.is_topped):
        return Unseen("the span of the run itself never arrived: the program may have been killed")
    return None


MAX_TEXT = 200_000
"""Code points of a query that is compared with cases."""

Matches = Mapping[str, tuple[int, str, str]]
"""Part of a case (`query`, `paragraph`) -> (cases with a text there, the first of them, the last)."""


def text_key(said: str | None) -> str | None:
    """Equal for texts that differ only in white space, case and Unicode spelling; None without text."""
    if not said or len(said) > MAX_TEXT:
        return None
    plain = " ".join(unicodedata.normalize("NFKC", said).casefold().split())
    return hashlib.blake2b(plain.encode("utf-8", "replace"), digest_size=16).hexdigest() if plain else None


def case_texts(case: Case) -> dict[str, str]:
    """The digests by which a case is recognised in a run's query."""
    parts = {"query": text_key(case.query), "paragraph": text_key(case.paragraph)}
    return {part: digest for part, digest in parts.items() if digest is not None}


@quick
@dataclass(frozen=True, slots=True)
class Choice:
    """The case of a run, or why it has none although it should."""

    case_id: str | None = None
    problem: str | None = None


def choose(run: Run, binding: Binding | None, matches: Matches) -> Choice:
    """The case that a run is bound to, by the order of precedence above."""
    if binding is not None:
        return Choice(binding.case_id)
    if run.case_id is not None:
        return Choice(run.case_id)
    for part in ("query", "paragraph"):
        if part in matches:
            count, first, last = matches[part]
            if count == 1:
                return Choice(first)
            return Choice(
                problem=f"{count} stored cases have this {part} ({first} ... {last}): "
                "set pdoctor.case.id, or register the trace, to say which one it is"
            )
    return Choice()


def bound_run(rebuilt: Rebuilt, binding: Binding | None, end: Ending, case_id: str | None) -> Run:
    """The run as it is judged: with its case, its status and every known gap."""
    run = with_gap(rebuilt.run, end.gap)
    messages = certain_messages(rebuilt, complete=end.complete, problems=run.problems)
    status: Status = "running"
    if end.complete:
        status = "abandoned" if end.abandoned else _status(rebuilt, binding)
    return replace(
        run,
        case_id=case_id,
        status=status,
        trouble=trouble_of(rebuilt, binding),
        wall_seconds=binding.wall_seconds if binding is not None else run.wall_seconds,
        iterations=binding.iterations if binding is not None else run.iterations,
        extra={
            **run.extra,
            **messages,
            **{
                name: value
                for name, value in (("service", rebuilt.service), ("session", rebuilt.session))
                if value is not None
            },
        },
    )


def trouble_of(rebuilt: Rebuilt, binding: Binding | None) -> Trouble | None:
    """What ended the run instead of its agent: as the harness says, else the tracer, else the time limit.

    At the limit it is the model's endpoint where a request had waited for at least half of that time.
    """
    if binding is None or binding.trouble is not None or rebuilt.run.trouble is not None:
        return (binding and binding.trouble) or rebuilt.run.trouble
    waited, limit = rebuilt.model_wait, binding.wall_seconds
    if binding.status != "timeout" or waited is None or limit is None or waited < limit / 2:
        return None
    return Trouble("endpoint", message=f"no answer from the model for {waited:.0f} s of {limit:g} s")


def _status(rebuilt: Rebuilt, binding: Binding | None) -> Status:
    if binding is None or binding.status is None:
        return rebuilt.run.status if rebuilt.is_record else "ok"
    known: dict[str, Status] = {"ok": "ok", "timeout": "timeout", "crash": "crash"}
    return known[binding.status]


def binding_of(
    run_key: str, traces: Iterable[str], project: int, bindings: Mapping[tuple[int, str], Binding]
) -> Binding | None:
    """The registration that applies: of the run's own id, else of a trace it has spans in."""
    for trace in (run_key, *traces):
        if found := bindings.get((project, trace)):
            return found
    return None
