"""stats describes numbers for an agent: one JSON object a line comes on stdin, one goes back on stdout."""

import json
import math
import statistics
import sys

DEFINITION = {
    "name": "stats",
    "description": (
        "Compute descriptive statistics of a list of numbers: how many there are, least, greatest, mean and "
        "standard deviation. Use it for questions about several numbers at once. "
        "Do not use it for a single expression."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "numbers": {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 1,
                "maxItems": 10000,
                "description": "The numbers, in any order, e.g. [3, 1.5, 4]",
            },
            "precision": {
                "type": "integer",
                "minimum": 0,
                "maximum": 15,
                "default": 2,
                "description": "Digits after the decimal point",
            },
        },
        "required": ["numbers"],
    },
}


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def stats(numbers, precision=2):
    """The answer to a call. Raises ValueError for what cannot be described."""
    if not isinstance(numbers, list) or not numbers:
        raise ValueError("'numbers' must be a list of at least one number")
    if wrong := [position for position, value in enumerate(numbers) if not is_number(value)]:
        raise ValueError(f"item {wrong[0]} of 'numbers' is not a number")
    if not isinstance(precision, int) or not 0 <= precision <= 15:
        raise ValueError("'precision' must be an integer from 0 to 15")
    figures = {
        "min": min(numbers),
        "max": max(numbers),
        "mean": statistics.fmean(numbers),
        "stddev": statistics.pstdev(numbers),
    }
    words = [f"n={len(numbers)}", *(f"{name}={value:.{precision}f}" for name, value in figures.items())]
    return text("  ".join(words)) | {"details": {"n": len(numbers)} | figures}


def text(words, *, error=False):
    return {"content": [{"type": "text", "text": words}], "error": error}


def answer(line):
    try:
        match json.loads(line):
            case {"type": "describe"}:
                return DEFINITION
            case {"type": "call", "params": {**params}, **rest}:
                sys.stderr.write(f"call {rest.get('call_id')}\n")
                return stats(**params)
        raise ValueError("this line is no request: its type is neither describe nor call")
    except RecursionError:
        return text("Error: this line is nested too deeply", error=True)
    except (ValueError, TypeError, OverflowError) as error:
        return text(f"Error: {error}", error=True)


for each in sys.stdin.buffer:
    if each.strip():
        sys.stdout.write(json.dumps(answer(each)) + "\n")
        sys.stdout.flush()
