// The layers of a model in a configuration file: those of Keras's registry, with its names and
// arguments.
#pragma once

#include "apps/systole/config/config_node.h"
#include "systole/keras/engine/layer_class.h"

namespace systole::app {

// A layer of the file: `Dense: {units: 8, activation: relu}`.
struct LayerConfig {
  const keras::LayerClass* layer_class = nullptr;
  keras::Json config;  // its arguments, as in Keras's files
  ConfigNode node;

  // Makes the layer, named in the current graph. Its nodes and errors have the line of the file.
  std::shared_ptr<keras::LayerDefinition> make() const;
};

// Reads `Name`, `Name: {argument: value}` or `Name: value`, which sets the first required argument,
// or the first. An initializer, regularizer or constraint is `name` or `name: {argument: value}`;
// the layer of a wrapper is written like any layer. Errors: INVALID_ARGUMENT with the place of the
// value for an unknown class or argument, with the nearest name; for a missing one; for a value of
// another type, or one that the layer refuses.
LayerConfig parse_layer(const ConfigNode& node);

}  // namespace systole::app
