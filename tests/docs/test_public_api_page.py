"""The page of the public API lists what the modules export, and pages import public modules only."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/public-api.md"
SECTION = re.compile(r"^### `([\w.]+)`\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (`[^|]*) \|", re.MULTILINE)
NAME = re.compile(r"`([\w.]+)`")
BLOCK = re.compile(r"^( *)```(?:python|py)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
# Extension points of the repository: the page says that they may change.
LABORATORY = (
    "ostler.lab",
    "ostler.pipeline.lake.lake",
    "ostler.pipeline.lake.tables",
    "ostler.pipeline.lake.live_tables",
)
PAGES = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def names_in_table(text: str) -> list[str]:
    """The names in the first column of the tables of a text."""
    return [name for row in ROW.findall(text) for name in NAME.findall(row)]


def public_modules() -> list[str]:
    text = PAGE.read_text()
    return names_in_table(text[text.index("## Modules") : text.index("## Names")])


def documented_names() -> dict[str, list[str]]:
    return {module: names_in_table(text) for module, text in SECTION.findall(PAGE.read_text())}


def imported_modules(code: str) -> set[str]:
    """The modules of Ostler that a snippet imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name for name in found if name.partition(".")[0] == "ostler"}


def is_public(module: str) -> bool:
    return module in public_modules() or any(module == each or module.startswith(f"{each}.") for each in LABORATORY)


def test_every_public_module_but_the_constants_lists_its_names() -> None:
    assert set(documented_names()) == set(public_modules()) - {"ostler.model.constants"}


@pytest.mark.parametrize("module", sorted(documented_names()) if PAGE.exists() else [])
def test_the_page_lists_what_a_module_exports(module: str) -> None:
    exported = import_module(module).__all__
    documented = documented_names()[module]
    assert sorted(documented) == sorted(exported)
    for name in exported:
        assert getattr(import_module(module), name) is not None


@pytest.mark.parametrize("module", public_modules() if PAGE.exists() else [])
def test_a_public_module_is_imported_by_its_name_alone(module: str) -> None:
    program = f"import {module}; print({module}.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == f"{module}\n", done.stderr


@pytest.mark.parametrize(
    "page", sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
)
def test_snippets_import_public_modules_only(page: str) -> None:
    snippets = [textwrap.dedent(f"{indent}{code}") for indent, code in BLOCK.findall((ROOT / page).read_text())]
    private = {
        module for code in snippets if "import" in code for module in imported_modules(code) if not is_public(module)
    }
    assert not private, f"{page} imports {', '.join(sorted(private))}: see docs/reference/public-api.md"


def test_a_private_import_is_noticed() -> None:
    assert not is_public("ostler.client.link.dial")
    assert imported_modules("from ostler.client.link import dial\nimport os") == {"ostler.client.link"}
