"""The map stays a map, every decision stands in the index, and links and paths of both lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
PAGES = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")]
PAGES += [*sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "book" / "src").glob("*.md"))]

#: The text of a link to a decision, and the number of the file.
LINKED = re.compile(r"\[([^\]]*)\]\((?:\S*/)?(\d{3})-[\w-]+\.md(?:#[^)]*)?\)")
#: The number of a decision in words; and in brackets or a cell of its own, where its zero tells it from a figure.
SPOKEN = re.compile(r"(?:[Dd]ecisions?|[Rr]eplace[ds]? by|[Rr]eplaces|[Ss]ee) \[?(\d{3})\b")
ALONE = re.compile(r"(?:\(|\| )(0\d\d)(?:\)| \|)")

#: What the map speaks of in the words `crate/src/…`.
MAPPED = re.compile(r"`((?:allotrope|bench|conformance|cpu|derive|dtype|gpu|io|nn|op|python|tensor|xtask)/[\w/.]+)`")


def test_map_is_short():
    assert len((ROOT / "ARCHITECTURE.md").read_text().split()) <= 2000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_statements_of_the_four_documents():
    """Each has a row, each row that is not as stated says why, and the counts are those of the rows."""
    text = (ROOT / "docs" / "documents.md").read_text()
    rows = re.findall(r"^\| ([LCGT])(\d+) \| (.+) \| (\w+) \| (.*) \|$", text, re.MULTILINE)
    statuses = re.findall(r"\*\*(\w+)\*\*", text)
    assert statuses == ["same", "better", "different", "partial", "missing"]
    for letter, name, count in (("L", "Lucid's Numeric", 96), ("C", "Cobalt", 74), ("G", "Genesis", 60), ("T", "TenfloweRS", 68)):
        found = [row for row in rows if row[0] == letter]
        assert [int(row[1]) for row in found] == list(range(1, count + 1))
        counts = [sum(row[3] == status for row in found) for status in statuses]
        assert f"| {name} | {' | '.join(map(str, counts))} | {count} |" in text
    assert all(row[4] for row in rows if row[3] not in ("same", "better"))
    whole = [sum(row[3] == status for row in rows) for status in statuses]
    assert f"| all | {' | '.join(map(str, whole))} | {len(rows)} |" in text


def test_links_to_decisions_have_their_numbers():
    """A number in the text of a link is that of the file which it leads to."""
    links = [(*link, page.name) for page in PAGES for link in LINKED.findall(page.read_text())]
    labelled = [(number, *link) for link in links for number in re.findall(r"\b\d{3}\b", link[0])]
    assert len(labelled) > len(DECISIONS) and [link for link in labelled if link[0] != link[2]] == []


def test_decisions_that_are_spoken_of():
    """In pages and in the comments of sources; in words (`decision 009`), and as a number alone (`(009)`)."""
    sources = [*(ROOT / "crates").rglob("*.rs"), *(ROOT / "python" / "allotrope").rglob("*.py")]
    spoken = [(number, page) for page in PAGES for number in SPOKEN.findall(page.read_text()) + ALONE.findall(page.read_text())]
    spoken += [(number, source) for source in sources for number in SPOKEN.findall(source.read_text())]
    numbers = {path.name[:3] for path in DECISIONS}
    assert len(spoken) > 30 and [(number, path.name) for number, path in spoken if number not in numbers] == []


def test_paths_of_the_map():
    paths = MAPPED.findall((ROOT / "ARCHITECTURE.md").read_text())
    lost = [path for path in paths if not any((at / path).exists() for at in (ROOT / "crates", ROOT))]
    assert len(paths) > 20 and lost == []


def test_decisions():
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()
    assert [int(path.name[:3]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    for path in DECISIONS:
        text = path.read_text()
        assert f"[{path.name[:3]}]({path.name})" in index, path.name
        assert text.startswith(f"# {path.name[:3]}. "), path.name
        headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert [name for name in headings if name != "Figures"] == ["Context", "Decision", "Consequences"], path.name
        assert "Figures" not in headings or re.search(r"\d{4}-\d\d-\d\d|not recorded|None", text), path.name
