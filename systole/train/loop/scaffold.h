// How a model's variables start. (tf.train.Scaffold)
#pragma once

#include <functional>

#include "systole/session/session.h"

namespace systole {

struct Scaffold {
  // Called once the variables are initialised and no checkpoint was restored, with the model's
  // graph current. It must not add to the step.
  std::function<void(Session&)> init_fn = nullptr;
};

}  // namespace systole
