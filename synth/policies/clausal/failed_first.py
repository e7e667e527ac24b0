"""What must have failed first: `a voucher only after a failed refund`, `no page unless a restart failed`."""

from __future__ import annotations

from collections.abc import Mapping

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.meaning import Meaning
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact
from synth.policies.clausal.ways_of_order import Way
from synth.policies.clausal.words import BEFORE, FAILS, HAPPEN, SHOULD

_UNLESS = "unless|except|except_after|except_if|except_when|except_where|if_not|other_than_after"
_NEEDS = (
    "needs|need|requires|require|presupposes|presuppose|depends_on|depend_on|must_be_preceded_by"
    "|has_to_be_preceded_by|have_to_be_preceded_by|should_be_preceded_by"
)
_FIRST = f"first|{BEFORE}|before_it|before_that|to_come_first|to_have_happened|to_have_happened_first"
_EARLIER = "an_earlier|a_prior|a_previous|a_preceding|an_earlier_failure_of|earlier|prior|previous|a|first"


def _unless(p: Parts) -> Adjunct:
    return Adjunct("unless failed", p["f"])


def _needed(p: Parts) -> Demand | None:
    """`Vouchers need a failed refund first`: what failed, and what needs that."""
    fact: Fact = p["f"]
    events, joint = p["b"]
    if fact.joint or (joint == "or") or any(e.outcome for e in events):
        return None
    return Demand("fail first", fact.events, events, joint=joint)


def _fails_before(p: Parts) -> Demand | None:
    """`A refund must have failed before a voucher is issued`."""
    told: tuple[tuple[Event, ...], str] = p["es"]
    fact: Fact = p["w"]
    if fact.aspect in ("not", "running", "fails"):
        return None
    return _needed({"f": Fact(told[0], "fails", told[1]), "b": (fact.events, fact.joint)})


FAILED_FIRST: dict[str, Rule] = {
    "failure before": [
        ("{f:failure}", lambda p: p["f"]),
        (f"{{f:failure}} {BEFORE}", lambda p: p["f"]),
        (f"{_EARLIER} {{f:failure}}", lambda p: p["f"]),
    ],
    "adjunct": [
        (f"{_UNLESS} {{f:failure before}}", _unless),
        (f"without {{f:failure before}} [{BEFORE}]", _unless),
        (
            f"if|when|where|while|as_long_as|so_long_as no {{es:events}} {FAILS} [{BEFORE}|yet]",
            lambda p: Adjunct("unless failed", Fact(p["es"][0], "fails", p["es"][1])),
        ),
        (
            "if|when|where|while|as_long_as|so_long_as {es:events} has_not|have_not|did_not [yet] failed|fail"
            f" [{BEFORE}|yet]",
            lambda p: Adjunct("unless failed", Fact(p["es"][0], "fails", p["es"][1])),
        ),
        ("until|till|before [after] {f:failure}", lambda p: Adjunct("until failed", p["f"])),
        (
            "if|when|once|after|where|provided|provided_that|in_case|following {f:failure before}",
            lambda p: Adjunct("once failed", p["f"]),
        ),
    ],
    "demand": [
        (f"{{b:events}} {_NEEDS} {{f:failure}} [{_FIRST}]", _needed),
        (f"{{b:events}} {_NEEDS} {_EARLIER} {{f:failure}}", _needed),
        (f"{{es:events}} {SHOULD} have failed [{BEFORE}] before {{w:what}}", _fails_before),
        (f"{{es:events}} {SHOULD} fail [first] before {{w:what}}", _fails_before),
        (f"{{f:failure}} {SHOULD} come|{HAPPEN} before {{b:events}}", _needed),
        (f"{{f:failure}} {SHOULD} precede {{b:events}}", _needed),
    ],
}


def _first(kind: str) -> Way:
    """Another action alone: of `no refund unless a refund failed` there can be no first."""

    def way(m: Meaning) -> str | None:
        fact = m.of(kind).fact
        if (
            fact is None
            or fact.joint == "and"
            or any(e.action == f.action for e in m.demand.events for f in fact.events)
        ):
            return None
        return f"{m.b(kind)} must fail before {m.a}"

    return way


FAILED_FIRST_WAYS: Mapping[str, Mapping[tuple[str, ...], Way]] = {
    "never": {(kind,): _first(kind) for kind in ("unless failed", "until failed")},
    "only": {(kind,): _first(kind) for kind in ("once failed",)},
    "fail first": {(): lambda m: f"{m.a} must fail before {m.e}" if m.a != m.e else None},
}
