"""The case that corresponds to each test of inspect_ai's portable conformance suite (``self_check``).

There, the host reads and writes files of the sandbox; here, a tool reads and writes its workspace.
"""

from typing import Final

_BYTES: Final = "a file of many megabytes and any bytes can be written and read back"
_WRITTEN: Final = "a file that a tool writes belongs to its owner, with the default mode"
_OVER: Final = "files can be overwritten, emptied and read when empty"
_NAMES: Final = "file names may contain any bytes"
_NO_FILE: Final = "a folder is not a file, and neither is a missing path"
_REFUSED: Final = "a file that its owner may not read or write is refused"
_PATHS: Final = "paths may be relative, absolute and in new folders"

SAME_AS: Final = {
    "test_read_and_write_file_text": _WRITTEN, "test_write_file_text_utf": _NAMES,
    "test_read_and_write_file_binary": _BYTES, "test_read_and_write_large_file_binary": _BYTES,
    "test_read_and_write_file_including_directory_absolute": _PATHS,
    "test_read_and_write_file_including_directory_relative": _PATHS, "test_read_file_zero_length": _OVER,
    "test_read_file_not_found": _NO_FILE, "test_read_file_not_allowed": _REFUSED,
    "test_read_file_is_directory": _NO_FILE, "test_read_file_nonsense_name": _NO_FILE,
    "test_read_file_limit": "longer output keeps its start and end", "test_write_text_file_zero_length": _OVER,
    "test_write_text_file_space": _NAMES, "test_write_text_file_is_directory": _NO_FILE,
    "test_write_text_file_without_permissions": _REFUSED, "test_write_text_file_exists": _OVER,
    "test_write_binary_file_zero_length": _OVER, "test_write_binary_file_space": _NAMES,
    "test_write_binary_file_is_directory": _NO_FILE, "test_write_binary_file_without_permissions": _REFUSED,
    "test_write_binary_file_exists": _OVER, "test_exec_output": "a program's stdout is the text of its success",
    "test_exec_stderr": "stderr of a success is in the details, not in the text",
    "test_exec_output_utf": "UTF-8 text is unchanged",
    "test_exec_stderr_utf": "stderr that is not UTF-8 is replaced too",
    "test_exec_returncode": "an exit status that is not 0 is an error with both streams",
    "test_exec_timeout": "a call that takes too long is ended and its output is kept",
    "test_exec_timeout_not_raised_on_fast_signal_death": "SIGTERM ends the tool",
    "test_exec_timeout_kills_process": "a tool that ignores every signal ends at its deadline",
    "test_exec_timeout_kills_child_processes": "a fork bomb ends at its deadline",
    "test_exec_permission_error": "a text file is not a program",
    "test_exec_env_vars": "the environment has the base variables, the call id and the variables of the spec",
    "test_exec_input_text": "stdin contains what the spec sets",
    "test_exec_input_shell_special": "an argument is passed unchanged whatever it contains",
    "test_exec_input_binary": "output is read while stdin is still being written",
    "test_exec_input_large": "stdin may be many megabytes",
    "test_exec_large_command": "an argument may have 131071 bytes",
    "test_exec_as_user": "a tool with a workspace runs as its owner",
    "test_exec_as_nonexistent_user": "a tool cannot become another user",
    "test_cwd_unspecified": "a tool without a workspace starts in /tmp",
    "test_cwd_custom": "a tool with a workspace starts in it", "test_cwd_relative": _PATHS,
    "test_cwd_absolute": _PATHS,
}  # fmt: skip
