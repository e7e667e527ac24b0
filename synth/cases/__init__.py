"""Planning problems: generated, confirmed, mutated, shrunk."""

from synth.cases.case import Case, case_from_json, read_cases
from synth.cases.recorded import RuleFile, definitions_in, tests_of

__all__ = ["Case", "RuleFile", "case_from_json", "definitions_in", "read_cases", "tests_of"]
