"""Progress bars: on a terminal (a pty), in a pipe, in a notebook (a stub), and nowhere."""

import io
import os
import re
import subprocess
import sys
import textwrap
import types

import pytest

import allotrope as al
from allotrope import _progress

ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    "PYTHONIOENCODING": "utf-8",
    "PYTHON_COLORS": "0",
}


def command(script):
    return [sys.executable, "-c", "import allotrope as al, sys, time\n" + textwrap.dedent(script)]


def in_pipe(script):
    done = subprocess.run(
        command(script),
        capture_output=True,
        timeout=60,
        env={**os.environ, **ENVIRONMENT, "TERM": "xterm"},
    )
    return done.stderr.decode()


def in_terminal(script, columns=80, term="xterm"):
    """What a process writes to a terminal."""
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        command(script),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **ENVIRONMENT, "TERM": term},
    )
    os.close(theirs)
    output = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        output += piece
    process.wait(30)
    os.close(ours)
    return output.decode().replace("\r\n", "\n")


def screen(output):
    """The lines that a terminal shows at the end."""
    rows, row, column = [""], 0, 0
    for token in re.findall(r"\x1b\[\d*[A-Z]|.|\n|\r", output):
        if token == "\n":
            row, column = row + 1, 0
            if row == len(rows):
                rows.append("")
        elif token == "\r":
            column = 0
        elif token.startswith("\x1b"):
            count, code = int(token[2:-1] or 1), token[-1]
            if code == "A":
                row -= count
                assert row >= 0
            elif code == "K":
                rows[row] = rows[row][:column]
            elif code == "J":
                rows[row] = rows[row][:column]
                del rows[row + 1 :]
            else:
                raise AssertionError(token)
        else:
            line = rows[row].ljust(column)
            rows[row] = line[:column] + token + line[column + 1 :]
            column += 1
    return [line.rstrip() for line in rows]


FIRST = """
    bar = al.progress(range(40), description="train")
    for i in bar:
        bar.loss = 1 / (i + 1)
        time.sleep(0.01)
    print("done")
"""


def test_terminal():
    output = in_terminal(FIRST, columns=100)
    states = [state for state in output.split("\r") if "train" in state]
    assert len(states) > 3, output
    shown = [int(re.search(r"(\d+)%", state).group(1)) for state in states]
    assert shown == sorted(shown) and shown[0] == 0 and shown[-1] == 100
    assert "█" in states[-1] and re.search(r"\[00:00<00:00, [\d.]+it/s, loss=0\.\d+\]", states[-2])
    assert all(len(state.replace("\x1b[K", "").strip("\n")) < 100 for state in states[:-1])
    last, done = screen(output)[:2]
    assert re.fullmatch(r"train: 100% \|█{30}\| 40/40 \[00:00, [\d.]+it/s, loss=0\.025\]", last)
    assert done == "done"


def test_narrow_terminals_and_other_encodings():
    output = in_terminal(FIRST, columns=40)
    assert all(len(line) < 40 for line in screen(output)) and "train: 100%" in output
    script = "    sys.stderr.reconfigure(encoding='ascii')" + FIRST
    assert f"train: 100% |{'#' * 30}| 40/40" in in_terminal(script, columns=100)


def test_dumb_terminals_and_pipes_get_lines():
    for output in (in_terminal(FIRST, term="dumb"), in_pipe(FIRST)):
        lines = output.replace("done\n", "").splitlines()
        assert len(lines) == 1 and "\r" not in output and "\x1b" not in output
        assert re.fullmatch(r"train: 100% 40/40 \[00:00, [\d.]+it/s, loss=0\.025\]", lines[0])
    script = """
        from allotrope import _progress
        _progress.LINES = (0.1, 0.2, 0.4)
        for i in al.progress(range(13), "slow"):
            time.sleep(0.1)
    """
    lines = in_pipe(script).splitlines()
    # After 0.1, 0.2, 0.4 and then every 0.4 seconds, and at the end.
    assert len(lines) >= 4 and all(re.match(r"slow: +\d+% \d+/13 \[", line) for line in lines)
    assert "<" in lines[0] and "100% 13/13" in lines[-1]


def test_nested_bars():
    script = """
        for epoch in al.progress(range(3), "epochs"):
            for step in al.progress(range(5), "steps", leave=epoch == 1):
                time.sleep(0.03)
        print("done")
    """
    output = in_terminal(script)
    assert "\x1b[1A" in output
    lines = screen(output)
    assert [line.split("|")[0] for line in lines] == ["steps: 100% ", "epochs: 100% ", "done", ""]
    plain = in_pipe(script).splitlines()
    assert [line.split(" [")[0] for line in plain] == ["steps: 100% 5/5", "epochs: 100% 3/3"]


def test_exceptions():
    caught = """
        try:
            for i in al.progress(range(50), "outer"):
                for j in al.progress(range(9), "inner"):
                    time.sleep(0.02)
                    if j == 5:
                        raise ValueError("stop")
        except ValueError as error:
            del error
        print("after", file=sys.stderr)
        for i in al.progress(range(3), "next"):
            pass
        print(sys.excepthook is sys.__excepthook__)
    """
    lines = screen(in_terminal(caught))
    assert [line.split(" ")[0] for line in lines] == ["outer:", "after", "next:", "True", ""]
    uncaught = """
        for i in al.progress(range(50), "outer"):
            for j in al.progress(range(9), "inner"):
                time.sleep(0.02)
                if j == 5:
                    raise ValueError("stop")
    """
    lines = screen(in_terminal(uncaught))
    assert lines[0].startswith("outer:   0%") and lines[1].startswith("Traceback"), lines
    assert lines[-2] == "ValueError: stop"
    left = """
        for i in al.progress(range(50), "left"):
            if i == 4:
                break
        with al.progress(total=10, description="by hand") as bar:
            bar.update(3)
            bar.write("a line")
            bar.update(7)
    """
    lines = screen(in_terminal(left))
    assert [line.split(" |")[0] for line in lines] == ["left:   8%", "a line", "by hand: 100%", ""]


@pytest.fixture
def notebook(monkeypatch):
    """IPython in a kernel, as far as a bar sees it."""
    shown = []

    class Handle:
        def __init__(self, number):
            self.number = number

        def update(self, html):
            shown[self.number].append(html.data)

    class HTML:
        def __init__(self, data):
            self.data = data

    def display(html, display_id):
        assert display_id is True
        shown.append([html.data])
        return Handle(len(shown) - 1)

    module = types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    module.display = types.ModuleType("IPython.display")
    module.display.HTML, module.display.display = HTML, display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    monkeypatch.setitem(_progress.INTERVAL, "notebook", 0.0)
    return shown


def test_notebooks(notebook, capsys):
    for _ in al.progress(range(2), "<outer>"):
        for _ in al.progress(iter("ab"), "inner", loss=lambda: 0.5):
            pass
    outer, first, second = notebook
    assert all("<progress" in html and "&lt;outer&gt;" in html for html in outer)
    assert 'value="0.5000" max="1"' in outer[-3] or 'value="0.5000" max="1"' in outer[-2]
    assert 'value="1.0000"' in outer[-1]
    # Without a total the bar has no value; inside another it disappears.
    assert (
        "<progress style" in first[0] and "loss=0.5" in first[0] and first[-1] == second[-1] == ""
    )
    assert capsys.readouterr() == ("", "")
    # A stream that was given is written to.
    file = io.StringIO()
    list(al.progress([1], file=file))
    assert "1/1" in file.getvalue() and len(notebook) == 3


def test_a_terminal_of_ipython_is_no_notebook(monkeypatch):
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert al.progress([1])._where == "lines"


FIGURES = [
    (3, "3"),
    (True, "True"),
    (0.123456, "0.1235"),
    (1e-9, "1e-09"),
    (float("nan"), "nan"),
    ("text\nof lines", "text of lines"),
    (None, "None"),
    (al.tensor(0.5), "0.5"),
    (al.tensor(2.5, dtype="bfloat16"), "2.5"),
    (al.tensor([0.25, 1.0]), "[0.25 1]"),
    (al.zeros(3, 4), "float32[3, 4]"),
    (lambda: 1 / 3, "0.3333"),
    (lambda: al.tensor(7), "7"),
    (lambda: 1 / 0, "ZeroDivisionError"),
    ([0.5, 1], "[0.5 1]"),
    (1 + 2j, "1+2j"),
]


@pytest.mark.parametrize("value, text", FIGURES, ids=[text for _, text in FIGURES])
def test_figures(value, text):
    file = io.StringIO()
    list(al.progress([1], file=file, figure=value))
    assert file.getvalue().endswith(f", figure={text}]\n")


def test_bars_as_objects():
    bar = al.progress(range(3), file=io.StringIO(), loss=1.0)
    loss = (al.ones(2, requires_grad=True) * 2).sum()
    assert bar.loss == 1.0 and len(bar) == 3
    for _ in bar:
        bar.loss = loss
    assert not bar.loss.requires_grad and bar.loss.item() == 4.0 and bar.count == 3
    with pytest.raises(AttributeError, match="no figure 'accuracy'; loss set"):
        bar.accuracy
    with pytest.raises(AttributeError, match="'update' is not free"):
        bar.update = 3
    # Again, from the beginning.
    assert list(bar) == [0, 1, 2] and bar.count == 3
    with pytest.raises(TypeError, match="nothing to iterate"):
        list(al.progress(total=3))
    with pytest.raises(TypeError, match="no total"):
        len(al.progress(iter([])))


def test_loaders_that_go_on_in_the_middle():
    loader = al.data.DataLoader(range(10), 1)
    for batch in loader:
        if batch.item() == 5:
            break
    other = al.data.DataLoader(range(10), 1)
    other.load_state_dict(loader.state_dict())
    file = io.StringIO()
    bar = al.progress(other, file=file)
    assert [batch.item() for batch in bar] == [6, 7, 8, 9]
    assert bar.count == bar.total == 10 and "100% 10/10" in file.getvalue()
    assert len(list(bar)) == 10 and bar.count == 10


def test_forks_leave_bars_to_their_process():
    script = """
        import os
        bar = al.progress(range(4), "bar")
        for i in bar:
            if i == 1:
                child = os.fork()
                if child == 0:
                    # The loop goes on here, too, and says nothing.
                    continue
                os.waitpid(child, 0)
        for i in al.progress(range(2), "own"):
            pass
        os._exit(0) if child == 0 else None
    """
    lines = [line.split(" [")[0] for line in in_pipe(script).splitlines()]
    assert lines == ["own: 100% 2/2", "bar: 100% 4/4", "own: 100% 2/2"]


def test_streams_that_are_closed():
    file = io.StringIO()
    bar = al.progress(range(3), file=file)
    for _ in bar:
        file.close()
    assert bar.count == 3
