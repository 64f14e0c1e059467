"""tf.data: C++'s data sets with TensorFlow's arguments."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from systole_tpu import _core

from ._control import flatten, pack_like
from ._dtypes import as_dtype
from ._registry import export
from ._shapes import TensorShape
from ._values import Spec

_D = _core.Dataset
AUTOTUNE = -1
export("data.experimental.AUTOTUNE", "contrib.data.AUTOTUNE")(AUTOTUNE)


# The graphs of the input_fns that estimators call: what data sets take of them is computed at once, as an iterator of
# TensorFlow does when it begins.
_inputs: list[Any] = []


@contextlib.contextmanager
def input_graph(graph: Any) -> Iterator[None]:
    """An estimator's input_fn is called within."""
    _inputs.append(graph)
    try:
        yield
    finally:
        _inputs.pop()


def _values(value: Any) -> Any:
    """Values of the tensors of an input_fn's graph in place of them."""
    from ._control import map_structure
    from ._session import Session

    def known(leaf: Any) -> Any:
        if not _inputs or not hasattr(leaf, "_dims") or leaf.graph is not _inputs[-1]:
            return leaf
        with Session(graph=leaf.graph) as session:
            return session.run(leaf)

    return map_structure(known, value) if _inputs else value


def _spread(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """A function of an element: a tuple's parts are its arguments."""

    def call(element: Any) -> Any:
        return function(*element) if isinstance(element, tuple) else function(element)

    return call


def _files(names: Any) -> Any:
    names = _values(names)
    if isinstance(names, Dataset):
        return names._made
    if isinstance(names, (str, os.PathLike)):
        return os.fspath(names)
    return [os.fspath(n) for n in names] if isinstance(names, (list, tuple)) else names


@export("data.Dataset", "contrib.data.Dataset")
class Dataset:
    """A sequence of elements; methods give new ones."""

    def __init__(self, made: Any) -> None:
        self._made = made

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        return Dataset(_D.from_tensors(_plain(_values(tensors))))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """An element for each row of the tensors."""
        return Dataset(_D.from_tensor_slices(_plain(_values(tensors))))

    @staticmethod
    def range(*args: int) -> Dataset:
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        return Dataset(_D.range(start, stop, step))

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        def made(value: Any) -> Any:
            if isinstance(value, Dataset):
                return value._made
            if isinstance(value, dict):
                return {k: made(v) for k, v in value.items()}
            return tuple(made(v) for v in value)

        return Dataset(_D.zip(made(datasets)))

    @staticmethod
    def from_generator(generator: Any, output_types: Any, output_shapes: Any = None, args: Any = None) -> Dataset:
        """The elements that generator() yields, in each iteration anew.

        Without `output_shapes`, generator() is called once now, and its first element tells how many axes each part
        has. Sizes stay unknown. A generator without elements counts as one of scalars.
        """
        types = flatten(output_types)
        if output_shapes is None:
            shapes = _shapes_of_first(generator(*(args or ())), output_types)
        else:
            shapes = _shapes_like(output_types, output_shapes)
        spec = pack_like(output_types, [Spec(t, s) for t, s in zip(types, shapes, strict=True)])

        def start() -> Any:
            iterator = iter(generator(*(args or ())))

            def take() -> Any:
                for element in iterator:
                    leaves = [_convert(v, t) for v, t in zip(flatten(_as(element, output_types)), types, strict=True)]
                    return (pack_like(output_types, leaves),)
                return None

            return take

        return Dataset(_D.from_generator(start, spec))

    @staticmethod
    def list_files(file_pattern: Any, shuffle: Any = None, seed: Any = None) -> Dataset:
        return Dataset(_D.list_files(_files(file_pattern), shuffle is None or bool(shuffle), seed))

    def map(self, map_func: Any, num_parallel_calls: Any = None, deterministic: Any = None) -> Dataset:
        """map_func of each element; it is called once, with tensors."""
        return Dataset(self._made.map(_spread(map_func), int(num_parallel_calls or 0)))

    def filter(self, predicate: Any) -> Dataset:
        return Dataset(self._made.filter(_spread(predicate)))

    def flat_map(self, map_func: Any) -> Dataset:
        return Dataset(self._made.flat_map(_of_datasets(map_func)))

    def interleave(
        self, map_func: Any, cycle_length: int = -1, block_length: int = 1, num_parallel_calls: Any = None
    ) -> Dataset:
        return Dataset(
            self._made.interleave(
                _of_datasets(map_func),
                10 if cycle_length == -1 else cycle_length,
                block_length,
                int(num_parallel_calls or 0),
                True,
            )
        )

    def batch(self, batch_size: Any, drop_remainder: bool = False) -> Dataset:
        return Dataset(self._made.batch(_values(batch_size), bool(drop_remainder)))

    def padded_batch(
        self, batch_size: int, padded_shapes: Any = None, padding_values: Any = None, drop_remainder: bool = False
    ) -> Dataset:
        shapes = None
        if padded_shapes is not None:
            shapes = [TensorShape(s).as_list() for s in _shapes_like(self.output_types, padded_shapes)]
        values = None if padding_values is None else flatten(padding_values)
        return Dataset(self._made.padded_batch(int(batch_size), shapes, values, bool(drop_remainder)))

    def shuffle(self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: Any = None) -> Dataset:
        return Dataset(
            self._made.shuffle(
                _values(buffer_size), seed, reshuffle_each_iteration is None or bool(reshuffle_each_iteration)
            )
        )

    def repeat(self, count: Any = None) -> Dataset:
        return Dataset(self._made.repeat(-1 if count is None else _values(count)))

    def take(self, count: Any) -> Dataset:
        return Dataset(self._made.take(_values(count)))

    def skip(self, count: Any) -> Dataset:
        return Dataset(self._made.skip(_values(count)))

    def shard(self, num_shards: int, index: int) -> Dataset:
        return Dataset(self._made.shard(int(num_shards), int(index)))

    def concatenate(self, dataset: Dataset) -> Dataset:
        return Dataset(self._made.concatenate(dataset._made))

    def enumerate(self, start: int = 0) -> Dataset:
        return Dataset(self._made.enumerate(start))

    def prefetch(self, buffer_size: Any) -> Dataset:
        return Dataset(self._made.prefetch(-1 if buffer_size is None else int(buffer_size)))

    def cache(self, filename: str = "") -> Dataset:
        return Dataset(self._made.cache(filename or ""))

    def unbatch(self) -> Dataset:
        return Dataset(self._made.unbatch())

    def apply(self, transformation_func: Any) -> Dataset:
        return transformation_func(self)

    def with_options(self, options: Any) -> Dataset:
        return self

    def make_one_shot_iterator(self) -> OneShotIterator:
        return OneShotIterator(self, self._made._one_shot())

    def make_initializable_iterator(self, shared_name: Any = None) -> InitializableIterator:
        return InitializableIterator(self, self._made._initializable())

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements as arrays, without a session."""
        iterator = self._made._iterator()
        while (element := iterator.next()) is not None:
            yield element[0]

    @property
    def element_spec(self) -> Any:
        return self._made._element_spec

    @property
    def output_types(self) -> Any:
        spec = self.element_spec
        return pack_like(spec, [s.dtype for s in flatten(spec)])

    @property
    def output_shapes(self) -> Any:
        spec = self.element_spec
        return pack_like(spec, [s.shape for s in flatten(spec)])

    @property
    def output_classes(self) -> Any:
        spec = self.element_spec
        return pack_like(spec, [_core.Tensor for _ in flatten(spec)])

    def __repr__(self) -> str:
        return f"<Dataset shapes: {self.output_shapes}, types: {self.output_types}>"


def _plain(value: Any) -> Any:
    """Lists are arrays, tuples and dicts structures: as TensorFlow takes them."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(_plain(v) for v in value)
    if isinstance(value, list):
        import numpy as np

        from ._framework import Tensor

        if any(isinstance(v, Tensor) for v in value):
            return _core.convert_to_tensor(value, None)
        from ._values import plain_array

        return np.asarray(plain_array(value, None)[0])
    return value


def _of_datasets(function: Any) -> Any:
    """flat_map's function takes an element, and gives a data set."""

    def call(element: Any) -> Any:
        made = Dataset(element)
        result = function(*_element_of(made))
        if not isinstance(result, Dataset):
            raise TypeError("`map_func` must return a `Dataset` object.")
        return result._made

    return call


def _element_of(dataset: Dataset) -> tuple[Any, ...]:
    # A data set of one element stands for the element: sources of files take it.
    return (dataset,)


def _shapes_like(structure: Any, shapes: Any) -> list[Any]:
    """The shapes of the leaves of a structure: lists of numbers are shapes, not structures."""
    if isinstance(structure, dict):
        return [s for key in sorted(structure) for s in _shapes_like(structure[key], shapes[key])]
    if isinstance(structure, (list, tuple)):
        return [s for part, own in zip(structure, shapes, strict=True) for s in _shapes_like(part, own)]
    return [shapes]


def _shapes_of_first(elements: Any, structure: Any) -> list[Any]:
    """Returns shapes of unknown sizes with the rank of each part of the first element; scalars without one."""
    import numpy as np

    iterator = iter(elements)
    try:
        first = next(iterator)
    except StopIteration:
        return [() for _ in flatten(structure)]
    finally:
        if hasattr(iterator, "close"):
            iterator.close()
    return [(None,) * np.ndim(part) for part in flatten(_as(first, structure))]


def _as(element: Any, structure: Any) -> Any:
    """A generator's element in the structure of its types: a list may stand for a tuple or an array."""
    if isinstance(structure, dict):
        return {key: _as(element[key], structure[key]) for key in structure}
    if isinstance(structure, (list, tuple)):
        return tuple(_as(e, s) for e, s in zip(element, structure, strict=True))
    import numpy as np

    return np.asarray(element) if isinstance(element, (list, tuple)) else element


def _convert(value: Any, dtype: Any) -> Any:
    import numpy as np

    wanted = as_dtype(dtype)
    return value if wanted.name in ("string", "bfloat16") else np.asarray(value, dtype=wanted.as_numpy_dtype)


@export("data.Options")
class Options:
    """How a data set is computed, which changes no element. Options within it are made when they are used."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("experimental_"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Options())

    def merge(self, options: Options) -> Options:
        made = Options()
        made.__dict__.update({**self.__dict__, **options.__dict__})
        return made


class TFRecordDataset(Dataset):
    """The records of TFRecord files."""

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ) -> None:
        super().__init__(_D.tfrecords(_files(filenames), compression_type or "", buffer_size, num_parallel_reads))


class TextLineDataset(Dataset):
    """The lines of text files."""

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ) -> None:
        super().__init__(_D.text_lines(_files(filenames), compression_type or ""))


class FixedLengthRecordDataset(Dataset):
    """Records of one size."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: int,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:
        if compression_type:
            raise NotImplementedError("tf.data.FixedLengthRecordDataset: compression_type, expected None")
        super().__init__(_D.fixed_length_records(_files(filenames), record_bytes, header_bytes or 0, footer_bytes or 0))


export("data.TFRecordDataset", "contrib.data.TFRecordDataset")(TFRecordDataset)
export("data.TextLineDataset")(TextLineDataset)
export("data.FixedLengthRecordDataset")(FixedLengthRecordDataset)


class _GraphIterator:
    def __init__(self, dataset: Dataset, made: Any) -> None:
        self._dataset, self._made = dataset, made

    def get_next(self, name: Any = None) -> Any:
        """The next element as tensors, of each run anew."""
        return self._made.get_next()

    @property
    def output_types(self) -> Any:
        return self._dataset.output_types

    @property
    def output_shapes(self) -> Any:
        return self._dataset.output_shapes


class OneShotIterator(_GraphIterator):
    """Goes through a data set once a session."""


class InitializableIterator(_GraphIterator):
    """Begins anew when `initializer` is run."""

    def __init__(self, dataset: Dataset, made: Any) -> None:
        super().__init__(dataset, made)
        self._initializer: Any = None

    @property
    def initializer(self) -> Any:
        if self._initializer is None:
            self._initializer = self._made.initializer
        return self._initializer


export("data.Iterator")(_GraphIterator)


@export("data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: Dataset) -> OneShotIterator:
    return dataset.make_one_shot_iterator()


@export("data.make_initializable_iterator")
def make_initializable_iterator(dataset: Dataset, shared_name: Any = None) -> InitializableIterator:
    return dataset.make_initializable_iterator()


@export("contrib.data.map_and_batch", "data.experimental.map_and_batch")
def map_and_batch(
    map_func: Any,
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Any:
    return lambda d: d.map(map_func, num_parallel_calls or num_parallel_batches).batch(batch_size, drop_remainder)


@export("contrib.data.batch_and_drop_remainder")
def batch_and_drop_remainder(batch_size: Any) -> Any:
    return lambda d: d.batch(batch_size, drop_remainder=True)


@export("contrib.data.shuffle_and_repeat", "data.experimental.shuffle_and_repeat")
def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Any:
    return lambda d: d.shuffle(buffer_size, seed).repeat(count)


@export("contrib.data.unbatch", "data.experimental.unbatch")
def unbatch() -> Any:
    return lambda d: d.unbatch()


@export("contrib.data.ignore_errors", "data.experimental.ignore_errors")
def ignore_errors() -> Any:
    return lambda d: Dataset(d._made.ignore_errors())


@export("contrib.data.parallel_interleave", "data.experimental.parallel_interleave")
def parallel_interleave(
    map_func: Any,
    cycle_length: int,
    block_length: int = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Any:
    return lambda d: d.interleave(map_func, cycle_length, block_length, num_parallel_calls=cycle_length)
