// What is made of a place in a file: errors say where that is, and so do those of the nodes later.
#pragma once

#include "apps/systole/config/config_node.h"
#include "systole/graph/api/where_scope.h"

namespace systole::app {

// make(), with errors told of this node, and graph nodes built here.
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
