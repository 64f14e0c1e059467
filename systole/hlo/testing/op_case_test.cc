#include "systole/hlo/testing/op_case.h"

#include "systole/base/error.h"
#include "systole/hlo/evaluator.h"
#include "systole/hlo/text.h"
#include "systole/hlo/verifier.h"

namespace systole::hlo::testing {
namespace {

// The type in "dense<...> : tensor<...>", or a type itself.
std::string type_of(const std::string& literal) { return literal.substr(literal.rfind("tensor<")); }

std::string types_of(const std::vector<std::string>& literals) {
  std::string text;
  for (const std::string& literal : literals) text += (text.empty() ? "" : ", ") + type_of(literal);
  return "(" + text + ")";
}

// @main takes the operands and returns the op's results and then `expected`.
std::string program(const std::string& op, const std::vector<std::string>& operands,
                    const std::string& body, const std::vector<std::string>& results) {
  std::string parameters;
  std::string names;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string name = "%" + std::to_string(i);
    parameters += (i == 0 ? "" : ", ") + name + ": " + type_of(operands[i]);
    names += (i == 0 ? "" : ", ") + name;
  }
  std::string returned;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string suffix = results.size() > 1 ? "#" + std::to_string(i) : "";
    returned += (i == 0 ? "%r" : ", %r") + suffix;
  }
  const std::string count = results.size() > 1 ? ":" + std::to_string(results.size()) : "";
  return "func.func @main(" + parameters + ") -> " + types_of(results) + " {\n%r" + count +
         " = \"stablehlo." + op + "\"(" + names + ") " + body + " : " + types_of(operands) +
         " -> " + types_of(results) + "\n\"func.return\"(" + returned + ") : " + types_of(results) +
         " -> ()\n}\n";
}

std::vector<Tensor> tensors(const std::vector<std::string>& literals) {
  std::vector<Tensor> values;
  for (const std::string& literal : literals) {
    const std::string type = type_of(literal);
    const std::unique_ptr<Module> module = parse(
        "func.func @main() -> " + type + " {%0 = \"stablehlo.constant\"() {value = " + literal +
        "} : () -> " + type + " \"func.return\"(%0) : (" + type + ") -> ()}");
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
