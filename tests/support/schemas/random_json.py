"""JSON with one random change, for code that reads JSON of other programs."""

import copy
from typing import Any

from hypothesis import strategies as st

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def with_one_change(draw: st.DrawFn, value: Any) -> Any:
    """Replace one value within an object or a list, at any depth."""
    changed = copy.deepcopy(value)
    *path, last = draw(st.sampled_from(_places(changed)[1:]))
    inside = changed
    for step in path:
        inside = inside[step]
    inside[last] = draw(ANYTHING)
    return changed


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(each for key, inside in inner for each in _places(inside, (*path, key)))]
