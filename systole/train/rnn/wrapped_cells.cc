// Cells that wrap other cells.
#include "systole/graph/ops/string/fingerprint.h"
#include "systole/train/rnn/cell.h"

namespace systole::nn::rnn_cell {
namespace {

class Stacked : public CellDefinition {
 public:
  explicit Stacked(std::vector<RNNCell> cells) : cells_(std::move(cells)) {
    if (cells_.empty()) {
      throw at_line(invalid_argument("MultiRNNCell: cells, got none, expected at least one"), {});
    }
  }
  int64_t output_size() const override { return cells_.back().output_size(); }
  Nest<int64_t> state_size() const override {
    std::vector<Nest<int64_t>> sizes;
    for (const RNNCell& cell : cells_) sizes.push_back(cell.state_size());
    return Nest<int64_t>::tuple(std::move(sizes));
  }
  CellResult call(const Output& inputs, const State& state) override {
    if (!state.is_tuple() || state.size() != cells_.size()) {
      throw at_line(invalid_argument("MultiRNNCell: state, got {} parts, expected {}, one a cell",
                                     state.size(), cells_.size()),
                    {});
    }
    return scope_.run([&] {
      CellResult result{inputs, {}};
      std::vector<State> states;
      for (size_t i = 0; i < cells_.size(); ++i) {
        const VariableScope scope(fmt::format("cell_{}", i));
        const CellResult of_cell = cells_[i](result.output, state[i]);
        result.output = of_cell.output;
        states.push_back(of_cell.state);
      }
      result.state = State::tuple(std::move(states));
      return result;
    });
  }

 private:
  std::vector<RNNCell> cells_;
  CellScope scope_{"", "multi_rnn_cell"};
};

class WithDropout : public CellDefinition {
 public:
  WithDropout(RNNCell cell, DropoutWrapperOptions options)
      : cell_(std::move(cell)), options_(std::move(options)) {}
  int64_t output_size() const override { return cell_.output_size(); }
  Nest<int64_t> state_size() const override { return cell_.state_size(); }
  CellResult call(const Output& inputs, const State& state) override {
    const int64_t call = Graph::current().root().counter("DropoutWrapper")++;
    CellResult result =
        cell_(systole::dropout(inputs, options_.input_keep_prob, seed("input", call)), state);
    result.output =
        systole::dropout(result.output, options_.output_keep_prob, seed("output", call));
    return result;
  }

 private:
  // A different seed for each use, so that masks differ.
  systole::DropoutOptions seed(std::string_view salt, int64_t call) const {
    if (!options_.seed) return {};
    const uint64_t mixed = fingerprint64(fmt::format("{}/{}/{}", *options_.seed, salt, call));
    return {.seed = static_cast<int64_t>(mixed >> 1)};
  }

  RNNCell cell_;
  DropoutWrapperOptions options_;
};

class WithResidual : public CellDefinition {
 public:
  explicit WithResidual(RNNCell cell) : cell_(std::move(cell)) {}
  int64_t output_size() const override { return cell_.output_size(); }
  Nest<int64_t> state_size() const override { return cell_.state_size(); }
  CellResult call(const Output& inputs, const State& state) override {
    CellResult result = cell_(inputs, state);
    if (!inputs.shape().compatible_with(result.output.shape())) {
      throw at_line(invalid_argument("ResidualWrapper: inputs, got {}, expected {}, as outputs are",
                                     inputs.type(), result.output.type()),
                    {});
    }
    result.output = inputs + result.output;
    return result;
  }

 private:
  RNNCell cell_;
};

}  // namespace

MultiRNNCell::MultiRNNCell(std::vector<RNNCell> cells)
    : RNNCell(std::make_shared<Stacked>(std::move(cells))) {}
DropoutWrapper::DropoutWrapper(const RNNCell& cell, const DropoutWrapperOptions& options)
    : RNNCell(std::make_shared<WithDropout>(cell, options)) {}
ResidualWrapper::ResidualWrapper(const RNNCell& cell)
    : RNNCell(std::make_shared<WithResidual>(cell)) {}

}  // namespace systole::nn::rnn_cell
