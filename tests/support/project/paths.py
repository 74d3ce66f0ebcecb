"""The paths of the files that tests use."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
"""The checkout."""
DOCS: Final = ROOT / "docs"
SPECS: Final = ROOT / "specs"
"""The specs that toolc ships."""

TESTS: Final = ROOT / "tests"
CORPUS: Final = TESTS / "corpus"
"""Specs as public tool catalogues have them."""
DATA: Final = TESTS / "data"
"""Cases and specs for tests; test suites and schemas of other projects."""
TEST_SPECS: Final = DATA / "specs"
"""``positive`` specs compile, ``negative`` ones have findings."""
GOLDEN: Final = TESTS / "golden"
"""Expected output; ``pytest --golden`` writes it again."""
SUPPORT: Final = TESTS / "support"
"""The modules that several tests import, for ``sys.path`` of a subprocess."""
