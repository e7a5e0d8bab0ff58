"""What stands around the code is true: the package's metadata, the commands of the README, the links, the scripts."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from benchmarks.speed import figures, with_table
from docs.site.assembly import GENERATED

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PAGES = sorted(path for pattern in ("*.md", "*/*.md", "*/*/*.md") for path in ROOT.glob(pattern))
OWN_PAGES = [path for path in PAGES if not path.relative_to(ROOT).parts[0].startswith((".", "out", "build"))]
FIND_PYTHON = ROOT / ".ci" / "find-python"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def makefile_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))


def requirement_names() -> list[str]:
    return [re.split(r"[<>=!~ \[]", requirement)[0] for requirement in PROJECT["project"]["dependencies"]]


@pytest.mark.parametrize("page", OWN_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    made = {ROOT / "docs" / name for name in GENERATED}
    lost = [target for target in targets if not (page.parent / target).exists()]
    assert [target for target in lost if (page.parent / target).resolve() not in made] == []


@pytest.mark.parametrize("page", OWN_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= makefile_targets()


def test_the_readme_leads_to_the_page_about_security_and_that_to_the_table_of_limits() -> None:
    assert "](SECURITY.md)" in text_of("README.md")
    assert "](docs/reference/limits.md)" in text_of("SECURITY.md")


def test_the_readme_begins_with_the_two_commands() -> None:
    beginning = text_of("README.md").splitlines()[:6]
    assert any(line.startswith("make demo") for line in beginning)
    assert any(line.startswith("make test") for line in beginning)


def test_the_speed_table_of_the_readme_is_made_from_the_measured_figures() -> None:
    assert with_table(text_of("README.md"), figures()) == text_of("README.md")
    groups = figures()["groups"]
    assert len(groups) == 3
    assert sum(len(group["rows"]) for group in groups) <= 8


def test_the_readme_says_what_each_dependency_is_for() -> None:
    readme = text_of("README.md")
    assert [name for name in requirement_names() if f"pypi.org/project/{name}/" not in readme] == []


def test_every_dependency_is_imported_somewhere() -> None:
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    source = "\n".join(path.read_text(encoding="utf-8") for name in packages for path in (ROOT / name).rglob("*.py"))
    unused = [
        name for name in requirement_names() if not re.search(rf"^\s*(?:import|from) {name}\b", source, re.MULTILINE)
    ]
    assert unused == []


def test_every_dependency_has_a_lowest_version() -> None:
    extras = [requirement for group in PROJECT["project"]["optional-dependencies"].values() for requirement in group]
    others = [each for each in PROJECT["project"]["dependencies"] + extras if not each.startswith("spaseq[")]
    assert [requirement for requirement in others if ">=" not in requirement] == []


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    assert "## [Unreleased]" in text_of("CHANGELOG.md")


def test_the_licence_is_given_in_full() -> None:
    licence = text_of("LICENSE")
    assert "Apache License" in licence
    assert "9. Accepting Warranty or Additional Liability." in licence
    assert "END OF TERMS AND CONDITIONS" in licence


def test_the_search_for_python_finds_one_that_is_new_enough() -> None:
    found = subprocess.run([FIND_PYTHON], capture_output=True, text=True, check=True).stdout.strip()
    version = subprocess.run(
        [found, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, text=True, check=True
    )
    assert version.stdout.strip() == "True"


def test_the_search_for_python_says_what_to_do_when_there_is_none(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    bash = shutil.which("bash")
    assert bash is not None
    found = subprocess.run(
        [bash, str(FIND_PYTHON)], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert "no Python >= 3.11" in found.stderr
    assert "hint: install one" in found.stderr
