"""The examples of the book run, and print what it says."""

import doctest
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book" / "src"
PAGES = sorted(page.name for page in BOOK.glob("*.md") if ">>>" in page.read_text())


@pytest.mark.parametrize("page", PAGES)
def test_examples(page):
    # The fence after an example would be taken for what it prints.
    text = (BOOK / page).read_text().replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, page, None, 0)
    assert examples.examples
    failures = []
    doctest.DocTestRunner(verbose=False).run(examples, out=failures.append)
    assert not failures, "".join(failures)
