// The parts of the module `_core`; each adds its classes and functions.
#pragma once

#include <nanobind/nanobind.h>

namespace systole::python {

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
void bind_models(nanobind::module_& m);
void bind_keras(nanobind::module_& m);

}  // namespace systole::python
