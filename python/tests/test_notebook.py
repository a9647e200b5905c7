"""What a notebook shows: HTML of tensors, dtypes, families and models, for all of them, and short."""

import math
from html.parser import HTMLParser

import pytest

import allotrope as al
from allotrope import nn
from reference import DTYPES, named

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=named)
SHAPES = [(), (0,), (3, 0), (1,), (7,), (3, 4), (100, 200), (2, 3, 4), (1, 1)]


class Balanced(HTMLParser):
    """Every element that is opened is closed, and there is no script."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        assert tag != "script"
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def checked(page, most=9_000):
    """The text of a page that is right and short."""
    assert len(page) <= most
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    return "".join(parser.text)


@each_dtype
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_tensors(dtype, shape):
    numbers = al.arange(math.prod(shape)).reshape(shape) % 5
    text = checked(numbers.to(dtype)._repr_html_())
    assert dtype.name in text and str(list(shape)) in text and "cpu" in text
    assert repr(numbers.to(dtype))[:40] in text


def test_shares_of_what_is_no_number():
    x = al.arange(200.0).reshape(10, 20)
    x[3, 3], x[4] = math.nan, math.inf
    page = x._repr_html_()
    text = checked(page)
    assert "nan 0.50%" in text and "inf 10.00%" in text and "max 199" in text
    assert 'stroke="#cf222e"' in page
    assert "nan" not in checked(al.ones(3)._repr_html_())
    for value in (math.nan, math.inf):
        assert "100.00%" in checked(al.full((4, 4), value)._repr_html_())


def test_cells_of_a_heat_map_stand_for_all_their_elements():
    x = al.zeros(100, 100)
    assert 'stroke="#cf222e"' not in x._repr_html_()
    x[57, 91] = math.inf
    assert 'stroke="#cf222e"' in x._repr_html_()


def test_what_a_tensor_says_of_itself():
    assert "requires grad" in checked(al.ones(2, requires_grad=True)._repr_html_())
    assert "family Float" in checked(al.tensor([1.0], dtype=al.Float)._repr_html_())
    assert "true 75.0%" in checked(al.tensor([True, True, True, False])._repr_html_())
    assert "of both parts" in checked(al.ones(2, dtype="complex64")._repr_html_())
    parameter = nn.Linear(2, 2).weight
    assert "requires grad" in checked(parameter._repr_html_())
    extremes = al.tensor([-1.7e308, 1.7e308], dtype=al.float64)
    assert "max 1.7e+308" in checked(extremes._repr_html_())
    assert "max" in checked(al.tensor([[-1.7e308, 1.7e308]], dtype=al.float64)._repr_html_())


def test_large_tensors_are_looked_at_in_steps():
    text = checked(al.zeros(3000, 3000)._repr_html_())
    assert "elements" in text
    assert "elements" in checked(al.zeros(1).expand(1 << 40)._repr_html_())


@pytest.mark.parametrize("scope", [lambda: al.promotion("strict"), lambda: al.autocast()], ids=["strict", "amp"])
def test_settings_do_not_matter(scope):
    x = al.randn(4, 4, requires_grad=True)
    page = x._repr_html_()
    with scope(), al.trace_dtypes():
        assert x._repr_html_() == page


@each_dtype
def test_dtypes(dtype):
    page = dtype._repr_html_()
    text = checked(page)
    assert dtype.name in text and f"{dtype.bits} bits" in text
    # One box for each bit.
    assert page.count("v10h") == dtype.bits
    if dtype.is_floating_point:
        digits = -int(math.log2(dtype.finfo.eps))
        assert f"<title>fraction: {digits}</title>" in page
        assert f"<title>exponent: {dtype.bits - 1 - digits}</title>" in page


@pytest.mark.parametrize("family", [al.Int, al.UInt, al.Float, al.Complex], ids=named)
def test_families(family):
    text = checked(family._repr_html_())
    assert all(dtype.name in text for dtype in family.members)


def test_models():
    model = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.ReLU(), nn.Linear(8, 2, dtype=al.bfloat16)))
    text = checked(model._repr_html_())
    assert "58 parameters" in text and "bfloat16" in text and "in_features=4" in text
    many = nn.Sequential(*(nn.Linear(1, 1) for _ in range(1000)))
    assert "and 801 more modules" in checked(many._repr_html_(), most=200_000)
    assert "uninitialized" not in checked(nn.LazyLinear(3)._repr_html_())
