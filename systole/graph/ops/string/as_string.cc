#include <array>
#include <cstdio>

#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

struct Format {
  explicit Format(const AttrMap& attrs)
      : precision(std::get<int64_t>(attrs.at("precision"))),
        width(std::get<int64_t>(attrs.at("width"))),
        fill(std::get<std::string>(attrs.at("fill"))),
        scientific(std::get<bool>(attrs.at("scientific"))),
        shortest(std::get<bool>(attrs.at("shortest"))) {}

  void check(DType dtype) const {
    if (scientific && shortest) {
      throw invalid_argument("scientific and shortest, got both, expected one at most");
    }
    const bool of_floats = scientific || shortest || precision >= 0;
    if (of_floats && !is_floating(dtype)) {
      throw invalid_argument(
          "scientific, shortest or precision, got one for {}, expected them for "
          "floating dtypes alone",
          dtype);
    }
    if (!(fill.empty() || fill == " " || fill == "0" || fill == "-" || fill == "+")) {
      throw invalid_argument("fill, got '{}', expected '', ' ', '0', '-' or '+'", fill);
    }
    if (width > kMaxWidth || precision > kMaxWidth) {
      throw invalid_argument("width and precision, got {} and {}, expected at most {}", width,
                             precision, kMaxWidth);
    }
  }

  // "%-8.3": what comes before the letter.
  std::string printf_text() const {
    std::string text = "%";
    if (width >= 0) text += fmt::format("{}{}", fill, width);
    if (precision >= 0) text += fmt::format(".{}", precision);
    return text;
  }
  char letter() const { return scientific ? 'e' : shortest ? 'g' : 'f'; }

  static constexpr int64_t kMaxWidth = 1000;
  int64_t precision;
  int64_t width;
  std::string fill;
  bool scientific;
  bool shortest;
};

std::vector<TensorType> infer_as_string(const InferContext& c) {
  const DType dtype = c.input(0).dtype;
  if (dtype != DType::pred && !contains(DTypeClass::number, dtype)) {
    throw invalid_argument("input, got {}, expected numbers or pred", c.input(0));
  }
  Format(c.attrs).check(dtype);
  return {{DType::string, c.input(0).shape}};
}

template <class T>
std::string printed(const std::string& format, T value) {
  std::array<char, 64> small;
  const int size = std::snprintf(small.data(), small.size(), format.c_str(), value);
  if (static_cast<size_t>(size) < small.size()) return {small.data(), static_cast<size_t>(size)};
  std::string result(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(result.data(), result.size(), format.c_str(), value);
  result.pop_back();
  return result;
}

std::vector<Tensor> run_as_string(HostContext& c) {
  const Tensor& input = c.inputs[0];
  const Format format(c.node.attrs());
  Tensor result(DType::string, input.shape());
  const auto texts = result.data<std::string>();
  visit_dtype(input.dtype(), [&]<class T>() {
    std::string text = format.printf_text();
    if constexpr (std::is_same_v<T, bool>) {
      std::ranges::transform(input.data<T>(), texts.begin(),
                             [](bool value) { return value ? "true" : "false"; });
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
      text += std::is_signed_v<T> ? "lld" : "llu";
      std::ranges::transform(input.data<T>(), texts.begin(),
                             [&](T value) { return printed(text, static_cast<Wide>(value)); });
    } else {
      text += format.letter();
      for (int64_t i = 0; i < input.num_elements(); ++i) {
        texts[i] = printed(text, input.as_double(i));
      }
    }
  });
  return {result};
}

}  // namespace

Output as_string(const Input& input, const AsStringOptions& options) {
  const Output value = resolve("AsString", input);
  return Graph::current()
      .add_node("AsString", {value},
                {{"T", value.dtype()},
                 {"precision", options.precision},
                 {"scientific", options.scientific},
                 {"shortest", options.shortest},
                 {"width", options.width},
                 {"fill", options.fill}},
                input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_as_string{
    .name = "AsString",
    .doc = "Numbers as text.",
    .inputs = "input: T",
    .outputs = "output: string",
    .attrs =
        "precision: int = -1, scientific: bool = false, shortest: bool = false, width: int = -1, "
        "fill: string = ''",
    .infer = infer_as_string,
    .host = run_as_string,
    .batch = {.rule = batch_same_shape},
};
}  // namespace ops
}  // namespace systole
