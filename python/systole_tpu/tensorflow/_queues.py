"""Queues of TensorFlow 1 (tf.train.batch and kin): data sets, whose elements are what a queue would hold."""

from __future__ import annotations

from typing import Any

from systole_tpu import _core

from ._arguments import taking
from ._control import flatten, pack_like
from ._data import Dataset, FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from ._framework import get_default_graph, known, notes
from ._registry import NAMES, export
from ._session import Session


class _Producer:
    """A data set whose next element each run takes, and the tensors of that element."""

    def __init__(self, dataset: Dataset, structure: Any = None) -> None:
        self.dataset = dataset
        self.element = dataset.make_one_shot_iterator().get_next()
        self.tensors = flatten(self.element)
        graph = get_default_graph()
        for tensor in self.tensors:
            notes(graph, "_producers")[tensor] = self

    # A queue of file names.
    def dequeue(self) -> Any:
        return self.element


def _producer_of(tensors: list[Any]) -> _Producer | None:
    """The producer whose elements the tensors are computed from."""
    producers = known(get_default_graph(), "_producers")
    seen, left = set(), [t for t in tensors if hasattr(t, "_dims")]
    while left:
        tensor = left.pop()
        if tensor in producers:
            return producers[tensor]
        operation = tensor.op
        if operation.name not in seen:
            seen.add(operation.name)
            left.extend(operation.inputs)
    return None


def _as_tensors(values: list[Any]) -> list[Any]:
    return [v if hasattr(v, "_dims") else _core.convert_to_tensor(v, None) for v in values]


def _elements(tensors: list[Any], enqueue_many: bool) -> Dataset:
    """The data set of the values that the tensors have, run after run."""
    producer = _producer_of(tensors)
    if producer is None:
        made = Dataset.from_tensors(tuple(tensors)).repeat()
    else:
        graph = _core.graph_def(get_default_graph())
        names = [t.name for t in producer.tensors]

        def compute(*element: Any) -> Any:
            inputs = dict(zip(names, flatten(element), strict=True))
            return tuple(_core.import_graph_def(graph, inputs, [t.name for t in tensors]))

        made = producer.dataset.map(compute)
    return made.unbatch() if enqueue_many else made


def _batches(
    tensors: Any,
    batch_size: Any,
    enqueue_many: bool,
    shapes: Any,
    dynamic_pad: bool,
    smaller: bool,
    shuffle: Any = None,
    seed: Any = None,
) -> Any:
    leaves = _as_tensors(flatten(tensors))
    dataset = _elements(leaves, enqueue_many)
    if shuffle is not None:
        dataset = dataset.shuffle(shuffle, seed)
    if dynamic_pad:
        dataset = dataset.padded_batch(int(batch_size), drop_remainder=not smaller)
    else:
        dataset = dataset.batch(batch_size, drop_remainder=not smaller)
    made = flatten(_Producer(dataset).element)
    packed = pack_like(tensors, made)
    return packed if isinstance(packed, (list, tuple, dict)) else made[0]


@export("train.batch")
def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: Any = None,
    name: Any = None,
) -> Any:
    """Batches of the values that the tensors have, run after run."""
    return _batches(tensors, batch_size, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch)


@export("train.shuffle_batch")
def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: Any = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: Any = None,
    name: Any = None,
) -> Any:
    """The same, in a random order."""
    buffer = max(int(min_after_dequeue), int(capacity), 1)
    return _batches(tensors, batch_size, enqueue_many, shapes, False, allow_smaller_final_batch, buffer, seed)


def _rows(tensors: Any, num_epochs: Any, shuffle: bool, seed: Any) -> Dataset:
    dataset = Dataset.from_tensor_slices(tensors)
    if shuffle:
        first = flatten(tensors)[0]
        size = first.shape[0].value if hasattr(first, "_dims") else len(first)
        dataset = dataset.shuffle(int(size), seed)
    return dataset.repeat(num_epochs)


@export("train.slice_input_producer")
def slice_input_producer(
    tensor_list: Any,
    num_epochs: Any = None,
    shuffle: bool = True,
    seed: Any = None,
    capacity: int = 32,
    shared_name: Any = None,
    name: Any = None,
) -> list[Any]:
    """The next row of each tensor, run after run."""
    return list(_Producer(_rows(tuple(_as_tensors(list(tensor_list))), num_epochs, shuffle, seed)).tensors)


# What says how a queue is run, and nothing of its elements.
_QUEUE = ["capacity", "shared_name", "element_shape", "summary_name", "cancel_op"]


@export("train.input_producer")
@taking("train.input_producer", _QUEUE)
def input_producer(input_tensor: Any, num_epochs: Any = None, shuffle: bool = True, seed: Any = None) -> _Producer:
    """A queue of the rows of a tensor."""
    return _Producer(_rows(input_tensor, num_epochs, shuffle, seed))


@export("train.string_input_producer")
@taking("train.string_input_producer", _QUEUE)
def string_input_producer(
    string_tensor: Any, num_epochs: Any = None, shuffle: bool = True, seed: Any = None
) -> _Producer:
    """A queue of texts, such as names of files."""
    return _Producer(_rows(string_tensor, num_epochs, shuffle, seed))


@export("train.range_input_producer")
@taking("train.range_input_producer", _QUEUE)
def range_input_producer(limit: int, num_epochs: Any = None, shuffle: bool = True, seed: Any = None) -> Any:
    """A queue of the numbers below the limit."""
    if hasattr(limit, "_dims"):  # computed of constants
        with Session(graph=limit.graph) as session:
            limit = session.run(limit)
    return _Producer(_rows(list(range(int(limit))), num_epochs, shuffle, seed))


@export("train.limit_epochs")
def limit_epochs(tensor: Any, num_epochs: Any = None, name: Any = None) -> Any:
    return _Producer(Dataset.from_tensors(tensor).repeat(num_epochs)).element


class _Reader:
    """Records of the files of a queue."""

    def __init__(self, name: Any = None) -> None: ...

    def _records(self, file: Any) -> Any:
        raise NotImplementedError

    def read(self, queue: _Producer, name: Any = None) -> tuple[Any, Any]:
        """(key, value) of the next record; the key is empty."""
        made = _Producer(queue.dataset.flat_map(self._records))
        return NAMES["constant"](""), made.element


@export("TFRecordReader")
class TFRecordReader(_Reader):
    """Reads the records of TFRecord files."""

    def __init__(self, name: Any = None, options: Any = None) -> None:
        if options is not None:
            raise NotImplementedError("tf.TFRecordReader: options, expected None: files are not compressed")

    def _records(self, file: Any) -> Any:
        return TFRecordDataset(file)


@export("TextLineReader")
class TextLineReader(_Reader):
    """Reads lines of texts."""

    def __init__(self, skip_header_lines: Any = None, name: Any = None) -> None:
        self._skip = skip_header_lines or 0

    def _records(self, file: Any) -> Any:
        return TextLineDataset(file).skip(self._skip)


@export("WholeFileReader")
class WholeFileReader(_Reader):
    def read(self, queue: _Producer, name: Any = None) -> tuple[Any, Any]:
        """(name, contents) of the next file."""
        made = _Producer(queue.dataset)
        return made.element, NAMES["read_file"](made.element)


@export("FixedLengthRecordReader")
class FixedLengthRecordReader(_Reader):
    """Records of one size."""

    def __init__(
        self, record_bytes: int, header_bytes: Any = None, footer_bytes: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__()
        self._sizes = (int(record_bytes), int(header_bytes or 0), int(footer_bytes or 0))

    def _records(self, file: Any) -> Any:
        return FixedLengthRecordDataset(file, *self._sizes)
