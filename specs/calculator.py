"""Arithmetic over a syntax tree: nothing is ever evaluated as code."""

import ast
import math
import operator

MAX_BITS = 10_000
TOO_LARGE = "the result is too large: a number with a fraction is at most about 1.8e308"
CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}
FUNCTIONS = {
    "abs": abs, "ceil": math.ceil, "cos": math.cos, "exp": math.exp, "factorial": math.factorial,
    "floor": math.floor, "gcd": math.gcd, "log": math.log, "log10": math.log10, "log2": math.log2,
    "max": lambda *numbers: max(numbers), "min": lambda *numbers: min(numbers), "round": round,
    "sin": math.sin, "sqrt": math.sqrt, "tan": math.tan,
}  # fmt: skip
HINTS = {ast.BitXor: "; write a power as **", ast.Tuple: "; write numbers without commas between digits"}
UNARY = {ast.UAdd: operator.pos, ast.USub: operator.neg}
BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
COMPARISONS = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


class RefusedError(Exception):
    """An expression this calculator will not or cannot evaluate; the message is for the model."""


def calculate(expression, ctx):
    """Return the value of an arithmetic expression, as text and as data."""
    try:
        value = evaluate(ast.parse(expression.strip(), mode="eval").body)
        return ctx.result(str(value), structured={"result": value, "expression": expression})
    except SyntaxError as error:
        raise ctx.error("invalid_args", f"{expression!r} is not an expression: {error.msg}") from None
    except RecursionError:
        raise ctx.error("invalid_args", "the expression is nested too deeply") from None
    except OverflowError:
        raise ctx.error("invalid_args", TOO_LARGE) from None
    except (RefusedError, ArithmeticError, ValueError, TypeError) as error:
        raise ctx.error("invalid_args", str(error)) from None


def evaluate(node):
    value = evaluated(node)
    if isinstance(value, float) and not math.isfinite(value):
        raise RefusedError(TOO_LARGE)
    return value


def evaluated(node):
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return UNARY[type(op)](evaluate(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return bounded(type(op), evaluate(left), evaluate(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            return COMPARISONS[type(op)](evaluate(left), evaluate(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return call(name, [evaluate(argument) for argument in arguments])
        case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
            raise RefusedError(f"there is no function {name!r}; the functions are {', '.join(FUNCTIONS)}")
        case _:
            hint = HINTS.get(type(getattr(node, "op", node)), "")
            message = f"only numbers, operators and known functions can be used, not {ast.unparse(node)!r}"
            raise RefusedError(message + hint)


def bounded(operation, left, right):
    """Apply an operation whose integer result stays within MAX_BITS, refused before it is computed."""
    if isinstance(left, int) and isinstance(right, int):
        bits = {ast.Pow: left.bit_length() * max(right, 0), ast.Mult: left.bit_length() + right.bit_length()}.get(
            operation, 0
        )
        if bits > MAX_BITS:
            raise RefusedError(f"the result is too large: more than {MAX_BITS} bits")
    value = BINARY[operation](left, right)
    if isinstance(value, complex):
        raise RefusedError("the result is not a real number")
    return value


def call(name, arguments):
    if name == "factorial" and arguments and arguments[0] > 1000:
        raise RefusedError("the result is too large: factorial takes at most 1000")
    try:
        return FUNCTIONS[name](*arguments)
    except (TypeError, ValueError) as error:
        raise RefusedError(f"{name}({', '.join(map(str, arguments))}) has no value: {error}") from None
