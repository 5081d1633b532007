"""The repository keeps its own house in order."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.tidy.compiled_modules import compiled_sources

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 800
TEST_LINES_MAX = 900
FUNCTION_LINES_MAX = 80
MODULES_MAX = 24
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


def test_abstract_classes_of_compiled_modules_name_their_metaclass() -> None:
    """mypyc compiles a class derived from ABC into one that crashes when a weak reference to it is made."""
    found = [
        path for path in compiled_sources() if re.search(r"^class \w+\(ABC\)", (ROOT / path).read_text(), re.MULTILINE)
    ]
    assert found == []


def test_a_folder_holds_one_concern() -> None:
    """A reader can skim about twenty modules. Folders with a file for each page or program are another matter."""
    apart = ("tests/docs", "tests/dropin/ibmmq_programs")
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in tracked("*.py") if path.name != "__init__.py")
    crowded = [f"{folder}: {count}" for folder, count in counts.items() if count > MODULES_MAX and folder not in apart]
    assert crowded == []
