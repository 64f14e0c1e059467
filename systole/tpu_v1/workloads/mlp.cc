// MLP0-R and MLP1-R: fully connected layers with ReLU.
#include "systole/tpu_v1/workloads/program_arrays.h"
#include "systole/tpu_v1/workloads/programs.h"
#include "systole/tpu_v1/workloads/workloads.h"

namespace systole::tpu_v1 {
namespace {

Program mlp_program(const MachineConfig& config, int64_t batch, std::span<const int64_t> sizes) {
  ProgramBuilder builder(config);
  BufferRows rows(config);
  int64_t input = rows.array(sizes[0], batch);
  std::vector<int64_t> tables;
  for (size_t i = 1; i < sizes.size(); ++i) {
    tables.push_back(rows.tables(sizes[i]));
    read_tables(builder, tables.back(), sizes[i]);
  }
  transfer_array(builder, true, input, sizes[0], batch, false);
  for (size_t i = 1; i < sizes.size(); ++i) {
    const int64_t output = rows.array(sizes[i], batch);
    emit_dense(builder, {.inputs = {{.ub = input, .features = sizes[i - 1]}},
                         .output = output,
                         .outputs = sizes[i],
                         .batch = batch,
                         .table = tables[i - 1],
                         .activation_flags = kRelu});
    input = output;
  }
  transfer_array(builder, false, input, sizes.back(), batch, false);
  return std::move(builder).finish();
}

}  // namespace

Program mlp0_program(const MachineConfig& config) {
  constexpr std::array<int64_t, 6> kSizes = {2000, 2048, 2000, 2048, 2000, 2048};
  return mlp_program(config, 200, kSizes);
}

Program mlp1_program(const MachineConfig& config) {
  constexpr std::array<int64_t, 5> kSizes = {1200, 1200, 1200, 1200, 512};
  return mlp_program(config, 168, kSizes);
}

Program product_stream(const MachineConfig& config, const ProductStream& stream) {
  ProgramBuilder builder(config);
  BufferRows rows(config);
  const bool wide = (stream.matrix_flags & kInput16) != 0;
  const int64_t input = rows.array(stream.inputs, stream.batch, wide);
  const int64_t output = rows.array(stream.outputs, stream.batch);
  transfer_array(builder, true, input, stream.inputs, stream.batch, wide);
  for (int64_t i = 0; i < stream.repeats; ++i) {
    emit_dense(builder, {.inputs = {{.ub = input, .features = stream.inputs}},
                         .output = output,
                         .outputs = stream.outputs,
                         .batch = stream.batch,
                         .matrix_flags = stream.matrix_flags,
                         .activation_flags = kRaw});
  }
  return std::move(builder).finish();
}

}  // namespace systole::tpu_v1
