"""Everyday wordings in place of rarer ones, before the actions of a sentence are looked for.

`can't` is `cannot`, `nobody may` is `you must never`, `limited to two` is `at most two`.
"""

from __future__ import annotations

import re

from synth.policies.kinds.count import NUMBERS
from synth.policies.numerals import in_digits
from synth.policies.patterns import compiled
from synth.policies.vocabulary import COUNT

MODAL = (
    r"(?:must|should|shall|may|can|could|might|will|has to|have to|needs to|need to|ought to"
    r"|cannot|can['\u2019]t|must(?:n['\u2019]t)|should(?:n['\u2019]t))"
)

AFTER_BEING = (
    r"^(?!.*\b(?:not|never|no|cannot)\b|.*n['\u2019]t\b)(?P<pre>.*?)\b(?P<w>within \S+ [a-z]+) of "
    r"(?P<x>(?:(?:the|an?|its|their|it) [^,]{0,40}?)?(?:being|having been) )",
    r"\g<pre>\g<w> after \g<x>",
)
"""`Within an hour of being paid` is after that; a ban of it may be before, too."""
_FIELD_OF_TWO_WORDS = re.compile(
    r"\b(?P<same>with the same|for the same|for each|for every|per) (?P<a>[a-z]+) (?P<b>id|number|code"
    r"|reference|name|key)\b",
    re.I,
)
_MORE_FIELDS = re.compile(
    r"(?P<f>\b(?:with the same|for the same|for each|for every|per) [a-z_]+ and )(?:the same )?"
    r"(?P<a>[a-z]+) (?P<b>id|number|code|reference|name|key)\b",
    re.I,
)
_EVERYBODY = (
    r"(?:everyone|everybody|anyone|anybody|(?:all |our |the )?(?:staff|team|crew members|colleagues|employees"
    r"|team members|staff members|workers|agents|assistants))"
)
"""Whoever acts: the agent among them. A role (`interns`) is somebody in particular."""
_NOBODY = (
    r"(?:nobody|no one|no-one|none of (?:us|you|them)|no (?:agent|assistant|employee|member of (?:the )?staff"
    r"|staff member|team member))"
)
_NEVER = r"(?:under no circumstances|in no case|on no account|at no (?:time|point)|by no means|in no event)"
_SPELLED_OUT = (
    (
        r"\b(?P<run>run|conversation|session) (?:that|which) (?P<does>(?!(?:is|has|was"
        r"|does)\b)[a-z]+s) (?=an? |the |any |its )",
        r"\g<run> in which it \g<does> ",
    ),
    (
        r"\b(?P<no>no [a-z]+(?: [a-z]+)?) (?:at all|whatsoever) (?=(?:may|must|can|should|shall|is|are)\b)",
        r"\g<no> ",
    ),
    (r"\ba fortnight\b", "14 days"),
    (
        r"\b(?P<do>\w+) two (?P<it>(?:[a-z]+ )?[a-z]+s) (?:back to back|in a row|in succession|one "
        r"(?:right )?after the other|consecutively)$",
        r"\g<do> \g<it> twice in a row",
    ),
    (r"\bby the time(?: that)? ", "before "),
    AFTER_BEING,
    (r"\b(?:at the latest|no later than|not later than) (?=\S+ \w+ after )", "within "),
    (r"\b(?:at the earliest|not (?:sooner|earlier) than) (?=\S+ \w+ after )", "no sooner than "),
    (r"\b(?:prior to|ahead of|in advance of|previous to) (?=\D)", "before "),
    (
        rf"(?P<lead>^|, ){_NOBODY} (?P<must>{MODAL}|is (?:allowed|permitted) to|is to)(?: ever)? ",
        r"\g<lead>you must never ",
    ),
    (
        rf"(?P<lead>^|, ){_EVERYBODY} (?=(?:{MODAL}|(?:is|are) (?:only |not )?(?:to|allowed|permitted)) )",
        r"\g<lead>you ",
    ),
    (r"(?P<lead>^|, )(?:we|you|the agent) (?P<how>always|never|do not|don['\u2019]t) ", r"\g<lead>\g<how> "),
    (r"^on no account\b|^in no event\b|^by no means\b", "under no circumstances"),
    (rf"\b(?:must|may|can|should|shall) {_NEVER}\b", "must never"),
    (r"\bmore than (?:one time|a single time)\b", "more than once"),
    (
        r"\bfor (?:any one|any given|any single|a given|a single|one given|one and the same|every single"
        r"|each single|each individual) (?=[a-z]+[ _](?:id|number|code|reference|name|key)\b)",
        "for the same ",
    ),
    (r"\bper (?:single|individual|given) (?=[a-z]+[ _](?:id|number|code|reference|name|key)\b)", "per "),
    (
        rf"^(?!.*\b(?:sum|total)\b)(?P<a>.+?) (?:(?:is|are)|{MODAL} be) (?:limited|restricted|capped)"
        rf" (?:to|at) (?:a maximum of |a total of |at most |no more than )?(?P<n>{'|'.join(NUMBERS)}"
        r"|\d+(?= times| calls))(?: times| calls)?"
        r"(?=$| (?:per|in|within|for|with|every|each|an?)\b)",
        r"\g<a> must happen at most \g<n> times",
    ),
    (
        rf"^the (?P<a>(?!sum|total)\w+ of .+?) (?P<must>{MODAL}(?: not| never)? .+?) (?:in total|in all"
        r"|altogether|taken together|combined)(?=$| (?:per|for|with|within|in)\b)",
        r"the total \g<a> \g<must>",
    ),
    (r"\bwithout (?:first |ever |previously )?having (?=\w)(?!been\b)", "without first having "),
    (
        r"\bfollowed (?P<w>within [^,]+?) by (?P<b>.+?)(?P<same>,? (?:with|for) the same .+|,? per .+)?$",
        r"followed by \g<b> \g<w>\g<same>",
    ),
    (r"\bcan['\u2019]t\b|\bcan not\b", "cannot"),
    (r"\bwon['\u2019]t\b", "will not"),
    (r"\b(?P<who>they|you|we)['\u2019]ve\b", r"\g<who> have"),
    (r"\bit['\u2019]s (?=been )", "it has "),
    (r"\bit['\u2019]s\b", "it is"),
    (r"^should (?P<what>[^,]+?) (?:ever )?fail,", r"if \g<what> fails,"),
    (r"\bfrom the (?:moment|time|instant|point)(?: that| when| at which)? ", "after "),
    (
        r"\b(?:on (?:its|their) own|by (?:itself|themselves)) in (?:an?|its|their|one) (?:own )?"
        r"(?P<turn>turn|message)\b",
        r"alone in its \g<turn>",
    ),
    (r" \((?:with |for )?(?:the )?same (?P<f>[\w.]+)\)", r" with the same \g<f>"),
    (r"\bthe same (?P<it>[a-z]+)\b(?=.* same (?P=it)[ _])", r"the \g<it>"),
    (r"\bany tool calls?\b(?! (?:of|to)\b)", "any tool"),
    (
        r"^(?:any|every|each|an?) (?:failed|failing|unsuccessful) (?:tool )?call (?:must|should|shall|has to)"
        r"(?: always)? be followed by (?P<then>.+?)(?P<within> within [^,]+)?$",
        r"if any tool fails, \g<then> must follow\g<within>",
    ),
    (rf"^{COUNT} (?:tool )?calls {MODAL} be made\b", r"any tool must happen \g<how> \g<n> times"),
    (
        rf"\b(?:make|run|do|issue|perform|execute) {COUNT} (?:tool )?calls\b(?! (?:of|to)\b)",
        r"any tool \g<how> \g<n> times",
    ),
    (r"\b(?P<does>has|have|had|is|are|was|were|did|does|must|should)n['\u2019]t\b", r"\g<does> not"),
)
_SAME_INSIDE = (
    r"(?P<of>\b\w+) (?P<same>(?:with|for) the same [\w.]+|(?:of|on) the same \w+[_.][\w.]+)"
    r"(?P<does> (?:is|are|was|were|has"
    r"|have|may|must|can)\b[^,]*)$"
)
"""What must be the same, said inside of a clause."""


def everyday(body: str) -> str:
    """The sentence in everyday words."""
    text = compiled(rf"\b(?P<must>{MODAL}) no longer be\b").sub(r"\g<must> not be", " ".join(body.split()))
    text = in_digits(text)
    for pattern, said in _SPELLED_OUT:
        text = compiled(pattern).sub(said, text)
    text = _MORE_FIELDS.sub(r"\g<f>\g<a>_\g<b>", _FIELD_OF_TWO_WORDS.sub(r"\g<same> \g<a>_\g<b>", text))
    return compiled(_SAME_INSIDE).sub(r"\g<of>\g<does> \g<same>", text)
