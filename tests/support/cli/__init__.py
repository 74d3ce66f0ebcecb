"""The command line in tests: run in this process or on a terminal."""
