#include "systole/runtime/batched_program.h"

#include <algorithm>
#include <cstring>

#include "systole/base/error.h"

namespace systole::runtime {
namespace {

Shape with_rows(Shape shape, int64_t rows) {
  shape.set_dim(0, rows);
  return shape;
}

// Returns rows [first, first + count) of `all`, filled up to `batch` rows with zeros.
Tensor batch_of(const Tensor& all, int64_t first, int64_t count, int64_t batch) {
  Tensor rows = all.slice(first, first + count);
  if (count == batch) return rows;
  Tensor filled = Tensor::zeros(all.dtype(), with_rows(all.shape(), batch));
  std::memcpy(filled.raw(), rows.raw(), static_cast<size_t>(rows.byte_size()));
  return filled;
}

void check_batch(const TensorType& type, int64_t batch, const char* what, size_t index) {
  if (type.shape.rank() > 0 && type.shape[0] == batch && batch > 0) return;
  throw invalid_argument("program of a batch: {} {}, got {}, expected {} as the first dimension",
                         what, index, type, batch > 0 ? std::to_string(batch) : "a batch");
}

}  // namespace

BatchedProgram::BatchedProgram(Client& client, const hlo::Module& module,
                               const CompileOptions& options)
    : executable_(client.compile(module, options)) {
  const auto parameters = executable_->parameter_types();
  if (parameters.empty()) {
    throw invalid_argument("program of a batch: parameters of main, got none, expected some");
  }
  batch_ = parameters[0].shape.rank() > 0 ? parameters[0].shape[0] : 0;
  for (size_t i = 0; i < parameters.size(); ++i) check_batch(parameters[i], batch_, "parameter", i);
  const auto results = executable_->result_types();
  for (size_t i = 0; i < results.size(); ++i) check_batch(results[i], batch_, "result", i);
}

int64_t BatchedProgram::examples_of(std::span<const Tensor> inputs) const {
  const auto types = executable_->parameter_types();
  if (inputs.size() != types.size()) {
    throw invalid_argument("program of a batch: inputs, got {}, expected {}", inputs.size(),
                           types.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape();
    const int64_t rows = shape.rank() > 0 ? shape[0] : 0;
    const bool fits = inputs[i].dtype() == types[i].dtype &&
                      shape.rank() == types[i].shape.rank() &&
                      with_rows(types[i].shape, rows) == shape && rows == inputs[0].dim(0);
    if (fits) continue;
    throw invalid_argument("program of a batch: input {}, got {}, expected {} of {} examples", i,
                           inputs[i].type(), types[i], inputs[0].rank() > 0 ? inputs[0].dim(0) : 0);
  }
  return inputs[0].dim(0);
}

std::vector<Tensor> BatchedProgram::run(std::span<const Tensor> inputs) const {
  const int64_t examples = examples_of(inputs);
  std::vector<Tensor> outputs;
  for (const TensorType& type : executable_->result_types())
    outputs.emplace_back(type.dtype, with_rows(type.shape, examples));
  for (int64_t first = 0; first < examples; first += batch_) {
    const int64_t count = std::min(batch_, examples - first);
    std::vector<Tensor> batch;
    for (const Tensor& input : inputs) batch.push_back(batch_of(input, first, count, batch_));
    const std::vector<Tensor> results = runtime::run(*executable_, batch);
    for (size_t i = 0; i < results.size(); ++i) {
      Tensor to = outputs[i].slice(first, first + count);
      std::memcpy(to.raw(), results[i].raw(), static_cast<size_t>(to.byte_size()));
    }
  }
  return outputs;
}

}  // namespace systole::runtime
