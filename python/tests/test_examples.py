"""The examples, in short settings: they train, in every precision that the demo shows."""

import subprocess
import sys
from pathlib import Path

import pytest

import allotrope as al

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import curves  # noqa: E402
import convnet  # noqa: E402
import demo  # noqa: E402
import digits  # noqa: E402
import gpt  # noqa: E402
import lstm  # noqa: E402
import pictures  # noqa: E402
from precision import of_all  # noqa: E402

EPOCH = 44
SMALL = gpt.Sizes(context=32, width=32, heads=2, layers=2)
WITHOUT_OPTIONS = "bfloat16, nothing else"


@pytest.fixture(autouse=True)
def own_random_numbers():
    """What the examples seed is theirs."""
    with al.random.fork_rng():
        yield


@pytest.fixture(scope="module")
def runs():
    """The demo's trainings, each made once."""
    made = {}

    def run(name):
        if name not in made:
            made[name] = digits.train(demo.SETTINGS[name], 40 * EPOCH)
        return made[name]

    return run


@pytest.mark.parametrize("name", [name for name in demo.SETTINGS if name != WITHOUT_OPTIONS])
def test_digits_are_read_in_every_precision(runs, name):
    run = runs(name)
    assert run.accuracies[-1] >= 0.97
    assert run.losses[-1] < run.losses[0] / 10


def test_bytes_are_those_of_the_dtypes(runs):
    count = 64 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
    widths = {name: plan.of("")["store"].itemsize for name, plan in demo.SETTINGS.items()}
    for name, width in widths.items():
        assert runs(name).weight_bytes == count * width
    moments = 2 * count
    assert runs("float64").optimizer_bytes // moments == 8
    assert runs("bfloat16, stochastic").optimizer_bytes // moments == 4
    assert runs(WITHOUT_OPTIONS).optimizer_bytes // moments == 2
    # Two moments and the masters, all float32.
    assert runs("float8, masters").optimizer_bytes // count == 12


def test_the_options_of_narrow_weights_earn_their_place(runs):
    assert runs(WITHOUT_OPTIONS).losses[-1] > 1.5 * runs("bfloat16, stochastic").losses[-1]


def test_the_table_and_the_picture(runs, tmp_path):
    made = {name: runs(name) for name in list(demo.SETTINGS)[:2]}
    text = demo.table(made)
    assert len(text.splitlines()) == 2 + len(made)
    assert all(name in text for name in made)
    picture = tmp_path / "curves.svg"
    curves.draw(picture, {name: run.losses for name, run in made.items()}, "t", "x", "y", True)
    assert picture.read_text().count("<polyline") == len(made)


@pytest.mark.parametrize("plan", [of_all(), of_all(compute="bfloat16")], ids=["float32", "amp"])
def test_the_convnet_reads_digits(plan):
    assert convnet.train(plan, 2 * EPOCH) >= 0.95


@pytest.mark.parametrize(
    "plan",
    [of_all(), of_all("float64"), of_all(compute="float16")],
    ids=["float32", "float64", "float16"],
)
def test_the_lstm_reads_digits(plan):
    # By 6 epochs it reads 0.88 of them in any dtype, but for the noise of so small a set.
    assert lstm.train(plan, 10 * EPOCH) >= 0.85


def test_the_gpt_learns_alike_in_bfloat16():
    ends = []
    for plan in (of_all(), of_all(compute="bfloat16")):
        *_, losses = gpt.train(plan, 120, lr=5e-3, sizes=SMALL)
        ends.append(sum(losses[-20:]) / 20)
        assert ends[-1] < losses[0] - 1
    assert ends[1] == pytest.approx(ends[0], rel=0.02)


def test_the_pictures_of_the_book():
    from xml.etree import ElementTree

    report = pictures.audit_of_gpt(2, SMALL)
    assert report.error < 0.01 and report.first_nonfinite is None
    page = pictures.html_as_svg(pictures.tensor()._repr_html_(), 640, 300)
    for picture in (report.to_svg(), pictures.trace_of_attention().to_svg(), page):
        assert ElementTree.fromstring(picture).tag.endswith("svg")
        assert len(picture) < 60_000


@pytest.mark.parametrize(
    "command",
    [
        ["digits.py", "--dtype", "bfloat16", "--stochastic-rounding"],
        ["digits.py", "--dtype", "float16", "--master-weights"],
        ["convnet.py", "--dtype", "float64"],
        ["lstm.py", "--amp", "bfloat16"],
        ["gpt.py", "--amp", "float16"],
        ["tour.py"],
    ],
    ids=" ".join,
)
def test_from_the_command_line(command):
    steps = [] if command == ["tour.py"] else ["--steps", "3"]
    run = [sys.executable, str(EXAMPLES / command[0]), *command[1:], *steps]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "nan" not in done.stdout.lower().split("\n")[0]
