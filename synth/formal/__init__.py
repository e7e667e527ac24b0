"""What can be proved: constraints, orders, days, monitors, contracts; Z3 behind one module."""

from synth.formal.model import ERROR_TYPES, Finding, Spec, Verdict
from synth.formal.trouble import TROUBLES, Trouble, TroubleKind, trouble_from_json

__all__ = [
    "ERROR_TYPES", "TROUBLES", "Finding", "Spec", "Trouble", "TroubleKind", "Verdict", "trouble_from_json",
]  # fmt: skip
