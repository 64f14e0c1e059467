#include <algorithm>
#include <utility>

#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/recurrent.h"

namespace systole::keras::layers {
namespace {

class StackedCells : public LayerOf<StackedCells, StackedRNNCellsOptions, RecurrentCell> {
 public:
  static constexpr std::string_view kClassName = "StackedRNNCells";
  static std::vector<Field<StackedRNNCellsOptions>> fields() {
    return {required("cells", &StackedRNNCellsOptions::cells)};
  }
  explicit StackedCells(StackedRNNCellsOptions options) : LayerOf(std::move(options)) {
    if (options_.cells.empty()) {
      throw invalid_argument("StackedRNNCells: got no cells, expected at least one");
    }
    for (const Layer& cell : options_.cells) cells_.push_back(cell_of(cell));
  }

  std::vector<std::shared_ptr<LayerDefinition>> sublayers() const override {
    return {cells_.begin(), cells_.end()};
  }
  std::vector<int64_t> state_sizes() const override {
    std::vector<int64_t> all;
    for (const auto& cell : cells_) {
      for (const int64_t size : cell->state_sizes()) all.push_back(size);
    }
    return all;
  }
  int64_t output_size() const override { return cells_.back()->output_size(); }
  size_t output_state() const override {
    const size_t of_last = cells_.back()->state_sizes().size();
    return state_sizes().size() - of_last + cells_.back()->output_state();
  }

  void build(const std::vector<Shape>& input_shapes) override {
    Shape shape = input_shapes.at(0);
    for (const auto& cell : cells_) {
      cell->ensure_built({shape});
      shape = Shape{shape[0], cell->output_size()};
    }
  }
  void begin(CallContext& context, const Output& batch) override {
    for (const auto& cell : cells_) cell->begin(context, batch);
  }
  // Only the first cell knows the inputs of all steps.
  std::vector<Output> project(CallContext& context, const Output& inputs) override {
    return cells_.front()->project(context, inputs);
  }
  Step step(CallContext& context, const std::vector<Output>& inputs,
            const std::vector<Output>& states) override {
    Step all;
    auto next = states.begin();
    for (size_t i = 0; i < cells_.size(); ++i) {
      const auto end = next + static_cast<std::ptrdiff_t>(cells_[i]->state_sizes().size());
      const std::vector<Output> of_cell(next, end);
      next = end;
      Step now = i == 0 ? cells_[i]->step(context, inputs, of_cell)
                        : cells_[i]->project_and_step(context, all.output, of_cell);
      all.output = now.output;
      all.states.insert(all.states.end(), now.states.begin(), now.states.end());
    }
    return all;
  }

 protected:
  std::string sublayer_scope(const std::string& scope, const LayerDefinition&) const override {
    return scope;
  }

 private:
  std::vector<std::shared_ptr<RecurrentCell>> cells_;
};

}  // namespace

LayerClass stacked_rnn_cells_class() { return layer_class<StackedCells, StackedRNNCellsOptions>(); }

StackedRNNCells::StackedRNNCells(std::vector<Layer> cells, StackedRNNCellsOptions options,
                                 Where where)
    : Layer([&] {
        options.cells = std::move(cells);
        return make_layer<StackedCells>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
