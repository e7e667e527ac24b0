"""Tool plans, judged part by part, and verified before their first call (m&m's)."""

from synth.plans.code import code_bleu, same_syntax
from synth.plans.entail import entailment
from synth.plans.gold import gold_plans, plan_of_run, run_passed, run_scores
from synth.plans.graph import PlanTool, ToolGraph, graph_from_json
from synth.plans.mnms import Pair, PlanScores, corpus_scores, corpus_with_alternatives, plan_scores
from synth.plans.model import Plan, PlanStep, plan_from_json, plan_from_text, plan_to_json, readable_plan
from synth.plans.pairs import plan_of
from synth.plans.python_plan import plan_from_python, plan_to_python
from synth.plans.raters import agreement
from synth.plans.scores import Score, edit_distance
from synth.plans.verify import Problem, verify, verify_json

__all__ = [
    "Pair", "Plan", "PlanScores", "PlanStep", "PlanTool", "Problem", "Score", "ToolGraph", "agreement",
    "code_bleu", "corpus_scores", "corpus_with_alternatives", "edit_distance", "entailment",
    "gold_plans", "graph_from_json", "plan_from_json", "plan_from_python", "plan_from_text", "plan_of",
    "plan_of_run", "plan_scores", "plan_to_json", "plan_to_python", "readable_plan", "run_passed",
    "run_scores", "same_syntax", "verify", "verify_json",
]  # fmt: skip
