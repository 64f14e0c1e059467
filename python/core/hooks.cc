#include "hooks.h"

#include "bindings.h"
#include "session_handle.h"
#include "systole/train/loop/hooks.h"

namespace systole::python {
namespace {

nb::object python_hooks() { return nb::module_::import_("systole_tpu.tensorflow._hooks"); }

// A hook of Python. What its first before_run() asks for is computed with each step; what later ones ask for besides is
// run by itself.
class PythonHook : public SessionRunHook {
 public:
  explicit PythonHook(nb::object object) : adapter_(python_hooks().attr("CoreHook")(object)) {}

  void begin() override {
    const nb::gil_scoped_acquire gil;
    adapter_.get().attr("begin")();
  }
  std::vector<Output> fetches() override {
    const nb::gil_scoped_acquire gil;
    std::vector<Output> all;
    for (nb::handle tensor : nb::object(adapter_.get().attr("fetches")())) all.push_back(output_of(tensor));
    return all;
  }
  void after_create_session(Session& session) override {
    const nb::gil_scoped_acquire gil;
    adapter_.get().attr("after_create_session")(borrowed_session(session));
  }
  void before_run(RunContext& context) override {
    const nb::gil_scoped_acquire gil;
    stop_if(context, adapter_.get().attr("before_run")(borrowed_session(context.session())));
  }
  void after_run(RunContext& context, std::span<const Tensor> values) override {
    const nb::gil_scoped_acquire gil;
    nb::list arrays;
    for (const Tensor& value : values) arrays.append(array_of(value.clone()));
    stop_if(context, adapter_.get().attr("after_run")(borrowed_session(context.session()), arrays));
  }
  void end(Session& session) override {
    const nb::gil_scoped_acquire gil;
    adapter_.get().attr("end")(borrowed_session(session));
  }

 private:
  static void stop_if(RunContext& context, nb::handle stop) {
    if (nb::cast<bool>(stop)) context.request_stop();
  }

  Held adapter_;
};

struct HookHandle {
  std::shared_ptr<SessionRunHook> hook;
};

std::optional<int64_t> count_of(nb::handle value) {
  return value.is_none() ? std::nullopt : std::optional(nb::cast<int64_t>(nb::int_(nb::borrow(value))));
}
std::optional<double> seconds_of(nb::handle value) {
  return value.is_none() ? std::nullopt : std::optional(nb::cast<double>(nb::float_(nb::borrow(value))));
}

}  // namespace

nb::object borrowed_session(Session& session) {
  SessionHandle handle(owner_of(session.graph()), std::shared_ptr<Session>(&session, [](Session*) {}));
  return nb::module_::import_("systole_tpu.tensorflow._session").attr("borrowed")(nb::cast(std::move(handle)));
}

std::shared_ptr<SessionRunHook> hook_of(nb::handle object) {
  if (nb::hasattr(object, "_core_hook")) {
    const nb::object made = object.attr("_core_hook")();
    if (!made.is_none()) return nb::cast<const HookHandle&>(made).hook;
  }
  return std::make_shared<PythonHook>(nb::borrow(object));
}

HookList hooks_of(nb::handle list) {
  HookList hooks;
  if (list.is_none()) return hooks;
  for (nb::handle hook : nb::borrow<nb::object>(list)) hooks.push_back(hook_of(hook));
  return hooks;
}

HostCall host_call_of(nb::handle pair) {
  const nb::object structure = pair[1];
  std::vector<Output> tensors;
  const nb::object leaves = nb::module_::import_("systole_tpu.tensorflow._control").attr("flatten")(structure);
  for (nb::handle leaf : leaves) tensors.push_back(output_of(leaf));
  const nb::object call =
      nb::module_::import_("systole_tpu.tensorflow._host_calls").attr("HostCall")(nb::object(pair[0]), structure);
  return HostCall{.fn = [call = Held(call)](std::span<const Tensor> values) {
                    const nb::gil_scoped_acquire gil;
                    nb::list arrays;
                    for (const Tensor& value : values) arrays.append(array_of(value.clone()));
                    call.get()(arrays);
                  },
                  .tensors = OutputList(std::move(tensors))};
}

void bind_hooks(nb::module_& m) {
  nb::class_<HookHandle>(m, "Hook");
  m.def("stop_at_step_hook", [](nb::handle num_steps, nb::handle last_step) {
    return HookHandle{std::make_shared<StopAtStepHook>(
        StopAtStepHook::Options{.num_steps = count_of(num_steps), .last_step = count_of(last_step)})};
  });
  m.def("logging_hook", [](nb::list tensors, nb::handle steps, nb::handle secs, nb::object write) {
    LoggingTensorHook::Options options{.every_n_iter = count_of(steps), .every_n_secs = seconds_of(secs)};
    for (nb::handle pair : tensors) options.tensors.emplace_back(nb::cast<std::string>(pair[0]), output_of(pair[1]));
    options.write = [held = Held(write)](const std::string& line) {
      const nb::gil_scoped_acquire gil;
      held.get()(line);
    };
    return HookHandle{std::make_shared<LoggingTensorHook>(std::move(options))};
  });
  m.def("checkpoint_saver_hook", [](nb::handle secs, nb::handle steps) {
    return HookHandle{std::make_shared<CheckpointSaverHook>(
        CheckpointSaverHook::Options{.save_steps = count_of(steps), .save_secs = seconds_of(secs)})};
  });
  m.def("step_counter_hook", [](nb::handle steps, nb::handle secs) {
    return HookHandle{std::make_shared<StepCounterHook>(
        StepCounterHook::Options{.every_n_steps = count_of(steps), .every_n_secs = seconds_of(secs)})};
  });
}

}  // namespace systole::python
