"""A convolutional network on handwritten digits: `python examples/convnet.py --amp bfloat16`."""

from __future__ import annotations

import digits
import precision

import allotrope as al
from allotrope import nn
from allotrope.data import DataLoader
from allotrope.nn.plan import Plan


class ConvNet(nn.Module):
    """Two convolutions with normalised batches, pooling, and one layer of numbers for each digit."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.dropout = nn.Dropout(0.3)
        self.classify = nn.Linear(64 * 4 * 4, 10)

    def forward(self, images: al.Tensor) -> al.Tensor:
        x = self.features(images.reshape(-1, 1, 8, 8))
        logits: al.Tensor = self.classify(self.dropout(x.flatten(1)))
        return logits


def train(plan: Plan, steps: int, seed: int = 0, lr: float = 3e-3) -> float:
    """Trains the network for so many steps; the accuracy of the test."""
    al.manual_seed(seed)
    training, test = digits.load(plan)
    model = plan.apply(ConvNet())
    optimizer = plan.optimizer(al.optim.AdamW, model, lr=lr)
    scaler = precision.scaler(plan)
    loader = DataLoader(training, batch_size=digits.BATCH, shuffle=True, drop_last=True)
    epochs = max(1, steps // len(loader))
    schedule = al.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=epochs * len(loader))
    for epoch in range(epochs):
        bar = al.progress(loader, description=f"epoch {epoch + 1}/{epochs}")
        for images, labels in bar:
            optimizer.zero_grad()
            with plan:
                loss = nn.functional.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            bar.set(loss=loss)
    return digits.accuracy(model, test, plan)


def main() -> None:
    arguments = precision.parser(__doc__ or "", steps=44 * 6).parse_args()
    result = train(precision.of(arguments), arguments.steps, arguments.seed)
    print(f"test accuracy {result:.2%}")


if __name__ == "__main__":
    main()
