"""The YAML files of ``tests/data``."""

import re
from typing import Any

import yaml

from project.paths import DATA


class _Loader(yaml.CSafeLoader):
    """Add two tags: ``!match`` is a regular expression, ``!python`` is the value of a Python expression."""


def _match(loader: _Loader, node: yaml.ScalarNode) -> re.Pattern[str]:
    return re.compile(str(loader.construct_scalar(node)))


def _python(loader: _Loader, node: yaml.ScalarNode) -> object:
    return eval(str(loader.construct_scalar(node)))


_Loader.add_constructor("!match", _match)
_Loader.add_constructor("!python", _python)


def load_yaml(name: str) -> Any:
    """Return the content of ``tests/data/{name}.yaml``."""
    return yaml.load((DATA / f"{name}.yaml").read_text(encoding="utf-8"), Loader=_Loader)
