"""Sub-agents (``backend.agent``): a model that calls tools until it has an answer.

- ``agent``: the conversation: task, calls that the model makes, final answer. Start reading here.
- ``model``: ``ModelApi``: the interface of an API, its responses and errors.
- ``anthropic_api``, ``openai_api``: the APIs Anthropic Messages, OpenAI Chat Completions and Responses.
- ``broker_transport``: a transport for httpx that sends requests through ``toolc.runtime.egress``; adds the key.
- ``turns``: asks the model: limits of turns and tokens, retries and waits, the key, events.

May import: ``runtime.sandboxed`` and the packages below it in ``runtime``; ``providers``, ``backends``, ``guest`` and
``model``. It must not import ``composite``.
"""
