"""Optimizers of tf.train whose steps are ops of the graph: with proximal terms, and of dual averaging."""

from __future__ import annotations

from typing import Any

from ._framework import op
from ._registry import NAMES, export
from ._training import Optimizer


def _shrunk(values: Any, threshold: Any) -> Any:
    """The values nearer to 0 by the threshold, at most 0."""
    return op("sign", values) * op("maximum", op("abs", values) - threshold, 0.0)


class _Penalized(Optimizer):
    """What optimizers with L1 and L2 share."""

    def __init__(self, name: str, learning_rate: Any, l1: float, l2: float, use_locking: bool) -> None:
        super().__init__(use_locking, name)
        if l1 < 0 or l2 < 0:
            raise ValueError(f"{name}: l1 and l2, got {l1} and {l2}, expected >= 0")
        self._rate, self._l1, self._l2 = learning_rate, l1, l2

    def _prepare(self) -> None:
        rate = self._rate() if callable(self._rate) else self._rate
        self._rate_tensor = op("convert_to_tensor", rate, "float32")


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(_Penalized):
    """p = var - rate * gradient; var = sign(p) * max(|p| - rate * l1, 0) / (1 + rate * l2)."""

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(name, learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        rate = self._rate_tensor
        moved = var - rate * grad
        return var.assign(_shrunk(moved, rate * self._l1) / (1.0 + rate * self._l2)).op


@export("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(_Penalized):
    """The same with the rate over the root of the sum of the squared gradients."""

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(name, learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking)
        self._initial = initial_accumulator_value

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self._slot(var, "accumulator", self._name, NAMES["constant_initializer"](self._initial))

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        sum_of_squares = self.get_slot(var, "accumulator").assign_add(op("square", grad))
        rate = self._rate_tensor / op("sqrt", sum_of_squares)
        moved = var - rate * grad
        return var.assign(_shrunk(moved, rate * self._l1) / (1.0 + rate * self._l2)).op


@export("train.AdagradDAOptimizer")
class AdagradDAOptimizer(_Penalized):
    """Of the sums g of gradients and s of their squares over t steps:
    var = -rate * sign(g) * max(|g| - l1 * t, 0) / (l2 * t * rate + sqrt(s))."""

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(name, learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking)
        self._global_step, self._initial = global_step, initial_gradient_squared_accumulator_value

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self._slot(var, "gradient_accumulator", self._name, NAMES["zeros_initializer"]())
            squares = NAMES["constant_initializer"](self._initial)
            self._slot(var, "gradient_squared_accumulator", self._name, squares)

    def _prepare(self) -> None:
        super()._prepare()
        self._steps = op("cast", op("identity", self._global_step), "float32") + 1.0

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        total = self.get_slot(var, "gradient_accumulator").assign_add(grad)
        squares = self.get_slot(var, "gradient_squared_accumulator").assign_add(op("square", grad))
        rate = self._rate_tensor
        below = self._l2 * self._steps * rate + op("sqrt", squares)
        return var.assign(-rate * _shrunk(total, self._l1 * self._steps) / below).op
