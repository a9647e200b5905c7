"""Digits read row by row by a recurrent network: `python examples/lstm.py --dtype bfloat16`."""

from __future__ import annotations

import digits
import precision

import allotrope as al
from allotrope import nn
from allotrope.data import DataLoader
from allotrope.nn.plan import Plan


class Reader(nn.Module):
    """An LSTM in both directions over the eight rows of an image."""

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.classify = nn.Linear(2 * hidden, 10)

    def forward(self, images: al.Tensor) -> al.Tensor:
        states, _ = self.lstm(images.reshape(-1, 8, 8))
        logits: al.Tensor = self.classify(states.mean(1))
        return logits


def train(plan: Plan, steps: int, seed: int = 0, lr: float = 5e-3) -> float:
    """Trains the network for so many steps; the accuracy of the test."""
    al.manual_seed(seed)
    training, test = digits.load(plan)
    model = plan.apply(Reader())
    optimizer = plan.optimizer(al.optim.AdamW, model, lr=lr)
    scaler = precision.scaler(plan)
    loader = DataLoader(training, batch_size=digits.BATCH, shuffle=True, drop_last=True)
    for epoch in range(max(1, steps // len(loader))):
        bar = al.progress(loader, description=f"epoch {epoch + 1}")
        for images, labels in bar:
            optimizer.zero_grad()
            with plan:
                loss = nn.functional.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            bar.set(loss=loss)
    return digits.accuracy(model, test, plan)


def main() -> None:
    arguments = precision.parser(__doc__ or "", steps=44 * 8).parse_args()
    result = train(precision.of(arguments), arguments.steps, arguments.seed)
    print(f"test accuracy {result:.2%}")


if __name__ == "__main__":
    main()
