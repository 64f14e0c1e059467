"""tf.saved_model, and graphs in files."""

from __future__ import annotations

import os
from typing import Any

from systole_tpu import _core

from ._framework import get_default_graph
from ._registry import export

for _names, _value in {
    ("saved_model.tag_constants.SERVING", "saved_model.SERVING"): "serve",
    ("saved_model.tag_constants.TRAINING", "saved_model.TRAINING"): "train",
    ("saved_model.tag_constants.TPU", "saved_model.TPU"): "tpu",
    ("saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY",
     "saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY"): "serving_default",
    ("saved_model.signature_constants.PREDICT_METHOD_NAME", "saved_model.PREDICT_METHOD_NAME"):
        "tensorflow/serving/predict",
    ("saved_model.signature_constants.CLASSIFY_METHOD_NAME", "saved_model.CLASSIFY_METHOD_NAME"):
        "tensorflow/serving/classify",
    ("saved_model.signature_constants.REGRESS_METHOD_NAME", "saved_model.REGRESS_METHOD_NAME"):
        "tensorflow/serving/regress",
    ("saved_model.signature_constants.PREDICT_INPUTS", "saved_model.PREDICT_INPUTS"): "inputs",
    ("saved_model.signature_constants.PREDICT_OUTPUTS", "saved_model.PREDICT_OUTPUTS"): "outputs",
    ("saved_model.signature_constants.CLASSIFY_INPUTS", "saved_model.CLASSIFY_INPUTS"): "inputs",
    ("saved_model.signature_constants.CLASSIFY_OUTPUT_CLASSES", "saved_model.CLASSIFY_OUTPUT_CLASSES"): "classes",
    ("saved_model.signature_constants.CLASSIFY_OUTPUT_SCORES", "saved_model.CLASSIFY_OUTPUT_SCORES"): "scores",
}.items():  # fmt: skip
    export(*_names)(_value)
_PREDICT, _DEFAULT, _SERVING = "tensorflow/serving/predict", "serving_default", "serve"


class TensorInfo:
    """A tensor of a signature."""

    def __init__(self, name: str, tensor: Any = None) -> None:
        self.name, self._tensor = name, tensor

    def tensor(self) -> Any:
        return self._tensor if self._tensor is not None else get_default_graph().get_tensor_by_name(self.name)

    @property
    def dtype(self) -> int:
        return self.tensor().dtype.as_datatype_enum


class SignatureDef:
    """Inputs and outputs by name."""

    def __init__(self, inputs: dict[str, Any], outputs: dict[str, Any], method_name: str) -> None:
        self.inputs, self.outputs, self.method_name = inputs, outputs, method_name


class MetaGraphDef:
    """What a loader knows of the graph that it loaded."""

    def __init__(self, signatures: dict[str, SignatureDef]) -> None:
        self.signature_def = signatures


@export("saved_model.utils.build_tensor_info", "saved_model.build_tensor_info")
def build_tensor_info(tensor: Any) -> TensorInfo:
    return TensorInfo(tensor.name, tensor)


@export("saved_model.utils.get_tensor_from_tensor_info", "saved_model.get_tensor_from_tensor_info")
def get_tensor_from_tensor_info(tensor_info: TensorInfo, graph: Any = None, import_scope: Any = None) -> Any:
    return (graph or get_default_graph()).get_tensor_by_name(tensor_info.name)


@export("saved_model.signature_def_utils.build_signature_def", "saved_model.build_signature_def")
def build_signature_def(inputs: Any = None, outputs: Any = None, method_name: Any = None) -> SignatureDef:
    return SignatureDef(dict(inputs or {}), dict(outputs or {}), method_name or _PREDICT)


@export("saved_model.signature_def_utils.predict_signature_def", "saved_model.predict_signature_def")
def predict_signature_def(inputs: dict[str, Any], outputs: dict[str, Any]) -> SignatureDef:
    return SignatureDef(
        {k: build_tensor_info(v) for k, v in inputs.items()},
        {k: build_tensor_info(v) for k, v in outputs.items()},
        _PREDICT,
    )


@export("saved_model.builder.SavedModelBuilder", "saved_model.Builder")
class SavedModelBuilder:
    """Writes the graph of a session and the values of its variables."""

    def __init__(self, export_dir: Any) -> None:
        self._folder = os.fspath(export_dir)
        if os.path.isdir(self._folder) and os.listdir(self._folder):
            raise AssertionError(
                f"Export directory already exists, and isn't empty. Please choose a different export directory, or "
                f"delete all the contents of the specified directory: {self._folder}"
            )
        self._written = False

    def add_meta_graph_and_variables(
        self, sess: Any, tags: Any, signature_def_map: Any = None, assets_collection: Any = None, **kwargs: Any
    ) -> None:
        if self._written:
            raise NotImplementedError("tf.saved_model.builder: a second graph, expected one")
        signatures = [
            (name, {k: v.tensor() for k, v in s.inputs.items()}, {k: v.tensor() for k, v in s.outputs.items()},
             s.method_name)
            for name, s in (signature_def_map or {}).items()
        ]  # fmt: skip
        _core.export_saved_model(sess._core, self._folder, signatures, list(tags))
        self._written = True

    def save(self, as_text: bool = False) -> bytes:
        return os.path.join(self._folder, "saved_model.pb").encode()


@export("saved_model.simple_save")
def simple_save(session: Any, export_dir: Any, inputs: Any, outputs: Any, legacy_init_op: Any = None) -> None:
    """Writes a SavedModel for serving with one signature."""
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(session, [_SERVING], {_DEFAULT: predict_signature_def(inputs, outputs)})
    builder.save()


@export("saved_model.loader.load", "saved_model.load")
def load(sess: Any, tags: Any, export_dir: Any, import_scope: Any = None, **kwargs: Any) -> MetaGraphDef:
    """Adds the graph of a SavedModel to that of the session, and sets its variables."""
    found = _core.load_saved_model(sess._core, list(tags), os.fspath(export_dir))
    return MetaGraphDef(
        {
            name: SignatureDef(
                {k: TensorInfo(t) for k, t in inputs.items()}, {k: TensorInfo(t) for k, t in outputs.items()}, method
            )
            for name, inputs, outputs, method in found
        }
    )


@export("saved_model.loader.maybe_saved_model_directory", "saved_model.maybe_saved_model_directory")
def maybe_saved_model_directory(export_dir: Any) -> bool:
    return any(os.path.exists(os.path.join(export_dir, f"saved_model.{end}")) for end in ("pb", "pbtxt"))


# -- GraphDefs.


@export("GraphDef")
class GraphDef:
    """The bytes of a graph."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data

    def ParseFromString(self, data: bytes) -> None:
        self._data = bytes(data)

    def SerializeToString(self) -> bytes:
        return self._data


@export("import_graph_def", "graph_util.import_graph_def")
def import_graph_def(
    graph_def: Any,
    input_map: Any = None,
    return_elements: Any = None,
    name: Any = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> Any:
    """Adds the nodes of a GraphDef to the current graph."""
    if name:
        raise NotImplementedError("tf.import_graph_def: name, expected '': nodes keep their names")
    found = _core.import_graph_def(graph_def.SerializeToString(), dict(input_map or {}), list(return_elements or []))
    return found if return_elements is not None else None


@export("train.write_graph", "io.write_graph")
def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Writes a graph as a GraphDef, as text for names that end in .pbtxt."""
    path = os.path.join(os.fspath(logdir), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if isinstance(graph_or_graph_def, GraphDef):
        with open(path, "wb") as file:
            file.write(graph_or_graph_def.SerializeToString())
    else:
        _core.write_graph(graph_or_graph_def, path)
    return path
