"""TensorFlow's own modules that programs import from, such as tensorflow.python.ops.array_ops.

Their names are those of the public modules: a table says which. Names that are not public are exported with the whole
path: `@export("python.training.training_util.x")`.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from ._registry import NAMES, ROOT

# A line each: package (modules within it): the public modules whose names they have, "-" for tf itself. Of two
# lines for a module the later one counts.
_TABLE = """
contrib.distribute.python (mirrored_strategy one_device_strategy tpu_strategy values): contrib.distribute
contrib.estimator.python.estimator (extenders hooks): contrib.estimator
contrib.factorization.python.ops (clustering_ops kmeans): contrib.factorization
contrib.framework.python (framework): contrib.framework
contrib.framework.python.ops (variables): contrib.framework
contrib.layers.python.layers (initializers layers optimizers regularizers utils): contrib.layers
contrib.learn.python.learn (learn_runner run_config utils): contrib.learn
contrib.opt.python.training (lars_optimizer lazy_adam_optimizer weight_decay_optimizers): contrib.opt
contrib.rnn.python.ops (core_rnn core_rnn_cell core_rnn_cell_impl lstm_ops rnn rnn_cell): contrib.rnn
contrib.tensor_forest.python (tensor_forest): contrib.tensor_forest.client.random_forest
contrib.tpu.python.ops (tpu_ops): contrib.tpu
contrib.tpu.python.tpu (bfloat16 tpu tpu_config tpu_estimator tpu_function tpu_optimizer): contrib.tpu
contrib.tpu.python.tpu (async_checkpoint keras_support tpu_context training_loop util): contrib.tpu
contrib.training.python.training (evaluation hparam training): contrib.training
core.example (example_pb2 feature_pb2): train
core.framework (attr_value_pb2 graph_pb2 node_def_pb2 summary_pb2 tensor_pb2 types_pb2 variable_pb2): - summary
core.protobuf (cluster_pb2 config_pb2 meta_graph_pb2 rewriter_config_pb2 saver_pb2 tensorflow_server_pb2): - train
core.util (event_pb2): summary -
python (pywrap_tensorflow): - train
python.client (device_lib session timeline): -
python.data.experimental (ops): data.experimental
python.data.ops (dataset_ops iterator_ops readers): data
python.data.util (nest): nest
python.eager (context function): -
python.estimator (estimator estimator_lib keras model_fn run_config training util): estimator
python.estimator.canned (baseline dnn dnn_linear_combined head linear metric_keys prediction_keys): estimator
python.estimator.export (export export_lib export_output): estimator.export
python.estimator.inputs (inputs numpy_io pandas_io): estimator.inputs
python.framework (constant_op dtypes errors errors_impl function graph_io graph_util ops): - dtypes errors train
python.framework (random_seed smart_cond sparse_tensor tensor_shape tensor_spec tensor_util test_util versions): - test
python.grappler (tf_optimizer): -
python.keras.engine (base_layer input_layer network sequential training): keras keras.models keras.layers
python.keras.layers (advanced_activations convolutional core embeddings merge noise normalization pooling): keras.layers
python.keras.layers (recurrent wrappers): keras.layers
python.keras.optimizer_v2 (adam gradient_descent optimizer_v2 rmsprop): keras.optimizers
python.layers (base convolutional core layers normalization pooling utils): layers
python.lib.io (file_io): gfile
python.lib.io (tf_record): python_io
python.ops (array_ops check_ops clip_ops confusion_matrix): - nn
python.ops (control_flow_ops data_flow_ops embedding_ops functional_ops): - nn
python.ops (gradients gradients_impl linalg_ops lookup_ops logging_ops math_ops parsing_ops random_ops): - math random
python.ops (resource_variable_ops script_ops session_ops sparse_ops special_math_ops standard_ops state_ops): - math
python.ops (io_ops string_ops template tensor_array_ops variable_scope variables weights_broadcast_ops): - io strings
python.ops (image_ops image_ops_impl): image
python.ops (init_ops init_ops_v2): initializers -
python.ops (nn nn_impl nn_ops rnn): nn
python.ops (rnn_cell rnn_cell_impl): nn.rnn_cell
python.ops (metrics metrics_impl): metrics
python.ops (resources): resources
python.ops (losses): losses
python.ops.losses (losses losses_impl util): losses
python.ops (summary_ops_v2): contrib.summary
python.platform (resource_loader sysconfig): -
python.platform (app): app
python.platform (flags): flags
python.platform (gfile): gfile
python.platform (googletest test): test
python.platform (tf_logging): logging
python.saved_model (builder loader main_op signature_constants signature_def_utils tag_constants utils): saved_model
python.saved_model (loader): saved_model.loader
python.saved_model (signature_constants): saved_model.signature_constants
python.saved_model (tag_constants): saved_model.tag_constants
python.summary (summary summary_iterator): summary train
python.summary.writer (writer writer_cache): summary
python.training (adadelta adagrad adam): train
python.training (basic_session_run_hooks checkpoint_management checkpoint_utils coordinator): train
python.training (device_setter evaluation ftrl gradient_descent): train
python.training (input learning_rate_decay momentum monitored_session): train
python.training (moving_averages optimizer queue_runner rmsprop saver session_manager session_run_hook): train
python.training (slot_creator summary_io supervisor sync_replicas_optimizer training training_ops training_util): train
python.util (deprecation tf_inspect): -
python.util (compat): compat
python.util (nest): nest
"""


def _read_table() -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for line in _TABLE.split("\n"):
        if line:
            head, publics = line.split(": ")
            package, _, modules = head.rstrip(")").partition(" (")
            own = ["" if public == "-" else public for public in publics.split()]
            places.setdefault(package, own)
            places.update({f"{package}.{module}": own for module in modules.split()})
            while "." in package:
                package = package.rpartition(".")[0]
                places.setdefault(package, [])
    return places


_PLACES = _read_table()


class _Place(types.ModuleType):
    """A module whose names are looked up when they are asked for."""

    def __init__(self, path: str, publics: list[str]) -> None:
        super().__init__(f"tensorflow.{path}", f"tf.{path}")
        self.__path__: list[str] = []
        self._below, self._publics = path, publics

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self._below}.{name}"
        if full in NAMES:
            return NAMES[full]
        if full in _PLACES:
            return place(full)
        for public in self._publics:
            found = getattr(sys.modules.get(f"{ROOT}.{public}" if public else ROOT), name, None)
            if found is not None:
                return found
        raise AttributeError(f"module 'tensorflow.{self._below}' has no attribute '{name}'")


def place(path: str) -> types.ModuleType | None:
    """The module of TensorFlow of this name, which begins below `tensorflow`; None where there is none."""
    for prefix, public in (("compat.v1", ""), ("_api.v1", ""), ("contrib.keras", "keras")):
        if path == prefix or path.startswith(prefix + "."):
            path = (public + path.removeprefix(prefix)).removeprefix(".")
    found = sys.modules.get(f"{ROOT}.{path}" if path else ROOT)
    if found is not None:
        return found
    parts = path.split(".")
    if parts[0] == "python" and len(parts) > 1:
        public = sys.modules.get(f"{ROOT}.{'.'.join(parts[1:])}")
        if public is not None and path not in _PLACES:
            return public
    return _Place(path, _PLACES[path]) if path in _PLACES else None


def internal(name: str) -> bool:
    """Whether tf.<name> is found only through its module's whole path."""
    parts = name.split(".")
    return parts[0] in ("core", "python") or (parts[0] == "contrib" and "python" in parts[2:-1])
