"""Small networks learn: layers, losses, gradients and steps together."""

import numpy
import pytest

import allotrope as al
from allotrope import nn


def descend(model, loss_of, rate, steps):
    losses = []
    for _ in range(steps):
        model.zero_grad()
        loss = loss_of()
        loss.backward()
        with al.no_grad():
            for parameter in model.parameters():
                parameter -= rate * parameter.grad
        losses.append(float(loss))
    return losses


def exclusive_or(dtype):
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1)).to(dtype)
    x = al.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).to(dtype)
    y = al.tensor([[0.0], [1.0], [1.0], [0.0]]).to(dtype)
    loss = nn.BCEWithLogitsLoss()
    return model, lambda: loss(model(x), y), 0.5, 400


def bars(dtype):
    """Images with a bar across or down."""
    random = numpy.random.RandomState(0)
    images = random.standard_normal((32, 1, 6, 6)) * 0.1
    kinds = random.randint(0, 2, 32)
    for image, kind in zip(images, kinds):
        place = random.randint(6)
        image[0, place if kind else slice(None), slice(None) if kind else place] += 1
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(72, 2),
    ).to(dtype)
    x, y = al.tensor(images).to(dtype), al.tensor(kinds)
    loss = nn.CrossEntropyLoss()
    return model, lambda: loss(model(x), y), 0.1, 60


def memory(dtype):
    """The first number of a sequence, asked for at its end."""
    random = numpy.random.RandomState(1)
    sequences = random.randint(0, 3, (24, 6))
    model = nn.ModuleDict({"table": nn.Embedding(3, 8), "lstm": nn.LSTM(8, 16), "head": nn.Linear(16, 3)})
    model.to(dtype)
    x, y = al.tensor(sequences.T.copy()), al.tensor(sequences[:, 0].copy())
    loss = nn.CrossEntropyLoss()

    def forward():
        _, (last, _) = model["lstm"](model["table"](x))
        return loss(model["head"](last[0]), y)

    return model, forward, 1.0, 150


def reversal(dtype):
    """A sequence backwards, by attention."""
    random = numpy.random.RandomState(2)
    sequences = random.randint(0, 4, (16, 5))
    model = nn.ModuleDict(
        {
            "table": nn.Embedding(4, 16),
            "places": nn.Embedding(5, 16),
            "encoder": nn.TransformerEncoder(
                nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 2
            ),
            "head": nn.Linear(16, 4),
        }
    ).to(dtype)
    x, y = al.tensor(sequences), al.tensor(sequences[:, ::-1].copy())
    loss = nn.CrossEntropyLoss()

    def forward():
        hidden = model["encoder"](model["table"](x) + model["places"](al.arange(5)))
        return loss(model["head"](hidden).flatten(0, 1), y.flatten())

    return model, forward, 0.1, 200


@pytest.mark.parametrize("dtype", [al.bfloat16, al.float32, al.float64], ids=str)
@pytest.mark.parametrize("problem", [exclusive_or, bars, memory, reversal])
def test_networks_learn(problem, dtype):
    al.manual_seed(7)
    model, loss_of, rate, steps = problem(dtype)
    losses = descend(model, loss_of, rate, steps)
    assert numpy.isfinite(losses).all()
    assert losses[-1] < 0.25 * losses[0], losses[:: max(1, steps // 10)]
    assert all(p.grad.dtype == dtype for p in model.parameters())


def test_mixed_precision_keeps_the_parameters():
    al.manual_seed(8)
    model, loss_of, rate, steps = exclusive_or(al.float32)

    def lower():
        with al.autocast("cpu", al.bfloat16):
            return loss_of()

    losses = descend(model, lower, rate, steps)
    assert losses[-1] < 0.25 * losses[0]
    assert all(p.dtype == al.float32 and p.grad.dtype == al.float32 for p in model.parameters())
