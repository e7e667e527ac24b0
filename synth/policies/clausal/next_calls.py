"""What the next call must be, in every frame: `A must be the very next call after B`, `B: A comes next`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact
from synth.policies.clausal.words import AGENT, RIGHT, SHOULD

_A_CALL = (
    "call|step|action|tool_call|thing|tool|move|call_made|tool_called|thing_to_do|thing_done|thing_that_happens"
    "|thing_to_happen|call_to_be_made"
)
_AT_ONCE = "at_once|immediately|directly|straight_away|right_away|straightaway"
_NEXT_CALL = "|".join((
    *(f"{lead}_{very}{call}" for lead in ("as_the", "as_its", "as_your", "in_the", "with_the")
      for very in ("next_", "very_next_", "immediately_following_")
      for call in ("call", "step", "action", "tool_call", "thing", "tool")),
    "before_any_other_call", "before_anything_else", "before_any_other_tool",
))  # fmt: skip


def _next(first: str, then: str) -> Callable[[Parts], Demand | None]:
    def made(p: Parts) -> Demand | None:
        fact: Fact = p[first]
        events, joint = p[then]
        unclear = fact.aspect in ("not", "running", "fails") or any(e.outcome for e in fact.events)
        if unclear or (fact.joint and joint):
            return None
        return Demand("next", fact.events, events, joint=fact.joint or joint)

    return made


def _once(events: tuple[tuple[Event, ...], str]) -> tuple[tuple[Event, ...], str]:
    """Of what is said to happen at once: with what says that it is the next call."""
    (first, *more), joint = events
    return (replace(first, beside=(*first.beside, Adjunct("next call"))), *more), joint


def _pair(p: Parts) -> Demand | None:
    """`B follows A at once`."""
    (events, joint), (others, other) = p["a"], p["b"]
    unclear = any(e.outcome for e in (*events, *others)) or (joint and other)
    return None if unclear else Demand("next", events, others, joint=joint or other)


_MADE = "|".join((
    *(f"{agent}_{does}" for agent in ("the_agent", "you", "it", "the_bot", "the_assistant")
      for does in ("does", "makes", "calls", "takes", "do", "make", "call", "take", "must_do", "has_to_do")),
    "to_happen", "to_be_made", "to_be_called", "that_happens", "in_the_run", "of_the_run",
))  # fmt: skip
NEXT_CALLS: dict[str, Rule] = {
    "the_next_call": [
        (f"the|its|your [very] next {_A_CALL} [{AGENT}] [does|makes|calls|takes|do|make|call]"
         " after|following [each|every|any] {a:what}", lambda p: p["a"]),
        (f"the [very] first {_A_CALL} [{AGENT}] [does|makes|calls|takes|do|make|call] after|following"
         " [each|every|any] {a:what}", lambda p: p["a"]),
        (f"the [very] {_A_CALL} {RIGHT} after|following [each|every|any] {{a:what}}", lambda p: p["a"]),
        (f"the [very] next {_A_CALL} {RIGHT} after|following [each|every|any] {{a:what}}", lambda p: p["a"]),
    ],
    "demand": [
        (f"{{a:the_next_call}} {SHOULD}|is [always] [be|to_be] {{b:events}}", _next("a", "b")),
        (f"{{a:the_next_call}} {SHOULD}|is [always] [be] to {{b:acts}}", _next("a", "b")),
        (f"{{b:events}} {SHOULD}|is|are [always] [be|to_be] {{a:the_next_call}}", _next("a", "b")),
        (f"only {{b:events}} {SHOULD}|may|can be {{a:the_next_call}}", _next("a", "b")),
        (f"{{e:events}} {SHOULD} [always] come|be|follow next", demanding("comes next")),
        (f"{{e:events}} {SHOULD}|is|are [always] [be] the [very] next {_A_CALL} [{_MADE}]",
         demanding("comes next")),
        (f"[the] [very] next {_A_CALL} [{_MADE}] {SHOULD}|is|, [always] [be|to_be] {{e:events}}",
         demanding("comes next")),
        (f"[the] [very] next {_A_CALL} [{_MADE}] {SHOULD}|is [always] [be] [to] {{e:acts}}",
         demanding("comes next")),
        (f"{{b:events}} [always] follows|follow {{a:events}} {_AT_ONCE}", _pair),
        (f"{{b:events}} {SHOULD} [always] follow each|every|any {{a:events}} {_AT_ONCE}", _pair),
        ("{e:events} [always] comes|come next", demanding("comes next")),
        (f"{RIGHT}|to_be_{RIGHT.replace('|', '|to_be_')} followed by {{e:events}}",
         demanding("comes next")),
    ],
    "adjunct": [(f"{_AT_ONCE} [,] {_NEXT_CALL}", lambda p: Adjunct("next call")),
                (_NEXT_CALL, lambda p: Adjunct("next call"))],
}  # fmt: skip
