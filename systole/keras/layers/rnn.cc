#include <utility>

#include "systole/keras/layers/recurrent.h"
#include "systole/keras/layers/recurrent_fields.h"

namespace systole::keras::layers {
namespace {

std::shared_ptr<RecurrentCell> cell_in(const RNNOptions& options) {
  if (!options.cell) throw invalid_argument("RNN: cell, got none, expected a cell");
  return cell_of(*options.cell);
}

class RnnLayer : public LayerOf<RnnLayer, RNNOptions, RecurrentLayer> {
 public:
  static constexpr std::string_view kClassName = "RNN";
  static std::vector<Field<RNNOptions>> fields() {
    std::vector<Field<RNNOptions>> all = recurrence_fields<RNNOptions>();
    all.push_back(required("cell", &RNNOptions::cell));
    return all;
  }
  explicit RnnLayer(const RNNOptions& options)
      : LayerOf(options, cell_in(options), recurrence_of(options)) {}

  std::shared_ptr<RecurrentLayer> reversed() const override {
    RNNOptions options = options_;
    options.cell = Layer(cell()->copy());
    options.go_backwards = !options.go_backwards;
    auto made = std::make_shared<RnnLayer>(options);
    if (!trainable()) made->set_trainable(false);
    return made;
  }
};

RNNOptions with_cell(RNNOptions options, const Layer& cell) {
  options.cell = cell;
  return options;
}

Layer named_cell(const std::shared_ptr<RecurrentCell>& cell) {
  if (!cell) throw invalid_argument("RNN: cell, got null, expected a cell");
  return Layer(cell);
}

}  // namespace

LayerClass rnn_class() {
  LayerClass made = recurrent_class<RnnLayer, RNNOptions>();
  made.from_config = [make = made.from_config](const Json& given) {
    Json config = given;
    // TensorFlow.js writes the stacked cells themselves.
    if (const auto it = config.find("cells"); it != config.end()) {
      config["cell"] = {{"class_name", "StackedRNNCells"}, {"config", {{"cells", *it}}}};
      config.erase("cells");
    }
    return make(config);
  };
  return made;
}

RNN::RNN(const Layer& cell, RNNOptions options, Where where)
    : Layer(make_layer<RnnLayer>(with_cell(std::move(options), cell), where)) {}

RNN::RNN(std::vector<Layer> cells, RNNOptions options, Where where)
    : RNN(StackedRNNCells(std::move(cells)), std::move(options), where) {}

RNN::RNN(const std::shared_ptr<RecurrentCell>& cell, RNNOptions options, Where where)
    : RNN(named_cell(cell), std::move(options), where) {}

}  // namespace systole::keras::layers
