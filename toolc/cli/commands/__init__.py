"""The commands. Each has a module of the same name, which defines a click command or group.

``toolc.cli.main`` imports a module when its command runs, so that ``toolc --version`` starts quickly. For the same
reason, commands import most packages inside their functions. To add a command, add a module here and its name to
``toolc.cli.main``. Options that several commands share are in ``toolc.cli.common``. Start reading in ``run``.

- ``audit``: ``toolc audit``: verify and show the audit log.
- ``batch``: ``toolc batch``: run the calls of a file, with a journal and progress.
- ``build``: ``toolc build``: write the registry, provider files and typed clients; ``--losses``.
- ``catalog``: ``toolc catalog``: write the catalog of tools as one file of HTML.
- ``check``: ``toolc check``: report findings; ``--fix``, ``--select``, ``--ignore``.
- ``connect``: ``toolc connect``: write the entry of tools into the file of an MCP client; ``--print``, ``--remove``.
- ``diff``: ``toolc diff``: review the changes between two states; ``--fail-on``, accepted changes.
- ``doctor``: ``toolc doctor``: engines, advisories and ``--probe``.
- ``explain``: ``toolc explain``: print the page of a code, and compile its examples.
- ``export``: ``toolc export skill``: write an Agent Skill that calls tools with ``toolc run``.
- ``gc``: ``toolc gc``: remove the leftovers of killed processes from this host.
- ``image``: ``toolc image``: build, list, export and prune images.
- ``import_``: ``toolc import``: the group, and ``toolc import plugin``.
- ``import_json``: ``toolc import json``: write specs for tool definitions of a provider.
- ``import_mcp``: ``toolc import mcp``: write the spec of an MCP server.
- ``import_openapi``: ``toolc import openapi``: write specs for the operations of an OpenAPI document.
- ``import_python``: ``toolc import python``: write specs for the functions of a Python file.
- ``import_skill``: ``toolc import skill``: write specs for the scripts of an Agent Skill.
- ``init``: ``toolc init``: write a first folder of specs, and files for CI.
- ``list``: ``toolc list``: list tools.
- ``lock``: ``toolc lock``: write or check the lock file.
- ``run``: ``toolc run``: run one call with prompts, live output, ``--json`` and ``--events``.
- ``schedule``: ``toolc schedule``: show or run the entries of a schedule that are due.
- ``schema``: ``toolc schema``: print the JSON Schema for editors.
- ``serve``: ``toolc serve``: serve MCP over stdio or HTTP, or a plugin host.
- ``shell``: ``toolc shell``: open a shell, or run one command, in the sandbox of a tool.
- ``show``: ``toolc show``: show one tool, its permissions and its ``--effective`` values.
- ``test``: ``toolc test``: run the tests in specs; ``--update``, progress, exit codes.
- ``token``: ``toolc token``: create, list and revoke tokens of clients.

May import: every package.
"""
