"""The HTTP tool's side in the sandbox: requests through the host, response parsing, pagination and errors."""
