"""The page of the book that says how a device with primitives alone comes to its results."""

import write_ways


def test_the_page_is_what_the_device_does():
    assert write_ways.PAGE.read_text() == write_ways.page(), "write_ways.py writes it"
