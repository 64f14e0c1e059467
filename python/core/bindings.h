// The parts of the module `_core`; each adds its classes and functions.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace systole::python {

// Throws what Python calls the end of a call by a signal ("SIGINT"): KeyboardInterrupt, or SystemExit with the status of
// StopSignals::exit_code(). For a thread with the GIL.
[[noreturn]] void raise_stopped(std::string_view signal);

void bind_errors(nanobind::module_& m);
void bind_values(nanobind::module_& m);
void bind_graph(nanobind::module_& m);
void bind_ops(nanobind::module_& m);
void bind_control_flow(nanobind::module_& m);
void bind_rules(nanobind::module_& m);
void bind_session(nanobind::module_& m);
void bind_saved_models(nanobind::module_& m);
void bind_files(nanobind::module_& m);
void bind_data(nanobind::module_& m);
void bind_hooks(nanobind::module_& m);
void bind_estimator(nanobind::module_& m);
void bind_tpu_check(nanobind::module_& m);
void bind_models(nanobind::module_& m);
void bind_keras(nanobind::module_& m);

}  // namespace systole::python
