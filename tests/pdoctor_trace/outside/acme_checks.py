"""The conformance suite on that adapter: `python -m acme_checks`; ends with 1 and says what does not hold."""

import pdoctor_trace  # noqa: F401  before the framework, as programs do

# isort: split
import acme_agents
from acme_pdoctor import ACME

from tests.frameworks.conformance import QUERY, Driver, Outcome, check


class AcmeDriver(Driver):
    source = "acme"
    modes = ("run",)
    sync_mode = "run"

    def run(self, models, script, tools, mode):
        try:
            return Outcome(text=acme_agents.Agent(models.openai, script, tools).run(QUERY))
        except BaseException as error:
            return Outcome(error=error)

    async def arun(self, models, script, tools):
        return Outcome(text=await acme_agents.Agent(models.openai, script, tools).arun(QUERY))

    def nested(self, models, log):
        def ask_sub(text: str) -> str:
            """Ask another agent."""
            return acme_agents.Agent(models.openai, "fake.par", log.functions()).run(QUERY)

        return self.run(models, "fake.nest", [ask_sub], "run")

    def ask(self, models, script, tools):
        acme_agents.Agent(models.openai, script, tools).ask([{"role": "user", "content": QUERY}])


check(ACME, AcmeDriver())
