"""Planning problems: generated, confirmed, mutated, shrunk."""

from synth.cases.case import Case, case_from_json, read_cases

__all__ = ["Case", "case_from_json", "read_cases"]
