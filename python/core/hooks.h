// Hooks and host calls of estimators that are Python's.
#pragma once

#include "systole/estimator/spec.h"
#include "values.h"

namespace systole::python {

// A hook of C++ where the object stands for one (`_core_hook()`), else one that calls the object's
// methods between loops, each of one step. Takes the GIL where it is called.
std::shared_ptr<SessionRunHook> hook_of(nb::handle object);
HookList hooks_of(nb::handle list);

// (function, tensors), as TPUEstimatorSpec has it.
HostCall host_call_of(nb::handle pair);

}  // namespace systole::python
