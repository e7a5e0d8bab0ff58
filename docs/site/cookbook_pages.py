"""The pages of the cookbook, made from docs/cookbook: a query with its title, its test with data and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "cookbook"
VOCABULARIES = {
    "sosa": ("Sensors (SOSA)", "https://www.w3.org/TR/vocab-ssn/"),
    "brick": ("Buildings (Brick)", "https://brickschema.org/"),
    "epcis": ("Supply chains (EPCIS)", "https://ref.gs1.org/epcis/"),
    "fhir": ("Health (FHIR)", "https://hl7.org/fhir/rdf.html"),
    "ais": ("Ships (AIS)", ""),
    "uco": ("Security (UCO)", "https://unifiedcyberontology.org/"),
    "prov": ("Provenance (PROV)", "https://www.w3.org/TR/prov-o/"),
}
"""By the beginning of a file's name, the title of its page and where the vocabulary is defined."""
HEAD = """# Cookbook

Twenty patterns in vocabularies that streams of RDF use. Each is a query with a test: events, what is known, and the
rows that they give. Take the two files from `docs/cookbook`, run them with `spaseq test docs/cookbook`, and change what
differs in your data ([Testing queries](../how-to/testing.md)).

"""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A pattern: the title and the words above the query, the query, and its test."""

    name: str
    title: str
    words: str
    query: str
    test: str

    @staticmethod
    def read(path: Path) -> Recipe:
        """The recipe of a query file, whose comment begins with the title."""
        lines = path.read_text(encoding="utf-8").splitlines()
        comment = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
        query = "\n".join(line for line in lines if not line.startswith("#"))
        test = path.with_suffix(".trig").read_text(encoding="utf-8")
        return Recipe(path.stem, comment[0], " ".join(comment[1:]).strip(), query, test.rstrip())


def recipes(vocabulary: str) -> Iterator[Recipe]:
    """The patterns in a vocabulary, in the order of their names."""
    return map(Recipe.read, sorted(FOLDER.glob(f"{vocabulary}-*.rq")))


def index_page() -> str:
    """The page that names all patterns."""
    rows = (
        f"| [{each.title}]({vocabulary}.md#{each.name}) | {title} |\n"
        for vocabulary, (title, _) in VOCABULARIES.items()
        for each in recipes(vocabulary)
    )
    return f"{HEAD}| pattern | vocabulary |\n|---|---|\n{''.join(rows)}"


def vocabulary_page(vocabulary: str) -> str:
    """The page of one vocabulary."""
    title, link = VOCABULARIES[vocabulary]
    where = f"The vocabulary: <{link}>.\n" if link else "AIS has no settled vocabulary: take the names of your own.\n"
    return f"# {title}\n\n{where}{''.join(map(_section, recipes(vocabulary)))}"


def cookbook_pages() -> dict[str, Callable[[], str]]:
    """The functions that make the pages, by the places of the pages."""
    made: dict[str, Callable[[], str]] = {"cookbook/index.md": index_page}
    for vocabulary in VOCABULARIES:
        made[f"cookbook/{vocabulary}.md"] = lambda of=vocabulary: vocabulary_page(of)  # type: ignore[misc]
    return made


def _section(each: Recipe) -> str:
    return (
        f"\n## {each.title} {{ #{each.name} }}\n\n{each.words}\n\n`{each.name}.rq`\n\n```sparql\n{each.query}\n```\n\n"
        f"`{each.name}.trig`: events and rows\n\n```trig\n{each.test}\n```\n"
    )
