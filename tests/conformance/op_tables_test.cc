// Runs every row of the op tables on the CPU backend: values in all dtypes of the row, gradients
// against central differences in f64, error texts.
#include <gtest/gtest.h>

#include "systole/graph/testing/array_op_cases.h"
#include "systole/graph/testing/control_flow_op_cases.h"
#include "systole/graph/testing/debugging_op_cases.h"
#include "systole/graph/testing/image_op_cases.h"
#include "systole/graph/testing/math_op_cases.h"
#include "systole/graph/testing/nn_op_cases.h"
#include "systole/graph/testing/quantization_op_cases.h"
#include "systole/graph/testing/random_op_cases.h"
#include "systole/graph/testing/session_cases.h"
#include "tests/conformance/backend_executor.h"

namespace systole::conformance {
namespace {

using graph_testing::OpCase;

void check_on_cpu(std::vector<OpCase> cases) {
  const graph_testing::Executor cpu = backend_executor("cpu");
  for (OpCase& row : cases) {
    // Compiling takes all the time, so checks of the graph layer's tests are not repeated: programs
    // for unknown sizes are the same, and second derivatives consist of the same ops.
    row.unknown_batch = row.second_order = false;
    check_op(row, cpu);
  }
}

void check_on_cpu(const std::vector<graph_testing::SessionCase>& cases) {
  const graph_testing::Executor cpu = backend_executor("cpu");
  for (const graph_testing::SessionCase& row : cases) check_session(row, cpu);
}

TEST(CpuOpTables, Unary) { check_on_cpu(graph_testing::unary_op_cases()); }
TEST(CpuOpTables, Binary) { check_on_cpu(graph_testing::binary_op_cases()); }
TEST(CpuOpTables, Comparison) { check_on_cpu(graph_testing::comparison_op_cases()); }
TEST(CpuOpTables, Product) { check_on_cpu(graph_testing::product_op_cases()); }
TEST(CpuOpTables, Reduction) { check_on_cpu(graph_testing::reduction_op_cases()); }
TEST(CpuOpTables, MathGradient) { check_on_cpu(graph_testing::math_gradient_cases()); }
TEST(CpuOpTables, MathError) { check_on_cpu(graph_testing::math_error_cases()); }

TEST(CpuOpTables, Shape) { check_on_cpu(graph_testing::shape_op_cases()); }
TEST(CpuOpTables, Join) { check_on_cpu(graph_testing::join_op_cases()); }
TEST(CpuOpTables, StridedSlice) { check_on_cpu(graph_testing::strided_slice_op_cases()); }
TEST(CpuOpTables, Lookup) { check_on_cpu(graph_testing::lookup_op_cases()); }
TEST(CpuOpTables, ArrayFunction) { check_on_cpu(graph_testing::array_function_cases()); }
TEST(CpuOpTables, Fill) { check_on_cpu(graph_testing::fill_op_cases()); }
TEST(CpuOpTables, ArrayError) { check_on_cpu(graph_testing::array_error_cases()); }

TEST(CpuOpTables, Softmax) { check_on_cpu(graph_testing::softmax_op_cases()); }
TEST(CpuOpTables, Convolution) { check_on_cpu(graph_testing::convolution_op_cases()); }
TEST(CpuOpTables, Pooling) { check_on_cpu(graph_testing::pooling_op_cases()); }
TEST(CpuOpTables, Normalization) { check_on_cpu(graph_testing::normalization_op_cases()); }
TEST(CpuOpTables, NnError) { check_on_cpu(graph_testing::nn_error_cases()); }

TEST(CpuOpTables, Image) { check_on_cpu(graph_testing::image_op_cases()); }
TEST(CpuOpTables, Quantization) { check_on_cpu(graph_testing::quantization_op_cases()); }

TEST(CpuOpTables, ControlFlow) { check_on_cpu(graph_testing::control_flow_op_cases()); }
TEST(CpuOpTables, Debugging) { check_on_cpu(graph_testing::debugging_op_cases()); }
TEST(CpuOpTables, Random) { check_on_cpu(graph_testing::random_op_cases()); }
TEST(CpuOpTables, Variables) { check_on_cpu(graph_testing::variable_cases()); }
TEST(CpuOpTables, Updates) { check_on_cpu(graph_testing::update_cases()); }

}  // namespace
}  // namespace systole::conformance
