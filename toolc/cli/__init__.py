"""The command line: one file per command, imported by nobody."""
