"""tf.train's hooks and monitored sessions: plain Python around a Session."""

from __future__ import annotations

import collections
import os
import time
from typing import Any

from systole_tpu import _core

from ._control import flatten, pack_like
from ._framework import get_default_graph
from ._registry import NAMES, export
from ._session import Session

SessionRunArgs = collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"], defaults=[None, None])
SessionRunValues = collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])
export("train.SessionRunArgs")(SessionRunArgs)
export("train.SessionRunValues")(SessionRunValues)


@export("train.SessionRunHook")
class SessionRunHook:
    """Is called around the runs of a monitored session."""

    def begin(self) -> None: ...

    def after_create_session(self, session: Any, coord: Any) -> None: ...

    def before_run(self, run_context: Any) -> Any: ...

    def after_run(self, run_context: Any, run_values: Any) -> None: ...

    def end(self, session: Any) -> None: ...


@export("train.SessionRunContext")
class SessionRunContext:
    def __init__(self, original_args: Any, session: Any) -> None:
        self.original_args, self.session, self.stop_requested = original_args, session, False

    def request_stop(self) -> None:
        self.stop_requested = True


@export("train.StopAtStepHook")
class StopAtStepHook(SessionRunHook):
    def __init__(self, num_steps: Any = None, last_step: Any = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise ValueError("One of num_steps or last_step must be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def _core_hook(self) -> Any:
        return _core.stop_at_step_hook(self._num_steps, self._last_step)

    def begin(self) -> None:
        self._step = NAMES["train.get_or_create_global_step"]()

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + self._num_steps

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if int(run_context.session.run(self._step)) >= self._last_step:
            run_context.request_stop()


@export("train.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    def __init__(
        self,
        tensors: Any,
        every_n_iter: Any = None,
        every_n_secs: Any = None,
        at_end: bool = False,
        formatter: Any = None,
    ) -> None:
        named = tensors if isinstance(tensors, dict) else {str(getattr(t, "name", t)): t for t in tensors}
        # A name without a number is that of an operation's first result.
        self._tensors = {k: f"{t}:0" if isinstance(t, str) and ":" not in t else t for k, t in named.items()}
        self._every, self._secs, self._formatter = every_n_iter, every_n_secs, formatter
        self._runs, self._last = 0, 0.0

    def _core_hook(self) -> Any:
        if self._formatter is not None or any(isinstance(t, str) for t in self._tensors.values()):
            return None
        write = NAMES["logging.info"]
        secs = self._secs if self._every is None else None
        return _core.logging_hook(list(self._tensors.items()), self._every, secs, lambda line: write("%s", line))

    def before_run(self, run_context: Any) -> Any:
        now = time.monotonic()
        due = self._runs % self._every == 0 if self._every else now - self._last >= (self._secs or 0)
        self._runs += 1
        if not due:
            return None
        self._last = now
        return SessionRunArgs(self._tensors)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results:
            text = ", ".join(f"{k} = {v}" for k, v in run_values.results.items())
            NAMES["logging.info"](self._formatter(run_values.results) if self._formatter else text)


@export("train.NanTensorHook")
class NanTensorHook(SessionRunHook):
    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results != run_values.results:
            if self._fail:
                raise RuntimeError("NaN loss during training.")
            run_context.request_stop()


@export("train.CheckpointSaverHook")
class CheckpointSaverHook(SessionRunHook):
    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: Any = None,
        save_steps: Any = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Any = None,
    ) -> None:
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._secs, self._steps, self._saver = save_secs, save_steps, saver
        self._saved_at, self._saved_step = time.monotonic(), -1

    def _core_hook(self) -> Any:
        return _core.checkpoint_saver_hook(self._secs, self._steps) if self._saver is None else None

    def begin(self) -> None:
        self._step = NAMES["train.get_or_create_global_step"]()

    def _save(self, session: Any, step: int) -> None:
        if self._saver is None:
            self._saver = NAMES["train.Saver"]()
        if step != self._saved_step:
            self._saver.save(session, self._path, global_step=step)
            self._saved_at, self._saved_step = time.monotonic(), step

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._save(session, int(session.run(self._step)))

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = int(run_context.session.run(self._step))
        due = (
            step - self._saved_step >= self._steps
            if self._steps
            else time.monotonic() - self._saved_at >= (self._secs or 600)
        )
        if due:
            self._save(run_context.session, step)

    def end(self, session: Any) -> None:
        self._save(session, int(session.run(self._step)))


@export("train.StepCounterHook")
class StepCounterHook(SessionRunHook):
    """Logs the steps a second."""

    def __init__(
        self, every_n_steps: Any = 100, every_n_secs: Any = None, output_dir: Any = None, summary_writer: Any = None
    ) -> None:
        self._every, self._secs = every_n_steps, every_n_secs
        self._last = (time.monotonic(), 0)

    def _core_hook(self) -> Any:
        return _core.step_counter_hook(None if self._secs else self._every, self._secs)

    def begin(self) -> None:
        self._step = NAMES["train.get_or_create_global_step"]()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        now, step = time.monotonic(), int(run_context.session.run(self._step))
        if step - self._last[1] >= (self._every or 1):
            NAMES["logging.info"]("global_step/sec: %g", (step - self._last[1]) / max(now - self._last[0], 1e-9))
            self._last = (now, step)


@export("train.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Runs tensors after the last step."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._ops, self._feeds, self.final_ops_values = final_ops, final_ops_feed_dict, None

    def end(self, session: Any) -> None:
        self.final_ops_values = session.run(self._ops, self._feeds)


@export("train.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Feeds what a function gives, in monitored sessions."""

    def __init__(self, feed_fn: Any) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(None, self.feed_fn())


@export("train.Scaffold")
class Scaffold:
    """What a monitored session runs to begin."""

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Any = None,
    ) -> None:
        self.init_op, self.init_feed_dict, self.init_fn = init_op, init_feed_dict, init_fn
        self.local_init_op, self.saver = local_init_op, saver

    def finalize(self) -> Scaffold:
        return self


class CoreHook:
    """A hook of a program as C++ calls it: with tensors of the step, in a list."""

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._structure: Any = None
        self._tensors: list[Any] = []
        self._first: list[Any] = []  # what the first before_run() returned
        self._wanted: Any = None

    def begin(self) -> None:
        self._hook.begin()

    def fetches(self) -> list[Any]:
        try:
            request = self._hook.before_run(SessionRunContext(SessionRunArgs(None), None))
        except AttributeError:  # it asks the session, which is not there yet
            return []
        self._first = [request]
        if request is not None and request.fetches is not None:
            leaves = [as_element(f, get_default_graph()) for f in flatten(request.fetches)]
            self._tensors = [f for f in leaves if hasattr(f, "_dims")]
        return self._tensors

    def after_create_session(self, session: Any) -> None:
        self._hook.after_create_session(session, None)

    def before_run(self, session: Any) -> bool:
        context = SessionRunContext(SessionRunArgs(None), session)
        self._wanted = self._first.pop() if self._first else self._hook.before_run(context)
        return context.stop_requested

    def after_run(self, session: Any, values: list[Any]) -> bool:
        context = SessionRunContext(SessionRunArgs(None), session)
        request, results = self._wanted, None
        if request is not None and request.fetches is not None:
            known = dict(zip(self._tensors, values, strict=True))
            leaves = [as_element(f, session.graph) for f in flatten(request.fetches)]
            others = [f for f in leaves if f not in known]
            known.update(zip(others, session.run(others) if others else [], strict=True))
            results = pack_like(request.fetches, [known[f] for f in leaves])
        self._hook.after_run(context, SessionRunValues(results, None, None))
        return context.stop_requested

    def end(self, session: Any) -> None:
        self._hook.end(session)


def as_element(fetch: Any, graph: Any) -> Any:
    """The tensor, the value of the variable, or the operation of a name."""
    if isinstance(fetch, str):
        return graph.as_graph_element(fetch)
    return fetch.value() if hasattr(fetch, "_core_name") else fetch


def initialize(scaffold: Any, session: Any) -> None:
    """Does what a Scaffold says once variables have their first values."""
    if scaffold.init_op is not None:
        session.run(scaffold.init_op, scaffold.init_feed_dict)
    if scaffold.init_fn is not None:
        scaffold.init_fn(scaffold, session)


class MonitoredSession:
    """A session that initializes or restores its variables, and calls hooks around runs."""

    def __init__(
        self,
        session_creator: Any = None,
        hooks: Any = None,
        stop_grace_period_secs: int = 120,
        target: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        scaffold: Any = None,
    ) -> None:
        self._hooks = list(hooks or [])
        for hook in self._hooks:
            hook.begin()
        scaffold = scaffold or getattr(session_creator, "scaffold", None) or Scaffold()
        init = scaffold.init_op if scaffold.init_op is not None else NAMES["global_variables_initializer"]()
        local = NAMES["local_variables_initializer"]()
        self._session = Session(target, get_default_graph(), config)
        self._scope = self._session.as_default()
        self._scope.__enter__()
        self._stop = False
        latest = NAMES["train.latest_checkpoint"](checkpoint_dir) if checkpoint_dir else None
        self._session.run([init, local], scaffold.init_feed_dict)
        if latest:
            (scaffold.saver or NAMES["train.Saver"]()).restore(self._session, latest)
        elif scaffold.init_fn:
            scaffold.init_fn(scaffold, self._session)
        for hook in self._hooks:
            hook.after_create_session(self._session, None)

    @property
    def graph(self) -> Any:
        return self._session.graph

    def should_stop(self) -> bool:
        return self._stop

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        wanted: dict[Any, Any] = {"caller": fetches}
        feeds = dict(feed_dict or {})
        for i, hook in enumerate(self._hooks):
            request = hook.before_run(context)
            if request is not None:
                if request.fetches is not None:
                    wanted[i] = request.fetches
                feeds.update(request.feed_dict or {})
        results = self._session.run(wanted, feeds)
        for i, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(results.get(i), options, run_metadata))
        self._stop = self._stop or context.stop_requested
        return results["caller"]

    def run_step_fn(self, step_fn: Any) -> Any:
        return step_fn(collections.namedtuple("StepContext", ["session", "run_with_hooks"])(self._session, self.run))

    def __enter__(self) -> MonitoredSession:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        ended = kind is not None and issubclass(kind, NAMES["errors.OutOfRangeError"])
        if kind is None or ended:
            for hook in self._hooks:
                hook.end(self._session)
        self.close()
        return ended

    def close(self) -> None:
        if self._scope is not None:
            self._scope.__exit__(None, None, None)
            self._scope = None
        self._session.close()


export("train.MonitoredSession")(MonitoredSession)


@export("train.SingularMonitoredSession")
class SingularMonitoredSession(MonitoredSession):
    """A monitored session of one process."""

    def __init__(
        self,
        hooks: Any = None,
        scaffold: Any = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: int = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        if checkpoint_filename_with_path is not None:
            raise NotImplementedError("tf.train.SingularMonitoredSession: checkpoint_filename_with_path, expected None")
        super().__init__(None, hooks, stop_grace_period_secs, master, config, checkpoint_dir, scaffold)

    def raw_session(self) -> Any:
        return self._session


@export("train.MonitoredTrainingSession")
def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = None,
    save_summaries_steps: Any = None,
    save_summaries_secs: Any = None,
    config: Any = None,
    stop_grace_period_secs: int = 120,
    log_step_count_steps: int = 100,
    max_wait_secs: int = 7200,
    save_checkpoint_steps: Any = None,
    summary_dir: Any = None,
) -> MonitoredSession:
    """A monitored session that keeps checkpoints in a folder."""
    all_hooks = [*(hooks or []), *(chief_only_hooks or [])]
    if checkpoint_dir:
        secs = save_checkpoint_secs if save_checkpoint_secs or save_checkpoint_steps else 600
        all_hooks.append(CheckpointSaverHook(checkpoint_dir, secs, save_checkpoint_steps))
    return MonitoredSession(
        None, all_hooks, target=master, config=config, checkpoint_dir=checkpoint_dir, scaffold=scaffold
    )


@export("train.Coordinator")
class Coordinator:
    """For programs with queues, which there are none of: nothing is to be coordinated."""

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        self._stop = False

    def should_stop(self) -> bool:
        return self._stop

    def request_stop(self, ex: Any = None) -> None:
        self._stop = True

    def join(self, *args: Any, **kwargs: Any) -> None: ...


@export("train.start_queue_runners")
def start_queue_runners(
    sess: Any = None, coord: Any = None, daemon: bool = True, start: bool = True, collection: str = "queue_runners"
) -> list[Any]:
    """No threads: queues are data sets."""
    return []
