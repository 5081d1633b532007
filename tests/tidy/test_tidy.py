"""The repository keeps its own house in order."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 800
TEST_LINES_MAX = 900
FUNCTION_LINES_MAX = 80
# Tables of data, and their tests.
TABLES = re.compile(r"(model/tables/\w+|constants|system_objects|code_page_tables)\.py$")


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]


def source_files() -> list[Path]:
    return [path for path in tracked("*.py") if not TABLES.search(path.as_posix())]


pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the git checkout to know its files")


def test_there_are_files_to_look_at() -> None:
    assert len(source_files()) > 50


def test_modules_are_not_too_long() -> None:
    long = [f"{path.relative_to(ROOT)}: {path.read_text().count(chr(10))}" for path in source_files()]
    limits = {True: TEST_LINES_MAX, False: LINES_MAX}
    assert [line for line in long if int(line.split()[-1]) > limits[line.startswith("tests")]] == []


def test_every_source_module_says_what_it_is() -> None:
    silent = [
        path.relative_to(ROOT)
        for path in tracked("src/*.py")
        if path.name != "__init__.py" and not path.read_text().lstrip().startswith('"""')
    ]
    assert silent == []


def test_no_loose_ends() -> None:
    marker = re.compile(r"#\s*(TODO|FIXME|XXX|HACK)\b")
    found = [path.relative_to(ROOT) for path in source_files() if marker.search(path.read_text())]
    assert found == []


def test_no_path_of_one_machine() -> None:
    machine = re.compile(r"[\"'(\s](/root/|/work/|/tmp/w\b)")
    files = [*tracked("*.py"), *tracked("*.md"), *tracked("*.toml"), ROOT / "Makefile"]
    found = [
        path.relative_to(ROOT) for path in files if path.name != "test_tidy.py" and machine.search(path.read_text())
    ]
    assert found == []


def test_links_in_the_documentation_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)} -> {target}"
        for page in tracked("*.md")
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def compiled_files() -> list[Path]:
    """Return the modules that setup.py compiles, from the lists in it."""
    lists = {}
    for node in ast.parse((ROOT / "setup.py").read_text()).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id.startswith("HOT_"):
            lists[target.id] = ast.literal_eval(node.value)  # type: ignore[attr-defined]
    source = ROOT / "src/ostler"
    files = [path for package in lists["HOT_PACKAGES"] for path in (source / package).rglob("*.py")]
    for room, interpreted in lists["HOT_ROOMS"].items():
        files += [path for path in (source / room).glob("*.py") if path.stem not in interpreted]
    return files + [source / module for module in lists["HOT_MODULES"]]


def test_abstract_classes_of_compiled_modules_name_their_metaclass() -> None:
    """mypyc compiles a class derived from ABC into one that crashes when a weak reference to it is made."""
    assert len(compiled_files()) > 200
    found = [
        str(path.relative_to(ROOT))
        for path in compiled_files()
        if re.search(r"^class \w+\(ABC\)", path.read_text(), re.MULTILINE)
    ]
    assert found == []
