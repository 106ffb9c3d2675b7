"""Optimizers by the names and values of ``podium train --optimizer``."""

from typing import Iterable, List

from ._native import _podium


class Optimizer:
    """``Optimizer("adamw", "decay", lr=1e-3, weight_decay=0.01)``: a name, words of its form, values.

    Values named in `changing` may be others later (``TrainingSession.set_optimizer``); the learning rate always may.
    """

    def __init__(self, name: str, *words: str, changing: Iterable[str] = (), **values: float) -> None:
        self.name = name
        self.words = words
        self.values = values
        self.changing: List[str] = ["lr", *(value.replace("_", "-") for value in changing)]
        _podium.check_optimizer(str(self))

    def __str__(self) -> str:
        values = [f"{key.replace('_', '-')}={float(value)!r}" for key, value in self.values.items()]
        return ",".join([self.name, *self.words, *values])

    def __repr__(self) -> str:
        return f"podium.Optimizer({str(self)!r})"


class _Named(Optimizer):
    _name = ""

    def __init__(self, *words: str, changing: Iterable[str] = (), **values: float) -> None:
        super().__init__(self._name, *words, changing=changing, **values)


class SGD(_Named):
    """lr, weight_decay, momentum, dampening, velocity_scaling; words "nesterov", "separate"."""

    _name = "sgd"


class Adam(_Named):
    """lr, weight_decay, beta1, beta2, eps; words "no-bias", "decay", "float16-state", ..."""

    _name = "adam"


class AdamW(_Named):
    """As Adam, the decay taken from the weights."""

    _name = "adamw"


class AdaMax(_Named):
    """lr, weight_decay, beta1, beta2, eps."""

    _name = "adamax"


class Lamb(_Named):
    """lr, weight_decay, beta1, beta2, eps, max_weight_norm."""

    _name = "lamb"


class AdaGrad(_Named):
    """lr, weight_decay, eps."""

    _name = "adagrad"


class RMSProp(_Named):
    """lr, weight_decay, momentum, alpha, eps; words "centered", "tensorflow"."""

    _name = "rmsprop"


class AdaDelta(_Named):
    """lr, weight_decay, alpha, eps."""

    _name = "adadelta"


class Lion(_Named):
    """lr, weight_decay, beta1, beta2."""

    _name = "lion"
