#include <algorithm>

#include "systole/estimator/impl.h"

namespace systole::estimator {

int64_t launch_steps(int64_t wanted, int64_t step_bytes) {
  constexpr int64_t kMaxBytes = int64_t{256} << 20;
  return std::clamp<int64_t>(kMaxBytes / std::max<int64_t>(step_bytes, 1), 1, wanted);
}

namespace {

void add_up(std::span<const runtime::StepProfile> more, std::vector<runtime::StepProfile>& sum) {
  if (sum.size() != more.size()) {
    sum.assign(more.begin(), more.end());
    return;
  }
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i].runs += more[i].runs;
    sum[i].seconds += more[i].seconds;
    sum[i].flops += more[i].flops;
    sum[i].bytes += more[i].bytes;
  }
}

}  // namespace

std::span<const Tensor> Runner::run(const LoopInput& input,
                                    std::vector<runtime::StepProfile>* profile) {
  std::string key = profile != nullptr ? "profile " : "";
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
                            .summed = options_.summed,
                            .bf16_products = options_.precision == Precision::tpu,
                            .profile = profile != nullptr};
    if (model_.mask.valid()) {
      options.inputs.push_back(model_.mask);
      options.input_types.push_back({DType::f32, {input.types[0].shape[0]}});
    }
    loop = std::make_unique<StepLoop>(session_, std::move(options));
  }
  loop->run(input.stacks, input.steps);
  if (profile != nullptr) add_up(loop->profile(), *profile);
  return loop->results();
}

}  // namespace systole::estimator
