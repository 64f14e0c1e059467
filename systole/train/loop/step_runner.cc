#include "systole/train/loop/step_runner.h"

#include <algorithm>

namespace systole::train {

int64_t launch_steps(int64_t wanted, int64_t step_bytes) {
  return std::clamp<int64_t>(kMaxLaunchBytes / std::max<int64_t>(step_bytes, 1), 1, wanted);
}

namespace {

std::string key_of(const std::vector<TensorType>& types) {
  std::string key;
  for (const TensorType& type : types) key += type.to_string();
  return key;
}

}  // namespace

std::unique_ptr<StepLoop> StepRunner::make_loop(const std::vector<TensorType>& types,
                                                bool compile_beside) const {
  StepLoopOptions options = options_;
  options.input_types = types;
  options.compile_beside = compile_beside;
  if (mask_.valid()) {
    options.inputs.push_back(mask_);
    options.input_types.push_back({DType::f32, {types[0].shape[0]}});
  }
  return std::make_unique<StepLoop>(session_, std::move(options));
}

void StepRunner::prepare(const std::vector<TensorType>& types) {
  loops_[key_of(types)] = make_loop(types, /*compile_beside=*/true);
}

std::span<const Tensor> StepRunner::run(const data::StackedSteps& input) {
  std::unique_ptr<StepLoop>& loop = loops_[key_of(input.types)];
  if (!loop) loop = make_loop(input.types, /*compile_beside=*/false);
  loop->run(input.stacks, input.steps);
  return loop->results();
}

}  // namespace systole::train
