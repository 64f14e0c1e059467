// A picture of a model. (tf.keras.utils.plot_model)
#pragma once

#include <string>

#include "systole/keras/models/model.h"

namespace systole::keras {

struct PlotModelOptions {
  std::string to_file = "model.svg";
  bool show_shapes = false;
  bool show_layer_names = true;
};

// The graph of layers as SVG, inputs at the top. A model in it is one box; a shared layer is one
// box, however often it is called. Errors: FAILED_PRECONDITION for a model that is no graph of
// layers or has no input shape yet.
std::string model_svg(const Model& model, const PlotModelOptions& options = {});

// Writes model_svg() to options.to_file. Errors: those of model_svg(); INVALID_ARGUMENT unless the
// file's name ends in ".svg"; those of the file system.
void plot_model(const Model& model, const PlotModelOptions& options = {});

namespace utils {
using keras::plot_model;
}  // namespace utils

}  // namespace systole::keras
