// Errors of user functions that check something before they add a node.
#pragma once

#include <string_view>

#include "systole/graph/core/node_builder.h"

namespace systole {

// What `f` returns; its errors get the op's name before them and the user's line after them.
template <class F>
auto with_op(std::string_view op, SourceLocation where, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw at_line(Error(error.code(), fmt::format("{}: {}", op, error.message())), where);
  }
}

}  // namespace systole
