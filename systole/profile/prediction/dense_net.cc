#include "systole/profile/prediction/dense_net.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "systole/base/error.h"
#include "systole/profile/prediction/layer_costs.h"

namespace systole::profile {
namespace {

// RMSProp with momentum reads the weight, its gradient, the mean square and the momentum, and
// writes three of them.
constexpr double kArraysOfUpdate = 7;
constexpr double kArraysOfState = 3;
constexpr DType kSmall = DType::bf16;  // of activations
constexpr DType kWide = DType::f32;    // of weights and their gradients

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const size_t end = line.find(separator);
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

// The lines of a table, by the names of its columns.
class Table {
 public:
  Table(std::string_view text, std::string file) : file_(std::move(file)), text_(text) {
    std::string_view header;
    if (!next_line(header)) throw invalid_argument("{}: table, got no line", file_);
    separator_ = header.find('\t') != std::string_view::npos ? '\t' : ',';
    const auto names = split(header, separator_);
    for (size_t i = 0; i < names.size(); ++i) columns_[std::string(names[i])] = i;
    for (const char* name : {"hidden_layers", "nodes", "input", "output", "global_batch"}) {
      if (!columns_.contains(name))
        throw invalid_argument("{}:1: columns, got no '{}', expected it", file_, name);
    }
  }

  bool next() {
    std::string_view line;
    if (!next_line(line)) return false;
    fields_ = split(line, separator_);
    return true;
  }
  // "" for a column that is not there.
  std::string_view field(const std::string& name) const {
    const auto column = columns_.find(name);
    return column == columns_.end() || column->second >= fields_.size() ? std::string_view()
                                                                        : fields_[column->second];
  }
  int64_t count(const std::string& name) const {
    constexpr int64_t kMax = int64_t{1} << 31;
    const std::string_view text = field(name);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMax) {
      throw invalid_argument("{}:{}: {}, got '{}', expected a whole number in [1, {}]", file_,
                             line_, name, text, kMax);
    }
    return value;
  }
  double rate(const std::string& name) const {
    const std::string_view text = field(name);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0) ||
        !std::isfinite(value)) {
      throw invalid_argument("{}:{}: {}, got '{}', expected a positive number, OOM or nothing",
                             file_, line_, name, text);
    }
    return value;
  }

 private:
  bool next_line(std::string_view& line) {
    while (!text_.empty()) {
      const size_t end = std::min(text_.find('\n'), text_.size());
      line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty()) return true;
    }
    return false;
  }

  std::string file_;
  std::string_view text_;
  int line_ = 0;
  char separator_ = ',';
  std::map<std::string, size_t> columns_;
  std::vector<std::string_view> fields_;
};

// A layer [rows, in] -> [rows, out] and its gradients.
void add_layer(StepCost& step, const std::string& name, int64_t rows, int64_t in, int64_t out,
               bool first) {
  const double x = padded_matrix(rows, in, kSmall);
  const double y = padded_matrix(rows, out, kSmall);
  const double weights = padded_matrix(in, out, kWide);
  step.ops.push_back(product_op(name, rows, in, out, x + weights + y));
  step.ops.push_back(product_op(name + ", gradient of weights", in, rows, out, x + y + weights));
  if (!first) {
    step.ops.push_back(
        product_op(name + ", gradient of input", rows, out, in, y + weights + 2 * x));
  }
  // The sum over cores stands between. What belongs to the bias is done on the way.
  step.ops.push_back(
      {.name = name + ", update of weights", .memory_bytes = kArraysOfUpdate * weights});
  step.all_reduce_bytes += static_cast<double>(size_of(kWide) * (in + 1) * out);
  step.all_reduces += 2;
  step.resident_bytes += kArraysOfState * (weights + padded_vector(out, kWide)) + y;
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted.empty()
             ? 0
             : sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

std::vector<DenseNet> read_dense_nets(std::string_view text, const std::string& file) {
  Table table(text, file);
  std::vector<DenseNet> nets;
  while (table.next()) {
    DenseNet& net = nets.emplace_back();
    net.hidden_layers = table.count("hidden_layers");
    net.nodes = table.count("nodes");
    net.input = table.count("input");
    net.output = table.count("output");
    net.global_batch = table.count("global_batch");
    const std::string_view rate = table.field("steps_per_second");
    net.out_of_memory = rate == "OOM";
    if (!rate.empty() && !net.out_of_memory) net.steps_per_second = table.rate("steps_per_second");
  }
  return nets;
}

StepCost cost_of(const DenseNet& net, int cores) {
  const int64_t rows = std::max<int64_t>((net.global_batch + cores - 1) / cores, 1);
  StepCost step;
  step.resident_bytes = padded_matrix(rows, net.input, kSmall);
  for (int64_t i = 0; i < net.hidden_layers; ++i) {
    add_layer(step, fmt::format("layer {}", i), rows, i == 0 ? net.input : net.nodes, net.nodes,
              i == 0);
  }
  add_layer(step, "output", rows, net.nodes, net.output, false);
  step.infeed_bytes =
      static_cast<double>(rows * (size_of(kSmall) * net.input + size_of(kWide) * net.output));
  return step;
}

bool is_of_training_half(const DenseNet& net) {
  // FNV-1a.
  uint32_t hash = 2166136261U;
  const std::string sizes = fmt::format("{}-{}-{}-{}-{}", net.hidden_layers, net.nodes, net.input,
                                        net.output, net.global_batch);
  for (const char c : sizes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return (hash >> 16 & 1) == 0;
}

PredictionErrors prediction_errors(const std::vector<DenseNet>& nets, const TpuSystem& system) {
  PredictionErrors result;
  std::vector<double> errors;
  for (const DenseNet& net : nets) {
    if (!net.is_measured()) continue;
    const StepPrediction prediction = predict(cost_of(net, system.cores), system);
    ++result.memory_count;
    if (prediction.fits() == !net.out_of_memory) ++result.memory_right;
    if (net.steps_per_second)
      errors.push_back(std::abs(prediction.step_seconds * *net.steps_per_second - 1));
  }
  std::ranges::sort(errors);
  result.count = static_cast<int>(errors.size());
  result.median = at_share(errors, 0.5);
  result.percentile_90 = at_share(errors, 0.9);
  return result;
}

}  // namespace systole::profile
