// Keyword arguments that many user functions share.
#pragma once

#include <string>

namespace systole {

// For functions whose only keyword is TensorFlow's `name`: exp(x, {.name = "y"}).
struct NameOptions {
  std::string name = {};  // the op's when empty
};

}  // namespace systole
