"""Parts of one run: it waited for somebody, or another process went on with it.

A part that may go on says a token, and one that goes on says which. In one process they share the run id,
and number their calls on; in another one the part has a run id, a trace and numbers of its own, and joins
the run of the first part. Tokens may be used again (the thread of a graph), so a part goes on with the
latest one before it that said its token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from collector.dialects import SeenAgent, SeenCall
from collector.dialects.names import RESULT_SOURCE, RUN_ID, SCOPE_NAME
from collector.dialects.reading import loaded, text
from collector.model import Part, Piece, Span, ToolCall, Unseen
from collector.rebuild.conversations import conversations
from synth.frozen import quick

BEGINNING = "the beginning of this run was never seen: it goes on with a part that did not arrive"


def groups(pieces: Iterable[Piece]) -> list[tuple[Piece, ...]]:
    """The pieces that make one run each, the one that names it first: chains of parts, conversations."""
    listed = list(pieces)
    parts = [piece for piece in listed if piece.is_part]
    return [*_chains(parts), *conversations(piece for piece in listed if not piece.is_part)]


def piece_of_part(run_id: str, spans: Sequence[Span], agents: Sequence[SeenAgent]) -> Piece | None:
    """What the spans of a run id say about the run that it may be a part of; None: it is whole."""
    own = [seen for seen in agents if seen.state or seen.resumed]
    own = [seen for seen in own if run_id_of(seen.span) == run_id]
    tokens = _each(seen.token for seen in own if seen.state is not None and seen.token)
    resumed = _each(seen.resumed for seen in own if seen.resumed)
    if not (tokens or resumed):
        return None
    return Piece(run_id, min(span.start_ns for span in spans), tokens=tokens, resumed=resumed)


def _each(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))


def run_id_of(span: Span) -> str | None:
    return text(loaded(span).get(RUN_ID))


# ---------------------------------------------------------------- which parts make one run


def _chains(parts: Sequence[Piece]) -> list[tuple[Piece, ...]]:
    ordered = sorted(parts, key=_place)
    before = {piece.trace_id: found for piece in ordered if (found := _before(piece, ordered))}
    chains: dict[str, list[Piece]] = {}
    for piece in ordered:
        chains.setdefault(_first(piece, before).trace_id, []).append(piece)
    return [
        tuple(sorted(chain, key=lambda piece, head=head: (piece.trace_id != head, *_place(piece))))  # type: ignore[misc]
        for head, chain in chains.items()
    ]


def _place(piece: Piece) -> tuple[int, str]:
    return piece.started_ns, piece.trace_id


def _before(piece: Piece, ordered: Sequence[Piece]) -> Piece | None:
    """The part that one goes on with: the latest before it, else (clocks differ) one that began the run."""
    wanted = set(piece.resumed)
    said = [one for one in ordered if one.trace_id != piece.trace_id and wanted & set(one.tokens)]
    earlier = [one for one in said if _place(one) < _place(piece)]
    return earlier[-1] if earlier else next((one for one in said if not wanted & set(one.resumed)), None)


def _first(piece: Piece, before: Mapping[str, Piece]) -> Piece:
    """The part that began the run; of parts that go on with each other the earliest."""
    seen = {piece.trace_id: piece}
    while (found := before.get(piece.trace_id)) is not None:
        if found.trace_id in seen:
            return min(seen.values(), key=_place)
        piece = seen[found.trace_id] = found
    return piece


# ---------------------------------------------------------------- what the parts of a run tell together


@quick
@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a run, as its spans tell of them."""

    ids: tuple[str, ...]
    """Run ids of our own tracer, in order of their starts."""
    ends: tuple[SeenAgent, ...]
    """The spans of roots that nothing went on from, the latest last; those of the others ended nothing."""
    roots: tuple[SeenAgent, ...]
    """All of them, in order of time."""
    agents: tuple[SeenAgent, ...]

    @classmethod
    def of(cls, agents: Sequence[SeenAgent], calls: Sequence[SeenCall]) -> Parts:
        ours = sorted((one for one in agents if one.span.scope == SCOPE_NAME), key=_began)
        ids = tuple(dict.fromkeys(found for one in ours if (found := run_id_of(one.span))))
        roots = sorted((one for one in agents if one.announced_calls is not None), key=_ended)
        ends = tuple(root for root in roots if root.state is None or not _went_on(root, agents, calls))
        return cls(ids, ends, tuple(roots), tuple(ours))

    @property
    def last(self) -> SeenAgent | None:
        """The root that ended last."""
        return self.ends[-1] if self.ends else None

    @property
    def all_ended(self) -> bool:
        """Has every part a root, and the last one ended, or paused?"""
        return bool(self.ends) and {run_id_of(root.span) for root in self.roots}.issuperset(self.ids)

    @property
    def waits(self) -> Part | None:
        """The part that nothing went on from, where it did not simply end."""
        return _part(self.last) if self.last is not None and self.last.state is not None else None

    def told(self) -> Iterator[Part]:
        """The parts in order of time; none where the run is whole."""
        if len(self.ids) > 1 or any(root.state or root.resumed for root in self.roots):
            yield from map(_part, sorted(self.roots, key=_ended))

    def unheard(self, calls: Sequence[SeenCall]) -> Iterator[Unseen]:
        """What the run went on with and never arrived: before the first call of the part that did so."""
        said = {root.token for root in self.roots if root.state is not None}
        for run_id in self.ids:
            own = [one for one in self.agents if run_id_of(one.span) == run_id]
            if any(one.resumed and one.resumed not in said for one in own):
                first = (i for i, seen in enumerate(calls) if run_id_of(seen.span) == run_id)
                yield Unseen(BEGINNING, before=next(first, None))


def _part(root: SeenAgent) -> Part:
    span = root.span
    times = (span.start_ns, max(span.start_ns, span.end_ns))
    run_id = run_id_of(span) or span.trace_id
    return Part(run_id, span.trace_id, *times, root.announced_calls or 0, root.state, root.pause_reason)


def _began(seen: SeenAgent) -> int:
    return seen.span.start_ns


def _ended(seen: SeenAgent) -> int:
    return seen.span.end_ns


def _went_on(root: SeenAgent, agents: Sequence[SeenAgent], calls: Sequence[SeenCall]) -> bool:
    """Did something of the run begin after this part, in its process or another one?"""
    own, end = run_id_of(root.span), root.span.end_ns
    here = any(run_id_of(one.span) == own and one.span.end_ns > end for one in agents)
    return (
        here
        or any(run_id_of(seen.span) == own and seen.span.start_ns >= end for seen in calls)
        or any(
            run_id_of(one.span) != own
            and one.resumed is not None
            and one.resumed == root.token
            and (root.resumed != root.token or one.span.start_ns >= root.span.start_ns)
            for one in agents
        )
    )


# ---------------------------------------------------------------- the calls of all parts


def with_own_turns(calls: Sequence[SeenCall], ids: Sequence[str]) -> list[SeenCall]:
    """The calls, those of later parts with the numbers of model messages after those of earlier ones."""
    if len(ids) < 2:
        return list(calls)
    last = dict.fromkeys(ids, -1)
    owners = [run_id_of(seen.span) for seen in calls]
    for seen, owner in zip(calls, owners, strict=True):
        if owner in last and seen.call.step is not None:
            last[owner] = max(last[owner], seen.call.step)
    first, offset = {}, 0
    for run_id in ids:
        first[run_id] = offset
        offset += last[run_id] + 1
    return [_turned(seen, first.get(owner or "", 0)) for seen, owner in zip(calls, owners, strict=True)]


def _turned(seen: SeenCall, offset: int) -> SeenCall:
    step = seen.call.step
    return seen._replace(call=replace(seen.call, step=step + offset)) if offset and step is not None else seen


@quick
@dataclass(frozen=True, slots=True)
class Told:
    """The calls of a run, and sightings of them that are no calls of their own."""

    calls: list[SeenCall]
    absorbed: Mapping[int, tuple[SeenCall, Span]]
    """Identity of the span of a sighting -> it, and the span of the call that it belongs to."""
    ids: Sequence[str]
    """Run ids of the parts."""

    def numbers(self, calls: Sequence[SeenCall]) -> dict[str | None, dict[int, int]]:
        """Run id -> number -> position of the call (of `calls`, in their final order)."""
        if len(self.ids) < 2 and not self.absorbed:
            own = {seen.number: i for i, seen in enumerate(calls) if seen.number is not None}
            return {self.ids[0] if self.ids else None: own} if own else {}
        places = {id(seen.span): i for i, seen in enumerate(calls)}
        every = [(seen, places[id(seen.span)]) for seen in calls]
        every += [(seen, places[id(span)]) for seen, span in self.absorbed.values()]
        found: dict[str | None, dict[int, int]] = {}
        for seen, at in every:
            if seen.number is not None:
                found.setdefault(run_id_of(seen.span), {})[seen.number] = at
        return found


def one_call_each(calls: Sequence[SeenCall], ids: Sequence[str]) -> Told:
    """The calls, one that was asked for in one part and heard of in another as one call.

    What was never heard of again may have run later, under the same id; and a result in the history of a
    conversation tells of the call with its id, tool and arguments.
    """
    if len(ids) < 2 and not any(seen.call.executed is None for seen in calls):
        return Told(list(calls), {}, ids)
    groups: dict[tuple[str, str], list[SeenCall]] = {}
    for seen in calls:
        if seen.call.id is not None and seen.span.scope == SCOPE_NAME:
            groups.setdefault((seen.call.id, seen.call.tool), []).append(seen)
    made = _Merged({run_id: at for at, run_id in enumerate(ids)})
    for group in groups.values():
        if len(group) > 1 and any(map(_is_doubtful, group)):
            made.merge(group)
    kept = [made.changed.get(id(seen.span), seen) for seen in calls if id(seen.span) not in made.absorbed]
    return Told(kept, made.absorbed, ids)


def _is_doubtful(seen: SeenCall) -> bool:
    return seen.call.executed is None or _from_history(seen)


def _from_history(seen: SeenCall) -> bool:
    return loaded(seen.span).get(RESULT_SOURCE) == "history"


class _Merged:
    """Sightings with one call id and tool, put together."""

    def __init__(self, places: Mapping[str, int]) -> None:
        """`places` of the parts by run id."""
        self._places = places
        self.changed: dict[int, SeenCall] = {}
        self.absorbed: dict[int, tuple[SeenCall, Span]] = {}

    def merge(self, group: Sequence[SeenCall]) -> None:
        """First what ran takes what was asked for, then histories go to what they tell of."""
        ordered = sorted(group, key=self._place)
        asked = [seen for seen in ordered if seen.call.executed is None]
        ran = [seen for seen in ordered if not _is_doubtful(seen)]
        self._pair(asked, list(ran))
        told: list[SeenCall] = []
        for seen in ordered:
            if _from_history(seen) and not self._is_known(seen, [*ran, *told]):
                told.append(seen)
        self._pair([seen for seen in asked if id(seen.span) not in self.absorbed], told)

    def _pair(self, asked: Sequence[SeenCall], known: list[SeenCall]) -> None:
        """Each that was asked for with the first that tells more of it, which is taken out of `known`."""
        for seen in asked:
            at = next((k for k, one in enumerate(known) if self._goes_on(seen, one)), None)
            if at is not None:
                found = known.pop(at)
                self.changed[id(found.span)] = _completed(found, seen)
                self.absorbed[id(seen.span)] = seen, found.span

    def _is_known(self, told: SeenCall, known: Sequence[SeenCall]) -> bool:
        """Does a history tell of a call that another part has told of?"""
        for seen in reversed(known):
            if run_id_of(seen.span) != run_id_of(told.span) and self._goes_on(seen, told):
                self.absorbed[id(told.span)] = told, seen.span
                return True
        return False

    def _goes_on(self, first: SeenCall, then: SeenCall) -> bool:
        return self._place(first) <= self._place(then) and _agree(first.call, then.call)

    def _place(self, seen: SeenCall) -> tuple[int, int]:
        return self._places.get(run_id_of(seen.span) or "", 0), seen.span.start_ns


def _agree(first: ToolCall, then: ToolCall) -> bool:
    """May they be of one call, by their arguments? What is only partly known may be anything."""
    if "arguments" in first.partly or "arguments" in then.partly:
        return True
    written = then.arguments if then.asked_arguments is None else then.asked_arguments
    return bool(first.arguments in (written, then.arguments))


def _completed(found: SeenCall, asked: SeenCall) -> SeenCall:
    """A call with the message that asked for it; one in a history may have run at any time after that."""
    call, start = found.call, asked.call.start
    bounds = {}
    if _from_history(found) and start is not None and call.start is not None:
        between = (start[0], max(start[0], call.start[1]))
        bounds = {"start": between, "end": between}
    return found._replace(
        call=replace(call, step=asked.call.step, with_text=asked.call.with_text, **bounds)  # type: ignore[arg-type]
    )
