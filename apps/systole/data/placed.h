// What is made of a place in a file: errors say where that is, and so do those of the nodes later.
#pragma once

#include "apps/systole/config/config_node.h"
#include "systole/graph/where_scope.h"

namespace systole::app {

// node.where() with a name of the file that lives as long as the program: nodes outlive documents.
SourceLocation lasting_where(const ConfigNode& node);
// The error with the place of the node before it, unless a place of its file is there.
Error placed_once(const ConfigNode& node, const Error& error);

// make(), with errors told of this node, and graph nodes built here.
template <class Make>
auto placed_at(const ConfigNode& node, const Make& make) {
  const WhereScope where(lasting_where(node), true);
  try {
    return make();
  } catch (const Error& error) {
    throw placed_once(node, error);
  }
}

}  // namespace systole::app
