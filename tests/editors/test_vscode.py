from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from spaseq.editors.grammars import GRAMMAR, SCOPE
from tests.editors.queries import ROOT

FOLDER = ROOT / "editors/vscode"


def manifest() -> dict[str, Any]:
    return json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))


def test_the_extension_has_the_version_of_spaseq() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))
    assert manifest()["version"] == lock["version"] == project["version"]
    assert manifest()["license"] == project["license"]


def test_the_extension_has_the_made_grammar_and_every_file_that_it_names() -> None:
    contributes = manifest()["contributes"]
    (grammar,), (language,) = contributes["grammars"], contributes["languages"]
    assert (FOLDER / grammar["path"]).resolve() == ROOT / GRAMMAR
    assert (grammar["scopeName"], grammar["language"]) == (SCOPE, language["id"])
    configuration = json.loads((FOLDER / language["configuration"]).read_text(encoding="utf-8"))
    assert configuration["comments"] == {"lineComment": "#"}


@pytest.mark.parametrize("folder", [FOLDER, ROOT / "tests/editors"], ids=str)
def test_a_lock_file_names_no_host(folder: Path) -> None:
    lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
    assert all("integrity" in package for name, package in lock["packages"].items() if name)
