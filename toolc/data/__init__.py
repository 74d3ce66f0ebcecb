"""Files that ship with toolc, and the modules that find and read them. Start reading in ``rule_pages``.

``rules`` has one Markdown page for each code, ``init`` the templates of ``toolc init``, and ``probes`` the tools of
``toolc doctor --probe``. ``toolc.doctor.advisories`` reads the known vulnerabilities in ``advisories.toml``,
``toolc.serve.search.words`` the words of queries in ``search_words.toml``, ``toolc.validation.ecma_advice`` the hints
for regular expressions in ``pattern_advice.json``, and ``toolc.providers.provider_limits`` the limits of providers in
``provider_limits.toml``.

- ``credential_rules``: names and forms of credentials, programs that receive them (``credential_rules.json``). Public:
  ``ASKED``, ``AUTH``, ``BEFORE_KEY``, ``ENDS``, ``EXAMPLES``, ``FORMS``, ``HTTP_CLIENTS``, ``MARKS``,
  ``NOT_BEFORE_KEY``, ``NOT_BEFORE_TOKEN``, ``PASSWORD_IN_OPTION``, ``PASSWORD_OPTIONS``, ``POSSIBLE``, ``WORDS``.
- ``instruction_phrases``: phrases that instruct a model. Public: ``find_instruction``, ``first_instruction``,
  ``may_contain_instruction``.
- ``paths``: finds data folders in a wheel and in a checkout. Public: ``packaged_path``.
- ``python_modules``: Python's standard library, and packages whose names differ from their modules (in JSON). Public:
  ``PACKAGES``, ``STANDARD_LIBRARY``, ``package_name``, ``provides``.
- ``rule_pages``: reads the front matter, sections and examples of the pages in ``rules``. Public: ``PageCode``,
  ``rule_pages``, ``RulePage``, ``EXAMPLE``.

May import: ``model``.
"""
