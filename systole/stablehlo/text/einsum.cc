#include "systole/stablehlo/text/einsum.h"

#include <algorithm>
#include <string>

#include "systole/base/error.h"

namespace systole::hlo::text {
namespace {

struct Config {
  std::string_view lhs;
  std::string_view rhs;
  std::string_view result;
};

void check_letters(std::string_view op, std::string_view config, std::string_view letters,
                   int rank) {
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool letter = (letters[i] | 0x20) >= 'a' && (letters[i] | 0x20) <= 'z';
    if (!letter || letters.find(letters[i], i + 1) != std::string_view::npos) {
      throw unimplemented("{}: config, got \"{}\", expected letters, each once in '{}'", op, config,
                          letters);
    }
  }
  if (static_cast<int>(letters.size()) != rank) {
    throw invalid_argument("{}: config, got \"{}\" with '{}', expected {} letters", op, config,
                           letters, rank);
  }
}

Config split(std::string_view config) {
  const size_t comma = config.find(',');
  const size_t arrow = config.find("->");
  if (comma == std::string_view::npos || arrow == std::string_view::npos || arrow < comma) {
    throw invalid_argument("einsum: config, got \"{}\", expected one such as \"ab,bc->ac\"",
                           config);
  }
  return {config.substr(0, comma), config.substr(comma + 1, arrow - comma - 1),
          config.substr(arrow + 2)};
}

}  // namespace

Value build_einsum(Builder& builder, std::string_view config, Value lhs, Value rhs,
                   std::span<const TensorType> declared,
                   const std::vector<Precision>& precision_config) {
  const Config letters = split(config);
  check_letters("einsum", config, letters.lhs, lhs.shape().rank());
  check_letters("einsum", config, letters.rhs, rhs.shape().rank());
  DotAttrs attrs;
  attrs.precision_config = precision_config;
  // The letters of dot_general's result: shared, left, right.
  std::string shared;
  std::string free;
  for (size_t i = 0; i < letters.lhs.size(); ++i) {
    const char letter = letters.lhs[i];
    const size_t in_rhs = letters.rhs.find(letter);
    const bool kept = letters.result.find(letter) != std::string_view::npos;
    if (in_rhs == std::string_view::npos) {
      free += letter;
      continue;
    }
    if (kept) shared += letter;
    (kept ? attrs.lhs_batching_dimensions : attrs.lhs_contracting_dimensions)
        .push_back(static_cast<int64_t>(i));
    (kept ? attrs.rhs_batching_dimensions : attrs.rhs_contracting_dimensions)
        .push_back(static_cast<int64_t>(in_rhs));
  }
  for (const char letter : letters.rhs) {
    if (letters.lhs.find(letter) == std::string_view::npos) free += letter;
  }
  const std::string product = shared + free;
  if (!std::ranges::is_permutation(product, letters.result)) {
    throw unimplemented(
        "einsum: config, got \"{}\", expected a result of each of '{}', which is summed over "
        "nothing "
        "else",
        config, product);
  }
  const DType dtype = declared.empty() ? lhs.dtype() : declared[0].dtype;
  const Value value = builder.dot_general(lhs, rhs, std::move(attrs), dtype);
  Dims permutation;
  for (const char letter : letters.result) {
    permutation.push_back(static_cast<int64_t>(product.find(letter)));
  }
  return std::ranges::is_sorted(permutation) ? value : builder.transpose(value, permutation);
}

Value build_unary_einsum(Builder& builder, std::string_view config, Value operand) {
  const size_t arrow = config.find("->");
  if (arrow == std::string_view::npos) {
    throw invalid_argument("unary_einsum: config, got \"{}\", expected one such as \"abc->ca\"",
                           config);
  }
  const std::string_view letters = config.substr(0, arrow);
  const std::string_view result = config.substr(arrow + 2);
  check_letters("unary_einsum", config, letters, operand.shape().rank());
  check_letters("unary_einsum", config, result, static_cast<int>(result.size()));
  std::string kept;
  Dims summed;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (result.find(letters[i]) != std::string_view::npos) {
      kept += letters[i];
    } else {
      summed.push_back(static_cast<int64_t>(i));
    }
  }
  Dims permutation;
  for (const char letter : result) {
    const size_t axis = kept.find(letter);
    if (axis == std::string::npos) {
      throw invalid_argument(
          "unary_einsum: config, got \"{}\", expected no '{}' in the result alone", config, letter);
    }
    permutation.push_back(static_cast<int64_t>(axis));
  }
  const Value value = summed.empty() ? operand : builder.reduce(operand, Opcode::add, summed);
  return std::ranges::is_sorted(permutation) ? value : builder.transpose(value, permutation);
}

}  // namespace systole::hlo::text
