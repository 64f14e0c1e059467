// Adds the place in a configuration file to errors, also to later errors of graph nodes.
#pragma once

#include "apps/systole/config/config_node.h"
#include "systole/graph/core/where_scope.h"

namespace systole::app {

// Returns make(). Its errors, and graph nodes that it builds, have the place of `node`.
template <class Make>
auto placed_at(const ConfigNode& node, const Make& make) {
  const WhereScope where(node.where(), true);
  try {
    return make();
  } catch (const Error& error) {
    throw node.placed(error);
  }
}

}  // namespace systole::app
