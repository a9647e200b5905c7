"""Training code as it is written for torch, with any library that has its names.

Each idiom gives tensors, whose numbers by torch are recorded.
"""

import math

import numpy as np


def data(lib, *shape, seed=0):
    values = np.random.default_rng([seed, *shape]).normal(size=shape).round(3)
    return lib.tensor(values.tolist(), dtype=lib.float64)


def parameters(lib, *shapes):
    return [data(lib, *shape, seed=i).requires_grad_(True) for i, shape in enumerate(shapes)]


LAYERS = [(3, 4), (4,), (4, 2), (2,)]


def forward(lib, weights, x):
    first, first_bias, second, second_bias = weights
    return lib.tanh(x @ first + first_bias) @ second + second_bias


def loss_of(lib, weights, step):
    x, y = data(lib, 5, 3, seed=10 + step), data(lib, 5, 2, seed=20 + step)
    return ((forward(lib, weights, x) - y) ** 2).mean()


def train(lib, update, steps=4):
    """Train a net by `update(weights, step)`, and give its weights and last gradients."""
    weights = parameters(lib, *LAYERS)
    for step in range(1, steps + 1):
        for p in weights:
            p.grad = None
        loss_of(lib, weights, step).backward()
        update(weights, step)
    return weights + [p.grad for p in weights]


def clip_by_norm(lib, write):
    def update(weights, step):
        norm = math.sqrt(sum(float((p.grad.detach() ** 2).sum()) for p in weights))
        for p in weights:
            write(p, 0.1 / (norm + 1e-6))
        with lib.no_grad():
            for p in weights:
                p.add_(p.grad, alpha=-0.5)

    return train(lib, update)


def clip_through_detached_gradients(lib):
    return clip_by_norm(lib, lambda p, c: p.grad.detach().mul_(c))


def clip_gradients_in_place(lib):
    return clip_by_norm(lib, lambda p, c: p.grad.mul_(c))


def clip_the_data_of_gradients(lib):
    return clip_by_norm(lib, lambda p, c: p.grad.data.clamp_(-c, c))


def sgd_with_momentum(lib):
    buffers = {}

    def update(weights, step):
        for i, p in enumerate(weights):
            gradient = p.grad.add(p.detach(), alpha=0.01)
            if i not in buffers:
                buffers[i] = gradient.clone()
            else:
                buffers[i].mul_(0.9).add_(gradient, alpha=1)
            p.data.add_(gradient.add(buffers[i], alpha=0.9), alpha=-0.1)

    return train(lib, update) + list(buffers.values())


def adam(lib):
    def zeros():
        return [lib.zeros(*shape, dtype=lib.float64) for shape in LAYERS]

    averages = list(zip(zeros(), zeros()))

    def update(weights, step):
        for p, (average, square) in zip(weights, averages):
            average.mul_(0.9).add_(p.grad, alpha=0.1)
            square.mul_(0.99).addcmul_(p.grad, p.grad, value=0.01)
            denominator = (square.sqrt() / math.sqrt(1 - 0.99**step)).add_(1e-8)
            p.data.addcdiv_(average, denominator, value=-0.1 / (1 - 0.9**step))

    return train(lib, update) + [part for pair in averages for part in pair]


def decoupled_weight_decay(lib):
    def update(weights, step):
        with lib.no_grad():
            for p in weights:
                p.mul_(1 - 0.1 * 0.3)
                p -= 0.2 * p.grad

    return train(lib, update)


def average_of_weights(lib):
    averages = []

    def update(weights, step):
        if not averages:
            averages.extend(p.detach().clone() for p in weights)
        with lib.no_grad():
            for average, p in zip(averages, weights):
                p.sub_(p.grad, alpha=0.3)
                average.mul_(0.9).add_(p, alpha=0.1)
        for average, p in zip(averages, weights):
            average.data.lerp_(p.data, 0.05)

    return train(lib, update) + averages


def tied_weights(lib):
    embedding = data(lib, 6, 3).requires_grad_(True)
    turned = embedding.detach().T
    for step in range(3):
        hidden = embedding[[0, 2, 2, step]].tanh()
        scores = hidden @ embedding.T
        (scores**2).mean().backward()
        with lib.no_grad():
            embedding.sub_(embedding.grad, alpha=0.1)
            embedding[step] *= 0.5
        embedding.grad.zero_()
    return [embedding, turned, embedding.grad]


def flat_parameters(lib):
    sizes = [math.prod(shape) for shape in LAYERS]
    flat = lib.zeros(sum(sizes), dtype=lib.float64)
    gradients = lib.zeros(sum(sizes), dtype=lib.float64)
    weights, start = [], 0
    for i, (shape, size) in enumerate(zip(LAYERS, sizes)):
        part = flat[start : start + size].view(shape)
        part.copy_(data(lib, *shape, seed=i))
        weights.append(part.detach().requires_grad_(True))
        weights[-1].grad = gradients[start : start + size].view(shape)
        start += size
    for step in range(3):
        gradients.zero_()
        loss_of(lib, weights, step).backward()
        flat.add_(gradients, alpha=-0.2)
    return [flat, gradients, *weights]


def statistics_of_a_batch(lib):
    mean, var = lib.zeros(3, dtype=lib.float64), lib.ones(3, dtype=lib.float64)
    counted = lib.zeros((), dtype=lib.int64)
    state = {"mean": mean[:], "var": var.detach(), "counted": counted.view(1)}
    weight = data(lib, 3).requires_grad_(True)
    for step in range(3):
        x = data(lib, 7, 3, seed=step)
        center, spread = x.mean(0), x.var(0)
        mean.mul_(0.9).add_(center * 0.1)
        var.lerp_(spread, 0.1)
        counted += 1
        (((x - center) / (spread + 1e-5).sqrt() * weight) ** 3).sum().backward()
    return [mean, var, state["mean"], state["var"], state["counted"], weight.grad]


def statistics_by_batch_norm(lib):
    mean, var = lib.zeros(3, dtype=lib.float64), lib.ones(3, dtype=lib.float64)
    part = mean[1:]
    for step in range(3):
        y = lib.nn.functional.batch_norm(data(lib, 7, 3, seed=step), mean, var, training=True, momentum=0.2)
    return [mean, var, part, y]


def cache_of_keys(lib):
    keys, values = lib.zeros(2, 4, 3, dtype=lib.float64), lib.zeros(2, 4, 3, dtype=lib.float64)
    outputs = lib.zeros(2, 4, 3, dtype=lib.float64)
    for t in range(4):
        keys[:, t : t + 1].copy_(data(lib, 2, 1, 3, seed=t))
        values[:, t] = data(lib, 2, 3, seed=t + 9)
        query = data(lib, 2, 1, 3, seed=t + 19)
        weights = lib.softmax(query @ keys[:, : t + 1].mT, -1)
        outputs.select(1, t).copy_((weights @ values[:, : t + 1]).squeeze(1))
    return [keys, values, outputs]


def accumulated_gradients(lib):
    weights = parameters(lib, *LAYERS)
    loss_of(lib, weights, 0).backward()
    held = [p.grad for p in weights]
    loss_of(lib, weights, 1).backward()
    for p in weights:
        p.grad.div_(2)
    return held


def steps_within_the_backward_pass(lib):
    weights = parameters(lib, *LAYERS)

    def step(p):
        with lib.no_grad():
            p.sub_(p.grad, alpha=0.2)
            p.grad.zero_()

    for p in weights:
        p.register_post_accumulate_grad_hook(step)
    for i in range(3):
        loss_of(lib, weights, i).backward()
    return weights


def states_written_into_a_buffer(lib):
    weight, hidden = data(lib, 3, 3).requires_grad_(True), data(lib, 2, 3)
    outputs = lib.zeros(3, 2, 3, dtype=lib.float64)
    for t in range(3):
        hidden = lib.tanh(hidden @ weight + data(lib, 2, 3, seed=t))
        outputs[t] = hidden
    (outputs**2).sum().backward()
    return [outputs, weight.grad]


def in_place_layers(lib):
    weights = parameters(lib, *LAYERS)
    first, first_bias, second, second_bias = weights
    x = data(lib, 5, 3)
    hidden = x @ first
    hidden += first_bias
    hidden[:, 0].mul_(3)
    hidden.relu_()
    output = hidden @ second
    output.add_(second_bias).mul_(0.5)
    output.view(-1)[::3].zero_()
    (output * output * output).sum().backward()
    return [output, *(p.grad for p in weights)]


def power_iteration(lib):
    weight, u, v = data(lib, 4, 3), data(lib, 4), lib.zeros(3, dtype=lib.float64)
    with lib.no_grad():
        for _ in range(4):
            v.copy_(weight.T @ u)
            v /= v.norm()
            u.copy_(weight @ v).div_((weight @ v).norm())
        weight.div_(u @ weight @ v)
    return [u, v, weight]


IDIOMS = {
    function.__name__: function
    for function in (
        clip_through_detached_gradients, clip_gradients_in_place, clip_the_data_of_gradients,
        sgd_with_momentum, adam, decoupled_weight_decay, average_of_weights, tied_weights,
        flat_parameters, statistics_of_a_batch, statistics_by_batch_norm, cache_of_keys,
        accumulated_gradients, steps_within_the_backward_pass, states_written_into_a_buffer,
        in_place_layers, power_iteration,
    )
}
