"""How people say what the language has one word for: who acts, what fails, what comes first, how long.

One vocabulary for all that reads sentences, or hints at what they should say.
"""

from __future__ import annotations

from synth.policies.kinds.count import NUMBERS
from synth.policies.kinds.kind import HAPPEN

NUMBER = rf"(?:\d{{1,6}}|{'|'.join(NUMBERS)})"
UNIT = r"(?:milliseconds?|ms|seconds?|minutes?|min|hours?|days?|weeks?)"
DURATION = rf"(?:(?:\d+(?:\.\d+)?|{'|'.join(NUMBERS)}) ?{UNIT})"
AFTER_A_SECOND = (
    r"(?:time|thing|one|after|before|later|earlier|ago|apart|between|of|and|or|to|in|on|at|with|without|until"
    r"|from|per|for|if|when|while|must|may|can|should|has|have|is|lies|passes|elapses|delay|pause|gap|break"
    r"|window|period|interval)\b"
)
"""Where `a second` is a time."""
AGENT = (
    r"(?:(?:the |an? |any )?(?:(?:ai |support |bank )?(?:agents?|assistants?|bots?|models?)|system"
    r"|operators?)"
    r"|you|it|they|we)"
)
SHOULD = (
    r"(?:must|should|shall|has to|have to|needs to|need to|ought to|is to|are to|is required to"
    r"|are required to)"
)
MAY = r"(?:may|can|could|might|is allowed to|are allowed to|is permitted to|are permitted to)"
NO = (
    rf"(?:{SHOULD}|{MAY}|will|is|are) (?:under no circumstances|in no case|not ever|never ever|never|not)"
    r"|cannot|can ?n['\u2019]t|can never|must ?n['\u2019]t|should ?n['\u2019]t|may ?n['\u2019]t|won['\u2019]t"
)
DO = (
    rf"(?:ever )?(?:be allowed to )?(?:{HAPPEN}|run|start|begin|proceed|go ahead|be used|be made|be run"
    r"|be allowed|be permitted|be attempted|be invoked|be triggered)"
)
BANNED = (
    r"(?:is|are) (?:strictly |always )?(?:(?:not|never) (?:allowed|permitted)|forbidden|prohibited"
    r"|disallowed|banned|not acceptable|unacceptable|out of the question|ruled out)"
)
WHEN = r"(?:if|when|whenever|once|after|as soon as|every time|each time|any time|anytime|in case|where)"
HAPPENED = (
    r"(?: (?:is |are |was |were |has |have |had )?(?:been )?(?:successfully )?"
    r"(?:happens?|happened|occurs?|occurred|took place|taken place|succeeds?|succeeded|pass(?:es|ed)?"
    r"|complete[sd]?|finish(?:es|ed)?|ended|done|called|performed|executed|carried out|successful|run|over)"
    r"(?: (?:successfully|before|first|earlier|beforehand|already))?)"
)
FAILING = (
    r"(?:fails?|failed|(?:has|have|had) failed|(?:did|does|do) not succeed|(?:was|is|were|are) "
    r"(?:unsuccessful|not successful)|goes wrong|went wrong|errors(?: out)?|errored"
    r"|(?:has )?(?:(?:return|report|raise)(?:s|ed)|throws|threw|gives|gave|(?:comes?|came) back with"
    r"|result(?:s|ed) in|ends? (?:with|in)|ended (?:with|in)) (?:an )?errors?"
    r"|(?:does|did) not go through|(?:has|have) not succeeded|do not pass|does not pass)"
)
AGAIN = r"(?: (?:again|afterwards?|any ?more|later|thereafter|from then on|after that|any longer|at all))*"
LATER = r"(?:afterwards?|later|eventually|then|thereafter|subsequently|at some point|after that)"
