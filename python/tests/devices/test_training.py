"""Networks, optimizers, mixed precision and data on a second device."""

import pytest

import allotrope as al


def network():
    al.manual_seed(7)
    return al.nn.Sequential(al.nn.Linear(4, 8), al.nn.Tanh(), al.nn.LayerNorm(8), al.nn.Linear(8, 2))


def data(device):
    g = al.Generator().manual_seed(1)
    return al.randn(16, 4, generator=g).to(device), al.randint(0, 2, (16,), generator=g).to(device)


def train(device, make, scaler=None, **cast):
    model = network().to(device)
    optimizer = make(model.parameters())
    x, y = data(device)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        with al.autocast(device, enabled=bool(cast), **cast):
            loss = al.nn.functional.cross_entropy(model(x), y)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.item())
    for parameter in model.parameters():
        assert parameter.device == parameter.grad.device == device
        for value in optimizer.state[parameter].values():
            if isinstance(value, al.Tensor) and value.ndim:
                assert value.device == device
    return model, losses


OPTIMIZERS = {
    "SGD": lambda p: al.optim.SGD(p, lr=0.1, momentum=0.9),
    "AdamW": lambda p: al.optim.AdamW(p, lr=0.01),
    "masters": lambda p: al.optim.Adam(p, lr=0.01, amsgrad=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_gives_the_same_numbers(name, device):
    here, there = train("cpu", OPTIMIZERS[name]), train(device, OPTIMIZERS[name])
    assert there[1] == pytest.approx(here[1], rel=1e-5)
    for one, other in zip(here[0].parameters(), there[0].parameters()):
        assert al.allclose(one, other.cpu(), rtol=1e-4, atol=1e-5)


def test_mixed_precision(device):
    make = OPTIMIZERS["AdamW"]
    here = train("cpu", make, al.amp.GradScaler(), dtype=al.bfloat16)
    there = train(device, make, al.amp.GradScaler(device), dtype=al.bfloat16)
    assert there[1] == pytest.approx(here[1], rel=1e-3)


def test_modules_move(device):
    model = al.nn.Sequential(al.nn.Linear(2, 2), al.nn.BatchNorm1d(2))
    weight = model[0].weight
    assert model.to(device) is model and model[0].weight is weight and weight.device == device
    assert all(buffer.device == device for buffer in model.buffers())
    assert model(al.ones(4, 2, device=device)).device == device
    state = model.cpu().state_dict()
    assert all(value.device == "cpu" for value in state.values())
    model.to(device).load_state_dict(state)
    assert weight.device == device
    assert al.nn.Linear(2, 2, device=device).weight.device == device
    assert al.nn.Linear(2, 2).to(device, al.bfloat16).weight.dtype == al.bfloat16
    with pytest.raises(RuntimeError, match="gpu"):
        model.to("cuda")
    assert model.to_empty(device="cpu")[0].weight.device == "cpu"


def test_saved_optimizers_go_where_the_parameters_are(device):
    model = network().to(device)
    optimizer = al.optim.Adam(model.parameters(), lr=0.01)
    x, y = data(device)
    al.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    state = optimizer.state_dict()
    here = network()
    other = al.optim.Adam(here.parameters(), lr=0.01)
    other.load_state_dict(state)
    x, y = data("cpu")
    al.nn.functional.cross_entropy(here(x), y).backward()
    other.step()


MOVES = {
    "to": lambda model, device: model.to(device),
    "to with dtype": lambda model, device: model.to(device, al.bfloat16),
    "to a tensor": lambda model, device: model.to(al.zeros(1, device=device)),
    "to_empty": lambda model, device: model.to_empty(device=device),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_gradients_move_with_their_model(move, name, device):
    model = network()
    optimizer = getattr(al.optim, name)(model.parameters(), lr=0.01)
    x, y = data("cpu")
    al.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    before = [p.grad.tolist() for p in model.parameters()]
    MOVES[move](model, device)
    for parameter, values in zip(model.parameters(), before, strict=True):
        gradient = parameter.grad
        assert (gradient.device, gradient.dtype) == (parameter.device, parameter.dtype) == (device, parameter.dtype)
        assert al.allclose(gradient.cpu().float(), al.tensor(values), rtol=1e-2)
    # What comes next is added to it, and the optimizer goes on.
    if move != "to_empty":
        x, y = data(device)
        al.nn.functional.cross_entropy(model(x.to(next(model.parameters()).dtype)), y).backward()
        optimizer.step()
    model.to("cpu")
    assert all(p.grad.device == "cpu" for p in model.parameters())


def test_a_model_moved_by_gpu_and_cpu():
    if not al.gpu.is_available():
        pytest.skip("no GPU")
    layer = al.nn.Linear(2, 2)
    layer(al.ones(1, 2)).sum().backward()
    assert layer.gpu().weight.grad.device == "gpu" and layer.cpu().weight.grad.device == "cpu"


def test_families_of_a_model_stay_open(device):
    model = al.nn.Sequential(al.nn.Linear(2, 2, dtype=al.float64), al.nn.BatchNorm1d(2))
    members = [*model.parameters(), *(b for b in model.buffers() if b.is_floating_point())]
    with al.demotion("error"):
        for _ in (model.to(al.Float), model.to(device), model.to(al.Float), model.to("cpu")):
            assert all(one.numeric is al.Float for one in members)
    assert model[0].weight.dtype == al.float64
    made = al.nn.BatchNorm1d(2, dtype=al.Float, device=device)
    assert made.running_mean.numeric is al.Float and made.weight.numeric is al.Float
    assert made.to(al.float32).running_mean.numeric == al.float32


def test_data_is_moved_by_a_statement(device):
    dataset = al.data.TensorDataset(*data("cpu"), dtype=al.Float)
    dataset.to(device)
    assert all(part.device == device for part in dataset[0])
    assert dataset[0][0].numeric is al.Float


def test_data(device):
    x, y = data("cpu")
    dataset = al.data.TensorDataset(x, y).to(device)
    loader = al.data.DataLoader(dataset, batch_size=5, shuffle=True, pin_memory=True)
    batches = list(loader)
    assert sum(len(batch[1]) for batch in batches) == 16
    assert all(part.device == device for batch in batches for part in batch)
    assert x.pin_memory() is x
    plain = al.data.DataLoader(al.data.TensorDataset(x, y), batch_size=4)
    assert next(iter(plain))[0].to(device).device == device


@pytest.mark.parametrize("kind", [al.nn.LSTM, al.nn.GRU])
def test_recurrent_networks(kind, device):
    al.manual_seed(3)
    layer = kind(3, 4, batch_first=True)
    x = al.randn(2, 5, 3, generator=al.Generator().manual_seed(2))
    here = layer(x)[0].tolist()
    there = layer.to(device)(x.to(device))[0]
    assert there.device == device
    assert al.allclose(there.cpu(), al.tensor(here), rtol=1e-5, atol=1e-6)
    there.sum().backward()
    assert all(p.grad.device == device for p in layer.parameters())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_follow_a_model_that_moves(name, device):
    def trained(*places):
        model = network()
        optimizer = OPTIMIZERS[name](model.parameters())
        for place in places:
            model.to(place)
            x, y = data(place)
            optimizer.zero_grad()
            al.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        return model

    here, moved = trained("cpu", "cpu", "cpu", "cpu"), trained("cpu", device, device, "cpu")
    for one, other in zip(here.parameters(), moved.parameters()):
        assert al.allclose(one, other, rtol=1e-4, atol=1e-5)
