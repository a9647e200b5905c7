"""Networks whose training steps are measured: the same program runs with torch and with us.

A step is a forward pass, a loss, a backward pass and a step of AdamW, in float32 or under bfloat16 autocast.
`alone.py` measures them.
"""

from __future__ import annotations


def mlp(lib):
    nn = lib.nn
    model = nn.Sequential(
        nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    x, y = lib.randn(128, 784), lib.randint(0, 10, (128,))
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def convnet(lib, memory_format=None):
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 10),
    )  # fmt: skip
    x, y = lib.randn(32, 3, 32, 32), lib.randint(0, 10, (32,))
    if memory_format is not None:
        model, x = model.to(memory_format=memory_format), x.to(memory_format=memory_format)
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def convnet_channels_last(lib):
    return convnet(lib, lib.channels_last)


def lstm(lib):
    nn = lib.nn

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(64, 256, batch_first=True)
            self.head = nn.Linear(256, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    model = Reader()
    x, y = lib.randn(32, 64, 64), lib.randint(0, 10, (32,))
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def gpt(lib, letters=74, width=128, heads=4, layers=4, length=64, batch=16):
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            b, n, _ = x.shape
            parts = self.qkv(self.norm1(x)).reshape(b, n, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, n, width))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(letters, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.places(lib.arange(tokens.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    model = GPT()
    tokens = lib.randint(0, letters, (batch, length + 1))
    x, y = tokens[:, :-1], tokens[:, 1:].flatten()
    return model, lambda: F.cross_entropy(model(x).flatten(0, 1), y)


NETWORKS = [mlp, convnet, convnet_channels_last, lstm, gpt]


def step_of(lib, make, is_half):
    """A training step as a function."""
    lib.manual_seed(0)
    model, loss_of = make(lib)
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        with lib.autocast("cpu", lib.bfloat16, enabled=is_half):
            loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step
