// The module `_core`: the C++ library for the package systole_tpu.tensorflow.
#include "bindings.h"

NB_MODULE(_core, m) {
  using namespace systole::python;  // NOLINT(google-build-using-namespace): the macro's body
  m.doc() = "The C++ library of Systole, for systole_tpu.tensorflow.";
  nanobind::set_leak_warnings(false);
  bind_errors(m);
  bind_values(m);
  bind_graph(m);
  bind_ops(m);
  bind_control_flow(m);
  bind_rules(m);
  bind_session(m);
  bind_saved_models(m);
  bind_files(m);
  bind_data(m);
  bind_hooks(m);
  bind_estimator(m);
  bind_tpu_check(m);
  bind_models(m);
  bind_keras(m);
}
