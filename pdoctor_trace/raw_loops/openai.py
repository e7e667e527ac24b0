from ..frameworks.framework import Framework
OPENAI = Framework("openai","OpenAI SDK","openai",">=1.66",(),"")
