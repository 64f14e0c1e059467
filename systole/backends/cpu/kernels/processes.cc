#include "systole/backends/cpu/kernels/processes.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"

namespace systole::cpu {
namespace {

using runtime::ProcessGroup;

class AllReduceStart : public Kernel {
 public:
  AllReduceStart(const hlo::Instruction& x, ProcessGroup& processes)
      : processes_(processes), dtype_(x.dtype()), lanes_(x.operand(0).shape()[0]) {
    const SumPlaces places = sum_places(x.operands());
    count_ = places.count;
    for (int i = 0; i < x.num_operands(); ++i) {
      terms_.push_back({.count = x.operand(i).shape().num_elements() / lanes_, .at = places.at[i]});
    }
  }
  void run(std::span<void* const> buffers, RunContext& context) const override {
    context.processes = &processes_;
    std::vector<ProcessGroup::SumTerm> terms = terms_;
    for (size_t i = 0; i < terms.size(); ++i) terms[i].lanes = buffers[i];
    processes_.start_sums(dtype_, terms, lanes_, count_, buffers.back());
  }

 private:
  ProcessGroup& processes_;
  const DType dtype_;
  const int64_t lanes_;
  int64_t count_;
  std::vector<ProcessGroup::SumTerm> terms_;
};

class AllReduceDone : public Kernel {
 public:
  AllReduceDone(const hlo::Instruction& x, ProcessGroup& processes)
      : processes_(processes),
        dtype_(x.dtype()),
        lanes_(x.operand(0).def->operand(0).shape()[0]),
        count_(x.shape().num_elements()) {}
  void run(std::span<void* const> buffers, RunContext&) const override {
    processes_.finish_sums(dtype_, lanes_, count_, buffers[0], buffers[1]);
  }

 private:
  ProcessGroup& processes_;
  const DType dtype_;
  const int64_t lanes_;
  const int64_t count_;
};

class GatherReplicas : public Kernel {
 public:
  GatherReplicas(const hlo::Instruction& x, ProcessGroup& processes)
      : processes_(processes), bytes_(x.operand(0).type().byte_size()) {}
  void run(std::span<void* const> buffers, RunContext&) const override {
    processes_.gather_bytes(buffers[0], bytes_, buffers[1]);
  }

 private:
  ProcessGroup& processes_;
  const int64_t bytes_;
};

}  // namespace

SumPlaces sum_places(std::span<const hlo::Value> stacked) {
  SumPlaces places;
  for (const hlo::Value& value : stacked) {
    const int64_t aligned = std::max<int64_t>(1, 64 / size_of(value.dtype()));
    places.count = (places.count + aligned - 1) / aligned * aligned;
    places.at.push_back(places.count);
    places.count += value.shape().num_elements() / value.shape()[0];
  }
  return places;
}

const std::string* process_call(const hlo::Instruction& x) {
  const auto* const attrs = std::get_if<hlo::CustomCallAttrs>(&x.attrs());
  if (attrs == nullptr) return nullptr;
  const std::string& target = attrs->call_target_name;
  const bool is_one = target == kAllReduceStart || target == kAllReduceDone ||
                      target == hlo::kSumReplicas || target == hlo::kGatherReplicas;
  return is_one ? &target : nullptr;
}

bool finishes_in_place(const hlo::Instruction& x) {
  const std::string* const target = process_call(x);
  return target != nullptr && *target == kAllReduceDone &&
         x.operand(0).type().byte_size() == x.type().byte_size();
}

std::unique_ptr<Kernel> make_process_kernel(const hlo::Instruction& x, ProcessGroup* processes) {
  const std::string& target = *process_call(x);
  if (processes == nullptr) {
    throw failed_precondition("cpu: custom_call '{}', got one process, expected a group of them",
                              target);
  }
  if (target == kAllReduceStart) return std::make_unique<AllReduceStart>(x, *processes);
  if (target == kAllReduceDone) return std::make_unique<AllReduceDone>(x, *processes);
  return std::make_unique<GatherReplicas>(x, *processes);
}

}  // namespace systole::cpu
