"""What is recorded from torch and compared with it: cases, gradients and schedules, for both libraries."""

import math

# Options of every optimizer that another path of its formula depends on.
OPTIMIZERS = {
    "SGD": [
        {},
        {"lr": 0.125},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
    ],
    "Adam": [
        {},
        {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1},
        {"lr": 0.05, "amsgrad": True, "maximize": True},
        {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.05, "betas": (0.3, 0.95)},
    ],
    "AdamW": [{}, {"lr": 0.05, "weight_decay": 0.2, "amsgrad": True}, {"lr": 0.05, "maximize": True}],
    "Adamax": [{}, {"lr": 0.05, "weight_decay": 0.1, "maximize": True}],
    "NAdam": [
        {},
        {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.1},
        {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.05, "weight_decay": 0.1, "betas": (0.9, 0.9)},
        {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True},
    ],
    "RMSprop": [
        {},
        {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1},
        {"lr": 0.05, "centered": True, "alpha": 0.9, "maximize": True},
        {"lr": 0.05, "centered": True, "momentum": 0.5},
    ],
    "Rprop": [{}, {"lr": 0.05, "etas": (0.4, 1.5), "step_sizes": (1e-2, 0.1), "maximize": True}],
    "Adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2},
        {"lr": 0.1, "maximize": True, "eps": 1e-3},
    ],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}],
    "ASGD": [{}, {"lr": 0.1, "lambd": 0.05, "t0": 5, "alpha": 0.6, "weight_decay": 0.1}],
    "Adafactor": [
        {},
        {"lr": 0.1, "weight_decay": 0.1, "d": 1.5, "eps": (1e-4, 1e-2)},
        {"lr": 0.1, "beta2_decay": -0.5, "maximize": True},
    ],
    "Muon": [{}, {"lr": 0.05, "nesterov": False}, {"lr": 0.05, "adjust_lr_fn": "match_rms_adamw"}],
}
STEPS = 20
SHAPES = [(3, 4), (5,), (2, 1, 3), ()]
MATRICES = [(3, 4), (5, 2)]
REAL = ["float32", "float64"]
COMPLEX = [name for name in OPTIMIZERS if name not in ("Adafactor", "Muon")]


def numbers(count, seed):
    """Pseudo-random numbers around zero, the same everywhere, each a float32."""
    state = seed * 2654435761 + 12345
    result = []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        result.append(((state >> 40) - 2**23) / 2**23)
    return result


def shapes_of(name):
    return MATRICES if name == "Muon" else SHAPES


def parameters(name):
    """First values of the parameters, flat."""
    return [numbers(math.prod(shape), 7 + i) for i, shape in enumerate(shapes_of(name))]


def gradients(name, step):
    """Gradients of a step, flat; the last parameter has none in some steps."""
    result = []
    for i, shape in enumerate(shapes_of(name)):
        values = numbers(math.prod(shape), 100 + 17 * step + i)
        last = i == len(shapes_of(name)) - 1
        result.append(None if last and step % 5 == 3 else values)
    return result


# Schedulers: a name, arguments, and how many steps.
SCHEDULERS = [
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5, 5, 9], "gamma": 0.5}),
    ("ConstantLR", {"factor": 0.25, "total_iters": 4}),
    ("LinearLR", {"start_factor": 0.2, "end_factor": 0.9, "total_iters": 6}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("PolynomialLR", {"total_iters": 8, "power": 1.7}),
    ("CosineAnnealingLR", {"T_max": 7, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.01}),
    ("CyclicLR", {"base_lr": 0.05, "max_lr": 0.4, "step_size_up": 3, "step_size_down": 5}),
    ("CyclicLR", {"base_lr": [0.05, 0.1], "max_lr": 0.4, "step_size_up": 4, "mode": "triangular2"}),
    (
        "CyclicLR",
        {"base_lr": 0.05, "max_lr": 0.4, "step_size_up": 4, "mode": "exp_range", "gamma": 0.9},
    ),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 30}),
    ("OneCycleLR", {"max_lr": [0.5, 0.3], "total_steps": 30, "three_phase": True, "pct_start": 0.2}),
    ("OneCycleLR", {"max_lr": 0.5, "epochs": 6, "steps_per_epoch": 5, "anneal_strategy": "linear"}),
    ("SWALR", {"swa_lr": 0.03, "anneal_epochs": 6}),
    ("SWALR", {"swa_lr": [0.03, 0.2], "anneal_epochs": 4, "anneal_strategy": "linear"}),
    ("SWALR", {"swa_lr": 0.03, "anneal_epochs": 0}),
]
SCHEDULER_STEPS = 29
LRS = [0.1, 0.3]


def trace_schedulers(module, swa, make_optimizer):
    """The rates, and momenta where they move, of every scheduler."""
    traces = []
    for name, options in SCHEDULERS:
        optimizer = make_optimizer()
        scheduler = getattr(swa if name == "SWALR" else module, name)(optimizer, **options)
        traces.append([f"{name} {options}", follow(optimizer, scheduler)])
    optimizer = make_optimizer()
    functions = [lambda epoch: 0.9**epoch, lambda epoch: 1 / (1 + epoch)]
    traces.append(["LambdaLR", follow(optimizer, module.LambdaLR(optimizer, functions))])
    optimizer = make_optimizer()
    function = lambda epoch: 0.9 + 0.01 * epoch  # noqa: E731
    traces.append(["MultiplicativeLR", follow(optimizer, module.MultiplicativeLR(optimizer, function))])
    optimizer = make_optimizer()
    both = [module.LinearLR(optimizer, 0.1, total_iters=4), module.ExponentialLR(optimizer, 0.9)]
    both.append(module.CosineAnnealingLR(optimizer, 10))
    sequence = module.SequentialLR(optimizer, both, [5, 12])
    traces.append(["SequentialLR", follow(optimizer, sequence)])
    optimizer = make_optimizer()
    both = [module.ConstantLR(optimizer, 0.5, 3), module.ExponentialLR(optimizer, 0.9)]
    both.append(module.StepLR(optimizer, 4))
    traces.append(["ChainedScheduler", follow(optimizer, module.ChainedScheduler(both))])
    for options in PLATEAUS:
        optimizer = make_optimizer()
        scheduler = module.ReduceLROnPlateau(optimizer, **options)
        rates = []
        for step in range(SCHEDULER_STEPS):
            scheduler.step(numbers(1, 40 + step)[0] + 2 - step / 40)
            rates.append([[group["lr"] for group in optimizer.param_groups], None])
        traces.append([f"ReduceLROnPlateau {options}", rates])
    return traces


PLATEAUS = [
    {"factor": 0.5, "patience": 2},
    {"factor": 0.5, "patience": 1, "mode": "max", "threshold_mode": "abs", "cooldown": 2},
    {"factor": 0.5, "patience": 0, "threshold": 0.1, "min_lr": [0.05, 0.1]},
]


def follow(optimizer, scheduler):
    """The rates before and after every step."""
    def now():
        momenta = [group["momentum"] for group in optimizer.param_groups]
        return [list(scheduler.get_last_lr()), momenta]

    rates = [now()]
    for _ in range(SCHEDULER_STEPS):
        optimizer.step()
        scheduler.step()
        rates.append(now())
    return rates


def loss_of(library, x):
    """A curved valley (Rosenbrock's function) with a bowl around it."""
    a, b = x[:-1], x[1:]
    return (100 * (b - a * a) ** 2 + (1 - a) ** 2).sum() + 0.01 * (x**4).sum()


LBFGS = [
    {"lr": 1e-3},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 7, "lr": 0.5},
]
LBFGS_STEPS = 4
