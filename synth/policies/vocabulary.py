"""The words in which people say rules, as regular expressions: for hints, rewordings and inflections."""

from __future__ import annotations

import re

from synth.policies.kinds.count import NUMBERS
from synth.policies.kinds.kind import FAILS, HAPPEN, MUST
from synth.policies.kinds.times import TIME

NOT = rf"{MUST} (?:never|not)"
DO = rf"(?:{HAPPEN}|start|begin|run|come)"
_CARRIED_OUT = r"(?:done|called|performed|executed|carried out)"
DOES = rf"(?P<does>happens?|happened|occurs?|takes? place|runs?|(?:is|are) {_CARRIED_OUT})"
"""That something happens, where a sentence says no more of it."""
DONE = (
    r"(?: (?:is |are |was |were |has |have |had )?(?:been )?"
    r"(?:happen(?:s|ed)?|occur(?:s|red)?|took place|taken place|takes? place|succee(?:ds?|ded)|"
    rf"pass(?:es|ed)?|finish(?:es|ed)?|complete[ds]?|ended|{_CARRIED_OUT}|successful|(?:has|have) been \w+)"
    r"(?: (?:successfully|before|first|earlier|beforehand|before it|already))?)?"
)
"""That something has happened; it may be left out."""
FAILED = rf"(?:{FAILS}|did not succeed|does not succeed|(?:is|was) not successful)"
SIDE = r"(?P<side>after|before|without|unless|until|between|while|during)"
CLOCK = r"\d\d?:\d\d"
SPAN = re.sub(r"\?P<\w+>", "?:", TIME)
UNITS = r"(?:milliseconds?|seconds?(?! time)|minutes?|hours?|days?)"
TIMES = rf"(?:\d{{1,6}}|{'|'.join(NUMBERS)})"
COUNT = (
    r"(?P<how>at most|a maximum of|no more than|not more than|more than|at least|exactly|up to) "
    rf"(?P<n>{TIMES})"
)
ANYTHING = r"(?:any other (?:tool|call)|any tool|anything|nothing(?: else)?|no (?:other )?(?:tool|call))"
AGENT = r"(?:the (?:agent|assistant|model|bot)|you|it)"
"""Who is told what it must do."""
ANYBODY = (
    r"(?:the |an |any |no )?(?:(?:ai |support |bank )?(?:agents?|assistants?|bots?|models?)|system|"
    r"operators?)|(?:the |an? )?(?:manager|supervisor|admin|human|user|customer|client|patient|doctor|nurse|"
    r"engineer)|you|it|they|we|he|she|one"
)
"""Who may have done something."""
