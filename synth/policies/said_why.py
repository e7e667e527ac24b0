"""Why a rule is: `the florist delivers once, so order at most one`, `to avoid complaints, ...`.

A reason demands nothing. What may itself be a demand, a condition, or names an action is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from synth.policies.composed import actions_in
from synth.policies.inflected import inflected
from synth.policies.names import Names
from synth.policies.patterns import compiled

_DEMANDS = compiled(
    r"^(?:no|nobody|nothing|none|only|do not|don['\u2019]t)\b|\b(?:if|when|whenever|(?<!only )once(?! "
    r"(?:a|per|every)\b| *$)|after|before|unless|until|while|during|must|mustn['\u2019]t"
    r"|may|should|shall|never|cannot|can['\u2019]t|can not|not allowed|forbidden|prohibited|ha(?:s|ve) "
    r"to|needs? to"
    r"|at most|at least|no more than|limit(?:ed)? to|provided|except|first|then|afterwards)\b"
)
_AIM = (
    "avoid|prevent|protect|save|spare|respect|reduce|keep|stay|stop|limit|control|guard|preserve|comply|not"
    "|make sure|ensure|minimi[sz]e|contain|meet|satisfy"
)
_SAKE = (
    "privacy|safety|security|compliance|legal|audit|cost|fairness|budget|quality|data protection|liability"
)
_LAWS = r"(?-i:GDPR|SOX|PCI(?:[- ]DSS)?|HIPAA|KYC|AML|MiFID(?: II)?|PSD2|ISO ?\d{4,5}|SOC ?2|FDA|BaFin|FERPA)"
_OWING = (
    r"(?:(?:as (?:required|demanded|prescribed|asked) )?by (?:law|regulation|contract)"
    rf"|(?:as )?(?:required|demanded|prescribed) by [^,;:]{{3,60}}|under {_LAWS}|(?:for|per) {_LAWS}"
    r"|for (?:(?:fraud|loss|theft|abuse|error|accident|crime|spam) prevention|(?:data|privacy|consumer"
    r"|fraud) protection"
    r"|(?:[\w-]+ )?compliance|(?:(?:public|patient|data|customer) )?safety)"
    rf"|for the sake of (?:{_SAKE})|in the interest of [\w ]{{3,40}}"
    r"|(?:as )?per (?:our |the |company )*(?:policy|handbook|contract|guidelines?|agreement)"
    r"|according to (?:our |the |company )*(?:policy|handbook|contract|guidelines?|agreement|law|rules))"
)
_POSITIVE = r"(?!.*\b(?:no|not|never|only|nobody|nothing|cannot|without|unless)\b)(?!.*n['\u2019]t\b)"
"""`Never refund to avoid a fight` forbids refunds for that reason alone, perhaps."""
_TO = (
    rf"(?:{_AIM.replace('|not', '')}|help|make it|be on the safe side|be safe|cut|lower|catch|detect"
    r"|discourage)"
)
_SOMEBODY = (
    r"(?:we|you|they|it|this|that|there|nobody|no one|people|somebody|customers?|clients?|users?"
    r"|auditors?|everybody"
    r"|(?:the|our|your|their|all|some) [a-z]+(?: [a-z]+)?|[a-z]+s)"
)
_INSISTS = (
    r"(?:(?:the|our) )?(?!agent)[a-z]+(?: team| department)? (?:insists?(?: on (?:it|this|that))?"
    r"|demands? (?:it|this)|wants? (?:it|this)(?: so)?|asked for (?:it|this)|requires? (?:it|this)|says? so)"
)
_ASIDE = (
    rf"(?:because|otherwise|or else|so that|to {_TO}|see|as required|required by|due to"
    rf"|since)(?: [^()]{{3,90}})"
    rf"|{_LAWS}|(?:a |an |by )?(?:legal|regulatory|contractual|compliance|audit|security|safety|company"
    rf"|internal)"
    r" (?:requirement|reasons?|rule|policy|obligation|duty)|by law|regulatory|compliance|house rule"
    r"|company policy"
    r"|for compliance|for legal reasons|for safety"
)
_BECAUSE = (
    r"(?:because|since(?! (?:yesterday|today|last|then|this|\d|[a-z]+days?\b|(?:january|february"
    r"|march|april|may"
    r"|june|july|august|september|october|november|december)\b))|as(?! (?:of|from|soon|long|far|to|if|though"
    r"|well|often|much|many)\b))"
)
"""`As of Monday` and `as soon as` say when, and `as long as` under which condition."""
_WAYS = (
    r"^(?P<why>[^,;:]{8,120})[,;] (?:and )?(?:so|therefore|hence|that is why|which is why) "
    r"(?!that\b)(?P<rule>.+)$",
    rf"^(?P<why>(?:in order )?to (?:{_AIM}) [^,;:]{{3,80}}), (?P<rule>.+)$",
    r"^(?P<why>for (?:[\w-]+ ){1,3}reasons|for reasons of [\w ]{3,30}), (?P<rule>.+)$",
    rf"^(?P<why>for (?:the sake of )?(?:{_SAKE})(?: purposes)?), (?P<rule>.+)$",
    rf"^(?P<why>{_BECAUSE} [^,;:]{{8,120}}), (?P<rule>.+)$",
    rf"^(?P<why>{_OWING}|(?:due|owing|thanks) to [^,;:]{{4,80}}), (?P<rule>.+)$",
    r"^(?P<rule>.+?)(?:,| [-\u2013\u2014])? (?P<why>because [^,;:]{8,120}|for (?:[\w-]+ ){1,3}reasons)$",
    rf"^(?P<rule>[^;:]+), (?P<why>(?!because){_BECAUSE} [^,;:]{{8,120}})$",
    rf"^(?P<rule>.+?),? (?P<why>{_OWING})$",
    r"^(?P<rule>.+?)(?:,| [-\u2013\u2014]) ?(?P<why>(?:due|owing|thanks) to [^,;:]{4,80})$",
    rf"^(?P<rule>{_POSITIVE}.+?) (?P<why>(?:in order )?to {_TO} [^,;:]{{3,80}})$",
    rf"^(?P<rule>(?!.* only ).+?)(?:,| [-\u2013\u2014]) (?P<why>(?:in order )?to {_TO} [^,;:]{{3,80}})$",
    rf"^(?P<rule>.+?)(?:,| [-\u2013\u2014])? so (?P<why>(?:that )?(?:{_SOMEBODY}) [^,;:]{{4,100}})$",
    rf"^(?P<rule>.+?)(?:[,;.]| [-\u2013\u2014]) ?(?:otherwise"
    rf"|or else),? (?P<why>(?:{_SOMEBODY}) [^,;:]{{4,100}})$",
    rf"^(?P<rule>.+?)(?:[,;.]| [-\u2013\u2014]) ?(?P<why>(?:{_SOMEBODY}) [^,;:]{{4,80}}) otherwise$",
    rf"^(?P<rule>.+?)(?:[,;.:]| [-\u2013\u2014]) ?(?P<why>{_INSISTS})$",
    rf"^(?P<why>{_INSISTS})(?: that|[:,]| [-\u2013\u2014]) ?(?P<rule>.+)$",
    rf"^(?P<rule>.+?),? ?[(\[](?P<why>{_ASIDE})[)\]]$",
    r"^(?P<rule>.+?)(?:,| [-\u2013\u2014]) ?(?P<why>see [^,;:]{4,60})$",
)


def without_reason(sentence: str, names: Names) -> Iterator[str]:
    """What a sentence demands that says why as well."""
    text = " ".join(sentence.split()).removesuffix(".")
    if '"' in text or "\u201c" in text:
        return
    for pattern in _WAYS:
        m = compiled(pattern).match(text)
        if m and not _DEMANDS.search(m["why"]) and not actions_in(inflected(m["why"], names), names):
            yield m["rule"]
