// Tests of one op as rows of a table: operands, attributes and results as StableHLO text.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace systole::hlo::testing {

// Evaluates "stablehlo.<op>"(operands) <body>, with the operands as %0, %1..., and compares with
// `results` bit for bit.
struct ValueCase {
  std::string name;
  std::string op;                     // "pad"
  std::vector<std::string> operands;  // "dense<[1, 2]> : tensor<2xi64>"
  std::string body;                   // "({regions}) {attributes}"
  std::vector<std::string> results;   // as the operands
};

// The op must be rejected with an error that contains `error`.
struct ErrorCase {
  std::string name;  // begins with the constraint's label: "c2_too_few_values"
  std::string op;
  std::vector<std::string> operands;  // types: "tensor<2xi64>"
  std::string body;
  std::vector<std::string> results;
  std::string error;
};

inline std::ostream& operator<<(std::ostream& out, const ValueCase& row) {
  return out << row.op << " " << row.name;
}
inline std::ostream& operator<<(std::ostream& out, const ErrorCase& row) {
  return out << row.op << " " << row.name;
}

// Instantiated with tables by the tests of opcodes:
//   INSTANTIATE_TEST_SUITE_P(Pad, OpValue, ::testing::ValuesIn(kValues), row_name);
class OpValue : public ::testing::TestWithParam<ValueCase> {};
class OpError : public ::testing::TestWithParam<ErrorCase> {};

template <class Row>
std::string row_name(const ::testing::TestParamInfo<Row>& info) {
  return info.param.op + "_" + info.param.name;
}

// The region (a, b) -> <op>(a, b) on scalars of an MLIR element type.
inline std::string reducer(const std::string& op, const std::string& type) {
  const std::string t = "tensor<" + type + ">";
  return "{^bb0(%a: " + t + ", %b: " + t + "): %c = \"stablehlo." + op + "\"(%a, %b) : (" + t +
         ", " + t + ") -> " + t + " \"stablehlo.return\"(%c) : (" + t + ") -> ()}";
}

// The same with swapped operands, for which there is no fast path.
inline std::string swapped_reducer(const std::string& op, const std::string& type) {
  const std::string t = "tensor<" + type + ">";
  return "{^bb0(%a: " + t + ", %b: " + t + "): %c = \"stablehlo." + op + "\"(%b, %a) : (" + t +
         ", " + t + ") -> " + t + " \"stablehlo.return\"(%c) : (" + t + ") -> ()}";
}

// The region (a, b) -> compare(a, b).
inline std::string comparator(const std::string& direction, const std::string& type,
                              const std::string& compare_type = "") {
  const std::string t = "tensor<" + type + ">";
  const std::string kind =
      compare_type.empty() ? ""
                           : ", compare_type = #stablehlo<comparison_type " + compare_type + ">";
  return "{^bb0(%a: " + t + ", %b: " + t + "): %c = \"stablehlo.compare\"(%a, %b) " +
         "{comparison_direction = #stablehlo<comparison_direction " + direction + ">" + kind +
         "} : (" + t + ", " + t + ") -> tensor<i1> \"stablehlo.return\"(%c) : (tensor<i1>) -> ()}";
}

}  // namespace systole::hlo::testing
