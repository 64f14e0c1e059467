// Collectives whose groups of devices are named by the axes of a mesh.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::pair<std::string_view, std::string_view>>;

std::string sum_along(std::string_view groups) {
  return fmt::format(R"(module @m {{
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  sdy.mesh @turned = <["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>
  func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {{
    %0 = "stablehlo.all_reduce"(%a) <{{replica_groups = #stablehlo.replica_group_mesh_axes<{}>}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }}) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }}
}})",
                     groups);
}

std::string error_along(std::string_view groups) {
  try {
    parse(sum_along(groups), "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// JAX 0.11 and later names groups so.
TEST(MeshGroups, AlongTheAxesOfAMesh) {
  const Rows rows = {
      {"mesh = @mesh, axes = [#stablehlo.axis_ref<name = \"x\">]", "[[0, 2, 4, 6], [1, 3, 5, 7]]"},
      {"mesh = @mesh, axes = [<name = \"y\">]", "[[0, 1], [2, 3], [4, 5], [6, 7]]"},
      {"mesh = @mesh, axes = [<name = \"y\">, <name = \"x\">]", "[[0, 2, 4, 6, 1, 3, 5, 7]]"},
      {"mesh = @mesh, axes = [<name = \"x\", sub_axis_info = (1)2>]",
       "[[0, 4], [1, 5], [2, 6], [3, 7]]"},
      {"mesh = @mesh, axes = [<name = \"x\", sub_axis_info = (2)2>]",
       "[[0, 2], [1, 3], [4, 6], [5, 7]]"},
      {"mesh = @turned, axes = [<name = \"y\">]", "[[3, 1], [2, 0]]"},
      {"mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"a\", size = 2>, "
       "<name = \"b\", size = 2>], device_ids = dense<[0, 2, 1, 3]> : tensor<4xi64>>, axes = "
       "[<name = \"b\">]",
       "[[0, 2], [1, 3]]"},
      {"mesh = @mesh, axes = []", "[[0], [1], [2], [3], [4], [5], [6], [7]]"},
  };
  for (const auto& [groups, dense] : rows) {
    EXPECT_THAT(print(*parse(sum_along(groups), "f")),
                HasSubstr(fmt::format("replica_groups = dense<{}>", dense)))
        << groups;
  }
}

TEST(MeshGroups, AlongWrongAxesAreRefused) {
  const Rows rows = {
      {"mesh = @none, axes = []", "mesh, got @none, expected one that is defined before"},
      {"mesh = @mesh, axes = [<name = \"z\">]", "axis, got 'z', expected one of the mesh"},
      {"mesh = @mesh, axes = [<name = \"x\">, <name = \"x\">]", "axes, got one twice"},
      {"mesh = @mesh, axes = [<name = \"x\", sub_axis_info = (1)2>, <name = \"x\">]",
       "axes, got one twice"},
      {"mesh = @mesh, axes = [<name = \"x\", sub_axis_info = (1)3>]",
       "part of the axis 'x' of size 4, got (1)3, expected a divisor"},
      {"mesh = @mesh, axes = [<name = \"x\", sub_axis_info = (1)0>]", "got 0, expected 1 or more"},
      {"mesh = #stablehlo.mesh<axes = [<name = \"a\", size = 0>]>, axes = []", "replica_groups: "},
      {"mesh = @mesh", "replica_groups"},
      {"axes = [], mesh = @mesh", "replica_groups"},
  };
  for (const auto& [groups, message] : rows) {
    EXPECT_THAT(error_along(groups), HasSubstr(std::string(message))) << groups;
  }
}

}  // namespace
}  // namespace systole::hlo
