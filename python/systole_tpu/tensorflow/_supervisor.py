"""tf.train's Supervisor, timers, states of checkpoints, and what reads checkpoints and event files."""

from __future__ import annotations

import collections
import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

from ._framework import get_collection, get_default_graph, stand_in
from ._hooks import Coordinator, SessionRunArgs, SessionRunHook
from ._registry import NAMES, export
from ._session import Session

# -- When something is due.


@export("train.SecondOrStepTimer")
class SecondOrStepTimer:
    """Whether some seconds or steps have passed since the last time."""

    def __init__(self, every_secs: Any = None, every_steps: Any = None) -> None:
        if (every_secs is None) == (every_steps is None):
            raise ValueError("Exactly one of every_secs and every_steps should be provided.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        self._last_triggered_step: Any = None
        self._last_triggered_time: Any = None

    def should_trigger_for_step(self, step: int) -> bool:
        if self._last_triggered_step is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_triggered_time + self._every_secs
        return step >= self._last_triggered_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[Any, Any]:
        """(seconds, steps) since the last time; None for the first."""
        now = time.time()
        secs = steps = None
        if self._last_triggered_time is not None:
            secs, steps = now - self._last_triggered_time, step - self._last_triggered_step
        self._last_triggered_time, self._last_triggered_step = now, step
        return secs, steps

    def last_triggered_step(self) -> Any:
        return self._last_triggered_step


@export("train.SummarySaverHook")
class SummarySaverHook(SessionRunHook):
    """Writes summaries into an event file."""

    def __init__(
        self,
        save_steps: Any = None,
        save_secs: Any = None,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._op, self._scaffold, self._writer, self._folder = summary_op, scaffold, summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._due = False

    def begin(self) -> None:
        if self._writer is None and self._folder:
            self._writer = NAMES["summary.FileWriter"](self._folder)
        self._step = NAMES["train.get_or_create_global_step"]()
        self._next = 0

    def before_run(self, run_context: Any) -> Any:
        self._due = self._timer.should_trigger_for_step(self._next)
        summaries = self._op if self._op is not None else NAMES["summary.merge_all"]()
        wanted = {"step": self._step}
        if self._due and summaries is not None:
            wanted["summaries"] = summaries
        return SessionRunArgs(wanted)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = int(run_values.results["step"])
        if self._due:
            self._timer.update_last_triggered_step(step)
            made = run_values.results.get("summaries")
            for data in made if isinstance(made, (list, tuple)) else [] if made is None else [made]:
                self._writer.add_summary(data, step)
        self._next = step + 1

    def end(self, session: Any) -> None:
        if self._writer is not None:
            self._writer.flush()


@export("train.CheckpointSaverListener")
class CheckpointSaverListener:
    """Is called around the writing of checkpoints."""

    def begin(self) -> None: ...

    def before_save(self, session: Any, global_step_value: int) -> None: ...

    def after_save(self, session: Any, global_step_value: int) -> Any: ...

    def end(self, session: Any, global_step_value: int) -> None: ...


@export("train.ChiefSessionCreator")
class ChiefSessionCreator:
    """What MonitoredSession begins with: a Scaffold, and the folder of checkpoints."""

    def __init__(
        self,
        scaffold: Any = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        self.scaffold, self.master, self.config = scaffold, master, config
        self.checkpoint_dir, self.checkpoint_filename_with_path = checkpoint_dir, checkpoint_filename_with_path


# -- Checkpoints.

_CheckpointState = collections.namedtuple("CheckpointState", ["model_checkpoint_path", "all_model_checkpoint_paths"])


@export("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir: Any, latest_filename: Any = None) -> Any:
    """What a folder's file `checkpoint` says; None without one."""
    path = os.path.join(os.fspath(checkpoint_dir), latest_filename or "checkpoint")
    if not NAMES["gfile.Exists"](path):
        return None
    latest, every = "", []
    with NAMES["gfile.GFile"](path) as file:
        for line in file:
            key, _, value = line.partition(": ")
            name = value.strip().strip('"')
            full = name if os.path.isabs(name) or "://" in name else os.path.join(os.fspath(checkpoint_dir), name)
            if key == "model_checkpoint_path":
                latest = full
            elif key == "all_model_checkpoint_paths":
                every.append(full)
    return _CheckpointState(latest, every)


@export("train.NewCheckpointReader", "train.load_checkpoint")
class CheckpointReader:
    """The variables of a checkpoint."""

    def __init__(self, filepattern: Any) -> None:
        self._path = os.fspath(filepattern)
        self._shapes = dict(NAMES["train.list_variables"](self._path))

    def has_tensor(self, tensor_str: str) -> bool:
        return tensor_str in self._shapes

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(shape) for name, shape in self._shapes.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        return {name: NAMES["as_dtype"](self.get_tensor(name).dtype) for name in self._shapes}

    def get_tensor(self, tensor_str: str) -> Any:
        return NAMES["train.load_variable"](self._path, tensor_str)


# -- Graphs that are passed on.


class MetaGraph:
    """A graph with its collections, which another default graph takes over."""

    def __init__(self, graph: Any) -> None:
        self.graph = self.graph_def = graph


@export("train.export_meta_graph")
def export_meta_graph(
    filename: Any = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Any = None,
    as_text: bool = False,
    graph: Any = None,
    **kwargs: Any,
) -> MetaGraph:
    """The graph, for import_meta_graph() of the same process."""
    if filename is not None:
        raise NotImplementedError("tf.train.export_meta_graph: filename, expected None: use tf.saved_model")
    return MetaGraph(graph or get_default_graph())


@export("train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: Any = None, **kwargs: Any
) -> Any:
    """Makes the exported graph itself the default one, in place of an empty graph. Returns its Saver."""
    if not isinstance(meta_graph_or_file, MetaGraph) or import_scope:
        raise NotImplementedError(
            "tf.train.import_meta_graph: expected what export_meta_graph() returned, and no scope"
        )
    if get_default_graph().get_operations():
        raise NotImplementedError("tf.train.import_meta_graph: the default graph has operations, expected an empty one")
    stand_in(meta_graph_or_file.graph)
    return NAMES["train.Saver"]() if get_collection("variables") else None


# -- Supervisor.


class _SavedByTime(Session):
    """A session that writes checkpoints while it runs."""

    def __init__(self, supervisor: Any, target: str, config: Any) -> None:
        super().__init__(target, supervisor.graph, config)
        self._supervisor, self._due = supervisor, 0.0

    def run(self, *args: Any, **kwargs: Any) -> Any:
        values = super().run(*args, **kwargs)
        if time.monotonic() >= self._due:
            self.save()
        return values

    def save(self) -> None:
        self._due = time.monotonic() + self._supervisor.save_secs
        if self._supervisor.save_path and self._supervisor.saver is not None:
            step = self._supervisor.global_step
            count = None if step is None else int(super().run(step))
            self._supervisor.saver.save(self, self._supervisor.save_path, global_step=count)


@export("train.Supervisor")
class Supervisor:
    """Begins with the latest checkpoint of a folder or with first values, and writes checkpoints by time."""

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Any = None,
        ready_op: Any = 0,
        ready_for_local_init_op: Any = 0,
        is_chief: bool = True,
        init_op: Any = 0,
        init_feed_dict: Any = None,
        local_init_op: Any = 0,
        logdir: Any = None,
        summary_op: Any = 0,
        saver: Any = 0,
        global_step: Any = 0,
        save_summaries_secs: Any = 120,
        save_model_secs: Any = 600,
        recovery_wait_secs: Any = 30,
        stop_grace_secs: Any = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = 0,
        init_fn: Any = None,
        local_init_run_options: Any = None,
    ) -> None:
        self.graph = graph if graph is not None else get_default_graph()
        with self.graph.as_default():
            self.init_op = NAMES["global_variables_initializer"]() if self._usual(init_op) else init_op
            self._local = NAMES["local_variables_initializer"]() if self._usual(local_init_op) else local_init_op
            self.summary_op = NAMES["summary.merge_all"]() if self._usual(summary_op) else summary_op
            has_variables = bool(get_collection("variables"))
            self.saver = (NAMES["train.Saver"]() if has_variables else None) if self._usual(saver) else saver
            usual_step = NAMES["train.get_global_step"]() if self._usual(global_step) else global_step
        self.global_step, self.init_feed_dict, self._init_fn = usual_step, init_feed_dict, init_fn
        self.logdir, self.save_secs = logdir, save_model_secs or float("inf")
        self.save_path = os.path.join(logdir, checkpoint_basename) if logdir and save_model_secs else None
        self.coord = Coordinator()
        self.summary_writer = None
        if logdir and self._usual(summary_writer):
            self.summary_writer = NAMES["summary.FileWriter"](logdir, self.graph)

    @staticmethod
    def _usual(value: Any) -> bool:
        return isinstance(value, int) and value == Supervisor.USE_DEFAULT

    def prepare_or_wait_for_session(
        self, master: str = "", config: Any = None, wait_for_checkpoint: bool = False, **kwargs: Any
    ) -> Session:
        """A session whose variables have values."""
        session = _SavedByTime(self, master, config)
        session._due = float("inf")
        latest = NAMES["train.latest_checkpoint"](self.logdir) if self.logdir else None
        if latest and self.saver is not None:
            session.run(self._local)
            self.saver.restore(session, latest)
        else:
            session.run([op for op in (self.init_op, self._local) if op is not None], self.init_feed_dict)
            if self._init_fn is not None:
                self._init_fn(session)
        if self.save_path:
            session.save()
        return session

    @contextlib.contextmanager
    def managed_session(
        self, master: str = "", config: Any = None, start_standard_services: bool = True, **kwargs: Any
    ) -> Iterator[Session]:
        """`with`: a session, which writes a checkpoint at the end. The end of the data ends it."""
        session = self.prepare_or_wait_for_session(master, config)
        with session.as_default():
            try:
                yield session
            except NAMES["errors.OutOfRangeError"]:
                self.request_stop()
            finally:
                if self.save_path and not session._closed:
                    session.save()
                if self.summary_writer is not None:
                    self.summary_writer.flush()
                session.close()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        step = global_step if global_step is not None else int(sess.run(self.global_step))
        self.summary_writer.add_summary(summary, step)

    def should_stop(self) -> bool:
        return self.coord.should_stop()

    def request_stop(self, ex: Any = None) -> None:
        self.coord.request_stop(ex)

    def stop(self, *args: Any, **kwargs: Any) -> None:
        self.coord.request_stop()

    def start_standard_services(self, sess: Any) -> list[Any]:
        return []

    start_queue_runners = start_standard_services
