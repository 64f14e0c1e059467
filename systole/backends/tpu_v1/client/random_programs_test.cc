// Random programs on four computers: the value machine, the array stepped cycle by cycle, the cpu
// backend and the reference.
#include <gtest/gtest.h>

#include <algorithm>

#include "systole/backends/tpu_v1/client/staged_executable.h"
#include "systole/backends/tpu_v1/testing/quantized_maker.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tpu_v1/systolic/systolic_array.h"

namespace systole::tpu_v1 {
namespace {

using hlo::Value;
using testing::QuantizedMaker;

// Rows [first, first + size) and columns of a matrix, less `zero`; 0 outside.
std::vector<int32_t> padded_block(const Tensor& matrix, int64_t row, int64_t rows, int64_t column,
                                  int64_t columns, int64_t zero) {
  std::vector<int32_t> block(static_cast<size_t>(rows * columns), 0);
  for (int64_t r = 0; r < rows && row + r < matrix.dim(0); ++r) {
    for (int64_t c = 0; c < columns && column + c < matrix.dim(1); ++c) {
      const double q = matrix.as_double((row + r) * matrix.dim(1) + column + c);
      block[r * columns + c] = static_cast<int32_t>(q - static_cast<double>(zero));
    }
  }
  return block;
}

// x w, tile by tile through the cells of an array: the sums of the tiles of a column are added as
// the accumulators add them.
Tensor product_of_cells(const Tensor& x, int64_t zero, const Tensor& w, int array) {
  const int64_t batch = x.dim(0);
  Tensor sums = Tensor::zeros(DType::s32, {batch, w.dim(1)});
  for (int64_t column = 0; column < w.dim(1); column += array) {
    std::vector<std::vector<int32_t>> operands;
    for (int64_t row = 0; row < w.dim(0); row += array) {
      operands.push_back(padded_block(w, row, array, column, array, 0));
      operands.push_back(padded_block(x, 0, batch, row, array, zero));
    }
    std::vector<SystolicBlock> blocks;
    for (size_t i = 0; i < operands.size(); i += 2)
      blocks.push_back({operands[i], operands[i + 1]});
    const std::vector<int32_t> results = run_systolic(array, blocks).results;
    for (size_t i = 0; i < results.size(); ++i) {
      const int64_t r = static_cast<int64_t>(i) / array % batch;
      const int64_t c = column + static_cast<int64_t>(i) % array;
      if (c < w.dim(1)) sums.data<int32_t>()[r * w.dim(1) + c] += results[i];
    }
  }
  return sums;
}

// Runs main with its products on the cells of an array, and the other ops on the reference.
std::vector<Tensor> run_on_cells(const hlo::Computation& main, const std::vector<Tensor>& arguments,
                                 int array) {
  std::unordered_map<Value, Tensor, hlo::ValueHash> values;
  for (int i = 0; i < main.num_parameters(); ++i) values[main.parameter(i)] = arguments[i];
  for (const hlo::Instruction* op : main.instructions()) {
    if (op->is(hlo::Opcode::parameter) || op == main.terminator()) continue;
    std::vector<Tensor> operands;
    for (const Value& operand : op->operands()) operands.push_back(values.at(operand));
    const Value result{const_cast<hlo::Instruction*>(op), 0};
    values[result] =
        op->is(hlo::Opcode::dot_general)
            ? product_of_cells(operands[0], op->operand(0).type().quantized->zero_point(0),
                               operands[1], array)
            : hlo::Evaluator().evaluate(*op, operands)[0];
  }
  std::vector<Tensor> results;
  for (const Value& value : main.results()) results.push_back(values.at(value));
  return results;
}

// Layers of random widths; some add an earlier array of the same width.
void make_random_program(QuantizedMaker& maker) {
  const int64_t batch = maker.draw(1, 40);
  Value x =
      maker.input({batch, maker.draw(1, 150)}, maker.draw(0, 3) == 0 ? DType::s16 : DType::s8);
  const int64_t layers = maker.draw(1, 4);
  for (int64_t i = 0; i < layers; ++i) {
    const Shape shape({batch, maker.draw(1, 150)});
    const Value y = maker.dense(x, shape[1], maker.tensor_type(shape), maker.draw(0, 1) == 1);
    const bool residual = maker.draw(0, 2) == 0;
    const Value z = residual ? maker.dense(x, shape[1], maker.tensor_type(shape)) : y;
    x = residual ? maker.op(maker.draw(0, 1) == 0 ? hlo::Opcode::add : hlo::Opcode::multiply,
                            {y, z}, maker.tensor_type(shape))
                 : y;
  }
  maker.main.set_results({x});
}

TEST(RandomPrograms, AreEqualOnMachineCellsCpuAndReference) {
  constexpr int kArrays[] = {8, 16, 32, 64};
  for (uint32_t seed = 0; seed < 24; ++seed) {
    QuantizedMaker maker(100 + seed, seed % 2 == 0 ? "tflite" : "single");
    make_random_program(maker);
    hlo::verify(maker.module);
    Tensor x = maker.integers(DType::f32, maker.main.parameter(0).shape(), -6000, 6000);
    for (float& value : x.data<float>()) value *= 0.001F;
    const std::vector<Tensor> arguments = {x};
    const std::vector<Tensor> expected = hlo::Evaluator().run(maker.main, arguments);
    const int array = kArrays[seed % 4];
    StagedRunner runner(maker.module, {.array = array}, runtime::client("cpu"), {});
    ASSERT_TRUE(runner.staged().uses_machine());
    const auto cpu = runtime::client("cpu").compile(maker.module);
    EXPECT_TRUE(runner.run(arguments)[0].identical(expected[0])) << "machine, seed " << seed;
    EXPECT_TRUE(run_on_cells(maker.main, arguments, array)[0].identical(expected[0]))
        << "cells, seed " << seed << "\n"
        << hlo::print(maker.module);
    EXPECT_TRUE(runtime::run(*cpu, arguments)[0].identical(expected[0])) << "cpu, seed " << seed;
  }
}

}  // namespace
}  // namespace systole::tpu_v1
