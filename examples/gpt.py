"""A small GPT that learns to write like Jane Austen: `python examples/gpt.py --amp bfloat16`.

The text is read character by character. After a minute on two cores it writes words; run it for
longer (`--steps 5000`) and it writes sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import precision

import allotrope as al
from allotrope import nn
from allotrope.nn import functional as F
from allotrope.nn.plan import Plan

DATA = Path(__file__).parent / "data" / "pride.txt"


@dataclass(frozen=True)
class Sizes:
    """How large the network is."""

    context: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 4


class Attention(nn.Module):
    """Every character looks at those before it."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.qkv = nn.Linear(sizes.width, 3 * sizes.width)
        self.out = nn.Linear(sizes.width, sizes.width)

    def forward(self, x: al.Tensor) -> al.Tensor:
        batch, length, width = x.shape
        heads = self.qkv(x).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: al.Tensor = self.out(y.transpose(1, 2).reshape(batch, length, width))
        return out


class Block(nn.Module):
    """Attention and a network for each character, both added to what came in."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(sizes.width)
        self.attention = Attention(sizes)
        self.norm2 = nn.LayerNorm(sizes.width)
        self.mlp = nn.Sequential(
            nn.Linear(sizes.width, 4 * sizes.width),
            nn.GELU(approximate="tanh"),
            nn.Linear(4 * sizes.width, sizes.width),
        )

    def forward(self, x: al.Tensor) -> al.Tensor:
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class GPT(nn.Module):
    """Which character comes next, for every character of a text."""

    def __init__(self, letters: int, sizes: Sizes = Sizes()) -> None:
        super().__init__()
        self.context = sizes.context
        self.tokens = nn.Embedding(letters, sizes.width)
        self.places = nn.Embedding(sizes.context, sizes.width)
        self.blocks = nn.Sequential(*(Block(sizes) for _ in range(sizes.layers)))
        self.norm = nn.LayerNorm(sizes.width)
        self.head = nn.Linear(sizes.width, letters, bias=False)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)
        # What is read and what is written are the same characters.
        self.head.weight = self.tokens.weight

    def forward(self, tokens: al.Tensor) -> al.Tensor:
        places = al.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.places(places)
        logits: al.Tensor = self.head(self.norm(self.blocks(x)))
        return logits

    def write(self, tokens: al.Tensor, count: int, temperature: float = 0.8) -> al.Tensor:
        """A text that goes on by so many characters."""
        with al.no_grad():
            for _ in range(count):
                logits = self(tokens[:, -self.context :])[:, -1] / temperature
                following = F.softmax(logits.to(al.float32), -1).multinomial(1)
                tokens = al.cat([tokens, following], 1)
        return tokens


class Text:
    """A text as numbers of its characters."""

    def __init__(self, path: Path = DATA, device: str = "cpu") -> None:
        text = path.read_text()
        self.device = device
        self.letters = sorted(set(text))
        self.tokens = self.encode(text)

    def encode(self, text: str) -> al.Tensor:
        number = {letter: i for i, letter in enumerate(self.letters)}
        return al.tensor([number[letter] for letter in text], device=self.device)

    def decode(self, tokens: al.Tensor) -> str:
        return "".join(self.letters[i] for i in tokens.tolist())

    def batch(self, size: int, length: int) -> tuple[al.Tensor, al.Tensor]:
        """Pieces from anywhere, and the characters that follow each of theirs."""
        starts = al.randint(0, len(self.tokens) - length - 1, (size, 1), device=self.device)
        places = starts + al.arange(length + 1, device=self.device)
        pieces = self.tokens[places]
        return pieces[:, :-1], pieces[:, 1:]


def train(
    plan: Plan,
    steps: int,
    seed: int = 0,
    lr: float = 2e-3,
    batch: int = 16,
    sizes: Sizes = Sizes(),
) -> tuple[GPT, Text, list[float]]:
    """Trains the network for so many steps: it, its text, and the loss of every step."""
    al.manual_seed(seed)
    text = Text(device=plan.of("")["device"])
    model = plan.apply(GPT(len(text.letters), sizes))
    optimizer = plan.optimizer(al.optim.AdamW, model, lr=lr, betas=(0.9, 0.95), weight_decay=0.1)
    scaler = precision.scaler(plan)
    warm_up = max(1, steps // 10)
    schedule = al.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            al.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=warm_up),
            al.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, steps - warm_up)),
        ],
        [warm_up],
    )
    losses: list[float] = []
    bar = al.progress(range(steps), description="gpt")
    for _ in bar:
        tokens, following = text.batch(batch, sizes.context)
        optimizer.zero_grad()
        with plan:
            logits = model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), following.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        losses.append(loss.item())
        bar.set(loss=losses[-1])
    return model, text, losses


def main() -> None:
    arguments = precision.parser(__doc__ or "", steps=400).parse_args()
    plan = precision.of(arguments)
    model, text, losses = train(plan, arguments.steps, arguments.seed)
    last = losses[-20:]
    print(f"loss {sum(last) / len(last):.3f} (mean of the last {len(last)} steps)\n")
    with plan:
        written = model.eval().write(text.encode("Mr. Bennet ")[None], 300)
    print(text.decode(written[0]))


if __name__ == "__main__":
    main()
