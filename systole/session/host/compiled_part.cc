#include "systole/session/host/compiled_part.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "systole/base/mutex.h"
#include "systole/runtime/registry.h"
#include "systole/session/device/device_program.h"

namespace systole {
namespace {

template <class T>
using PartSmall = absl::InlinedVector<T, 16>;

// Limits memory where every element has another shape.
constexpr size_t kMaxPrograms = 64;
// The largest shape or index; larger inputs are data.
constexpr int64_t kMaxKnownElements = 16;

bool may_be_known(const Tensor& value) {
  return (value.dtype() == DType::s32 || value.dtype() == DType::s64) && value.rank() <= 1 &&
         value.num_elements() <= kMaxKnownElements;
}

}  // namespace

struct CompiledPart::Compiled {
  std::vector<Feed> feeds;
  mutable DeviceProgram program;  // without variables: launches change nothing
  size_t num_random = 0;

  bool matches(std::span<const Tensor* const> inputs) const {
    for (size_t i = 0; i < feeds.size(); ++i) {
      const Feed& feed = feeds[i];
      if (feed.type.dtype != inputs[i]->dtype() || feed.type.shape != inputs[i]->shape() ||
          (feed.value.valid() && !feed.value.identical(*inputs[i]))) {
        return false;
      }
    }
    return true;
  }
};

CompiledPart::CompiledPart(const Graph& graph, std::vector<Output> inputs,
                           std::vector<Output> fetches, std::vector<Node*> targets,
                           uint64_t entropy)
    : graph_(graph),
      inputs_(std::move(inputs)),
      fetches_(std::move(fetches)),
      targets_(std::move(targets)),
      entropy_(entropy) {}

CompiledPart::~CompiledPart() = default;

std::shared_ptr<const CompiledPart::Compiled> CompiledPart::find(
    std::span<const Tensor* const> inputs) const {
  for (const auto& compiled : compiled_) {
    if (compiled->matches(inputs)) return compiled;
  }
  return nullptr;
}

std::shared_ptr<const CompiledPart::Compiled> CompiledPart::compile_for(
    std::span<const Tensor* const> inputs, bool by_value, bool* wants_value) const {
  auto result = std::make_shared<Compiled>();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& value = *inputs[i];
    result->feeds.push_back({inputs_[i], value.type()});
    if (by_value && may_be_known(value)) result->feeds.back().value = value.clone();
  }
  SpecializedProgram program = specialize(graph_, fetches_, targets_, result->feeds, wants_value);
  if (!program.variables.empty()) {
    throw unimplemented("host function: variable, got {}, expected values of its arguments alone",
                        program.variables[0]->describe());
  }
  result->program.executable = runtime::client("cpu").compile(*program.module, {.num_threads = 1});
  result->num_random = program.random_nodes.size();
  result->program.checks = std::move(program.checks);
  return result;
}

std::shared_ptr<const CompiledPart::Compiled> CompiledPart::compile(
    std::span<const Tensor* const> inputs) {
  const WriterLock lock(mutex_);
  if (auto compiled = find(inputs)) return compiled;
  if (compiled_.size() >= kMaxPrograms) compiled_.erase(compiled_.begin());
  std::shared_ptr<const Compiled> result;
  bool wants_value = false;
  try {
    result = compile_for(inputs, by_value_, &wants_value);
  } catch (const Error&) {
    if (by_value_ || !wants_value) throw;
    result = compile_for(inputs, true, nullptr);
    by_value_ = true;
  }
  compiled_.push_back(result);
  return result;
}

void CompiledPart::run(std::span<const Tensor* const> inputs, std::span<Tensor> fetched,
                       const RandomDraw& draw) {
  std::shared_ptr<const Compiled> compiled;
  {
    const ReaderLock lock(mutex_);
    compiled = find(inputs);
  }
  if (compiled == nullptr) compiled = compile(inputs);
  PartSmall<runtime::Argument> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!compiled->feeds[i].value.valid()) arguments.push_back({.host = inputs[i]});
  }
  Tensor random_state;
  if (compiled->num_random > 0) {
    random_state = Tensor(DType::u64, {static_cast<int64_t>(compiled->num_random) + 1});
    std::ranges::fill(random_state.data<uint64_t>(), draw.number);
    random_state.data<uint64_t>()[0] = entropy_ + draw.entropy;
    arguments.push_back({.host = &random_state});
  }
  PartSmall<runtime::Result> results;
  for (Tensor& tensor : fetched) results.push_back({.host = &tensor});
  PartSmall<Tensor> flags(compiled->program.checks.size());
  compiled->program
      .launch({.feeds = arguments,
               .fetched = results,
               .flags = {flags.data(), flags.size()},
               .on_host = true})
      .wait();
}

}  // namespace systole
