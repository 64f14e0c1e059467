#include "systole/backends/remote/source_lines.h"

#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"

namespace systole::remote {
namespace {

TEST(SourceLines, AddsTheLineOfTheNode) {
  hlo::Module module("m");
  hlo::Computation& main = module.add_function("main");
  SourceLocation where;
  where.file = "/home/me/iris.cc";
  where.line = 41;
  const hlo::Value x =
      main.add_parameter({DType::f32, {2}}, {.name = "dense/MatMul", .where = where});
  main.set_results({x});
  const struct {
    const char* message;
    const char* expected;
  } cases[] = {
      {"cannot lower 'dot', from node 'dense/MatMul'",
       "cannot lower 'dot', from node 'dense/MatMul' at iris.cc:41"},
      {"from node 'dense/MatMul': more", "from node 'dense/MatMul' at iris.cc:41: more"},
      {"from node 'dense/MatMul' at other.cc:7", "from node 'dense/MatMul' at other.cc:7"},
      {"from node 'other'", "from node 'other'"},
      {"from node 'dense/MatMul", "from node 'dense/MatMul"},
      {"no memory", "no memory"},
  };
  for (const auto& c : cases) EXPECT_EQ(with_source_line(c.message, module), c.expected);
}

}  // namespace
}  // namespace systole::remote
