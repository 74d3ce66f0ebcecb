import re
from dataclasses import fields

from pages import Page

from toolc.cli.main import COMMANDS
from toolc.client.registry import Registry
from toolc.compiler.pipeline.compile_file import CODES
from toolc.config.secret_sources import MIN_CHARACTERS
from toolc.data.rule_pages import rule_pages
from toolc.doctor.probes import load_probes
from toolc.guest.context import KINDS
from toolc.guest.frames import MAX_CONNECTIONS
from toolc.guest.http.response_errors import STATUS_KINDS
from toolc.guest.http.round_trip import MAX_RESPONSE_BODY
from toolc.model.call_graph import MAX_DEPTH
from toolc.model.destinations import format_destination, parse_destination
from toolc.model.names import PROVIDER_NAMES
from toolc.model.plan import loopback_proxy, proxy_environment
from toolc.model.spec.policy import Policy
from toolc.model.spec.sandbox import Limits
from toolc.model.spec.tool import Expect
from toolc.model.template import FILTERS
from toolc.providers.json_schema.portable_rules import ROWS
from toolc.review.model.change import kind_of
from toolc.runtime.agents import agent
from toolc.runtime.agents.broker_transport import MAX_RESPONSE
from toolc.runtime.agents.turns import ATTEMPTS, MAX_WAIT_SECONDS
from toolc.runtime.composite.composite import MAX_PARALLEL
from toolc.runtime.egress import broker, egress_options
from toolc.runtime.sandboxed.result_files import MAX_FILES
from toolc.runtime.wire import call_loop
from toolc.runtime.workspace.transaction import journal, lock
from toolc.runtime.workspace.transaction.allowed_changes import PROTECTED
from toolc.runtime.workspace.transaction.view import MAX_ENTRIES
from toolc.sandbox.docker import container, daemon, docker_sandbox, sweep
from toolc.sandbox.host import janitor_process, store
from toolc.sandbox.oci import bundles, oci_sandbox
from toolc.sandbox.oci import probe as oci_probe

DEADLINES = {
    "Query the daemon": daemon.QUERY_SECONDS, "Open its stream of events": container.OPEN_SECONDS,
    "Create a container": container.CREATE_SECONDS, "Attach to its streams": container.ATTACH_SECONDS,
    "Start it": container.START_SECONDS, "Remove it": container.REMOVE_SECONDS,
    "Inspect an image": container.INSPECT_SECONDS, "Each request of a cleanup": sweep.SECONDS,
    "Query the version of runc": oci_probe.VERSION_SECONDS, "runc starts process 1": oci_sandbox.START_SECONDS,
    "Process 1 exits after its stream closes": oci_sandbox.CLOSE_SECONDS,
    "Kill process 1, its control groups, runc (each)": oci_sandbox.KILL_SECONDS,
    "Wait for killed processes": oci_sandbox.GIVE_UP_SECONDS,
    "Remove the files of one dead owner": bundles.SWEEP_SECONDS,
    "The janitor, and each of its removals": janitor_process.DEADLINE_SECONDS,
    "The guest becomes ready": call_loop.START_SECONDS,
    "Another process builds the same image or installs the same packages": store.LOCK_SECONDS,
    "Another process rolls back the same transaction": journal.LOCK_SECONDS,
    "Another process commits in the same workspace": lock.WAIT_SECONDS,
}  # fmt: skip


def text_of(name: str) -> str:
    """Return the text of a page, with each run of white space as one space."""
    return re.sub(r"\s+", " ", Page.read(name).text)


def rows(name: str, heading: str = "") -> dict[str, list[str]]:
    """Return the rows of the tables of a page, or of one of its sections, by their first cell."""
    text = Page.read(name).text
    if heading:
        _, found, text = text.partition(f"\n{heading}\n")
        assert found, heading
        text = re.split(rf"\n#{{1,{heading.index(' ')}}} ", text)[0]
    lines = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    cells = [[cell.strip() for cell in re.split(r"(?<!\\) \| ", line)] for line in lines]
    return {first: rest for first, *rest in cells}


def named(name: str, heading: str = "") -> set[str]:
    """Return the code spans in the first cells of tables."""
    return {span for first in rows(name, heading) for span in re.findall(r"`([^`]+)`", first)}


def test_documented_commands_match_the_code() -> None:
    listed = {first.split()[1].rstrip("`") for first in rows("reference/command-line") if first.startswith("`toolc ")}
    assert listed == set(COMMANDS)


def test_documented_template_filters_match_the_code() -> None:
    listed = re.findall(r"the filters ((?:`\w+`(?:, | and )?)+)", text_of("reference/spec-format"))
    assert re.findall(r"`(\w+)`", listed[0]) == [*FILTERS]


def test_documented_default_limits_match_the_code() -> None:
    table = rows("reference/spec-format", "## Sandbox")
    limits = Limits()
    assert table["`timeout`"][1] == f"`{limits.timeout_ms // 1000}s`"
    assert table["`memory`"][1] == f"`{limits.memory_bytes >> 20}MiB`"
    assert table["`pids`"][1] == f"`{limits.pids}`"
    assert table["`output`"][1] == f"`{limits.output_bytes >> 10}KiB`"
    assert table["`tmp`"][1] == f"`{limits.tmp_bytes >> 20}MiB`"
    assert table["`files`"][1] == f"`{limits.files}`"
    assert table["`file_size`"][1] == f"`{limits.file_size_bytes >> 30}GiB`"


def test_documented_error_kinds_match_the_code() -> None:
    assert named("reference/results", "## Errors") == set(KINDS)


def test_documented_keys_of_expect_match_the_code() -> None:
    # Two pairs of fields have one key each.
    keys = {each.name for each in fields(Expect)} - {"absent", "connections"}
    assert named("guides/testing", "## Write a test") - {"expect"} == keys


def test_documented_bounds_of_policies_match_the_code() -> None:
    text = Page.read("guides/policies").text
    for key in fields(Policy):
        assert key.name in {"path", "places"} or f"| `{key.name}" in text or f"`, `{key.name}`" in text, key.name
    assert {code.number for code in CODES.values()} <= set(re.findall(r"TC\d{3}", text))


def test_documented_review_rules_match_the_code(golden: bool) -> None:
    pages = [each for each in rule_pages().values() if not each.number.startswith("TC")]
    lines = [f"| {each.number} | {kind_of(each.number)} | {each.title} |" for each in pages]
    table = "\n".join(["| Rule | Kind | Reported change |", "|---|---|---|", *lines, ""])
    page = Page.read("reference/review-rules")
    head, mark, shown = page.text.partition("<!-- rules -->\n")
    if golden:
        page.path.write_text(head + mark + table, encoding="utf-8")
    assert golden or shown == table


def test_review_rules_of_providers_are_in_the_order_of_the_providers() -> None:
    pages = [each for number, each in rule_pages().items() if number.startswith("PRV")]
    assert [each.title.split(" ")[0] for each in pages] == [*PROVIDER_NAMES]


def test_documented_deadlines_match_the_code() -> None:
    table = rows("reference/deadlines")
    assert {step: float(table[step][0]) for step in table if step != "Step"} == DEADLINES


def test_both_engines_give_process_1_the_same_time_to_exit() -> None:
    assert docker_sandbox._GRACE == oci_sandbox.CLOSE_SECONDS


def test_documented_probes_match_the_code() -> None:
    text = Page.read("guides/checking-a-host").text
    count = str(len(load_probes()))
    assert set(re.findall(r"(\d+) of (\d+) probes held", text)) == {(count, count)}
    shown = re.findall(r"^  (\w.*?)  +ok +ok$", text, re.MULTILINE)
    assert shown == [probe.tries for probe in load_probes()[: len(shown)]]
    assert len(shown) == 2


def test_entries_of_an_allow_list_are_valid() -> None:
    page = Page.read("guides/network-access").text
    table = page.partition("| Entry |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    entries = [entry for cell in cells for entry in re.findall(r"`([^`]+)`", cell)]
    assert [format_destination(parse_destination(entry)) for entry in entries] == entries
    assert len(entries) == 7


def test_documented_network_rules_match_the_code() -> None:
    text = Page.read("guides/network-access").text
    listening = loopback_proxy([parse_destination("api.example.com:443")])
    assert f"`{listening.hosts[0][0]}`" in text
    for each in proxy_environment(listening):
        assert f"`{each.name.lower()}`" in text or each.name == "NODE_USE_ENV_PROXY"


def test_documented_connection_limits_match_the_code() -> None:
    table = rows("guides/network-access", "## Limits")
    assert table["concurrent connections; total connections"] == [f"{MAX_CONNECTIONS}; {broker.MAX_CALL_CONNECTIONS:,}"]
    assert table["bytes in both directions together"] == [f"{broker.MAX_BYTES >> 30} GiB"]
    assert table["time to resolve a name and connect"] == [f"{broker.CONNECT_SECONDS:g} s"]
    assert table["time without data on a connection"] == [f"{egress_options.IDLE_SECONDS:g} s"]
    assert f"first {broker.MAX_LISTED} connections" in text_of("guides/network-access")
    assert call_loop.DELIVERY_SECONDS == 1


def test_documented_facts_about_http_tools_match_the_code() -> None:
    assert f"at most {MAX_RESPONSE_BODY >> 20} MiB" in text_of("guides/http-tools")
    listed = {}
    for cause, (kind, *_) in rows("guides/http-tools", "## Errors").items():
        for status in re.findall(r"(?:^|, )([0-9]{3})(?![0-9])", cause.split(" or ")[0]):
            listed[int(status)] = kind.split("`")[1]
    assert listed == {status: kind for status, kind in STATUS_KINDS.items() if status not in {407, 408, 425}}


def test_documented_facts_about_secrets_match_the_code() -> None:
    assert f"fewer than {MIN_CHARACTERS} characters" in text_of("guides/secrets")


def test_documented_facts_about_sub_agents_match_the_code() -> None:
    text = text_of("guides/sub-agents")
    numbers = {3: "three", 8: "eight"}
    assert f"tried {numbers[ATTEMPTS]} times" in text
    assert f"at most {numbers[agent.MAX_PARALLEL]} at a time" in text
    assert f"first {agent.MAX_CALLS} calls" in text
    assert f"more than {MAX_RESPONSE >> 20} MiB" in text
    assert MAX_WAIT_SECONDS == 60


def test_documented_facts_about_composites_match_the_code() -> None:
    text = text_of("guides/composite-tools")
    assert f"({MAX_PARALLEL} at most" in text
    assert f"nested {MAX_DEPTH} deep at most" in text


def test_documented_facts_about_workspaces_match_the_code() -> None:
    text = text_of("guides/workspaces")
    assert f"1 GiB and {MAX_ENTRIES:,} files" in text
    assert f"there are {MAX_FILES} at most" in text
    assert f"(default: {Limits().output_bytes // 1024} KiB)" in text


def test_documented_protected_paths_match_the_code() -> None:
    section = Page.read("guides/workspaces").text.partition("## Protected paths")[2].partition("A `Makefile`")[0]
    listed = re.findall(r"`([^`]+)`", section.partition("\n- ")[2])
    assert sorted(listed) == sorted(PROTECTED)


def test_documented_builtin_tools_exist() -> None:
    tables = [
        table
        for table in re.split(r"\n\n", Page.read("guides/migrating").text)
        if table.startswith("| There | In `specs/`")
    ]
    assert len(tables) == 2
    cells = re.findall(r"^\| .* \| (`.*|the same.*) \|$", "\n".join(tables), re.MULTILINE)
    tools = {name for cell in cells for name in re.findall(r"`([a-z]+_[a-z]+|bash|calculator)`", cell)}
    tools -= {"psql_query"}
    tools |= {"knowledge_search", "remember", "web_search", "file_read", "file_write", "file_list", "http_fetch"}
    tools |= {f"schedule_{verb}" for verb in ("create", "list", "update", "delete")}
    assert tools >= {"bash", "calculator", "database_query", "database_execute", "http_request"}
    registry = Registry.builtin()
    assert [name for name in sorted(tools) if name not in registry] == []


def test_terms_of_the_glossary_are_sorted_and_unique() -> None:
    terms = re.findall(r"^\| ([\w-][^|]*?) \| ", Page.read("reference/glossary").text, re.MULTILINE)[1:]
    assert terms == sorted(set(terms), key=str.casefold)
    assert len(terms) >= 70


def test_the_page_of_providers_has_what_clients_of_mcp_refuse() -> None:
    page = Page.read("reference/providers").text
    for marks, part, _ in ROWS.values():
        cells = [part, *("x" if mark == "X" else "" for mark in marks.split())]
        assert f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|" in page
