"""The tool template: fill in a Jinja2 template. Jinja2's own sandbox is an additional barrier."""

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_CHARACTERS = 200_000
FAILURES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, SyntaxError, TypeError, ValueError
)  # fmt: skip
"""What filters and functions raise for values that do not suit them, and Python for too many nested loops."""


def template(template, values, ctx):
    """Return the text of a template with these values. A name without a value is an error."""
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    pieces, size = [], 0
    try:
        for piece in environment.from_string(template).generate(values):
            size += len(piece)
            if size > MAX_CHARACTERS:
                raise ctx.error("output_limit", f"the text is longer than {MAX_CHARACTERS} characters")
            pieces.append(piece)
    except TemplateSyntaxError as error:
        raise ctx.error("invalid_args", f"line {error.lineno} of the template: {error.message}") from None
    except UndefinedError as error:
        names = ", ".join(map(repr, list(values)[:20])) or "no names"
        message = f"the template cannot be filled in: {error.message}; values has {names}"
        raise ctx.error("invalid_args", message) from None
    except TemplateError as error:
        raise ctx.error("invalid_args", f"the template cannot be filled in: {error}") from None
    except FAILURES as error:
        message = f"the template cannot be filled in: {type(error).__name__}: {error}"
        raise ctx.error("invalid_args", message) from None
    text = "".join(pieces)
    return ctx.result(text, structured={"text": text})
