"""Whether a controller can limit sandboxes, found by creating a control group."""

from pathlib import Path

import pytest

from toolc.sandbox.host import janitor
from toolc.sandbox.host.cgroups import Group, can_limit
from toolc.sandbox.host.owner import Owner


def test_the_janitor_knows_of_the_group_before_it_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[tuple[object, ...]] = []
    make = Path.mkdir

    def mkdir(self: Path) -> None:
        events.append(("created", self.name.startswith(f"toolc-{Owner.current().label()}-")))
        make(self)

    monkeypatch.setattr(janitor, "register", lambda *removal: events.append(removal))
    monkeypatch.setattr(Path, "mkdir", mkdir)
    assert can_limit("memory", Group(version=1, folder=tmp_path, parent=tmp_path))
    assert events == [("control group", f"toolc-{Owner.current().label()}"), ("created", True)]
    assert [*tmp_path.iterdir()] == []
