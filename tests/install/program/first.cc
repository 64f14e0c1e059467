// Built by ../run.sh against an install tree.
#include <fmt/core.h>

#include "systole/base/shape.h"
#include "systole/runtime/registry.h"

int main() {
  const systole::Shape shape{2, 3};
  fmt::print("{} elements; backends:", shape.num_elements());
  for (const auto& name : systole::runtime::backend_names()) fmt::print(" {}", name);
  fmt::print("\n");
}
