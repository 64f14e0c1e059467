#include "systole/backends/cpu/onednn_primitive.h"

#include <omp.h>

#include <optional>
#include <unordered_map>

namespace systole::cpu {

dnnl::engine& onednn_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::optional<dnnl::memory::data_type> onednn_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32: return dnnl::memory::data_type::f32;
    case DType::bf16: return dnnl::memory::data_type::bf16;
    case DType::s8: return dnnl::memory::data_type::s8;
    case DType::u8: return dnnl::memory::data_type::u8;
    case DType::s32: return dnnl::memory::data_type::s32;
    default: return std::nullopt;
  }
}

dnnl::memory::desc onednn_desc(DType dtype, const Shape& shape, std::span<const int64_t> axes) {
  const Dims strides = shape.strides();
  dnnl::memory::dims sizes;
  dnnl::memory::dims steps;
  for (const int64_t axis : axes) {
    sizes.push_back(shape[static_cast<int>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  return {sizes, onednn_dtype(dtype).value(), steps};
}

OnednnThreads::OnednnThreads(int threads) : previous_(omp_get_max_threads()) {
  if (threads != previous_) omp_set_num_threads(threads);
}

OnednnThreads::~OnednnThreads() {
  if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
}

// Memory objects of one execution, and what copies between layouts.
struct OnednnPrimitive::Workspace {
  struct Copy {
    dnnl::memory ours;
    dnnl::memory wanted;
    dnnl::reorder reorder;
    bool is_output;
  };
  dnnl::stream stream{onednn_engine()};
  std::vector<dnnl::memory> ours;  // one an operand: their handles are set before each execution
  std::vector<Copy> copies;
  std::unordered_map<int, dnnl::memory> arguments;
};

OnednnPrimitive::OnednnPrimitive(dnnl::primitive primitive, std::vector<Operand> operands, int threads)
    : primitive_(std::move(primitive)), operands_(std::move(operands)), threads_(threads) {
  idle_.push_back(make_workspace());
}

OnednnPrimitive::~OnednnPrimitive() = default;

std::unique_ptr<OnednnPrimitive::Workspace> OnednnPrimitive::make_workspace() const {
  auto workspace = std::make_unique<Workspace>();
  for (const Operand& operand : operands_) {
    dnnl::memory ours(operand.ours, onednn_engine(), DNNL_MEMORY_NONE);
    workspace->ours.push_back(ours);
    if (operand.ours == operand.wanted) {
      workspace->arguments.emplace(operand.argument, ours);
      continue;
    }
    dnnl::memory wanted(operand.wanted, onednn_engine());
    workspace->arguments.emplace(operand.argument, wanted);
    dnnl::reorder reorder = operand.is_output ? dnnl::reorder(wanted, ours) : dnnl::reorder(ours, wanted);
    workspace->copies.push_back({ours, wanted, std::move(reorder), operand.is_output});
  }
  return workspace;
}

std::unique_ptr<OnednnPrimitive::Workspace> OnednnPrimitive::take_workspace() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto workspace = std::move(idle_.back());
  idle_.pop_back();
  return workspace;
}

void OnednnPrimitive::execute(std::span<void* const> pointers) {
  const OnednnThreads threads(threads_);
  auto workspace = take_workspace();
  if (workspace == nullptr) workspace = make_workspace();
  for (size_t i = 0; i < pointers.size(); ++i) workspace->ours[i].set_data_handle(pointers[i]);
  for (auto& copy : workspace->copies) {
    if (!copy.is_output) copy.reorder.execute(workspace->stream, copy.ours, copy.wanted);
  }
  primitive_.execute(workspace->stream, workspace->arguments);
  for (auto& copy : workspace->copies) {
    if (copy.is_output) copy.reorder.execute(workspace->stream, copy.wanted, copy.ours);
  }
  workspace->stream.wait();
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(workspace));
}

}  // namespace systole::cpu
