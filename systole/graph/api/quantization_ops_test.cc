#include "systole/graph/api/quantization_ops.h"

#include <gtest/gtest.h>

#include "systole/graph/testing/quantization_op_cases.h"

namespace systole {
namespace {

TEST(QuantizationOps, Cases) { graph_testing::check_ops(graph_testing::quantization_op_cases()); }

}  // namespace
}  // namespace systole
