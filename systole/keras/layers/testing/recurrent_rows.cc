// Recurrent layers, their cells, and the layers around them.
#include <algorithm>
#include <cmath>
#include <span>

#include "systole/keras/layers/testing/layer_values.h"
#include "systole/keras/layers/testing/recurrent_reference.h"

namespace systole::keras::layers::testing {
namespace {

// A cell of a class with its first weights; takes these from `weights`.
ReferenceCell cell_of(const std::string& class_name, const Json& config,
                      std::span<const Tensor>& weights) {
  const bool after = config.value("reset_after", false);
  ReferenceCell cell{.kind = class_name.starts_with("LSTM")  ? "lstm"
                             : class_name.starts_with("GRU") ? (after ? "gru_after" : "gru")
                                                             : "simple",
                     .units = config.at("units").get<size_t>(),
                     .sigmoid = config.value("recurrent_activation", "") == "sigmoid",
                     .relu = config.value("activation", "") == "relu"};
  cell.kernel = numbers(weights[0]);
  cell.recurrent = numbers(weights[1]);
  const size_t count = config.value("use_bias", true) ? 3 : 2;
  if (count == 3) cell.bias = numbers(weights[2]);
  weights = weights.subspan(count);
  return cell;
}

// Each gate's block of a matrix, whose elements cuDNN keeps transposed.
Vector from_cudnn(const Tensor& stored, size_t gates) {
  const Vector all = numbers(stored);
  const auto rows = static_cast<size_t>(stored.dim(0));
  const size_t columns = static_cast<size_t>(stored.dim(1)) / gates;
  Vector result(all.size());
  for (size_t g = 0; g < gates; ++g) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t u = 0; u < columns; ++u) {
        const size_t at = u * rows + r;  // of the block in memory
        result[r * gates * columns + g * columns + u] =
            all[at / columns * gates * columns + g * columns + at % columns];
      }
    }
  }
  return result;
}

ReferenceCell cudnn_cell(bool lstm, const LayerCallCase& c) {
  const size_t gates = lstm ? 4 : 3;
  ReferenceCell cell{.kind = lstm ? "lstm" : "gru_after",
                     .units = c.config.at("units").get<size_t>(),
                     .kernel = from_cudnn(c.weights[0], gates),
                     .recurrent = from_cudnn(c.weights[1], gates),
                     .bias = numbers(c.weights[2]),
                     .sigmoid = true};
  for (size_t i = 0; lstm && i < gates * cell.units; ++i) {
    cell.bias[i] += cell.bias[gates * cell.units + i];
  }
  return cell;
}

Values of_steps(const Cube& outputs, bool sequences) {
  const auto steps = static_cast<int64_t>(outputs[0].size());
  const auto units = static_cast<int64_t>(outputs[0][0].size());
  const auto batch = static_cast<int64_t>(outputs.size());
  Values y(sequences ? std::vector<int64_t>{batch, steps, units}
                     : std::vector<int64_t>{batch, units});
  y.data.clear();
  for (const Matrix& rows : outputs) {
    for (size_t t = sequences ? 0 : rows.size() - 1; t < rows.size(); ++t) {
      y.data.insert(y.data.end(), rows[t].begin(), rows[t].end());
    }
  }
  return y;
}

Values of_state(const std::vector<Matrix>& states, size_t state) {
  Values y({static_cast<int64_t>(states.size()), static_cast<int64_t>(states[0][state].size())});
  y.data.clear();
  for (const Matrix& of_row : states) {
    y.data.insert(y.data.end(), of_row[state].begin(), of_row[state].end());
  }
  return y;
}

// The outputs of a layer whose cells follow one another.
std::vector<Values> run_cells(const std::vector<ReferenceCell>& cells, const LayerCallCase& c) {
  const Json& o = c.config;
  const bool backwards = o.value("go_backwards", false);
  std::vector<Values> states;
  Cube outputs;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool first = i == 0;
    Matrix mask = c.mask;
    // Later cells get steps in the order of processing.
    if (!first && backwards) {
      for (Vector& row : mask) std::ranges::reverse(row);
    }
    const ReferenceRun run =
        run_reference(cells[i], first ? cube(c.inputs[0]) : outputs, mask, {}, first && backwards);
    outputs = run.outputs;
    for (size_t s = 0; s < cells[i].states(); ++s) states.push_back(of_state(run.states, s));
  }
  std::vector<Values> all = {of_steps(outputs, o.value("return_sequences", false))};
  if (o.value("return_state", false)) all.insert(all.end(), states.begin(), states.end());
  return all;
}

Formula layer_formula(const std::string& class_name) {
  return [class_name](const LayerCallCase& c) {
    if (class_name.starts_with("CuDNN"))
      return run_cells({cudnn_cell(class_name == "CuDNNLSTM", c)}, c);
    std::span<const Tensor> weights = c.weights;
    return run_cells({cell_of(class_name, c.config, weights)}, c);
  };
}

// The cells of a configuration: one, or those of StackedRNNCells.
std::vector<ReferenceCell> cells_of(const std::string& class_name, const Json& config,
                                    std::span<const Tensor> weights) {
  if (class_name != "StackedRNNCells") return {cell_of(class_name, config, weights)};
  std::vector<ReferenceCell> cells;
  for (const Json& cell : config.at("cells")) {
    cells.push_back(cell_of(cell.at("class_name"), cell.at("config"), weights));
  }
  return cells;
}

std::vector<Values> rnn(const LayerCallCase& c) {
  const Json& cell = c.config.at("cell");
  return run_cells(cells_of(cell.at("class_name"), cell.at("config"), c.weights), c);
}

// One step: the inputs are x and the states, the outputs y and the states.
Formula step_formula(const std::string& class_name) {
  return [class_name](const LayerCallCase& c) {
    std::vector<Values> states;
    Values x = c.input();
    size_t next = 1;
    for (const ReferenceCell& cell : cells_of(class_name, c.config, c.weights)) {
      std::vector<Values> after(cell.states(),
                                Values({x.size(0), static_cast<int64_t>(cell.units)}));
      for (int64_t row = 0; row < x.size(0); ++row) {
        const auto row_of = [&](const Values& v) {
          const auto begin = v.data.begin() + row * v.size(1);
          return Vector(begin, begin + v.size(1));
        };
        Matrix before;
        for (size_t s = 0; s < cell.states(); ++s) before.push_back(row_of(c.input(next + s)));
        const Matrix now = cell.step(row_of(x), before);
        for (size_t s = 0; s < cell.states(); ++s) {
          for (size_t u = 0; u < cell.units; ++u) {
            after[s].at({row, static_cast<int64_t>(u)}) = now[s][u];
          }
        }
      }
      next += cell.states();
      x = after[0];
      states.insert(states.end(), after.begin(), after.end());
    }
    std::vector<Values> all = {x};
    all.insert(all.end(), states.begin(), states.end());
    return all;
  };
}

// The sequence's outputs in its own order, from a run that read it backwards.
void turn_steps(Cube& outputs) {
  for (Matrix& rows : outputs) std::ranges::reverse(rows);
}

std::vector<Values> bidirectional(const LayerCallCase& c) {
  const Json& inner = c.config.at("layer").at("config");
  const std::string kind = c.config.at("layer").at("class_name");
  const bool sequences = inner.value("return_sequences", false);
  const std::span<const Tensor> weights = c.weights;
  std::vector<Values> both;
  for (const bool backward : {false, true}) {
    const size_t half = weights.size() / 2;
    std::span<const Tensor> own = weights.subspan(backward ? half : 0, half);
    ReferenceRun run =
        run_reference(cell_of(kind, inner, own), cube(c.inputs[0]), c.mask, {}, backward);
    if (backward && sequences) turn_steps(run.outputs);
    both.push_back(of_steps(run.outputs, sequences));
  }
  const Json mode = c.config.value("merge_mode", Json("concat"));
  if (mode.is_null()) return both;
  Values y = both[0];
  if (mode == "concat") {
    y.shape.back() *= 2;
    y = Values(y.shape);
  }
  const int64_t units = both[0].shape.back();
  y.for_each([&](std::vector<int64_t> p) {
    double& value = y.at(p);
    if (mode == "concat") {
      const bool second = p.back() >= units;
      p.back() %= units;
      value = both[second ? 1 : 0].at(p);
      return;
    }
    const double other = both[1].at(p);
    value = mode == "mul" ? value * other : (value + other) / (mode == "ave" ? 2 : 1);
  });
  return {y};
}

// The layer inside is a Dense.
std::vector<Values> time_distributed(const LayerCallCase& c) {
  const Values x = c.input();
  const Values w = c.weight(0);
  const std::string activation = c.config.at("layer").at("config").value("activation", "linear");
  Values y({x.size(0), x.size(1), w.size(1)});
  y.for_each([&](const std::vector<int64_t>& p) {
    double sum = c.weight(1).at({p[2]});
    for (int64_t k = 0; k < x.size(2); ++k) sum += x.at({p[0], p[1], k}) * w.at({k, p[2]});
    y.at(p) = activated(activation, sum);
  });
  return {y};
}

// Returns configurations of a recurrent layer: one with defaults, then others in which each
// argument of the layer and of its cell has another value at least once.
std::vector<Json> configs(const std::string& name) {
  const bool cudnn = name.starts_with("CuDNN");
  const bool gates = !name.starts_with("SimpleRNN");
  Json plain = {{"units", 3}};
  Json loop = {
      {"units", 2}, {"return_sequences", true}, {"return_state", true}, {"go_backwards", true}};
  if (name.find("LSTM") != std::string::npos) loop["unit_forget_bias"] = false;
  if (cudnn) return {plain, loop};
  Json cell = {{"units", 3},     {"activation", "relu"},      {"use_bias", false},
               {"dropout", 0.5}, {"recurrent_dropout", 0.25}, {"unroll", true}};
  if (gates) {
    cell["recurrent_activation"] = "sigmoid";
    cell["implementation"] = 2;
  }
  Json after = {{"units", 3}, {"reset_after", true}, {"return_sequences", true}};
  return name.starts_with("GRU") ? std::vector<Json>{plain, loop, cell, after}
                                 : std::vector<Json>{plain, loop, cell};
}

// Returns the arguments of a cell alone.
Json without_loop(Json config) {
  for (const char* key : {"return_sequences", "return_state", "go_backwards", "unroll"}) {
    config.erase(key);
  }
  return config;
}

Json inside(const std::string& class_name, const Json& config) {
  return {{"class_name", class_name}, {"config", config}};
}

void add_cell_rows(LayerRows& rows) {
  for (const char* name : {"SimpleRNNCell", "GRUCell", "LSTMCell"}) {
    for (const Json& full : configs(name)) {
      const Json config = without_loop(full);
      std::vector<std::vector<int64_t>> inputs = {{3, 2}};
      const int states = std::string(name) == "LSTMCell" ? 2 : 1;
      for (int i = 0; i < states; ++i) inputs.push_back({3, config.at("units").get<int64_t>()});
      rows.push_back({name, config.dump(), inputs, step_formula(name)});
    }
  }
  const Json gru = inside("GRUCell", {{"units", 2}});
  const Json lstm = inside("LSTMCell", {{"units", 3}});
  const Json two = {{"cells", {gru, lstm}}};
  const Json three = {{"cells", {lstm, gru, gru}}};
  rows.push_back({"StackedRNNCells",
                  two.dump(),
                  {{3, 2}, {3, 2}, {3, 3}, {3, 3}},
                  step_formula("StackedRNNCells")});
  rows.push_back({"StackedRNNCells",
                  three.dump(),
                  {{3, 2}, {3, 3}, {3, 3}, {3, 2}, {3, 2}},
                  step_formula("StackedRNNCells")});
  for (const bool masked : {false, true}) {
    for (const Json& cell : {gru, inside("StackedRNNCells", two)}) {
      Json config = {{"cell", cell}};
      rows.push_back({"RNN", config.dump(), {{3, 4, 2}}, rnn, masked});
      config.update({{"return_sequences", true},
                     {"return_state", true},
                     {"go_backwards", true},
                     {"unroll", true}});
      rows.push_back({"RNN", config.dump(), {{3, 4, 2}}, rnn, masked});
    }
  }
}

void add_wrapper_rows(LayerRows& rows) {
  for (const bool masked : {false, true}) {
    for (const bool sequences : {false, true}) {
      for (const Json& mode :
           {Json("concat"), Json("sum"), Json("mul"), Json("ave"), Json(nullptr)}) {
        const Json config = {{"merge_mode", mode},
                             {"layer", inside(sequences ? "GRU" : "LSTM",
                                              {{"units", 2}, {"return_sequences", sequences}})}};
        rows.push_back({"Bidirectional", config.dump(), {{3, 4, 2}}, bidirectional, masked});
      }
    }
    for (const char* activation : {"linear", "tanh"}) {
      const Json config = {{"layer", inside("Dense", {{"units", 3}, {"activation", activation}})}};
      rows.push_back({"TimeDistributed", config.dump(), {{3, 4, 2}}, time_distributed, masked});
    }
  }
}

}  // namespace

void add_recurrent_rows(LayerRows& rows) {
  for (const char* name : {"SimpleRNN", "GRU", "LSTM", "CuDNNLSTM", "CuDNNGRU"}) {
    for (const Json& config : configs(name)) {
      for (const bool masked : {false, true}) {
        rows.push_back({name, config.dump(), {{3, 4, 2}}, layer_formula(name), masked});
      }
    }
  }
  add_cell_rows(rows);
  add_wrapper_rows(rows);
}

}  // namespace systole::keras::layers::testing
