"""Whether a value satisfies a JSON Schema, in bounded time: for the compiler and for every call."""
