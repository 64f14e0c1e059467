#include "systole/hlo/testing/op_case.h"

#include <fmt/format.h>

#include "systole/base/error.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo::testing {
namespace {

// The type in "dense<...> : tensor<...>", or a type itself.
std::string type_of(const std::string& literal) { return literal.substr(literal.rfind("tensor<")); }

std::string types_of(const std::vector<std::string>& literals) {
  std::vector<std::string> types;
  types.reserve(literals.size());
  for (const std::string& literal : literals) types.push_back(type_of(literal));
  return fmt::format("({})", fmt::join(types, ", "));
}

// @main takes the operands and returns the op's results.
std::string program(const std::string& op, const std::vector<std::string>& operands,
                    const std::string& body, const std::vector<std::string>& results) {
  std::vector<std::string> parameters;
  std::vector<std::string> names;
  for (size_t i = 0; i < operands.size(); ++i) {
    names.push_back(fmt::format("%{}", i));
    parameters.push_back(fmt::format("%{}: {}", i, type_of(operands[i])));
  }
  std::vector<std::string> returned;
  for (size_t i = 0; i < results.size(); ++i) {
    returned.push_back(results.size() > 1 ? fmt::format("%r#{}", i) : "%r");
  }
  const std::string defined = results.size() > 1 ? fmt::format("%r:{}", results.size()) : "%r";
  const std::string types = types_of(results);
  return fmt::format(
      "func.func @main({}) -> {} {{\n"
      "{} = \"stablehlo.{}\"({}) {} : {} -> {}\n"
      "\"func.return\"({}) : {} -> ()\n}}\n",
      fmt::join(parameters, ", "), types, defined, op, fmt::join(names, ", "), body,
      types_of(operands), types, fmt::join(returned, ", "), types);
}

std::vector<Tensor> tensors(const std::vector<std::string>& literals) {
  std::vector<Tensor> values;
  for (const std::string& literal : literals) {
    const std::string type = type_of(literal);
    const std::unique_ptr<Module> module = parse(fmt::format(
        "func.func @main() -> {1} {{%0 = \"stablehlo.constant\"() {{value = {0}}} : () -> {1} "
        "\"func.return\"(%0) : ({1}) -> ()}}",
        literal, type));
    values.push_back(Evaluator().run(module->entry(), {})[0]);
  }
  return values;
}

TEST_P(OpValue, Matches) {
  const ValueCase& row = GetParam();
  const std::unique_ptr<Module> module =
      parse(program(row.op, row.operands, row.body, row.results));
  verify(*module);
  const std::vector<Tensor> got = Evaluator().run(module->entry(), tensors(row.operands));
  const std::vector<Tensor> expected = tensors(row.results);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(got[i].identical(expected[i]))
        << "result " << i << "\ngot      " << got[i].to_string() << "\nexpected "
        << expected[i].to_string();
  }
}

TEST_P(OpError, Says) {
  const ErrorCase& row = GetParam();
  std::string message = "no error";
  try {
    parse(program(row.op, row.operands, row.body, row.results));
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find(row.error), std::string::npos) << message;
  EXPECT_EQ(message.find("INVALID_ARGUMENT"), 0u) << message;
}

}  // namespace
}  // namespace systole::hlo::testing
