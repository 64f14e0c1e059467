"""tf.train.Example and kin as bytes of protocol buffers; TFRecord files; parsing."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from systole_tpu import _core

from ._dtypes import as_dtype
from ._registry import export
from ._shapes import TensorShape
from ._sparse import SparseTensor


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def encode_field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[at]
        result |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return result, at
        shift += 7


def fields_of(data: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of the fields of a message: integers, and bytes of all others."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        if key & 7 == 2:
            size, at = _read_varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size
        elif key & 7 == 0:
            value, at = _read_varint(data, at)
            yield key >> 3, value
        elif key & 7 in (1, 5):
            size = 8 if key & 7 == 1 else 4
            yield key >> 3, data[at : at + size]
            at += size
        else:
            raise ValueError(f"a protocol buffer's wire type, got {key & 7}, expected 0, 1, 2 or 5")


class _List:
    def __init__(self, value: Any = ()) -> None:
        self.value = list(value)


@export("train.BytesList")
class BytesList(_List):
    def _bytes(self) -> bytes:
        return b"".join(encode_field(1, v.encode() if isinstance(v, str) else bytes(v)) for v in self.value)


@export("train.FloatList")
class FloatList(_List):
    def _bytes(self) -> bytes:
        return encode_field(1, struct.pack(f"<{len(self.value)}f", *self.value)) if self.value else b""


@export("train.Int64List")
class Int64List(_List):
    def _bytes(self) -> bytes:
        return encode_field(1, b"".join(_varint(int(v)) for v in self.value)) if self.value else b""


@export("train.Feature")
class Feature:
    """One of three kinds of lists."""

    def __init__(self, bytes_list: Any = None, float_list: Any = None, int64_list: Any = None) -> None:
        self._kind = (
            1 if bytes_list is not None else 2 if float_list is not None else 3 if int64_list is not None else 0
        )
        self.bytes_list = bytes_list or BytesList()
        self.float_list = float_list or FloatList()
        self.int64_list = int64_list or Int64List()

    def _bytes(self) -> bytes:
        lists = {1: self.bytes_list, 2: self.float_list, 3: self.int64_list}
        # A feature that was made empty has the kind of the list that has values now.
        kind = self._kind or next((number for number, made in lists.items() if made.value), 0)
        return encode_field(kind, lists[kind]._bytes()) if kind else b""

    @staticmethod
    def _parse(data: bytes) -> Feature:
        for number, payload in fields_of(data):
            values = [v for n, v in fields_of(payload) if n == 1]
            if number == 1:
                return Feature(bytes_list=BytesList(values))
            if number == 2:
                return Feature(float_list=FloatList(v for p in values for v in struct.unpack(f"<{len(p) // 4}f", p)))
            numbers: list[int] = []
            for packed in values:
                at = 0
                while isinstance(packed, bytes) and at < len(packed):
                    value, at = _read_varint(packed, at)
                    numbers.append(value - (1 << 64) if value >> 63 else value)
                if isinstance(packed, int):
                    numbers.append(packed - (1 << 64) if packed >> 63 else packed)
            return Feature(int64_list=Int64List(numbers))
        return Feature()


class _FeatureMap(dict):  # type: ignore[type-arg]
    """Features by name. Reading one that is missing adds it, as in protocol buffers."""

    def __missing__(self, name: str) -> Feature:
        return self.setdefault(name, Feature())


@export("train.Features")
class Features:
    def __init__(self, feature: Any = None) -> None:
        self.feature = _FeatureMap(feature or {})

    def _bytes(self) -> bytes:
        return b"".join(
            encode_field(1, encode_field(1, name.encode()) + encode_field(2, made._bytes()))
            for name, made in sorted(self.feature.items())
        )


@export("train.Example")
class Example:
    """Features by name."""

    def __init__(self, features: Any = None) -> None:
        self.features = features or Features()

    def SerializeToString(self) -> bytes:
        return encode_field(1, self.features._bytes())

    def ParseFromString(self, serialized: bytes) -> int:
        self.features = Features()
        for _, features in fields_of(serialized):
            for _, entry in fields_of(features):
                parts = dict(fields_of(entry))
                self.features.feature[parts[1].decode()] = Feature._parse(parts.get(2, b""))
        return len(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> Example:
        made = cls()
        made.ParseFromString(serialized)
        return made


# -- TFRecord files: length, masked CRC of it, bytes, masked CRC of them.

_TABLE: list[int] = []


def _crc32c(data: bytes) -> int:
    if not _TABLE:
        for i in range(256):
            crc = i
            for _ in range(8):
                crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
            _TABLE.append(crc)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = _crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


@export("python_io.TFRecordCompressionType", "io.TFRecordCompressionType")
class TFRecordCompressionType:
    NONE, ZLIB, GZIP = 0, 1, 2


@export("python_io.TFRecordOptions", "io.TFRecordOptions")
class TFRecordOptions:
    """The compression of a file of records: a number of TFRecordCompressionType, or its name."""

    def __init__(self, compression_type: Any = None, **kwargs: Any) -> None:
        names = ("", "ZLIB", "GZIP")
        self.compression_type = names[compression_type] if isinstance(compression_type, int) else compression_type or ""


def _compression(options: Any) -> str:
    if isinstance(options, int):
        return TFRecordOptions(options).compression_type
    return options if isinstance(options, str) else getattr(options, "compression_type", "")


class _Deflated:
    """A file of one zlib stream."""

    def __init__(self, path: str) -> None:
        self._file, self._stream = open(path, "wb"), zlib.compressobj()

    def write(self, data: bytes) -> None:
        self._file.write(self._stream.compress(data))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.write(self._stream.flush())
        self._file.close()


@export("python_io.TFRecordWriter", "io.TFRecordWriter")
class TFRecordWriter:
    """Writes records."""

    def __init__(self, path: Any, options: Any = None) -> None:
        opens: dict[str, Any] = {"": lambda p: open(p, "wb"), "GZIP": lambda p: gzip.open(p, "wb"), "ZLIB": _Deflated}
        self._file = opens[_compression(options)](os.fspath(path))

    def write(self, record: bytes) -> None:
        length = struct.pack("<Q", len(record))
        self._file.write(length + _masked(length) + record + _masked(record))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


@export("python_io.tf_record_iterator", "io.tf_record_iterator")
def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    iterator = _core.Dataset.tfrecords(os.fspath(path), _compression(options), None, None)._iterator()
    while (element := iterator.next()) is not None:
        yield element[0]


# -- Parsing.


@export("FixedLenFeature", "io.FixedLenFeature")
class FixedLenFeature:
    def __init__(self, shape: Any, dtype: Any, default_value: Any = None) -> None:
        self.shape, self.dtype, self.default_value = TensorShape(shape).as_list(), as_dtype(dtype), default_value


@export("VarLenFeature", "io.VarLenFeature")
class VarLenFeature:
    def __init__(self, dtype: Any) -> None:
        self.dtype = as_dtype(dtype)


@export("FixedLenSequenceFeature", "io.FixedLenSequenceFeature")
class FixedLenSequenceFeature(FixedLenFeature):
    def __init__(self, shape: Any, dtype: Any, allow_missing: bool = False, default_value: Any = None) -> None:
        super().__init__(shape, dtype, default_value)
        self.allow_missing = allow_missing


@export("parse_single_example", "io.parse_single_example")
def parse_single_example(serialized: Any, features: Any, name: Any = None, example_names: Any = None) -> Any:
    """The features of a serialized Example."""
    varying = {n for n, f in features.items() if isinstance(f, VarLenFeature)}
    dense = {n: FixedLenSequenceFeature([], f.dtype, True) if n in varying else f for n, f in features.items()}
    parsed = _core.parse_single_example(serialized, dense)
    return {n: SparseTensor.of_vector(t) if n in varying else t for n, t in parsed.items()}


@export("parse_example", "io.parse_example")
def parse_example(serialized: Any, features: Any, name: Any = None, example_names: Any = None) -> Any:
    return _core.parse_example(serialized, dict(features))
