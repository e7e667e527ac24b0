"""The words in which clauses are said: alternatives of a pattern, `_` for a space."""

from __future__ import annotations

SHOULD = (
    "must|should|shall|has_to|have_to|needs_to|need_to|ought_to|is_to|are_to|is_required_to|are_required_to"
    "|must_always|has_always_to|must_also|should_always|always_has_to|always_have_to|always_must"
    "|always_needs_to|always_need_to|still_has_to|still_have_to|still_must|still_needs_to|must_still"
    "|then_has_to|then_have_to|then_must|must_then|is_obliged_to|are_obliged_to"
)
MAY = (
    "may|can|could|might|is_allowed_to|are_allowed_to|is_permitted_to|are_permitted_to|may_ever|can_ever"
    "|is_authorised_to|are_authorised_to|is_authorized_to|are_authorized_to|has_permission_to|is_free_to|are_free_to"
)
MAY_ONLY = (
    "may_only|can_only|must_only|should_only|shall_only|is_only_to|are_only_to|is_only_allowed_to|are_only_allowed_to"
    "|is_only_permitted_to|are_only_permitted_to|may_only_ever|can_only_ever|has_only_to|should_only_ever|must_only_ever"
    "|is_to_only|are_to_only|only_may|only_can|may_always_only|is_allowed_only_to|are_allowed_only_to"
)
"""What leaves something free at some times alone."""
ALLOWED = f"{MAY}|must|should|shall|ought_to|is_to|are_to|will"
"""What `no refund` stands before where refunds are forbidden; what none `has to` is a mere freedom."""
NO = (
    "must_not|must_never|may_not|may_never|should_not|should_never|shall_not|shall_never|can_not|can_never"
    "|will_not|will_never|is_not_to|are_not_to|is_never_to|are_never_to|is_not_allowed_to"
    "|are_not_allowed_to"
    "|is_never_allowed_to|are_never_allowed_to|must_no_longer|may_no_longer|can_no_longer|must_not_ever"
    "|may_under_no_circumstances|must_under_no_circumstances|ought_not_to|must_no_more|may_no_more|do_not|does_not"
    "|is_not_permitted_to|are_not_permitted_to|is_never_permitted_to|are_never_permitted_to|is_not_authorised_to"
    "|is_not_authorized_to|are_not_authorised_to|are_not_authorized_to|is_not_supposed_to|are_not_supposed_to"
    "|never|is_forbidden_to|are_forbidden_to|has_no_permission_to|should_no_longer|is_no_longer_to|are_no_longer_to"
    "|is_no_longer_allowed_to|are_no_longer_allowed_to|may_in_no_case|must_in_no_case|must_at_no_time|may_at_no_time"
)
HAPPEN = (
    "happen|occur|take_place|be_made|be_done|be_run|be_called|be_carried_out|be_started|be_performed|start"
    "|begin|run|be_used|be_invoked|be_attempted|be_tried|be_executed|go_ahead|proceed|go_out|fall|lie"
)
AT_LEAST = (
    "at_least|at_the_least|at_the_very_least|at_very_least|no_fewer_than|not_fewer_than|no_less_than"
    "|not_less_than"
    "|never_less_than|never_fewer_than|a_minimum_of|the_minimum_of|a_min_of|min|min.|minimum|>=|=>|\u2265"
)
"""Before the least number that must be."""
AT_MOST = (
    "at_most|at_the_most|at_the_very_most|at_very_most|no_more_than|not_more_than|up_to|max|max.|maximum"
    "|a_maximum_of|a_max_of|the_maximum_of|maximally|at_maximum|at_a_maximum|not_over|not_above|not_beyond"
    "|not_exceeding|not_to_exceed|never_exceeding|no_greater_than|no_higher_than|<=|=<|\u2264|0_to"
    "|between_0_and|zero_to"
    "|between_zero_and|anything_up_to|anywhere_up_to|not_any_more_than|no_more_in_total_than"
)
"""Before the greatest number that may be."""
NO_MORE = (
    "at_most|at_the_most|at_the_very_most|maximum|max|max.|tops|or_fewer|or_less|and_no_more|and_not_more"
    "|as_a_maximum|at_maximum|but_no_more|but_not_more|but_not_more_often|and_not_more_often"
    "|in_total_at_most|and_that_is_it"
)
"""Behind the greatest number."""
MORE_THAN = "more_than|over|above|beyond|in_excess_of|upwards_of|any_more_than|anything_more_than|exceeding|>"
"""Before the greatest number, of what is too much."""
BANNED = (
    "forbidden|prohibited|banned|not_allowed|not_permitted|never_allowed|never_permitted|off_limits"
    "|ruled_out"
    "|out_of_the_question|not_acceptable|unacceptable|strictly_forbidden|strictly_prohibited|disallowed"
    "|not_ok|not_okay|a_violation|a_breach|not_tolerated|never_ok|never_okay|never_acceptable"
    "|not_an_option|no_option|not_fine"
    "|illegal"
    "|not_wanted|wrong"
    "|not_accepted|not_possible|impossible|inadmissible|impermissible|a_no-go|no-go|taboo"
    "|never_possible|strictly_banned|not_on|strictly_off_limits"
)
AGENT = (
    "you|we|it|they|the_agent|an_agent|agents|the_assistant|the_bot|the_model|the_system|the_ai|our_agent"
    "|our_agents|the_agents|the_operator|operators|anyone|anybody"
)
NOBODY = "nobody|no_one|no-one|no_agent"
FAILS = (
    "fails|failed|has_failed|have_failed|had_failed|does_not_succeed|did_not_succeed"
    "|goes_wrong|went_wrong|errors_out|errored_out|errored|was_not_successful|is_not_successful|errors"
    "|does_not_go_through|did_not_go_through|ends_in_an_error|ended_in_an_error|returns_an_error|fail"
    "|go_wrong"
    "|is_unsuccessful|are_unsuccessful|was_unsuccessful|were_unsuccessful|ends_in_failure|end_in_failure"
    "|have_gone_wrong"
    "|has_gone_wrong|ended_in_failure|has_ended_in_failure|has_been_unsuccessful|do_not_succeed"
    "|does_not_work|do_not_work|did_not_work|has_not_worked|is_failing|are_failing"
    "|gives_an_error|gave_an_error|ends_with_an_error|ended_with_an_error|ends_in_error|ended_in_error"
    "|errors_out|is_a_failure|was_a_failure|turns_out_unsuccessful|comes_back_with_an_error|throws_an_error"
    "|raises_an_error|results_in_an_error|reports_an_error|reports_a_failure|runs_into_an_error"
)
ON_FAILURE = (
    "if|when|whenever|once|after|in_case|where|every_time|each_time|any_time|following|as_soon_as|should"
    "|on|upon"
    "|in_case_of|in_the_event_of|in_the_event_that|in_the_case_of|in_the_case_that|the_moment"
    "|from_the_moment"
    "|the_moment_that|from_the_moment_that|from_the_time|if_ever|anytime|just_after|right_after"
    "|in_response_to"
)
"""What stands before something that failed."""
SUCCEEDED = (
    "has_succeeded|has_happened|have_happened|has_passed|have_passed|has_gone_through|have_gone_through"
    "|went_through|has_been_made|have_been_made|was_made|were_made|was_successful"
    "|has_been_successful|succeeded"
    "|passed|has_taken_place|took_place|has_been_done|has_been_successful|has_been_completed"
    "|has_come_through"
    "|happened|was_done|has_been_carried_out|has_been_run|have_been_run|was_run"
)
SUCCEEDS = (
    "happens|takes_place|succeeds|is_made|are_made|goes_through|passes|is_done|occurs|is_successful"
    "|goes_well"
    "|are_done|happen|take_place|succeed|go_through|pass|occur|are_successful|is_complete|are_complete"
    "|is_finished|are_finished|is_over|are_over|have_been_done|have_taken_place|have_been_completed"
    "|is_completed|are_completed|came_first|has_come_first|came_before|has_come_before|came_earlier"
    "|succeeds_again|passes_again|has_succeeded_again|works|worked|has_worked|works_again|worked_again"
)
WAS_CALLED = "|".join((
    *(f"{was}_{called}" for was in ("was", "were", "is", "are", "gets", "get", "got", "has_been", "have_been",
                                    "has_already_been", "was_already")
      for called in ("called", "used", "invoked", "executed", "run")),
    "ran", "has_run", "have_run",
))  # fmt: skip
"""Of an action by its name: that it was called."""
ALREADY = "already|successfully|ever|first|previously|at_least_once"
BEFORE = (
    "first|before|beforehand|already|earlier|so_far|by_then|up_to_then|until_then|before_that|earlier_on"
    "|previously"
    "|earlier_in_the_run|earlier_in_this_run|earlier_in_that_run|earlier_in_the_same_run|in_the_same_run"
    "|in_this_run|in_that_run|in_the_run|before_in_this_run|before_in_the_run|before_in_the_same_run"
)
HAS_BEEN = (
    "has_been|have_been|had_been|has_already_been|have_already_been|has_successfully_been"
    "|was_already|has_also_been"
)
NOTHING_BETWEEN = "|".join(
    f"{lead}{none}{where}"
    for lead in ("", "with_", "and_", "and_with_", "but_")
    for none in ("nothing", "nothing_else", "no_other_call", "no_call", "no_other_calls", "no_other_step",
                 "no_calls", "no_other_action", "no_other_tool_call", "no_other_tool", "no_tool", "no_step",
                 "not_one_call", "not_a_single_call", "without_anything", "without_anything_else",
                 "without_any_other_call", "without_another_call", "without_any_call")
    for where in ("_in_between", "_between", "_between_them", "_between_the_two", "_between_the_2",
                  "_in_between_them", "_coming_between", "_coming_in_between")
)  # fmt: skip
NOT_BEEN = (
    "has_not_been|have_not_been|had_not_been|was_not|were_not|is_not|are_not|has_not_yet_been"
    "|have_not_yet_been"
    "|has_never_been|have_never_been|has_not_already_been|is_not_yet"
)
HAVE = "have|has|had|have_already|has_already"
HAVE_NOT = "have_not|has_not|had_not|have_not_yet|has_not_yet|have_never"
LATER = (
    "afterwards|afterward|later|eventually|thereafter|then|after_that|at_some_point|later_on|subsequently"
    "|at_some_later_point|later_in_the_run|at_some_later_point_in_the_run|at_some_point_in_the_run"
    "|before_the_run_ends|by_the_end_of_the_run|later_in_the_same_run|before_the_end_of_the_run"
    "|at_some_point_afterwards|at_some_point_later|after_it|sooner_or_later|in_the_end|in_due_course"
    "|before_the_run_is_over|before_the_run_has_ended|by_the_end_of_it"
)
AGAIN = (
    "again|any_more|anymore|any_longer|afterwards|later|at_all|ever|ever_again|from_then_on|thereafter"
    "|for_the_rest_of_the_run|later_in_the_run|after_that|later_on|for_the_remainder_of_the_run"
    "|in_that_run|in_the_run"
)
RIGHT = "immediately|directly|right|just|straight"
"""What stands before `before` and `after`, where nothing lies between."""
RUNS = (
    "every_run|each_run|a_run|the_run|any_run|runs|all_runs|one_run|a_single_run|any_one_run|any_single_run"
    "|each_single_run|one_single_run"
)
NOT_A_THING = frozenset(
    [
        "reason",
        "purpose",
        "matter",
        "day",
        "week",
        "month",
        "year",
        "date",
        "hour",
        "minute",
        "night",
        "morning",
        "evening",
        "time",
        "moment",
        "run",
        "conversation",
        "session",
        "turn",
        "message",
        "kind",
        "sort",
        "type",
        "way",
        "point",
        "window",
        "period",
        "call",
        "action",
        "step",
        "tool",
        "agent",
        "same",
        "thing",
        "tools",
        "calls",
        "it",
        "them",
        "one",
        "other",
        "second",
        "seconds",
        "minutes",
        "hours",
        "days",
        "case",
        "first",
        "last",
        "next",
        "row",
        "here",
        "there",
        "rule",
        "applies",
        "goes",
    ]
)
