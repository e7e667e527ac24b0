"""Its adapter, by somebody else too: everything comes from the door."""

import time

from pdoctor_trace.adapter import (
    BAD_ARGUMENTS,
    TOOL_RAISED,
    UNKNOWN_TOOL,
    Attempt,
    Call,
    CallFrame,
    Framework,
    InRun,
    OpenRun,
    Request,
    RunVisit,
    Target,
    Visit,
    argument_text,
    around,
    around_async,
    current,
    outcome,
    run_here,
)

SOURCE = "acme"


class Asked(Visit):
    """One requested call with all that surrounds the tool."""

    def __init__(self, call, known):
        super().__init__(Around(call, self))
        self.call, self.known, self.value = call, known, None
        call.attempts = 0

    def returned(self, result):
        if not self.call.attempts:
            self.call.executed = False
            self.call.fail(result, BAD_ARGUMENTS if self.known else UNKNOWN_TOOL)
        self.call.close(self.value)

    def raised(self, error):
        self.call.executed = self.call.attempts > 0
        if self.call.error is None:
            self.call.fail(error, TOOL_RAISED)
        self.call.close()


class Around(CallFrame):
    """Where the code around the tool stands; the tool finds its call by it."""

    def __init__(self, call, asked):
        super().__init__(call, in_body=False)
        self.asked = asked


class Body(Attempt):
    """The tool itself runs."""

    def __init__(self, asked):
        super().__init__(asked.call)
        self.asked = asked

    def returned(self, result):
        super().returned(result)
        self.asked.value = outcome(result)


class Reply(InRun):
    """The model answers."""

    def returned(self, message):
        turn, now = self.run.state.next_turn(), time.time_ns()
        for one in message.get("tool_calls") or ():
            tool, (kept, well_formed) = one["function"]["name"], argument_text(one["function"]["arguments"])
            has_text = bool(message["content"])
            self.run.request(Request(one["id"], tool, kept, turn, has_text, now, well_formed))


def enter_call(agent, args, kwargs):
    function = args[0]["function"]
    kept, _ = argument_text(function["arguments"])
    call = Call(SOURCE, function["name"], kept, call_id=args[0]["id"])
    call.take_up()
    return Asked(call, function["name"] in agent.tools)


def enter_use(agent, args, kwargs):
    frame = current()
    return Body(frame.asked) if isinstance(frame, Around) else None


def enter_ask(agent, args, kwargs):
    run = run_here(SOURCE)
    return None if run is None else Reply(run)


def enter_run(agent, args, kwargs):
    run = OpenRun(SOURCE, agent=agent.name, query=args[0], quiet=True)
    run.offer((name, tool.__doc__) for name, tool in agent.tools.items())
    return RunVisit(run)


ACME = Framework(
    name=SOURCE,
    title="Acme Agents",
    distribution="acme-agents",
    versions=">=1",
    targets=(
        Target("acme_agents", "Agent.run", around(enter_run)),
        Target("acme_agents", "Agent.arun", around_async(enter_run)),
        Target("acme_agents", "Agent.ask", around(enter_ask)),
        Target("acme_agents", "Agent.call", around(enter_call)),
        Target("acme_agents", "Agent.acall", around_async(enter_call)),
        Target("acme_agents", "Agent.use", around(enter_use)),
        Target("acme_agents", "Agent.ause", around_async(enter_use)),
    ),
    covers="agents, sync and async",
)
