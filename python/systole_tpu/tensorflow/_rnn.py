"""Recurrent cells and their application."""

from __future__ import annotations

import collections
from typing import Any

from systole_tpu import _core

from ._registry import NAMES, export

LSTMStateTuple = export("nn.rnn_cell.LSTMStateTuple", "contrib.rnn.LSTMStateTuple")(
    collections.namedtuple("LSTMStateTuple", ["c", "h"])
)


class RNNCell:
    """A cell of C++."""

    _core: Any

    @property
    def output_size(self) -> int:
        return self._core.output_size

    @property
    def state_size(self) -> Any:
        return self._pack(self._core.state_size)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        return self._pack(self._core.zero_state(batch_size, dtype))

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        output, after = self._core._call(inputs, state)
        return output, self._pack(after)

    def _pack(self, state: Any) -> Any:
        return state


class _Lstm(RNNCell):
    _kind = "basic_lstm"

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        if not state_is_tuple:
            raise NotImplementedError("BasicLSTMCell: state_is_tuple, got False, expected True")
        self._core = _core.make_cell(
            self._kind, num_units, forget_bias, activation, kwargs.get("initializer"), name or ""
        )

    def _pack(self, state: Any) -> Any:
        return LSTMStateTuple(*state)


class LSTMBlockCell(_Lstm):
    """BasicLSTMCell without clipping and peepholes, as TensorFlow's faster kernel computes it."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: Any = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: Any = None,
        name: str = "lstm_cell",
    ) -> None:
        if use_peephole or (cell_clip is not None and cell_clip > 0):
            raise NotImplementedError("LSTMBlockCell: use_peephole and cell_clip, expected their defaults")
        super().__init__(num_units, forget_bias, name=name)


export("contrib.rnn.LSTMBlockCell")(LSTMBlockCell)


class LSTMCell(_Lstm):
    """tf.nn.rnn_cell.LSTMCell without peepholes, clipping and projection."""

    _kind = "lstm"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: Any = None,
        initializer: Any = None,
        num_proj: Any = None,
        proj_clip: Any = None,
        num_unit_shards: Any = None,
        num_proj_shards: Any = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: Any = None,
        dtype: Any = None,
    ) -> None:
        if use_peepholes or cell_clip or num_proj:
            raise NotImplementedError("LSTMCell: use_peepholes, cell_clip and num_proj, expected their defaults")
        super().__init__(num_units, forget_bias, state_is_tuple, activation, name=name, initializer=initializer)


class GRUCell(RNNCell):
    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: Any = None,
        dtype: Any = None,
    ) -> None:
        self._core = _core.make_cell("gru", num_units, 1.0, activation, kernel_initializer, name or "")


class BasicRNNCell(RNNCell):
    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: Any = None, dtype: Any = None
    ) -> None:
        self._core = _core.make_cell("basic_rnn", num_units, 1.0, activation, None, name or "")


class MultiRNNCell(RNNCell):
    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        self._cells = list(cells)
        self._core = _core.stack_cells([c._core for c in self._cells])

    def _pack(self, state: Any) -> Any:
        return tuple(c._pack(s) for c, s in zip(self._cells, state, strict=True))


class DropoutWrapper(RNNCell):
    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        seed: Any = None,
        **kwargs: Any,
    ) -> None:
        self._cell = cell
        self._core = _core.dropout_cell(cell._core, input_keep_prob, output_keep_prob, seed)

    def _pack(self, state: Any) -> Any:
        return self._cell._pack(state)


for _name, _class in {
    "RNNCell": RNNCell, "BasicLSTMCell": _Lstm, "LSTMCell": LSTMCell, "GRUCell": GRUCell, "BasicRNNCell": BasicRNNCell,
    "MultiRNNCell": MultiRNNCell, "DropoutWrapper": DropoutWrapper,
}.items():  # fmt: skip
    export(f"nn.rnn_cell.{_name}", f"contrib.rnn.{_name}")(_class)


@export("nn.static_rnn", "contrib.rnn.static_rnn")
def static_rnn(
    cell: RNNCell,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """The cell applied to one step after the other, unrolled."""
    outputs, state = _core.static_rnn(cell._core, list(inputs), initial_state, dtype, sequence_length, scope or "")
    return outputs, cell._pack(state)


@export("nn.dynamic_rnn")
def dynamic_rnn(
    cell: RNNCell,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """The cell applied along the time axis, in a loop."""
    outputs, state = _core.dynamic_rnn(
        cell._core, inputs, sequence_length, initial_state, dtype, time_major, scope or ""
    )
    return outputs, cell._pack(state)


@export("nn.bidirectional_dynamic_rnn")
def bidirectional_dynamic_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    if initial_state_fw is not None or initial_state_bw is not None:
        raise NotImplementedError("tf.nn.bidirectional_dynamic_rnn: initial states, expected None")
    fw, bw, after_fw, after_bw = _core.bidirectional_rnn(
        cell_fw._core, cell_bw._core, inputs, sequence_length, dtype, time_major
    )
    return (fw, bw), (cell_fw._pack(after_fw), cell_bw._pack(after_bw))


@export("nn.static_bidirectional_rnn", "contrib.rnn.static_bidirectional_rnn")
def static_bidirectional_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Two cells, of which one goes from the last step to the first; their outputs are side by side."""
    if sequence_length is not None:
        raise NotImplementedError("tf.nn.static_bidirectional_rnn: sequence_length, expected None")
    if initial_state_fw is not None or initial_state_bw is not None:
        raise NotImplementedError("tf.nn.static_bidirectional_rnn: initial states, expected None")
    steps = list(inputs)
    with NAMES["variable_scope"](scope, "bidirectional_rnn"):
        with NAMES["variable_scope"]("fw"):
            fw, after_fw = static_rnn(cell_fw, steps, initial_state_fw, dtype)
        with NAMES["variable_scope"]("bw"):
            bw, after_bw = static_rnn(cell_bw, steps[::-1], initial_state_bw, dtype)
    outputs = [NAMES["concat"]([f, b], 1) for f, b in zip(fw, bw[::-1], strict=True)]
    return outputs, after_fw, after_bw


@export("contrib.rnn.stack_bidirectional_dynamic_rnn")
def stack_bidirectional_dynamic_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: Any = None,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Layers of two directions each, whose outputs side by side are the next layer's inputs."""
    if initial_states_fw is not None or initial_states_bw is not None:
        raise NotImplementedError("tf.contrib.rnn.stack_bidirectional_dynamic_rnn: initial states, expected None")
    after: tuple[list[Any], list[Any]] = ([], [])
    with NAMES["variable_scope"](scope, "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with NAMES["variable_scope"](f"cell_{i}"):
                outputs, states = bidirectional_dynamic_rnn(
                    fw, bw, inputs, sequence_length, dtype=dtype, time_major=time_major
                )
            inputs = NAMES["concat"](list(outputs), 2)
            for kept, state in zip(after, states, strict=True):
                kept.append(state)
    return inputs, tuple(after[0]), tuple(after[1])
