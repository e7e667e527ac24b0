"""The single things that a sentence in prose names: `before the patient is screened`, `for that line`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from synth.policies.action_forms import SMALL, singular
from synth.policies.kinds.kind import PolicyKind
from synth.policies.patterns import compiled
from synth.policies.verbs import deeds_of

_ONE = (
    "the", "a", "an", "that", "this", "each", "every", "any", "no", "one", "its", "his", "her", "their",
    "another", "per", "same",
)  # fmt: skip
"""What stands before one thing."""
_ENDS = frozenset([
    *SMALL, *_ONE, "as", "per", "without", "against", "before", "after", "until", "till", "unless", "if",
    "when", "whenever", "once", "while", "where", "that", "which", "who", "whom", "whose", "than", "then",
    "only", "again", "also", "never", "not", "ever", "always", "already", "first", "afterwards", "later",
    "yet", "twice", "about", "within", "under", "over", "above", "below", "between", "during", "through",
    "onto", "off", "is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "must", "may",
    "can", "could", "should", "shall", "will", "might", "does", "do", "did", "needs", "need", "requires",
    "require", "fails", "failed", "succeeds", "succeeded", "it", "they", "them", "he", "she", "him",
    "you", "we", "nor", "either", "neither", "both", "but", "so", "because", "there", "goes", "comes",
    "back", "up", "down", "out",
    "takes", "wait", "ought", "cannot", "immediately", "directly", "successfully", "right",
    "very", "except", "all", "some", "still", "too", "even",
])  # fmt: skip
_SOME = ("no", "a", "an", "any")
_ANOTHER = frozenset(["second", "third", "further", "more", "other", "additional", "extra"])
"""What stands before one that is not the same: `no second voucher`."""
_NO_THING = frozenset([
    "more", "longer", "else", "given", "further", "own",
    "agent", "assistant", "bot", "model", "system", "run", "conversation", "session", "turn", "message",
    "call", "action", "step", "tool", "time", "day", "week", "month", "year", "hour", "minute", "second",
    "moment", "date", "weekend", "night", "morning", "evening", "end", "beginning", "start", "last",
    "next", "row",
    "other", "same", "previous", "earlier", "prior", "later", "first", "amount", "sum", "total",
    "price", "value", "limit", "cost", "fee", "number", "quantity", "reason", "status", "state",
    "currency", "priority", "severity", "type", "kind", "sort", "level", "name", "text", "note",
    "comment", "description", "language", "country", "count", "percentage", "rate", "score", "result",
    "outcome", "way", "case", "matter", "thing", "rest", "maximum", "minimum", "attempt", "try",
    "failure", "success", "error", "check", "approval", "one", "two", "new", "single", "different",
    "separate", "individual", "distinct", "dedicated", "unshared",
])  # fmt: skip
"""Words of how much and when, and what two calls share without being about one thing."""
_FINITE = (
    r"(?:must|should|shall|has to|have to|needs? to|may|can|cannot|fails?|failed|has|happens|happened"
    r"|succeeds|requires?|needs|is followed|does not|equals?|and|or)"
)

_IT = compiled(r"\b(?:it|them|that|same)\b")
"""What is charged again after a failure is the same only where it is spoken of again."""
_NO_ARTICLE = "(?<!the )(?<!an )(?<!a )(?<!every )(?<!each )(?<!no )"


def things_of(sentence: str, rule: PolicyKind) -> tuple[str, ...]:
    """What the sentence says one of; () where it names the actions as the language itself does."""
    text = re.sub(r'["\u201c][^"\u201d]*["\u201d]', " , ", sentence.replace("\u2019", "'")).casefold()
    if _is_canonical(text, rule):
        return ()
    asked = {*_asked(rule), *(tools.phrase.casefold().partition(" with ")[0] for tools in rule.tools)}
    deeds = _deeds(rule)
    said = list(_nouns(text, deeds))
    others = {m["noun"] for m in compiled(r"\banother (?P<noun>[a-z][\w-]*)").finditer(text)}
    found = [noun for noun in dict.fromkeys(said) if noun not in asked | others | _NO_THING]
    if getattr(rule, "failed", False) and len({tools.names for tools in rule.tools}) == 1:
        found = [noun for noun in found if said.count(noun) > 1 or _IT.search(text)]
    return tuple(found)


def _is_canonical(text: str, rule: PolicyKind) -> bool:
    """Does an action stand in it as a name: `approve the claim must happen`, `the fire drill must happen`?"""
    phrases = [tools.phrase.casefold() for tools in rule.tools]
    names = "|".join(map(re.escape, phrases))
    of_words = "|".join(re.escape(phrase) for phrase in phrases if " " in phrase) or "(?!)"
    pattern = rf"(?<![\w-])(?:{_NO_ARTICLE}(?:{names})|(?:{of_words})) {_FINITE}\b"
    return compiled(pattern).search(text) is not None


def _deeds(rule: PolicyKind) -> re.Pattern[str]:
    """The actions of the rule as nouns: `rejection`, of `reject ad`; not what another one is done to."""
    words = [tools.phrase.casefold().split() for tools in rule.tools]
    objects = {singular(word) for _, *rest in filter(None, words) for word in rest}
    nouns = [noun for verb, *_ in filter(None, words) if verb not in objects for noun in deeds_of(verb)]
    return compiled("|".join(dict.fromkeys(nouns)) or "(?!)")


def _asked(rule: PolicyKind) -> Iterator[str]:
    """The arguments that the rule asks for itself."""
    for tools in rule.tools:
        for one in tools.asked:
            yield one.path[-1]
    for name in ("path", "beside", "different"):
        yield from (getattr(rule, name, None) or ())[-1:]


def _nouns(text: str, deeds: re.Pattern[str]) -> Iterator[str]:
    words = re.findall(r"[a-z][\w-]*'s?|[a-z][\w-]*|[^\sa-z]", text)
    for at, word in enumerate(words):
        if word == "another" or (word in _SOME and not _ANOTHER.isdisjoint(words[at + 1 : at + 2])):
            continue
        if word in _ONE:
            yield from _phrase(words[at + 1 :], deeds)
        elif word.endswith("'s"):
            yield word.removesuffix("'s")


def _phrase(words: list[str], deeds: re.Pattern[str]) -> Iterator[str]:
    """The nouns right behind `the`: `travel advance`, `customer's identity`, `approved claim`.

    In `an ad rejection` there is none: it is an action by its name.
    """
    said: list[str] = []
    for word in words[:4]:
        if word in _ENDS or not word[0].isalpha():
            break
        said.append(word)
        if word.endswith("s") and singular(word) != word:
            break
    if said and said[-1].endswith("s") and singular(said[-1]) != said[-1]:
        return
    if said and deeds.fullmatch(said[-1]) and "'" not in " ".join(said):
        return
    yield from (word for word in said if "'" not in word and not (said[1:] and word.endswith("ed")))
