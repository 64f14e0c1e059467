// A picture of a model. (tf.keras.utils.plot_model)
#pragma once

#include <string>

#include "systole/keras/models/model.h"

namespace systole::keras {

struct PlotModelOptions {
  std::string to_file = "model.png";
  bool show_shapes = false;
  bool show_layer_names = true;
  std::string rankdir = "TB";  // "LR": from the left to the right
};

// Returns the graph of layers in Graphviz's language: a node for each layer, however often it is
// called, with the label that Keras gives it. A model in it is one node. `to_file` is not used.
// Errors: FAILED_PRECONDITION for a model that is no graph of layers or has no input shape yet;
// INVALID_ARGUMENT for another rankdir than TB, BT, LR and RL.
std::string model_to_dot(const Model& model, const PlotModelOptions& options = {});

// Writes model_to_dot() if options.to_file ends in ".dot", else the picture that Graphviz's program
// `dot` draws of it, in the format that the name's end says (png, svg, pdf). Errors: those of
// model_to_dot() and of the file system; INVALID_ARGUMENT for another end; FAILED_PRECONDITION if
// `dot` is not installed.
void plot_model(const Model& model, const PlotModelOptions& options = {});

namespace utils {
using keras::model_to_dot;
using keras::plot_model;
}  // namespace utils

}  // namespace systole::keras
