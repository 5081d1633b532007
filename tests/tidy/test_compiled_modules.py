"""What is compiled is what is meant to be: a renamed module does not drop out of the build without a word."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from tests.tidy.compiled_modules import ROOT, compiled_sources

from ostler.cli.framework.flavour import is_compiled

MEANT = Path(__file__).parent / "compiled_modules.txt"


def module_name(path: str) -> str:
    return ".".join(Path(path).relative_to("src").with_suffix("").parts)


def test_setup_compiles_the_modules_of_the_list() -> None:
    """After a rename or a merge: write the new list, and look at its difference before you commit it."""
    assert [module_name(path) for path in sorted(compiled_sources())] == MEANT.read_text().split()


def test_a_list_with_a_name_that_means_nothing_fails_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("ostler_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    monkeypatch.chdir(ROOT)
    for name, value in (
        ("HOT_MODULES", ("server/no_such_module.py",)),
        ("HOT_ROOMS", {"server/net": ("no_such_module",)}),
        ("HOT_ROOMS", {"server/no_such_room": ()}),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(setup, name, value)
            with pytest.raises(SystemExit, match="no_such_"):
                setup.hot_sources()


@pytest.mark.skipif(not is_compiled(), reason="the interpreted flavour compiles nothing")
def test_the_installed_package_has_them_compiled() -> None:
    interpreted = []
    for name in MEANT.read_text().split():
        spec = importlib.util.find_spec(name)
        assert spec is not None, name
        if spec.origin is None or not spec.origin.endswith(".so"):
            interpreted.append(name)
    assert interpreted == []
