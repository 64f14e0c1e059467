// What a TPU would say of a Keras model: see docs/tpu_check.md.
//
//   const st::CheckReport report =
//       st::keras::estimator::check(model, x, y, {.batch_size = 1024, .compile = "v3-8"});
#pragma once

#include <string>

#include "systole/estimator/estimator.h"
#include "systole/keras/models/model.h"

namespace systole::keras::estimator {

struct CheckModelOptions {
  int64_t batch_size = 32;   // of all 8 cores, as fit() on a TPU takes it
  std::string compile = {};  // this and the following: TPUCheckOptions
  std::string tpu_library = {};
  bool low_effort = false;
  double max_seconds = 1800;
  std::string save = {};
};

// Builds a training step of a compiled model on 8 cores, without running it, and returns what a TPU
// would refuse and the memory of a core; where `compile` names a system, also what Google's
// compiler says. `x` and `y` are arrays as fit() takes them; of their values only the classes
// count, so one example will do. Errors: those of model_to_estimator(), of fit() for arrays that do
// not fit, and of TPUEstimator::check().
CheckReport check(const Model& model, const ArrayList& x, const ArrayList& y,
                  const CheckModelOptions& options = {});

}  // namespace systole::keras::estimator
