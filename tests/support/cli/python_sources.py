"""Files of Python as users of agent frameworks write them, with calls of their tools."""

from dataclasses import dataclass, field

from toolc.model.json_schema import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonSource:
    """One file, the other files next to it, and for each tool the arguments of a call and its text."""

    text: str
    others: dict[str, str] = field(default_factory=dict)
    calls: dict[str, tuple[JsonObject, str]]


LANGCHAIN = PythonSource(
    text='''\
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

model = ChatOpenAI(model="gpt-5")
PRICES = {"tea": 3, "milk": 2}


def price_of(name: str) -> int:
    return PRICES.get(name, 0)


@tool
def total(names: list[str], discount: float = 0.0) -> float:
    """Add up the prices of some products in the shop."""
    return sum(map(price_of, names)) * (1 - discount)


@tool("shout", return_direct=True)
def upper(text: str) -> str:
    """Write a text in capital letters, for headlines."""
    return text.upper()


agent = create_react_agent(model, [total, upper])

if __name__ == "__main__":
    print(agent.invoke({"messages": ["What is tea and milk?"]}))
''',
    calls={"total": ({"names": ["tea", "milk"], "discount": 0.5}, "2.5"), "shout": ({"text": "hello"}, "HELLO")},
)

LANGCHAIN_SCHEMA = PythonSource(
    text='''\
from langchain.tools import tool
from pydantic import BaseModel, Field


class Search(BaseModel):
    """The arguments of a search."""

    words: list[str] = Field(description="What to look for", min_length=1)
    limit: int = Field(10, ge=1, le=50, description="How many results")


@tool(args_schema=Search)
def search(words: list[str], limit: int = 10) -> str:
    """Search the notes for some words. Use it for questions about notes."""
    return " ".join(words[:limit])
''',
    calls={"search": ({"words": ["a", "b"], "limit": 1}, "a")},
)

FASTMCP = PythonSource(
    text='''\
from enum import Enum
from typing import Annotated

from fastmcp import FastMCP
from mcp.types import ToolAnnotations
from pydantic import Field

mcp = FastMCP("units")


class Unit(str, Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


@mcp.tool
def convert(
    degrees: Annotated[float, Field(description="The temperature, e.g. 20", ge=-273.15)],
    to: Unit = Unit.FAHRENHEIT,
) -> float:
    """Convert a temperature to another unit. Use it for temperatures only."""
    return degrees * 9 / 5 + 32 if to is Unit.FAHRENHEIT else (degrees - 32) * 5 / 9


@mcp.tool(
    name="freezes",
    title="Does it freeze?",
    annotations=ToolAnnotations(readOnlyHint=True, openWorldHint=False),
)
async def is_freezing(
    degrees: float = Field(description="In degrees Celsius"), salt: bool = Field(default=False)
) -> str:
    """Say whether water freezes at a temperature."""
    return "yes" if degrees <= (-20 if salt else 0) else "no"


if __name__ == "__main__":
    mcp.run()
''',
    calls={"convert": ({"degrees": 20, "to": "fahrenheit"}, "68.0"), "freezes": ({"degrees": -5, "salt": True}, "no")},
)

MCP_SDK = PythonSource(
    text="""\
import logging
import sys

from mcp.server.fastmcp import FastMCP

from notes import find, titles as all_titles

logging.basicConfig(stream=sys.stderr)
log = logging.getLogger(__name__)
server = FastMCP("notes", stateless_http=True)


@server.tool(description="Find the notes that contain a word. Use it before you answer questions about notes.")
def find_notes(word: str, limit: int | None = None) -> list[str]:
    log.info("finding %s", word)
    return find(word)[:limit]


@server.resource("notes://all")
def titles() -> list[str]:
    return all_titles()
""",
    others={
        "notes.py": (
            'NOTES = ["buy milk", "call Ada"]\n\n\n'
            "def find(word):\n    return [each for each in NOTES if word in each]\n"
        )
    },
    calls={"find_notes": ({"word": "milk"}, '["buy milk"]')},
)

SMOLAGENTS = PythonSource(
    text='''\
from smolagents import CodeAgent, InferenceClientModel, tool


@tool
def travel_time(start: str, end: str, by_bike: bool = False) -> str:
    """Tell how long the way between two places takes.

    Args:
        start: The place where the way starts,
            such as a street.
        end: The place where it ends.
        by_bike: Whether to ride.
    """
    return f"{start} to {end}: {10 if by_bike else 30} minutes"


agent = CodeAgent(tools=[travel_time], model=InferenceClientModel())
agent.run("How long from A to B?")
''',
    calls={"travel_time": ({"start": "A", "end": "B", "by_bike": True}, "A to B: 10 minutes")},
)

OPENAI_AGENTS = PythonSource(
    text='''\
from typing import Literal, TypedDict

from agents import Agent, Runner, function_tool


class Stop(TypedDict):
    city: str
    nights: int


@function_tool(name_override="plan_trip", description_override="Plan a trip through some cities, in their order.")
def plan(stops: list[Stop], pace: Literal["slow", "fast"] = "slow") -> str:
    """Plan a trip.

    Args:
        stops: The cities and how long to stay in each.
        pace: How fast to travel.
    """
    nights = sum(stop["nights"] for stop in stops)
    return f"{len(stops)} cities, {nights} nights, {pace}"


agent = Agent(name="Travel", tools=[plan])


async def main() -> None:
    print(await Runner.run(agent, "Plan a trip"))
''',
    calls={"plan_trip": ({"stops": [{"city": "Oslo", "nights": 2}]}, "1 cities, 2 nights, slow")},
)

NUMPY_DOCSTRING = PythonSource(
    text='''\
import math


def distance(start, end, unit="km"):
    """Compute the distance of two points on a map.

    It is a straight line.

    Parameters
    ----------
    start : list[float]
        The first point.
    end : list[float]
        The second point.
    unit : {"km", "mi"}, optional
        The unit of the result.

    Returns
    -------
    float
    """
    return round(math.dist(start, end) * _FACTORS[unit], 1)


_FACTORS = {"km": 1, "mi": 0.62}
''',
    calls={"distance": ({"start": [0, 0], "end": [3, 4], "unit": "mi"}, "3.1")},
)

SPHINX_DOCSTRING = PythonSource(
    text='''\
import datetime as dt
from pathlib import PurePath
from uuid import UUID


def deadline(day: dt.date, days: int, path: "PurePath", case: UUID | None = None) -> str:
    """Compute a deadline, for a file of a case.

    :param day: The first day.
    :param days: How many days there are.
    :param path: The file.
    :param case: The case, if there is one.
    :returns: The deadline.
    """
    return f"{day + dt.timedelta(days=days)} {path.name} {case.int % 10 if case else None}"
''',
    calls={
        "deadline": (
            {"day": "2026-01-31", "days": 1, "path": "a/b.txt", "case": "00000000-0000-0000-0000-000000000007"},
            "2026-02-01 b.txt 7",
        )
    },
)

DATACLASSES = PythonSource(
    text='''\
from dataclasses import dataclass, field
from enum import IntEnum

from shapes import Colour


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


@dataclass
class Item:
    """One product of an order.

    Attributes:
        name: What it is.
    """

    name: str
    size: Size = Size.SMALL


@dataclass
class Order:
    items: list[Item]
    colour: Colour | None = None
    notes: dict[str, str] = field(default_factory=dict)


def describe(order: Order, tags: set[str] = frozenset()) -> str:
    """Describe an order of products to its customer."""
    parts = ", ".join(f"{each.name} {each.size.name}" for each in order.items)
    return f"{parts} {order.colour} {sorted(tags)} {type(tags).__name__}"
''',
    others={"shapes.py": 'from enum import Enum\n\n\nclass Colour(Enum):\n    RED = "red"\n    BLUE = "blue"\n'},
    calls={
        "describe": (
            {"order": {"items": [{"name": "pen", "size": 2}, {"name": "cap"}], "colour": "red"}, "tags": ["b", "a"]},
            "pen LARGE, cap SMALL Colour.RED ['a', 'b'] set",
        )
    },
)

ANTHROPIC_LOOP = PythonSource(
    text='''\
import anthropic

client = anthropic.Anthropic()

TOOLS = [
    {
        "name": "count_words",
        "description": "Count the words of a text.",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }
]


def count_words(text: str) -> int:
    """Count the words of a text. Use it instead of counting yourself."""
    return len(text.split())


def _run(question):
    """Ask the model, and run its calls until it has an answer."""
    messages = [{"role": "user", "content": question}]
    response = client.messages.create(model="claude", tools=TOOLS, messages=messages)
    for block in response.content:
        print(count_words(**block.input))
''',
    calls={"count_words": ({"text": "one two  three"}, "3")},
)

SOURCES = {
    "langchain": LANGCHAIN,
    "fastmcp": FASTMCP,
    "mcp_sdk": MCP_SDK,
    "smolagents_file": SMOLAGENTS,
    "openai_agents": OPENAI_AGENTS,
    "numpy_docstring": NUMPY_DOCSTRING,
    "sphinx_docstring": SPHINX_DOCSTRING,
    "dataclass_file": DATACLASSES,
    "langchain_schema": LANGCHAIN_SCHEMA,
    "anthropic_loop": ANTHROPIC_LOOP,
}
