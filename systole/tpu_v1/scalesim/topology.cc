#include "systole/tpu_v1/scalesim/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "systole/base/error.h"
#include "systole/base/number_text.h"
#include "systole/base/text.h"

namespace systole::tpu_v1 {
namespace {

constexpr int64_t kMaxDimension = INT32_MAX;
constexpr double kMaxMultiplyAdds = 1e15;  // of a layer, so that no count overflows
constexpr const char* kTooLarge = "size, got more than 1e15 multiply-adds, expected fewer";
constexpr size_t kConvolutionFields = 7;
constexpr size_t kProductFields = 3;

std::vector<std::string_view> fields_of_row(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(',', begin), line.size());
    fields.push_back(without_blanks(line.substr(begin, end - begin), " \t\r"));
    begin = end + 1;
  }
  // The row ends in a comma, so that its last field is empty.
  while (fields.size() > 1 && fields.back().empty()) fields.pop_back();
  return fields;
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Reads the numbers of a row. Returns nothing, and the reason in `why`, if they are none.
std::optional<std::vector<int64_t>> numbers_of(const std::vector<std::string_view>& fields,
                                               size_t count, std::string& why) {
  if (fields.size() < count + 1) {
    why = fmt::format("fields after the name, got {}, expected {}", fields.size() - 1, count);
    return std::nullopt;
  }
  std::vector<int64_t> numbers;
  for (size_t i = 1; i <= count; ++i) {
    const auto number = parse_number<int64_t>(fields[i]);
    if (!number || *number < 1 || *number > kMaxDimension) {
      why = fmt::format("field {}, got '{}', expected a number from 1 to {}", i + 1, fields[i],
                        kMaxDimension);
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<TopologyLayer> convolution_layer(std::string_view name, const std::vector<int64_t>& n,
                                               std::string& why) {
  const auto out = [&](int64_t size, int64_t filter) {
    return divide_up(size - filter + n[6], n[6]);
  };
  if (n[2] > n[0] || n[3] > n[1]) {
    why = fmt::format("filter, got {}x{}, expected at most the {}x{} of its input", n[2], n[3],
                      n[0], n[1]);
    return std::nullopt;
  }
  if (static_cast<double>(n[2]) * static_cast<double>(n[3]) * static_cast<double>(n[4]) >
      kMaxMultiplyAdds) {
    why = kTooLarge;
    return std::nullopt;
  }
  TopologyLayer layer{
      .name = std::string(name), .vectors = out(n[0], n[2]) * out(n[1], n[3]), .outputs = n[5]};
  const bool depthwise = name.find("DP") != std::string_view::npos;
  layer.inputs = n[2] * n[3];
  (depthwise ? layer.repeats : layer.inputs) *= n[4];
  return layer;
}

bool is_product_header(const std::vector<std::string_view>& fields) {
  return fields.size() >= 4 && fields[1] == "M" && fields[2] == "N" && fields[3] == "K";
}

}  // namespace

Topology parse_topology(std::string_view text, const std::string& path) {
  Topology topology;
  bool seen_header = false;
  bool products = false;
  for (int64_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> fields = fields_of_row(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (fields.size() == 1) {  // blank, commas, or the title of a section
      if (fields[0].find('\t') != std::string_view::npos) {
        topology.notes.push_back(fmt::format(
            "{}:{}: row skipped: fields, got tabs between them, expected commas", path, line));
      }
      continue;
    }
    if (!seen_header) {
      seen_header = true;
      products = is_product_header(fields);
      continue;
    }
    std::string why;
    std::optional<TopologyLayer> layer;
    if (const auto numbers =
            numbers_of(fields, products ? kProductFields : kConvolutionFields, why)) {
      if (products) {
        layer = TopologyLayer{std::string(fields[0]), (*numbers)[0], (*numbers)[2], (*numbers)[1]};
      } else {
        layer = convolution_layer(fields[0], *numbers, why);
      }
    }
    if (layer && static_cast<double>(layer->vectors) * static_cast<double>(layer->inputs) *
                         static_cast<double>(layer->outputs) * static_cast<double>(layer->repeats) >
                     kMaxMultiplyAdds) {
      why = kTooLarge;
      layer.reset();
    }
    if (!layer) {
      topology.notes.push_back(fmt::format("{}:{}: row skipped: {}", path, line, why));
      continue;
    }
    layer->line = line;
    topology.layers.push_back(*std::move(layer));
  }
  if (topology.layers.empty()) {
    throw invalid_argument("{}: layers, got none, expected rows of SCALE-Sim's topology format{}{}",
                           path, topology.notes.empty() ? "" : "; ",
                           topology.notes.empty() ? "" : topology.notes.front());
  }
  return topology;
}

int64_t scalesim_cycles(const TopologyLayer& layer, int64_t rows, int64_t columns) {
  const int64_t folds = divide_up(layer.inputs, rows) * divide_up(layer.outputs, columns);
  return (folds * (2 * rows + columns + layer.vectors - 2) - 1) * layer.repeats;
}

double scalesim_utilization(const TopologyLayer& layer, int64_t rows, int64_t columns) {
  return 100 * static_cast<double>(layer.multiply_adds()) /
         (static_cast<double>(scalesim_cycles(layer, rows, columns)) *
          static_cast<double>(rows * columns));
}

}  // namespace systole::tpu_v1
