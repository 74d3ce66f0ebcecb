"""The project of a spec: its project file, settings, suppressions, variables and policy file.

Start reading in ``project``, then ``discovery``. ``toolc.policy`` applies the policies that are read here.

- ``baseline``: settings of the base of a review, which the head cannot relax. Public: ``Baseline``, ``nearest``,
  ``LEVELS``.
- ``discovery``: the spec files to compile (``SpecFile``), and the project file above each. Public: ``Projects``.
- ``files``: ``walk`` finds spec files; ``SpecFolder``: the files that a spec refers to, never outside its folder;
  size limits, globs, digests. Public: ``ACCEPTED``, ``MAX_FILE_BYTES``, ``PROJECT_FILES``, ``SUFFIXES``.
- ``limits``: ``limits`` of sandboxes and policies: ``timeout``, ``memory``, ``pids``; their defaults and bounds.
- ``network``: ``sandbox.network`` (destinations) and ``sandbox.secrets``; hosts of a policy. Public:
  ``written_entry``.
- ``policy``: ``policy`` of a project file and the file of ``--policy``. Public: ``read_policy``.
- ``project``: ``toolc.yaml``: ``Project`` with ``out``, ``exclude``, ``toolsets``, ``builtin``, ``lint``. Public:
  ``NO_PROJECT``.
- ``settings``: which findings are reported, and their severity; explains invalid codes (``invalid_code``). Public:
  ``Settings``, ``apply``, ``severity_of``, ``NO_SETTINGS``.
- ``suppressions``: comments ``# toolc: ignore[TC204] reason``: read, applied, reported if unused. Public:
  ``Suppression``.
- ``tool_names``: names of tools in spec files, without compiling them.
- ``work_limits``: ``unfinished_work``: the finding that the steps of a file are not enough; ``limited_time``: the
  wall-clock limit per file of a command.
- ``variables``: ``vars`` and ``{{ vars.NAME }}``, ``defaults`` merged into tools.

May import: ``compiler.schema``, ``document``, ``policy``, ``data`` and ``model``.
"""
