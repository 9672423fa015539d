"""PyOD's autoencoder on standardised rows, anomalies being the share nu of worst reconstructed rows.

The published grid has 7 optimisers, 8 activations and 10 rates of dropout. PyOD (3.6) offers two optimisers by name;
the other five are torch's, with PyOD's learning rate (1e-3) and weight decay (1e-5) for all seven. The activations are
the eight PyOD has. The rates are taken to be 0, 0.1, …, 0.9. PyOD does not stop early: here training ends when the
mean loss of an epoch has not fallen by a thousandth in ten epochs, after 100 at the latest.

Hidden layers are symmetric, with m, 3m/4, m/2 and m/3 neurons (36-27-18-12 for satellite) from 16 features on; below,
the first three of these.

"quick" is no part of that grid: Adam, relu without dropout and tanh with a rate of 0.2, about 2000 steps (at most 100
epochs), and batches of 256 rows instead of 32 on sets of more than 10,000.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from oddatom.paper.base import DataSet, Effort, Method, Setting, View
from oddatom.paper.standardising import Standardised, standardise

OPTIMIZERS = {
    "adadelta": "Adadelta",
    "adagrad": "Adagrad",
    "adam": "Adam",
    "adamax": "Adamax",
    "nadam": "NAdam",
    "rmsprop": "RMSprop",
    "sgd": "SGD",
}
ACTIVATIONS = ("elu", "identity", "leaky_relu", "relu", "sigmoid", "softmax", "softplus", "tanh")
DROPOUTS = tuple(round(0.1 * k, 1) for k in range(10))
LARGE = 10_000  # rows
WIDE = 16  # features
QUICK_STEPS = 2000
PATIENCE = 10
WORTH = 1e-3  # share by which an epoch's loss must fall to count
SCORED = 4096  # rows scored at once


class Autoencoder(Method):
    """Fully connected autoencoder."""

    label = "AE"
    slow = True
    parts_apart = True
    order = 80

    def grid(self, data: DataSet, effort: Effort) -> Sequence[Setting]:
        """Return optimisers × activations × dropouts: 560 settings."""
        if effort == "full":
            kinds = [(o, a, p) for o in OPTIMIZERS for a in ACTIVATIONS for p in DROPOUTS]
            common = {"epochs": 100, "patience": PATIENCE, "batch_size": 32}
        else:
            kinds = [("adam", "relu", 0.0), ("adam", "tanh", 0.2)]
            size = 256 if data.n_rows > LARGE else 32
            epochs = min(100, round(QUICK_STEPS * size / data.n_rows))
            common = {"epochs": epochs, "patience": PATIENCE, "batch_size": size}
        hidden = hidden_layers(data.n_features)
        return [{"optimizer": o, "activation": a, "dropout": p, "hidden": hidden, **common} for o, a, p in kinds]

    def fixed(self, data: DataSet) -> Setting:
        """Return PyOD's defaults."""
        kind = {"optimizer": "adam", "activation": "relu", "dropout": 0.2, "hidden": [64, 32]}
        return {**kind, "epochs": 10, "batch_size": 32, "contamination": 0.1}

    def fit(self, X: np.ndarray, data: DataSet, setting: Setting, draw: int, view: View, nu: float) -> Standardised:
        """Train from weights drawn by `draw`; the share flagged is the setting's contamination, where it has one."""
        scaler, Z = standardise(X)
        with _own_torch():
            model = _detector()(
                contamination=setting.get("contamination", nu),
                preprocessing=False,
                epoch_num=setting["epochs"],
                batch_size=min(setting["batch_size"], Z.shape[0]),  # PyOD drops the last, smaller batch
                optimizer_name=setting["optimizer"],
                hidden_neuron_list=list(setting["hidden"]),
                hidden_activation_name=setting["activation"],
                dropout_rate=setting["dropout"],
                device="cpu",
                random_state=draw,
                verbose=0,
            )
            model.patience = setting.get("patience")
            model.fit(Z)
        scores = model.decision_scores_
        extra = {"epochs": model.epochs_done, "loss": model.loss}
        return Standardised(scaler, _NewRows(model), scores > model.threshold_, scores, extra)


def hidden_layers(m: int) -> list[int]:
    """Return the neurons of the encoder's layers for m features."""
    shares = (1.0, 3 / 4, 1 / 2, 1 / 3) if m >= WIDE else (1.0, 3 / 4, 1 / 2)
    return [max(1, round(share * m)) for share in shares]


class _NewRows:
    """Labels and reconstruction errors of rows."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with _own_torch():
            scores = self._model.decision_function(Z)
        return scores > self._model.threshold_, scores


def _load(name: str) -> Any:
    """Import a module of torch or PyOD, which only this method needs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"The autoencoder needs PyOD and torch ({error}). Install them: pip install pyod torch tqdm."
        ) from error


@contextmanager
def _own_torch() -> Iterator[None]:
    """Run torch on one thread and leave its random numbers as they were."""
    torch = _load("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Implicit dimension choice for softmax")  # it is the columns
            yield
    finally:
        torch.set_num_threads(before)


@cache
def _detector() -> type:
    """PyOD's detector with seven optimisers, early stopping, and random numbers of torch alone."""
    torch = _load("torch")

    class Detector(_load("pyod.models.auto_encoder").AutoEncoder):  # type: ignore[misc]
        patience: int | None = None  # epochs without progress before training ends; None for all epochs
        epochs_done = 0
        loss = np.nan

        @staticmethod
        def _set_seed(random_state: int) -> None:
            torch.manual_seed(random_state)

        def training_prepare(self) -> None:
            optimizer = getattr(torch.optim, OPTIMIZERS[self.optimizer_name])
            self.optimizer = optimizer(self.model.parameters(), lr=self.lr, **self.optimizer_params)
            self.model.train()

        def train(self, train_loader: Any) -> None:
            best, waited = np.inf, 0
            for epoch in range(self.epoch_num):
                self.loss = float(np.mean([self.training_forward(rows) for rows in train_loader]))
                self.epochs_done = epoch + 1
                waited = 0 if self.loss < (1.0 - WORTH) * best else waited + 1
                best = min(best, self.loss)
                if self.patience is not None and waited >= self.patience:
                    break

        def decision_function(self, X: np.ndarray, batch_size: int | None = None) -> np.ndarray:
            return super().decision_function(X, batch_size or SCORED)

    return Detector


METHOD = Autoencoder()
