"""Attribute names that the collector reads, as own strings (the tracer is another program).

`tests/contract/test_names.py` compares the `pdoctor.*` names with the tracer's table.
"""

RUN_ID = "pdoctor.run.id"
RUN_CALLS = "pdoctor.run.calls"
CASE_ID = "pdoctor.case.id"
STEP_INDEX = "pdoctor.step.index"
TURN_INDEX = "pdoctor.turn.index"
TURN_HAS_TEXT = "pdoctor.turn.has_text"
TIMING = "pdoctor.tool.timing"
EXECUTED = "pdoctor.tool.executed"
ATTEMPTS = "pdoctor.tool.attempts"
SOURCE = "pdoctor.source"
ERROR_KIND = "pdoctor.error.kind"
DROPPED_SPANS = "pdoctor.dropped_spans"
SCOPE_NAME = "pdoctor_trace"

OPERATION_NAME = "gen_ai.operation.name"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_DESCRIPTION = "gen_ai.tool.description"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
AGENT_NAME = "gen_ai.agent.name"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
CONVERSATION_ID = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
OUTPUT_TOKENS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
"""Today's name and the one before it; many vocabularies write them beside their own."""
ERROR_TYPE = "error.type"
SERVICE_NAME = "service.name"
