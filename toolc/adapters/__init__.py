"""The tools of an executor as tool objects of agent frameworks, with a module and ``tools(executor)`` for each.

::

    from langchain.agents import create_agent
    from toolc import Executor, Registry
    from toolc.adapters import langchain

    with Executor(Registry.load("specs"), workspace=".") as executor:
        agent = create_agent("openai:gpt-5.5", tools=langchain.tools(executor))

Importing a module whose framework is not installed raises ``MissingExtraError``.

- ``framework_tool``: a tool for a framework, with its definition, calls and approval. Start reading here, then in
  ``langchain``. Public: ``AdaptedTool``, ``adapt``.
- ``google_adk``: Google Agent Development Kit: ``BaseTool``. Public: ``tools``.
- ``inspect_ai``: Inspect: a provider of sandboxes for evaluations, not of tools. Public: ``SandboxConfig``,
  ``ToolcSandbox``.
- ``langchain``: LangChain and LangGraph: ``BaseTool``. Public: ``tools``.
- ``openai_agents``: OpenAI Agents SDK: ``FunctionTool``. Public: ``tools``.
- ``pydantic_ai``: Pydantic AI: ``Tool``. Public: ``tools``.
- ``smolagents``: smolagents: ``Tool``. Public: ``ToolCallError``, ``tools``.

May import: ``client`` and every package below it.
"""
