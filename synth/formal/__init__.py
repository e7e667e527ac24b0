"""What can be proved: constraints, orders, days, monitors, contracts; Z3 behind one module."""

from synth.formal.model import ERROR_TYPES, Finding, Spec, Verdict

__all__ = ["ERROR_TYPES", "Finding", "Spec", "Verdict"]
