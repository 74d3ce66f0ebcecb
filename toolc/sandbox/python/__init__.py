"""The Python that runs the guest in a sandbox, and the packages of Python tools."""
