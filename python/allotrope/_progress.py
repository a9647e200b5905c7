"""Bars that tell how far a loop has come: in terminals, in notebooks, and as lines in files.

Drawing is rare: a step costs a look at the clock. On a terminal all bars under way are one block of
lines, which is written over; a bar that ends leaves it upwards.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from ._core import Tensor

T = TypeVar("T")

#: Seconds between drawings on a terminal and in a notebook.
INTERVAL = {"terminal": 0.1, "notebook": 0.2}
#: Seconds after which lines are written elsewhere; from then on the last of them, again and again.
LINES = (5.0, 10.0, 20.0, 30.0, 60.0)
#: The widest bar, in characters.
WIDEST = 30

_lock = threading.RLock()
#: The bars under way on each stream, outermost first.
_blocks: dict[int, list[Progress[Any]]] = {}
#: How many lines of a block are on the screen.
_drawn: dict[int, int] = {}
_hook: Any = None


def progress(
    iterable: Iterable[T] | None = None,
    description: str = "",
    total: int | None = None,
    leave: bool | None = None,
    file: Any = None,
    **figures: Any,
) -> Progress[T]:
    """The items of an iterable, with a bar of how far they are, how fast, and how long it will take.

    Figures stand beside it: numbers, tensors, text, or functions that are called when it is drawn.
    They are set by `bar.set(loss=0.5)` or `bar.loss = 0.5`. Where there is no terminal, lines are
    written now and then; in a notebook the bar is HTML. A bar inside another disappears at its end,
    unless leave=True. Without an iterable, `bar.update(n)` counts; a bar is a context manager, too.

    >>> import io
    >>> bar = al.progress([1, 2, 3], description="sum", file=io.StringIO())
    >>> for x in bar:
    ...     bar.loss = 1 / x
    >>> bar.count, bar.total
    (3, 3)
    """
    return Progress(iterable, description, total, leave, file, figures)


class Progress(Generic[T]):
    """A bar; see `progress`."""

    def __init__(
        self,
        iterable: Iterable[T] | None,
        description: str,
        total: int | None,
        leave: bool | None,
        file: Any,
        figures: dict[str, Any],
    ) -> None:
        set_own = object.__setattr__
        set_own(self, "_figures", {})
        if total is None and iterable is not None:
            try:
                total = len(iterable)  # type: ignore[arg-type]
            except (TypeError, NotImplementedError, AttributeError):
                total = None
        self._iterable = iterable
        self.description = description
        self.total = total
        self.leave = leave
        self._file = sys.stderr if file is None else file
        self._where = _where(self._file) if file is not None or not _in_kernel() else "notebook"
        # A loader that goes on in the middle has some batches behind it.
        loaders = sys.modules.get("allotrope.data.loader")
        is_loader = loaders is not None and isinstance(iterable, loaders.DataLoader)
        self._start = iterable.position if is_loader else 0  # type: ignore[union-attr]
        self.count = self._start
        self._begun: float | None = None
        self._due = 0.0
        self._ended: float | None = None
        self._lines = 0
        self._rate: float | None = None
        self._last = (0.0, 0)
        self._handle: Any = None
        self._wrote = False
        self.set(**figures)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or name in ("description", "total", "leave", "count"):
            object.__setattr__(self, name, value)
        elif hasattr(type(self), name):
            raise AttributeError(
                f"progress: {name!r} is not free; other names of figures are accepted"
            )
        else:
            self.set(**{name: value})

    def __getattr__(self, name: str) -> Any:
        figures = self.__dict__.get("_figures", {})
        if name in figures:
            return figures[name]
        raise AttributeError(f"progress: no figure {name!r}; {', '.join(figures) or 'none'} set")

    def set(self, **figures: Any) -> None:
        """Sets figures beside the bar."""
        for name, value in figures.items():
            if isinstance(value, Tensor) and value.requires_grad:
                # What made it is not kept alive by a bar.
                value = value.detach()
            self._figures[name] = value

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("progress: no total; iterables with a length and total= are accepted")
        return self.total

    def __iter__(self) -> Iterator[T]:
        if self._iterable is None:
            raise TypeError("progress: nothing to iterate; an iterable is accepted")
        self._begin()
        clock = time.monotonic
        state = self.__dict__
        try:
            for item in self._iterable:
                yield item
                state["count"] += 1
                if clock() >= state["_due"]:
                    self._draw()
        finally:
            self.close()

    def __enter__(self) -> Progress[T]:
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def update(self, n: int = 1) -> None:
        """Counts n more items."""
        self._begin()
        self.count += n
        if time.monotonic() >= self._due:
            self._draw()

    def write(self, text: str) -> None:
        """Writes a line above the bars."""
        with _lock:
            key = id(self._file)
            if self._where == "terminal" and _blocks.get(key):
                self._file.write(_erase(key) + text + "\n")
                _redraw(self._file)
            else:
                print(text, file=self._file if self._where != "notebook" else None, flush=True)

    def _begin(self) -> None:
        if self._begun is not None and self._ended is None:
            return
        with _lock:
            self.count = self._start
            self._start, self._ended, self._rate = 0, None, None
            self._offset = self.count
            self._begun = time.monotonic()
            self._pid = os.getpid()
            self._last = (self._begun, self.count)
            block = _blocks.setdefault(id(self._file), [])
            self._is_inner = bool(block)
            block.append(self)
            _watch()
            self._wrote, self._lines = False, 0
            if self._where == "lines":
                self._due = self._begun + LINES[0]
            else:
                self._draw()

    def close(self) -> None:
        """Ends the bar: its last state stays, or it disappears."""
        if self._begun is None or self._ended is not None or self._pid != os.getpid():
            return
        with _lock:
            self._ended = time.monotonic()
            key = id(self._file)
            leave = not self._is_inner if self.leave is None else self.leave
            block = _blocks.get(key, [])
            if self in block:
                block.remove(self)
            try:
                if self._where == "terminal":
                    left = self._line(_columns(self._file)) + "\n" if leave else ""
                    self._file.write(_erase(key) + left)
                    _redraw(self._file)
                elif self._where == "notebook":
                    self._show("" if not leave else self._html())
                elif leave or self._wrote:
                    self._file.write(self._line(None) + "\n")
                    self._file.flush()
            except (OSError, ValueError):
                # A stream that was closed shows nothing: no reason to end a training.
                pass
            if not block:
                _blocks.pop(key, None)
                _drawn.pop(key, None)
            _unwatch()

    def _draw(self) -> None:
        if self._pid != os.getpid():
            # A bar belongs to the process that began it.
            self._due = math.inf
            return
        with _lock:
            now = time.monotonic()
            self._measure(now)
            try:
                if self._where == "terminal":
                    self._due = now + INTERVAL["terminal"]
                    self._file.write(_erase(id(self._file)))
                    _redraw(self._file)
                elif self._where == "notebook":
                    self._due = now + INTERVAL["notebook"]
                    self._show(self._html())
                else:
                    self._lines += 1
                    step = LINES[min(self._lines, len(LINES) - 1)]
                    self._due = now + (
                        step - LINES[self._lines - 1] if self._lines < len(LINES) else step
                    )
                    self._wrote = True
                    self._file.write(self._line(None) + "\n")
                    self._file.flush()
            except (OSError, ValueError):
                self._due = math.inf

    def _measure(self, now: float) -> None:
        """Items per second, of late more than of old."""
        then, count = self._last
        if now - then >= 0.05 and self.count > count:
            rate = (self.count - count) / (now - then)
            self._rate = rate if self._rate is None else 0.7 * self._rate + 0.3 * rate
            self._last = (now, self.count)

    def _parts(self) -> tuple[str, float | None, str]:
        """What stands before the bar, how full it is, and what stands behind it."""
        assert self._begun is not None
        elapsed = (self._ended or time.monotonic()) - self._begun
        done = self.count - self._offset
        rate = self._rate
        if self._ended is not None or rate is None:
            rate = done / elapsed if done and elapsed > 0 else None
        share = None
        if self.total:
            share = min(1.0, self.count / self.total)
        head = f"{self.description}: " if self.description else ""
        times = _duration(elapsed)
        if self.total is not None and self._ended is None:
            left = None if rate is None else max(0, self.total - self.count) / rate
            times += f"<{'?' if left is None else _duration(left)}"
        shown = [times, _speed(rate)]
        shown += [f"{name}={_figure(value)}" for name, value in self._figures.items()]
        count = f"{self.count}/{self.total}" if self.total is not None else f"{self.count}"
        if share is not None:
            head += f"{share * 100:3.0f}%"
        return head, share, f"{count} [{', '.join(shown)}]"

    def _line(self, columns: int | None) -> str:
        head, share, tail = self._parts()
        if share is None:
            line = f"{head}{tail}"
        elif columns is None:
            line = f"{head} {tail}"
        else:
            width = min(WIDEST, columns - len(head) - len(tail) - 5)
            line = (
                f"{head} {tail}"
                if width < 3
                else f"{head} |{_bar(share, width, self._file)}| {tail}"
            )
        # The last column stays free: some terminals go to the next line there.
        return line if columns is None else line[: max(1, columns - 1)]

    def _html(self) -> str:
        from html import escape

        head, share, tail = self._parts()
        value = "" if share is None else f' value="{share:.4f}" max="1"'
        return (
            '<div style="font-family: monospace; white-space: pre">'
            f'{escape(head)} <progress{value} style="vertical-align: middle"></progress> '
            f"{escape(tail)}</div>"
        )

    def _show(self, html: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(html), display_id=True)
        else:
            self._handle.update(HTML(html))


def _forget_bars() -> None:
    """After a fork, in the child: bars are the parent's, and another thread may have had the lock."""
    global _lock
    _lock = threading.RLock()
    _blocks.clear()
    _drawn.clear()
    _unwatch()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_bars)


def _where(file: Any) -> str:
    """What a stream leads to."""
    try:
        is_terminal = file.isatty()
    except (AttributeError, ValueError):
        is_terminal = False
    return "terminal" if is_terminal and os.environ.get("TERM") != "dumb" else "lines"


def _in_kernel() -> bool:
    """Whether this is a kernel of Jupyter; IPython is not imported to find out."""
    module = sys.modules.get("IPython")
    try:
        shell = module.get_ipython() if module is not None else None
        return getattr(shell, "kernel", None) is not None
    except Exception:  # noqa: BLE001 - whatever it is, it shows no HTML
        return False


def _columns(file: Any) -> int:
    try:
        return os.get_terminal_size(file.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80


def _erase(key: int) -> str:
    """Goes back to the first line of the block, and removes it."""
    lines = _drawn.get(key, 0)
    _drawn[key] = 0
    if lines <= 1:
        return "\r\x1b[K" if lines else "\r"
    return f"\r\x1b[{lines - 1}A\x1b[J"


def _redraw(file: Any) -> None:
    """Writes the lines of all bars on a stream, and stays at the end of the last."""
    block = _blocks.get(id(file), [])
    columns = _columns(file)
    file.write("\n".join(bar._line(columns) for bar in block))
    _drawn[id(file)] = len(block)
    file.flush()


def _watch() -> None:
    """While there are bars, tracebacks begin on a line of their own."""
    global _hook
    if _hook is None:
        previous = sys.excepthook

        def hook(kind: Any, error: Any, trace: Any) -> None:
            for block in list(_blocks.values()):
                for bar in reversed(block[:]):
                    bar.close()
            previous(kind, error, trace)

        _hook = (hook, previous)
        sys.excepthook = hook


def _unwatch() -> None:
    global _hook
    if _hook is not None and not _blocks:
        hook, previous = _hook
        if sys.excepthook is hook:
            sys.excepthook = previous
        _hook = None


def _bar(share: float, width: int, file: Any) -> str:
    blocks = "█▏▎▍▌▋▊▉"
    try:
        blocks.encode(getattr(file, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        full = int(share * width)
        return "#" * full + " " * (width - full)
    full, part = divmod(int(share * width * 8), 8)
    return ("█" * full + (blocks[part] if part else "")).ljust(width)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def _speed(rate: float | None) -> str:
    if rate is None:
        return "?it/s"
    if rate < 1:
        return f"{1 / rate:.3g}s/it"
    return f"{rate:.3g}it/s" if rate < 1000 else f"{rate:.0f}it/s"


def _figure(value: Any) -> str:
    """A figure, compactly; a bar that cannot show one goes on."""
    try:
        if callable(value) and not isinstance(value, Tensor):
            value = value()
        if isinstance(value, Tensor):
            value = value.tolist() if value.numel() <= 8 else f"{value.dtype}{list(value.shape)}"
        elif not isinstance(value, (str, bool, int, float, complex)) and hasattr(value, "item"):
            value = value.item()
        return _compact(value)
    except Exception as error:  # noqa: BLE001 - see above
        return type(error).__name__


def _compact(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, complex):
        return f"{value:.3g}"
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(map(_compact, value))}]"
    return " ".join(str(value).split())
