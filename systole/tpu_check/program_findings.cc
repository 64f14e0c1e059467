#include "systole/tpu_check/program_findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "systole/tpu_check/type_costs.h"

namespace systole::tpu_check {
namespace {

// Custom calls that libtpu has kernels for or replaces. Other names, such as those of a CPU's or
// GPU's library or of a Python callback, are refused.
constexpr std::array<std::string_view, 18> kKnownCalls = {
    "AllocateBuffer",
    "ApproxTopK",
    "Cholesky",
    "Eigh",
    "LayoutConstraint",
    "LuDecomposition",
    "MoveToDevice",
    "MoveToHost",
    "PartialReduce",
    "ProductOfElementaryHouseholderReflectors",
    "Qr",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "Sharding",
    "TopK",
    "annotate_device_placement",
    "shape_assertion",
    "tpu_custom_call",
};
constexpr std::array<std::string_view, 4> kKnownPrefixes = {"mhlo.", "chlo.", "stablehlo.",
                                                            "xla.sdy."};

// Without comments and strings of attributes; the names of ops and of targets, which stand in
// quotes too, stay.
std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) quoted = !quoted;
    if (!quoted && line.substr(i, 2) == "//") return line.substr(0, i);
  }
  return line;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The op of a line without its dialect: "dot_general"; "" if it has none.
std::string_view op_of(std::string_view line) {
  for (const std::string_view dialect : {"stablehlo.", "mhlo."}) {
    for (size_t at = line.find(dialect); at != std::string_view::npos;
         at = line.find(dialect, at + 1)) {
      // Not #stablehlo.gather<...>, and not a part of a longer name.
      if (at > 0 && (line[at - 1] == '#' || line[at - 1] == '.' || is_word(line[at - 1]))) continue;
      const std::string_view rest = line.substr(at + dialect.size());
      size_t end = 0;
      while (end < rest.size() && is_word(rest[end])) ++end;
      return rest.substr(0, end);
    }
  }
  return {};
}

// The types of operands and results: what follows the last " : ". Complex numbers are c64 and c128.
std::string types_of(std::string_view line) {
  const size_t location = line.rfind(" loc(");
  if (location != std::string_view::npos) line = line.substr(0, location);
  const size_t colon = line.rfind(" : ");
  std::string types(colon == std::string_view::npos ? line : line.substr(colon + 3));
  for (const auto& [name, short_name] :
       {std::pair<std::string_view, std::string_view>{"complex<f64>", "c128"},
        std::pair<std::string_view, std::string_view>{"complex<f32>", "c64"}}) {
    for (size_t at = types.find(name); at != std::string::npos; at = types.find(name))
      types.replace(at, name.size(), short_name);
  }
  return types;
}

// Whether a tensor of that element type is among the types.
bool has_element(std::string_view types, std::string_view element) {
  for (const char* before : {"x", "<"}) {
    for (const char* after : {">", ",", ":"}) {
      if (types.find(std::string(before) + std::string(element) + after) != std::string_view::npos)
        return true;
    }
  }
  return false;
}

std::string target_of_call(std::string_view line) {
  constexpr std::string_view kGeneric = "call_target_name = \"";
  if (const size_t at = line.find(kGeneric); at != std::string_view::npos) {
    const std::string_view rest = line.substr(at + kGeneric.size());
    return std::string(rest.substr(0, rest.find('"')));
  }
  const size_t at = line.find('@');
  if (at == std::string_view::npos) return "";
  std::string_view rest = line.substr(at + 1);
  if (rest.starts_with('"')) {
    rest.remove_prefix(1);
    return std::string(rest.substr(0, rest.find('"')));
  }
  return std::string(rest.substr(0, rest.find('(')));
}

// The user's sources: #loc3 = loc("dense/MatMul"("iris.cc":41:0)).
class Locations {
 public:
  explicit Locations(std::string_view text) {
    constexpr std::string_view kAlias = "#loc";
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      at = end + 1;
      if (!line.starts_with(kAlias)) continue;
      const size_t equals = line.find(" = loc(");
      if (equals != std::string_view::npos)
        aliases_[std::string(line.substr(0, equals))] = line.substr(equals + 7);
    }
  }

  // "'dense/MatMul' at iris.cc:41"; "" if the op has no location.
  std::string place_of(std::string_view line) const {
    const size_t at = line.rfind(" loc(");
    if (at == std::string_view::npos) return "";
    std::string name;
    std::string file;
    resolve(line.substr(at + 5), name, file, 0);
    if (name.empty()) return file;
    return fmt::format("'{}'{}{}", name, file.empty() ? "" : " at ", file);
  }

 private:
  // Takes the first name and the first file:line of the location's text.
  void resolve(std::string_view text, std::string& name, std::string& file, int depth) const {
    constexpr int kMaxDepth = 16;
    if (depth > kMaxDepth || !file.empty()) return;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '#') {
        size_t end = i + 1;
        while (end < text.size() && is_word(text[end])) ++end;
        const auto found = aliases_.find(std::string(text.substr(i, end - i)));
        if (found != aliases_.end()) resolve(found->second, name, file, depth + 1);
        i = end;
      } else if (text[i] == '"') {
        const size_t end = text.find('"', i + 1);
        if (end == std::string_view::npos) return;
        const std::string_view quoted = text.substr(i + 1, end - i - 1);
        if (end + 1 < text.size() && text[end + 1] == ':') {
          const std::string_view line = text.substr(end + 2);
          size_t digits = 0;
          while (digits < line.size() &&
                 std::isdigit(static_cast<unsigned char>(line[digits])) != 0)
            ++digits;
          if (file.empty() && digits > 0)
            file =
                fmt::format("{}:{}", quoted.substr(quoted.rfind('/') + 1), line.substr(0, digits));
        } else if (name.empty()) {
          name = quoted;
        }
        i = end;
      }
    }
  }

  std::map<std::string, std::string_view> aliases_;
};

struct Refusal {
  std::string what;
  std::string why;
};

bool is_product(std::string_view op) {
  return op == "dot_general" || op == "dot" || op == "convolution" || op == "dynamic_conv";
}

std::optional<Refusal> complex_refusal(std::string_view op, std::string_view types) {
  if (!has_element(types, "c128")) return std::nullopt;
  constexpr std::array<std::string_view, 5> kCrashes = {"cholesky", "triangular_solve", "tanh",
                                                        "tan", "exponential_minus_one"};
  const std::string what = fmt::format("{} of complex<f64>", op);
  if (op == "fft") return Refusal{what, "Google's compiler has none; cast it to complex<f32>"};
  if (std::ranges::find(kCrashes, op) == kCrashes.end()) return std::nullopt;
  return Refusal{what, "Google's compiler crashes on it; cast it to complex<f32>"};
}

std::optional<Refusal> call_refusal(std::string_view line) {
  const std::string target = target_of_call(line);
  const bool known = std::ranges::find(kKnownCalls, target) != kKnownCalls.end() ||
                     std::ranges::any_of(kKnownPrefixes, [&](std::string_view prefix) {
                       return target.starts_with(prefix);
                     });
  if (known) return std::nullopt;
  const bool callback = target.find("callback") != std::string::npos;
  return Refusal{fmt::format("custom_call @{}", target),
                 callback ? "a callback into Python runs on the host; move it out of the step"
                          : "Google's compiler has no kernel of this name; use StableHLO's ops, or "
                            "a Pallas kernel (tpu_custom_call)"};
}

// The state of a generator of random numbers: two numbers of 64 bits, for Philox also three.
std::optional<Refusal> state_refusal(std::string_view line, std::string_view types) {
  constexpr std::string_view kTensor = "tensor<";
  const size_t at = types.find(kTensor);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view state = types.substr(at + kTensor.size());
  int64_t size = 0;
  const auto [end, failed] = std::from_chars(state.data(), state.data() + state.size(), size);
  const bool is_vector = failed == std::errc() &&
                         std::string_view(end, state.data() + state.size()).starts_with("xui64>");
  const bool is_philox = line.find("PHILOX") != std::string_view::npos;
  if (!is_vector || size == 2 || (size == 3 && is_philox)) return std::nullopt;
  return Refusal{fmt::format("rng_bit_generator with a state of {} numbers", size),
                 "a TPU's generators have a state ui64[2], Philox also ui64[3]"};
}

// What the op of a line is refused for.
std::optional<Refusal> refusal_of(std::string_view line, std::string_view op) {
  const std::string types = types_of(line);
  if (op == "custom_call") return call_refusal(line);
  if (line.find("!quant.") != std::string_view::npos)
    return Refusal{fmt::format("{} of a quantized type", op),
                   "TPUs have no quantized types; use int8 arrays with scales of their own"};
  if (auto refusal = complex_refusal(op, types)) return refusal;
  if (is_product(op) && (has_element(types, "i64") || has_element(types, "ui64")))
    return Refusal{fmt::format("{} of 64-bit integers", op),
                   "a TPU has no such product, and libtpu does not emulate it; cast it to int32"};
  if (op == "rng_bit_generator") {
    if (auto refusal = state_refusal(line, types)) return refusal;
  }
  if (op == "rng" && has_element(types, "f64"))
    return Refusal{"rng of f64", "libtpu does not emulate it; draw float32 and cast the numbers"};
  if ((op == "send" || op == "recv") &&
      line.find("is_host_transfer = true") != std::string_view::npos &&
      line.find("_xla_host_transfer_rendezvous") == std::string_view::npos)
    return Refusal{fmt::format("{} to or from the host without a name", op),
                   "the frontend attribute _xla_host_transfer_rendezvous is missing"};
  const bool two_bits = has_element(types, "i2") || has_element(types, "ui2");
  if (two_bits && op == "add")
    return Refusal{"add of 2-bit integers", "Google's compiler crashes on it; cast it to int8"};
  if (types.find("tensor<?") != std::string_view::npos ||
      types.find("x?x") != std::string_view::npos) {
    if (line.find("bounds") == std::string_view::npos)
      return Refusal{fmt::format("{} of an unbounded dynamic shape", op),
                     "a TPU needs static shapes, or bounds (#stablehlo.bounds)"};
  }
  return std::nullopt;
}

// Operations of a type that TPUs emulate.
struct TypeUse {
  std::string first;
  int64_t count = 0;
};

}  // namespace

std::string Finding::to_string() const {
  return fmt::format("{}{}{}; {}", place, place.empty() ? "" : ": ", what, why);
}

std::vector<Finding> findings_of(std::string_view text, bool has_lines) {
  const Locations locations(text);
  std::vector<Finding> found;
  std::map<std::string_view, TypeUse> uses;
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = without_comment(text.substr(at, end - at));
    at = end + 1;
    ++number;
    const std::string_view op = op_of(line);
    if (op.empty()) continue;
    std::string place = locations.place_of(line);
    if (place.empty() && has_lines) place = fmt::format("line {}", number);
    if (auto refusal = refusal_of(line, op)) {
      found.push_back({.place = place,
                       .what = std::move(refusal->what),
                       .why = std::move(refusal->why),
                       .refused = true});
    }
    const std::string types = types_of(line);
    for (const TypeCost& cost : type_costs()) {
      if (!has_element(types, cost.element)) continue;
      TypeUse& use = uses[cost.element];
      if (use.count++ == 0) use.first = place;
    }
  }
  for (const TypeCost& cost : type_costs()) {
    const auto use = uses.find(cost.element);
    if (use == uses.end()) continue;
    const int64_t more = use->second.count - 1;
    found.push_back({.place = more == 0 ? use->second.first
                                        : fmt::format("{} and {} more", use->second.first, more),
                     .what = fmt::format("arrays of {}", cost.element),
                     .why = cost.to_string()});
  }
  return found;
}

}  // namespace systole::tpu_check
