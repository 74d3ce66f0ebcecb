"""The project of a spec: its project file, settings, suppressions, variables and policy file.

Start reading in ``project``, then ``discovery``. ``settings`` decides which findings are reported and with what
severity, ``suppressions`` reads comments that ignore findings, and ``policy`` reads policies (``toolc.policy`` applies
them). ``network`` and ``limits`` read destinations, secrets and limits, which specs and policies share.

May import: ``toolc.compiler.schema``, ``toolc.document``, ``toolc.policy``, ``toolc.data`` and ``toolc.model``.

Public names: ``SpecFile``, ``walk``, ``PROJECT_FILES``, ``SUFFIXES`` (``discovery``); ``SpecFolder``,
``MAX_FILE_BYTES`` (``files``); ``decode_limits``, ``STANDARD`` (``limits``); ``decode_network``, ``decode_secrets``,
``destinations`` (``network``); ``read_policy`` (``policy``); ``Project``, ``NO_PROJECT`` (``project``);
``invalid_code``, ``Settings``, ``severity_of``, ``NO_SETTINGS`` (``settings``); ``Suppression``, ``suppressions``
(``suppressions``); ``builtin_files``, ``builtin_names``, ``names_below`` (``tool_names``); ``check_defaults``,
``may_name_variables``, ``merge_defaults``, ``replace_variables``, ``IDENTITY`` (``variables``).
"""
