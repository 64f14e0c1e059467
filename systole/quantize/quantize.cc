#include "systole/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "systole/base/error.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/quantize/rewriter.h"
#include "systole/runtime/client.h"
#include "systole/runtime/registry.h"

namespace systole::quantize {
namespace {

using hlo::Opcode;
using hlo::Value;

template <class F>
void for_each_instruction(const hlo::Computation& computation, F f) {
  for (const hlo::Instruction* x : computation.instructions()) {
    f(*x);
    for (const auto& region : x->regions()) for_each_instruction(*region, f);
  }
}

int64_t constant_bytes(const hlo::Module& module) {
  int64_t bytes = 0;
  for_each_instruction(module.entry(), [&](const hlo::Instruction& x) {
    if (x.is(Opcode::constant)) bytes += x.type().byte_size();
  });
  return bytes;
}

int64_t count_products(const hlo::Module& module) {
  int64_t count = 0;
  for_each_instruction(module.entry(), [&](const hlo::Instruction& x) {
    count += x.is(Opcode::dot_general) || x.is(Opcode::convolution) ? 1 : 0;
  });
  return count;
}

// Sums over batches for one layer.
struct OutputError {
  double signal = 0;
  double noise = 0;
  int64_t outside = 0;
  int64_t count = 0;

  void add(const Tensor& wanted, const Tensor& got, const QuantizedType& type) {
    const double least = (-128.0 - static_cast<double>(type.zero_points[0])) * type.scales[0];
    const double greatest = (127.0 - static_cast<double>(type.zero_points[0])) * type.scales[0];
    const double half = type.scales[0] / 2;
    for (size_t i = 0; i < wanted.data<float>().size(); ++i) {
      const double x = wanted.data<float>()[i];
      const double missed = got.data<float>()[i] - x;
      signal += x * x;
      noise += missed * missed;
      outside += x < least - half || x > greatest + half ? 1 : 0;
    }
    count += wanted.num_elements();
  }
};

void measure(FloatProgram& program, const ActivationTypes& types, const Options& options,
             std::span<const std::vector<Tensor>> batches, Report& report) {
  const Rewritten observed = rewrite(program, types, options, true);
  std::vector<Value> outputs;
  for (const Layer* layer : observed.observed) outputs.push_back(layer->output);
  runtime::Client& client = runtime::client(options.backend);
  const auto original = client.compile(*with_results(program.module(), outputs));
  const auto quantized = client.compile(*observed.module);
  std::vector<OutputError> errors(outputs.size());
  for (const std::vector<Tensor>& batch : batches) {
    const std::vector<Tensor> wanted = runtime::run(*original, batch);
    const std::vector<Tensor> got = runtime::run(*quantized, batch);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& mine = got[got.size() - outputs.size() + i];
      errors[i].add(wanted[i], mine, *types.at(outputs[i]));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto row =
        std::ranges::find(report.layers, observed.observed[i]->name, &LayerReport::name);
    if (row == report.layers.end()) continue;
    const OutputError& error = errors[i];
    row->sqnr = error.noise == 0 ? std::numeric_limits<double>::infinity()
                                 : 10 * std::log10(error.signal / error.noise);
    row->saturation =
        static_cast<double>(error.outside) / static_cast<double>(std::max<int64_t>(error.count, 1));
  }
}

LayerReport report_of(const Layer& layer, const Range& range, const QuantizedType& type) {
  LayerReport row;
  row.name = layer.name;
  row.kind = to_string(layer.product->opcode());
  row.range = range;
  row.scale = type.scales[0];
  row.zero_point = type.zero_points[0];
  row.weight_bytes = layer.weights.num_elements();
  row.sqnr = std::numeric_limits<double>::quiet_NaN();
  row.saturation = std::numeric_limits<double>::quiet_NaN();
  return row;
}

std::string measured(double value, std::string_view format) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

}  // namespace

std::string Report::to_string() const {
  size_t width = 5;
  for (const LayerReport& layer : layers) width = std::max(width, layer.name.size());
  std::string text = fmt::format(
      "{:<{}}  {:<11}  {:>10} {:>10}  {:>10}  {:>4}  {:>7}  {:>9}  {:>10}\n", "layer", width, "op",
      "least", "greatest", "scale", "zero", "SQNR dB", "saturated", "weights B");
  for (const LayerReport& layer : layers) {
    text +=
        fmt::format("{:<{}}  {:<11}  {:>10.4g} {:>10.4g}  {:>10.4g}  {:>4}  {:>7}  {:>9}  {:>10}\n",
                    layer.name, width, layer.kind, layer.range.least, layer.range.greatest,
                    layer.scale, layer.zero_point, measured(layer.sqnr, "{:.1f}"),
                    measured(layer.saturation * 100, "{:.3f} %"), layer.weight_bytes);
  }
  return text + fmt::format(
                    "{} of {} products on 8 bits; constants: {} bytes before, {} after ({:.2f}x "
                    "smaller)\n",
                    layers.size(), products, constant_bytes_before, constant_bytes_after,
                    static_cast<double>(constant_bytes_before) /
                        static_cast<double>(std::max<int64_t>(constant_bytes_after, 1)));
}

std::vector<std::vector<Tensor>> batches_of(std::span<const Tensor> examples, int64_t batch,
                                            int64_t most) {
  const auto rows_of = [](const Tensor& x) { return x.rank() > 0 ? x.dim(0) : 0; };
  const int64_t rows = examples.empty() ? 0 : rows_of(examples[0]);
  for (size_t i = 0; i < examples.size(); ++i) {
    if (rows_of(examples[i]) == rows) continue;
    throw invalid_argument("calibration: examples of input {}, got {}, expected {}, as of input 0",
                           i, rows_of(examples[i]), rows);
  }
  if (batch < 1 || rows < batch) {
    throw invalid_argument("calibration: examples, got {}, expected at least {}, one batch", rows,
                           std::max<int64_t>(batch, 1));
  }
  std::vector<std::vector<Tensor>> batches;
  for (int64_t first = 0; first + batch <= rows && std::ssize(batches) < most; first += batch) {
    std::vector<Tensor> arguments;
    for (const Tensor& x : examples) arguments.push_back(x.slice(first, first + batch));
    batches.push_back(std::move(arguments));
  }
  return batches;
}

Quantized quantize(const hlo::Module& module, std::span<const std::vector<Tensor>> batches,
                   const Options& options) {
  FloatProgram program(module);
  if (program.layers().empty()) {
    throw invalid_argument(
        "quantize: module '{}', got {} products, none of f32 with constant weights, expected some",
        module.name(), count_products(program.module()));
  }
  const std::vector<Value> values = values_to_calibrate(program);
  const Histograms histograms = calibrate(program.module(), values, batches, options.backend);
  ActivationTypes types;
  std::unordered_map<Value, Range, hlo::ValueHash> ranges;
  for (const auto& [value, histogram] : histograms) {
    // In loops only extremes are known.
    const bool whole = &value.def->parent() == &program.main();
    ranges[value] =
        histogram.range(whole ? options.method : RangeMethod::min_max, options.percentile);
    types[value] = activation_type(ranges[value]);
    if (const QuantizedTypePtr own = program.own_type(value)) {
      types[value] = own;
      ranges[value] = {(-128.0 - static_cast<double>(own->zero_points[0])) * own->scales[0],
                       (127.0 - static_cast<double>(own->zero_points[0])) * own->scales[0]};
    }
  }
  Quantized result;
  result.report.products = count_products(program.module());
  result.report.constant_bytes_before = constant_bytes(program.module());
  for (const Layer& layer : program.layers()) {
    const auto type = types.find(layer.output);
    if (type == types.end()) continue;
    result.report.layers.push_back(report_of(layer, ranges.at(layer.output), *type->second));
  }
  result.module = rewrite(program, types, options, false).module;
  hlo::verify(*result.module);
  result.report.constant_bytes_after = constant_bytes(*result.module);
  if (options.measure) measure(program, types, options, batches, result.report);
  return result;
}

}  // namespace systole::quantize
