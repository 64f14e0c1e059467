#include <algorithm>

#include "systole/estimator/impl.h"

namespace systole::estimator {

int64_t launch_steps(int64_t wanted, int64_t step_bytes) {
  constexpr int64_t kMaxBytes = int64_t{256} << 20;
  return std::clamp<int64_t>(kMaxBytes / std::max<int64_t>(step_bytes, 1), 1, wanted);
}

std::span<const Tensor> Runner::run(const LoopInput& input) {
  std::string key;
  for (const TensorType& type : input.types) key += type.to_string();
  std::unique_ptr<StepLoop>& loop = loops_[key];
  if (!loop) {
    StepLoopOptions options{.inputs = model_.inputs,
                            .input_types = input.types,
                            .fetches = options_.fetches,
                            .targets = options_.targets,
                            .num_replicas = static_cast<int>(options_.replicas),
                            .max_steps = options_.max_steps,
                            .keep = options_.keep,
                            .summed = options_.summed};
    if (model_.mask.valid()) {
      options.inputs.push_back(model_.mask);
      options.input_types.push_back({DType::f32, {input.types[0].shape[0]}});
    }
    loop = std::make_unique<StepLoop>(session_, std::move(options));
  }
  loop->run(input.stacks, input.steps);
  return loop->results();
}

}  // namespace systole::estimator
