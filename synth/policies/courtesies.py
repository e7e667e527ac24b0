"""What is around a rule and says nothing of it: `please`, `Rule:`, bullets, exclamation marks."""

from __future__ import annotations

from collections.abc import Collection

from synth.policies.clausal.spelling import OF_EACH
from synth.policies.patterns import compiled

_BULLET = (
    r"(?:(?:[-*\u2022\u2013>\u00a7]|\(?\d{1,2}[.)]|\(?[a-z]\)|#+) +|\[[A-Z]{1,4}[-_ ]?\d{1,4}\]:? *"
    r"|(?:R|REQ|POL|RULE|Rule|Policy|Requirement)[-_ ]?#?\d{1,4}(?:\.\d{1,3})*(?: ?:|\)| [-\u2013\u2014]) *)"
)
"""`- `, `3. `, `a) `, `[R1] `, `R1: `."""
_WHOSE = (
    r"house|hard|general|business|golden|strict|basic|our|the|company|internal|security|safety|compliance"
    r"|finance"
    r"|legal|privacy|audit|quality|service|key|main|core|firm|simple|standing|mandatory|binding|absolute"
    r"|another"
    r"|an?|one more|important|new|first|second|next|last"
)
_HEAD = (
    rf"(?:(?:please )?note|(?:(?:{_WHOSE}) ){{0,2}}(?:rule|policy|guideline|requirement|principle)"
    r"|important|mandatory|reminder|attention|nb|n\.b\.|p\.s\.|warning"
    r"|(?:just )?(?:so (?:that )?you know|as a reminder)|(?:always |please )*(?:remember|keep in mind"
    r"|bear in mind)"
    r"|(?:do not|don['\u2019]t|never) forget|for (?:the|our|all|every) agents?|the following (?:holds"
    r"|applies)"
    r"|(?:it|this|always) (?:holds|applies)|always|no exceptions|make sure|be sure"
    r"|(?:i|we)(?:['\u2019]d| would)? (?:want|need|expect|require|demand|insist|like)(?: (?:this"
    r"|the following|you to know))?"
    r"|(?:the agent|agents|everybody|everyone|you) (?:must|should|has to|have to) (?:make sure|ensure"
    r"|know|obey"
    r"|respect|follow this)"
    r"|you know the (?:rule|drill|policy|rules)|one thing|one more thing|listen|careful"
    r"|from now on|remember|mind"
    r")"
    r"(?: (?:no\.? ?|#)?\d{1,3})?(?: ?:| [-\u2013\u2014]|!) *"
)
_LEAD = (
    r"(?:(?:always |please )*(?:remember|keep in mind|bear in mind|note|be aware|mind|(?:do not"
    r"|don['\u2019]t|never) "
    r"forget) that"
    r"|(?:we|the company|our company|the team|management) (?:require|demand|insist|expect|want|agreed"
    r"|decided)s? that"
    r"|(?:i|we)(?:['\u2019]d| would)? (?:require|demand|insist|expect|want|need|like)(?: it)? that"
    r"|(?:it is|it's) (?:our|the|company|a|an?) (?:firm |strict |general )?(?:policy|rule|requirement) that"
    r"|(?:our|the|company) (?:firm |strict |general )?(?:policy|rule|requirement) is that"
    r"|(?:dear agent|hi|hello|hey|hi there|as a rule|at all times|in all cases|in each and every case|always"
    r"|under (?:all|any) circumstances|no matter what|whatever happens|without (?:any )?exceptions?"
    r"|in any case|of course|obviously|as agreed|by policy"
    r"|by our policy|per policy|according to (?:our |the |company )*(?:policy|rules|handbook|regulations)"
    r"|also"
    r"|furthermore|moreover|in addition|besides|finally|lastly|again),) "
)
"""What leads to a rule."""
_KIND = r"(?:please|kindly|pls|thanks|thank you|many thanks)"
_LEADS = compiled(rf"^(?:(?-i:{_BULLET})|{_HEAD}|{_LEAD}|(?:please|kindly|pls),? )+(?=\S)")
_FIRMLY = (
    r"no exceptions?(?: whatsoever)?|not ever|ever|without (?:any )?exceptions?|no exceptions? allowed|always"
    r"|at all times|full stop"
    r"|period|really|seriously|and that['\u2019]s it|and that is it|no matter what|whatever happens"
    r"|come what may|ok|okay|understood|as agreed|as always"
    r"|under (?:any|all) circumstances|in all cases|in any case|no ifs,? no buts|says (?:compliance"
    r"|legal|finance|audit|security|management|the (?:boss|law|regulator|auditor))"
    r"|and that['\u2019]s that|and that is that|and that['\u2019]s final|this is (?:mandatory|binding"
    r"|important|a must|non-negotiable)"
)
_ENDS = compiled(
    rf"(?:(?:,? ?\b(?:please|kindly|pls)|,+ ?{_KIND}|[.!;,] ?(?:please|thanks|thank you|many thanks))"
    rf"|,? ?\((?:{_FIRMLY}|please|thanks)[!.]?\)|(?: [-\u2013\u2014]|[.;,!:]) ?(?:{_FIRMLY})(?: ?\?)?"
    r"|,? (?:(?:as )?(?:required|demanded|prescribed) )?by law"
    r"|(?<! only)(?<! not) at all times|(?<! only)(?<! not) in (?:any|every) case)?[ .!\u2026;,]*$"
)
_INSIDE = compiled(r"(?<=[\w,]) (?:please|kindly|pls)\b,?(?= )")
_TIME = r"\d{1,2}(?::\d\d)?(?: ?[ap]m)?"
_NIGHT = compiled(
    r" (?:at night|during the night|overnight),? ?\(?(?:i\.e\.|that is|meaning)?,? ?(?:from |between )?"
    rf"(?P<since>{_TIME}) ?(?:to|until|and|-|\u2013) ?(?P<until>{_TIME})\)?(?![\w:])"
)
"""Hours that are said after what they are called."""
_MIDNIGHTS = compiled(
    r"\b(?P<day>(?:an?|per|each|every|any|one) (?:calendar )?day|per calendar day),? \(?(?:that is"
    r"|i\.e\.|meaning"
    r"|counted|counting|measured|reckoned)?,? ?(?:from |running from )?midnight to midnight\)?(?!\w)"
)
"""A day is one of the calendar where that is said behind it."""
_WRAPPED = tuple(
    compiled(rf"^{begin}(?P<in>[^{but}]+){end}$")
    for begin, but, end in (
        ('"', '"\u201c', '"'),
        ("\u201c", '"\u201c\u201d', "\u201d"),
        (r"\(", "()", r"\)"),
        (r"\[", r"\[\]", r"\]"),
    )
)
_IN_QUOTES = compiled(r"^['\u2018](?P<in>(?:[^'\u2018\u2019]|(?<=\w)['\u2019](?=\w))+)['\u2019]$")
_EMPHASIS = compiled(r"(?<![\w*`])(?P<m>\*{1,2}|`|__)(?P<in>[^*`\"\s](?:[^*`\"]*[^*`\"\s])?)(?P=m)(?![\w*`])")
"""`**never**`, `` `issue_refund` ``."""
_SEE = compiled(
    r",? [(\[](?:(?:see|cf\.?|ref\.?|refer to) [^()\[\]]+|(?:policy|rule|section|sec\.?|clause|chapter"
    r"|article|art\.|\u00a7|req|ticket|point) ?"
    r"(?:no\.? ?|#)?[\w.-]*\d[\w.-]*|(?-i:[A-Z]{2,6})-\d+)[)\]][ .!]*$"
)
"""Where more of it is written."""
_WORDS = frozenset(["please", "kindly", "pls", "thanks"])
_HEADS = frozenset(["note", "rule", "important", "policy", "reminder", "attention", "warning", "requirement"])
_OF_ITS_OWN = compiled(
    r"\b(?:obtain|got|get|give|grant|need|requir|ask|request)\w*\b.*\b(?:separately|individually"
    r"|individual)\b"
)
"""What is got for each by itself: no word of how a limit counts."""


def without_courtesies(sentence: str, phrases: Collection[str]) -> str:
    """The sentence without what is said around it; as it is where an action is called so."""
    for phrase in phrases:
        if phrase.casefold() in _HEADS or _WORDS & set(phrase.casefold().split()):
            return sentence
    text = _unwrapped(_EMPHASIS.sub(r"\g<in>", " ".join(sentence.split())))
    if '"' not in text and "\u201c" not in text:
        text = _INSIDE.sub("", text)
        for pattern, said in () if _OF_ITS_OWN.search(text) else OF_EACH:
            text = compiled(pattern).sub(said, text)
    text = _SEE.sub("", text)
    text = _MIDNIGHTS.sub("per calendar day", text)
    text = _NIGHT.sub(r" between \g<since> and \g<until>", text)
    lead = _LEADS.match(text)
    if lead and any(phrase.casefold() in lead[0].casefold() for phrase in phrases):
        return sentence
    bare = _ENDS.sub("", _LEADS.sub("", text)).strip()
    full = " ".join(sentence.split())
    if bare in (full, full.removesuffix(".")) or not bare:
        return sentence
    return bare


def _unwrapped(text: str) -> str:
    """A sentence without the quotes or brackets around the whole of it."""
    for pattern in (*_WRAPPED, _IN_QUOTES):
        if m := pattern.match(text.removesuffix(".").rstrip()):
            return m["in"].strip()
    return text
