// Adds the place in a configuration file to errors of what it asks for.
#pragma once

#include "apps/systole/config/config_node.h"
#include "systole/graph/core/where_scope.h"

namespace systole::app {

// Returns make(). Its errors, and the graph nodes that it builds, name the line of `node`.
template <class Make>
auto with_location(const ConfigNode& node, const Make& make) {
  const WhereScope where(node.where(), true);
  try {
    return make();
  } catch (const Error& error) {
    throw node.placed(error);
  }
}

}  // namespace systole::app
