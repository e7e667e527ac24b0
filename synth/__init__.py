"""Planning problems in controlled English: generate, parse, judge, explain, drive agents through them.

What `__all__` names is public (`docs/public.md`); all else may change. A name is loaded when it is asked
for, so that `import synth` alone costs nothing.
"""

TYPE_CHECKING = False  # as `typing` has it, which is not loaded for one word
if TYPE_CHECKING:
    from synth.cases.case import Action, Case, case_from_json, read_cases, write_cases
    from synth.cases.generate import Options as CaseOptions
    from synth.cases.generate import generate
    from synth.cases.recorded import RecordedCase, read_recorded
    from synth.client import Collector
    from synth.errors import BadInput, MissingExtra, SynthError
    from synth.formal.model import Finding, Verdict
    from synth.judge import Rules, judge
    from synth.language.parse import parse
    from synth.observed.run import Run, ToolCall, read_runs, run_from_json
    from synth.policies import PolicyResult, PolicySet, judge_policies, judge_session, lint, load_policies

__all__ = [
    "Action", "BadInput", "Case", "CaseOptions", "Collector", "Finding", "MissingExtra", "PolicyResult",
    "PolicySet", "RecordedCase", "Rules", "Run", "SynthError", "ToolCall", "Verdict", "case_from_json",
    "generate", "judge", "judge_policies", "judge_session", "lint", "load_policies", "parse", "read_cases",
    "read_recorded", "read_runs", "run_from_json", "write_cases",
]  # fmt: skip

_HOMES = {
    "errors": ("BadInput", "MissingExtra", "SynthError"),
    "client": ("Collector",),
    "formal.model": ("Finding", "Verdict"),
    "observed.run": ("Run", "ToolCall", "read_runs", "run_from_json"),
    "language.parse": ("parse",),
    "cases.case": ("Action", "Case", "case_from_json", "read_cases", "write_cases"),
    "cases.recorded": ("RecordedCase", "read_recorded"),
    "cases.generate": ("CaseOptions", "generate"),
    "judge": ("Rules", "judge"),
    "policies": ("PolicyResult", "PolicySet", "judge_policies", "judge_session", "lint", "load_policies"),
}
_NAMED_THERE = {"CaseOptions": "Options"}


def __getattr__(name: str) -> object:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{home}")
    # `judge` stands here by now: importing the wing of that name sets it, and the wing can be called.
    return globals().setdefault(name, getattr(module, _NAMED_THERE.get(name, name)))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
