"""Files that ship with toolc, and the modules that find and read them.

``rules`` has one Markdown page for each code, ``init`` the templates of ``toolc init``, ``probes`` the tools of
``toolc doctor --probe``. ``advisories.toml`` lists known vulnerabilities (read by ``toolc.doctor.advisories``);
``key_hints.toml`` says what to write instead of common mistakes (read by ``toolc.document.suggestions``);
``pattern_advice.json`` does so for regular expressions (read by ``toolc.validation.ecma_advice``);
``provider_limits.toml`` lists limits of providers (read by ``toolc.providers.provider_limits``);
``schemas.yaml`` is the JSON Schema of specs (read by ``toolc.compiler.editor_schema``). Start reading in
``rule_pages``.

- ``credential_rules``: names and forms of credentials, programs that receive them (``credential_rules.json``). Public:
  ``ASKED``, ``AUTH``, ``BEFORE_KEY``, ``ENDS``, ``EXAMPLES``, ``FORMS``, ``HTTP_CLIENTS``, ``MARKS``,
  ``NOT_BEFORE_KEY``, ``NOT_BEFORE_TOKEN``, ``PASSWORD_IN_OPTION``, ``PASSWORD_OPTIONS``, ``POSSIBLE``, ``WORDS``.
- ``paths``: finds data folders in a wheel and in a checkout. Public: ``packaged_path``.
- ``python_modules``: Python's standard library, and packages named unlike their modules (in JSON). Public:
  ``PACKAGES``, ``STANDARD_LIBRARY``, ``package_name``, ``provides``.
- ``rule_pages``: reads the pages of ``rules``: front matter, sections, examples. Public: ``PageCode``, ``rule_pages``,
  ``RulePage``, ``EXAMPLE``.

May import: ``model``.
"""
