// What a TPU would say of runs and estimators.
#pragma once

#include "systole/estimator/check_report.h"
#include "values.h"

namespace systole::python {

// Keywords of systole_tpu.tpu_check as options. Errors: TypeError for another keyword; ValueError for another effort.
TPUCheckOptions check_options_of(nb::dict keywords);

}  // namespace systole::python
