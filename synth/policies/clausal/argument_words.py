"""The words in which sentences say what calls may be given: alternatives of a pattern."""

from __future__ import annotations

from synth.policies.clausal.bans import MAY_NOT

WHEN = "when|whenever|if|where|in_case|every_time|each_time|any_time"
IF = (
    "if|when|whenever|where|in_case|in_cases_where|in_the_case_that|in_the_event_that|provided|provided_that"
    "|as_long_as|so_long_as|on_condition_that|on_the_condition_that"
)
UNLESS = "unless|except_if|except_when|except_where|if_not"
NEVER = (
    "never|do_not|please_never|never_ever|under_no_circumstances|it_is_forbidden_to|it_is_prohibited_to"
    "|it_is_never_okay_to|it_is_never_ok_to|it_is_not_allowed_to|it_is_never_allowed_to|it_is_not_okay_to"
    "|it_is_not_permitted_to|it_is_never_permitted_to|avoid_to|it_is_never_acceptable_to"
    "|it_is_not_acceptable_to|we_do_not|we_never|you_never|you_do_not|the_agent_does_not|the_agent_never"
    "|agents_do_not|agents_never|nobody_may|no_one_may|no_agent_may|it_is_not_ok_to"
)
NOT_TO = f"{MAY_NOT}|is_never_permitted_to|is_not_permitted_to|is_forbidden_to|is_prohibited_from"
MAY = (
    "may|can|could|might|is_allowed_to|are_allowed_to|is_permitted_to|are_permitted_to|must|should|shall"
    "|has_to|have_to|is_to|are_to"
)
CAN = "may|can|could|might|is_allowed_to|are_allowed_to|is_permitted_to|are_permitted_to"
ONLY_MAY = (
    "may_only|can_only|must_only|should_only|shall_only|is_only_allowed_to|are_only_allowed_to"
    "|is_only_permitted_to|are_only_permitted_to|may_only_ever|could_only|has_to_only|is_allowed_to_only"
)
BE = "be|get"
IS = "is|are|gets|get"
GIVE = (
    "give|state|include|provide|fill_in|fill_out|specify|set|name|add|enter|pass|supply|record|mention|fill"
    "|put_in|put_down|write_down|indicate|note|quote|attach|have|carry|contain|declare|come_with|show"
)
GIVES = "gives|states|includes|provides|fills_in|specifies|names|adds|enters|supplies|records|mentions|has"
GIVING = (
    "giving|stating|including|providing|filling_in|filling_out|specifying|setting|naming|adding|entering"
    "|passing|supplying|recording|mentioning|indicating|noting|quoting|attaching|having|declaring"
)
GIVEN = (
    "given|stated|included|provided|filled_in|filled_out|specified|set|named|added|entered|passed|supplied"
    "|recorded|mentioned|indicated|noted|quoted|attached|present|there|declared|available|filled"
)
EMPTY = "empty|blank|missing|unset|left_out|left_empty|left_blank|omitted|absent|unfilled|not_given"
NEEDED = "mandatory|required|obligatory|compulsory|needed|necessary|a_must|not_optional|essential"
USED = (
    "used|passed|given|chosen|set|specified|stated|provided|supplied|entered|picked|selected|allowed"
    "|permitted|accepted"
)
USE = (
    "use|choose|pick|select|take|set|give|pass|enter|apply|specify|allow|put|accept|employ|assign|state"
    "|provide|fill_in"
)
OF = "of|in|for|on|with|to|by|from|at"
ALLOWED = (
    "allowed|permitted|valid|acceptable|accepted|possible|admissible|allowable|permissible|only_allowed"
    "|only_permitted|only_valid|only_acceptable|only_accepted|only_possible|only_admissible|only|legal"
)
FORBIDDEN = "forbidden|prohibited|banned|disallowed|invalid|unacceptable|not_allowed|not_permitted|illegal"
HIGHEST = (
    "maximum|max|max.|maximal|highest|largest|greatest|biggest|longest|upper_limit_for_the|upper_limit_of_the"
    "|maximum_allowed|maximum_permitted|highest_allowed|highest_permitted|highest_possible|largest_allowed"
    "|limit_for_the|limit_on_the|cap_on_the|upper_limit_on_the|upper_bound_on_the|upper_bound_of_the"
    "|ceiling_for_the|cap_for_the"
)
LOWEST = (
    "minimum|min|min.|minimal|lowest|smallest|least|shortest|lower_limit_for_the|lower_limit_of_the"
    "|minimum_allowed|minimum_permitted|lowest_allowed|lowest_permitted|smallest_allowed|shortest_allowed"
    "|lower_limit_on_the|lower_bound_of_the|lower_bound_on_the|floor_for_the"
)
AS = "is|are|: [those|ones|values]"
GO_OVER = "exceed|go_above|go_over|surpass|go_beyond|top"
CAPPED = "capped|limited|restricted|confined"
CAP = "limit|cap|restrict|bound"
KEEP = "keep|hold|leave|make|have|set|choose|pick|use|select|fix"
PERMITTED = "allowed|permitted|acceptable|ok|okay|valid|possible|accepted|fine|admissible"
