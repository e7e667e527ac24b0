"""Questions with known answers, over the user's own copies of data sets, and the tools for them.

GSM8K, HotpotQA and TriviaQA; Calculator, Search and Lookup (Crouse et al., section 4).
"""

from synth.questions.calculator import calculate
from synth.questions.corpus import Corpus, Reader, read_corpus
from synth.questions.datasets import read_questions, sample
from synth.questions.examples import EXAMPLES, MOST, Action, Example
from synth.questions.model import CALCULATOR, LOOKUP, SEARCH, TOOLS, Question, is_right

__all__ = [
    "CALCULATOR", "EXAMPLES", "LOOKUP", "MOST", "SEARCH", "TOOLS", "Action", "Corpus", "Example",
    "Question", "Reader", "calculate", "is_right",
    "read_corpus", "read_questions", "sample",
]  # fmt: skip
