"""The book and the README: every block of code runs, and every page is in the summary."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from run_page import DEVICE, FENCE, blocks

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book" / "src"
PAGES = [ROOT / "README.md", *sorted(BOOK.glob("*.md"))]
LANGUAGES = {"python", "python,gpu", DEVICE, "rust", "text", "sh", "console", "toml"}


def names(page):
    return page.name


def languages(page):
    return {block.language for block in blocks(page.read_text())}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(each.startswith("python") for each in languages(page))], ids=names
)
def test_python(page, tmp_path):
    # A reader has set none of our variables, but perhaps one that chooses a GPU.
    ours = [name for name in os.environ if name.startswith("ALLOTROPE_") and not name.startswith("ALLOTROPE_GPU")]
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    if DEVICE in languages(page):
        environment["ALLOTROPE_TEST_DEVICE"] = "1"
    run = [sys.executable, str(Path(__file__).with_name("run_page.py")), str(page)]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_blocks_have_languages(page):
    """A block in a language that no test knows is one that nobody runs."""
    text = page.read_text()
    assert languages(page) <= LANGUAGES
    assert len(re.findall("^```", text, re.MULTILINE)) == 2 * len(FENCE.findall(text))


def test_rust_blocks_are_documentation_tests():
    included = re.findall(r'include_str!\("\.\./\.\./\.\./(.*?)"\)', (ROOT / "crates/allotrope/src/lib.rs").read_text())
    assert {ROOT / path for path in included} == {page for page in PAGES if "rust" in languages(page)}


def test_summary():
    listed = re.findall(r"\]\(([^)]+\.md)\)", (BOOK / "SUMMARY.md").read_text())
    assert sorted(listed) == sorted(page.name for page in PAGES[1:] if page.name != "SUMMARY.md")


def anchors(page):
    """Headings as mdBook and GitHub name them."""
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_to_headings(page):
    """That pages are there is in `test_documents.py`."""
    links = re.findall(r"\]\(([^)#:\s]*)#([^)]*)\)", FENCE.sub("", page.read_text()))
    lost = [(path, name) for path, name in links if name not in anchors(page.parent / path if path else page)]
    assert lost == []
