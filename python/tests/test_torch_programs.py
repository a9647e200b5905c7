"""Programs that import torch, run as they are: in processes of their own, which have no torch."""

import importlib
import subprocess
import sys
import textwrap

import pytest

import allotrope as al
import allotrope.torch as torch
from allotrope.torch import _names, _paths


def run(tmp_path, program, *arguments, name="program.py"):
    (tmp_path / name).write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "allotrope.torch", name, *arguments]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)


CLASSIFIER = """
    import argparse
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    import torch.optim as optim
    from torch.optim.lr_scheduler import StepLR
    from torch.utils.data import DataLoader, Dataset

    class Points(Dataset):
        def __init__(self, n):
            self.x = torch.randn(n, 1, 8, 8)
            self.y = (self.x.mean((1, 2, 3)) > 0).long()
        def __len__(self):
            return len(self.y)
        def __getitem__(self, i):
            return self.x[i], self.y[i]

    class Net(nn.Module):
        def __init__(self):
            super(Net, self).__init__()
            self.conv = nn.Conv2d(1, 4, 3)
            self.drop = nn.Dropout2d(0.1)
            self.fc = nn.Linear(4 * 9, 2)
        def forward(self, x):
            x = self.drop(F.max_pool2d(F.relu(self.conv(x)), 2))
            return F.log_softmax(self.fc(torch.flatten(x, 1)), dim=1)

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--epochs", type=int, default=1)
        args = parser.parse_args()
        torch.manual_seed(0)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader(Points(128), batch_size=32, shuffle=True, pin_memory=torch.cuda.is_available())
        model = nn.DataParallel(Net()).to(device)
        optimizer = optim.Adadelta(model.parameters(), lr=1.0)
        scheduler = StepLR(optimizer, step_size=1, gamma=0.9)
        scaler = torch.cuda.amp.GradScaler(enabled=False)
        losses = []
        for epoch in range(args.epochs):
            for x, y in loader:
                optimizer.zero_grad()
                with torch.cuda.amp.autocast(enabled=False):
                    loss = F.nll_loss(model(x.to(device)), y.to(device))
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                losses.append(loss.item())
            scheduler.step()
        torch.save({"state": model.module.state_dict(), "epoch": epoch, "rates": scheduler.get_last_lr()}, "net.safetensors")
        found = torch.load("net.safetensors", map_location="cpu")
        again = Net()
        again.load_state_dict(found["state"])
        print(losses[-1] < losses[0], found["epoch"], len(found["rates"]))

    if __name__ == "__main__":
        main()
"""


def test_a_training(tmp_path):
    done = run(tmp_path, CLASSIFIER, "--epochs", "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True 3 1\n" and done.stderr == ""


def test_the_same_with_the_imports_exchanged(tmp_path):
    program = textwrap.dedent(CLASSIFIER).replace("import torch\n", "import allotrope.torch as torch\n")
    program = program.replace("import torch.", "import allotrope.torch.").replace("from torch.", "from allotrope.torch.")
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py", "--epochs", "4"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True 3 1\n"


def test_what_is_not_here_is_listed(tmp_path):
    program = """\
    import torch
    from torch import nn
    if hasattr(torch, "no_such_name"):
        raise SystemExit("found")
    getattr(nn, "NoSuchLayer", None)
    try:
        import torch.no_such_module
    except ImportError as error:
        print(error)
    raise SystemExit(7)
    """
    done = run(tmp_path, program)
    assert done.returncode == 7 and done.stdout == "No module named 'torch.no_such_module'\n"
    assert done.stderr.splitlines() == [
        "allotrope.torch: asked for and not here:", "  torch.no_such_name  (program.py:3)",
        "  torch.nn.NoSuchLayer  (program.py:5)", "  torch.no_such_module  (program.py:7)",
    ]  # fmt: skip


def test_errors_are_the_programs_own(tmp_path):
    done = run(tmp_path, "import torch\ndef f():\n    torch.ones(2) @ torch.ones(3)\nf()\n")
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and lines[0] == "Traceback (most recent call last):"
    assert lines[1].startswith('  File "program.py", line 4') and "allotrope/torch" not in done.stderr
    assert lines[-1].startswith("ValueError: matmul: ")
    assert run(tmp_path, "def f(:\n").stderr.splitlines()[-1].startswith("SyntaxError")
    assert run(tmp_path, "import sys\nsys.exit('why')\n").stderr == "why\n"
    assert run(tmp_path, "raise SystemExit\n").returncode == 0


def test_programs_are_main_and_have_their_folder(tmp_path):
    (tmp_path / "beside.py").write_text("import torch\nvalue = torch.ones(2).sum().item()\n")
    program = "import sys, beside\nprint(__name__, sys.argv, beside.value, sys.modules['__main__'].sys is sys)\n"
    done = run(tmp_path, program, "-x", "1")
    assert done.stdout == "__main__ ['program.py', '-x', '1'] 2.0 True\n", done.stderr
    command = [sys.executable, "-m", "allotrope.torch", "-m", "program", "a"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "'a'] 2.0 True" in done.stdout, done.stderr


def test_what_cannot_be_run_is_said(tmp_path):
    for arguments, code, words in ((["none.py"], 2, "no such program: 'none.py'"), ([], 2, "usage: "), (["-m", "no_such"], 1, "no such module")):
        command = [sys.executable, "-m", "allotrope.torch", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code and words in done.stderr, done.stderr
    assert subprocess.run([sys.executable, "-m", "allotrope.torch", "-h"], capture_output=True).returncode == 0


def test_modules_are_saved_as_code_and_read_on_demand(tmp_path):
    program = """\
    import warnings
    import torch
    torch.save(torch.nn.Linear(2, 3), "layer.pickle")
    print(type(torch.load("layer.pickle", weights_only=False)).__name__)
    try:
        torch.load("layer.pickle")
    except Exception as error:
        print(type(error).__name__)
    """
    done = run(tmp_path, program)
    assert done.stdout.split() == ["Linear", "OSError"], done.stdout + done.stderr


def test_saved_values_come_back():
    import io

    import numpy

    for value in (al.arange(3), {"a": [al.ones(2), 1.5, None, "x"], "b": numpy.arange(4.0)}, al.zeros(2, 3).shape, [1, (2, 3)]):
        file = io.BytesIO()
        torch.save(value, file)
        file.seek(0)
        found = torch.load(file)
        assert repr(found) == repr(value) and type(found) in (type(value), tuple)


@pytest.mark.parametrize("path", [*_paths.PATHS, *(f"{p}.{f}" for p, files in _paths.FILES.items() for f in files.split()), *_names.PLACES])
def test_every_path_leads_somewhere(path):
    if not path or path in ("utils.tensorboard",):
        return
    if path.startswith("distributions") and not hasattr(al, "distributions"):
        return
    module = importlib.import_module(f"allotrope.torch.{path}")
    assert isinstance(module, _paths.Place) and [name for name in dir(module) if not name.startswith("__")]


def test_names_are_those_of_the_library():
    import allotrope.torch.nn.functional as F
    from allotrope.torch.nn import Module
    from allotrope.torch.nn.modules.conv import Conv2d
    from allotrope.torch.optim.adam import Adam
    from allotrope.torch.utils.data.dataloader import DataLoader

    assert torch.Tensor is al.Tensor and F.relu is al.nn.functional.relu and Module is al.nn.Module
    assert Conv2d is al.nn.Conv2d and Adam is al.optim.Adam and DataLoader is al.data.DataLoader
    assert torch.optim.lr_scheduler._LRScheduler is al.optim.lr_scheduler.LRScheduler
    assert torch.nn.modules.utils._pair(3) == (3, 3) and torch.nn.modules.utils._triple((1, 2, 3)) == (1, 2, 3)
    with pytest.raises(AttributeError, match=r"module 'torch.nn' has no attribute 'Liner'"):
        torch.nn.Liner


def test_versions_compare_by_their_numbers():
    version = torch.__version__
    assert version >= "1.10" and version > "2.0.1" and version < "10.0" and version != "1.0" and version == _names.VERSION
    assert version >= (2, 1) and isinstance(version, str) and int(version.split(".")[0]) == 2


def test_constructors_by_dtype():
    assert torch.FloatTensor([1, 2]).dtype == al.float32 and torch.LongTensor(2, 3).shape == (2, 3)
    assert torch.ByteTensor([1, 255]).tolist() == [1, 255] and torch.DoubleTensor().shape == (0,)
    assert isinstance(al.ones(1), torch.FloatTensor) and not isinstance(al.ones(1), torch.HalfTensor)
    assert torch.IntTensor(al.zeros(2, 3).shape).shape == (2, 3)
    with pytest.raises(TypeError, match=r"torch.cuda.FloatTensor: no such device: 'cuda'; torch.FloatTensor is accepted"):
        torch.cuda.FloatTensor([1])
    try:
        torch.set_default_tensor_type("torch.DoubleTensor")
        assert al.ones(1).dtype == al.float64
        torch.set_default_tensor_type(torch.FloatTensor)
        assert al.ones(1).dtype == al.float32
    finally:
        al.set_default_dtype(al.float32)
    with pytest.raises(TypeError, match="set_default_tensor_type"):
        torch.set_default_tensor_type(torch.cuda.FloatTensor)


def test_devices_of_other_makers():
    for module in (torch.cuda, torch.mps, torch.xpu, torch.accelerator):
        assert not module.is_available() and module.device_count() == 0
        module.synchronize(), module.empty_cache(), module.manual_seed(1)
        with pytest.raises(RuntimeError, match="no such device"):
            module.current_device()
    assert torch.cuda.memory_allocated() == 0 and torch.version.cuda is None and not torch.backends.mps.is_available()
    with pytest.raises(RuntimeError, match="'cuda'"):
        torch.cuda.amp.autocast()


def test_in_place_functions():
    x = al.tensor([-1.0, 4.0])
    assert torch.relu_(x) is x and torch.sqrt_(x).tolist() == [0, 2] and torch.zero_(x).tolist() == [0, 0]
    assert torch.fill_(x, 3).tolist() == [3, 3] and torch.resize_as_(x, al.ones(1)).tolist() == [3]
    assert torch.autograd.Variable(x, requires_grad=True).requires_grad and isinstance(x, torch.autograd.Variable)


def test_assignments_reach_the_library(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.functional, "relu", len)
        assert al.nn.functional.relu is len and torch.nn.functional.relu is len
    assert torch.nn.functional.relu is al.nn.functional.relu is not len
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    assert al.backends.cudnn.benchmark is True and torch.backends.cudnn.deterministic is True
    torch.backends.cudnn.benchmark = before
    torch.backends.cudnn.enabled = True
    assert torch.backends.cudnn.enabled is False and torch.backends.cuda.matmul.allow_tf32 is False
    with pytest.raises(AttributeError, match="no such setting"):
        torch.backends.cudnn.benchmarc = True
    with pytest.raises(AttributeError, match="no such setting"):
        torch.default_dtype = al.float16


def test_what_needs_more_is_refused_in_words():
    for call, words in (
        (lambda: importlib.import_module("allotrope.torch.utils.tensorboard"), "tensorboard"),
        (lambda: torch.onnx.export(al.nn.Linear(1, 1), (), "x"), "onnx.export"),
        (lambda: torch.jit.save(al.nn.Linear(1, 1), "x"), "jit.save"),
        (lambda: torch.hub.load("a/b", "c"), "not downloaded"),
        (lambda: torch.distributed.init_process_group("gloo"), "one process is accepted"),
        (lambda: torch.nn.parallel.DistributedDataParallel(al.nn.Linear(1, 1)), "one process is accepted"),
    ):
        try:
            call()
        except (RuntimeError, ImportError) as error:
            assert words in str(error)
        else:
            assert words == "tensorboard", words


def test_the_hook_comes_and_goes():
    assert "torch" not in sys.modules or pytest.skip("torch is here")
    torch.install()
    try:
        import torch as found
        import torch.utils.data as data

        assert found.nn.Linear is al.nn.Linear and data.DataLoader is al.data.DataLoader
    finally:
        torch.uninstall()
    assert "torch" not in sys.modules and not any(name.startswith("torch.") for name in sys.modules)
