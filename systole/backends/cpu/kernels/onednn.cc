#include "systole/backends/cpu/kernels/onednn.h"

#include <unordered_map>
#include <utility>

#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/kernels/thread_memory.h"
#include "systole/base/error.h"
#include "systole/base/mutex.h"

// OpenMP's functions, which oneDNN is built for, by name: other compilers have another <omp.h> or
// none.
extern "C" {
int omp_get_max_threads() noexcept;
void omp_set_num_threads(int count) noexcept;
}

namespace systole::cpu {

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::optional<dnnl::memory::data_type> onednn_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return dnnl::memory::data_type::f32;
    case DType::bf16:
      return dnnl::memory::data_type::bf16;
    case DType::s8:
      return dnnl::memory::data_type::s8;
    case DType::u8:
      return dnnl::memory::data_type::u8;
    case DType::s32:
      return dnnl::memory::data_type::s32;
    default:
      return std::nullopt;
  }
}

namespace {

bool host_has(dnnl::cpu_isa isa) {
  // A set is the bits of all that it contains.
  static const auto host = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wanted = static_cast<unsigned>(isa);
  return (host & wanted) == wanted;
}

}  // namespace

bool host_multiplies_bf16() { return host_has(dnnl::cpu_isa::avx512_core_bf16); }

bool host_multiplies_s8() {
  return host_has(dnnl::cpu_isa::avx512_core_vnni) || host_has(dnnl::cpu_isa::avx2_vnni);
}

dnnl::primitive_attr onednn_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Error error_of_onednn(const dnnl::error& error) {
  const Code code = error.status == dnnl_out_of_memory ? Code::resource_exhausted : Code::internal;
  return make_error(code, "oneDNN: {}", error.message);
}

// What `make` returns.
template <class Make>
static auto with_our_errors(Make&& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    throw error_of_onednn(error);
  }
}

std::optional<dnnl::primitive> try_make(const std::function<dnnl::primitive()>& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return std::nullopt;
    throw error_of_onednn(error);
  }
}

OnOneThread::OnOneThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
OnOneThread::~OnOneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

struct OnednnCall::Frame {
  // Memory that only lasts for a call: `offset` bytes into that of the thread.
  struct Temporary {
    dnnl::memory memory;
    int64_t offset;
  };
  // A copy from or to a layout that the primitive prefers.
  struct Copy {
    dnnl::memory from;
    dnnl::memory to;
    dnnl::reorder reorder;
  };
  dnnl::stream stream{onednn_engine()};
  std::vector<dnnl::memory> memories;
  std::vector<Temporary> temporaries;
  int64_t temporary_bytes = 0;
  std::vector<Copy> before;
  std::vector<Copy> after;
  std::unordered_map<int, dnnl::memory> arguments;
  std::vector<dnnl_exec_arg_t> list;  // of the arguments

  dnnl::memory add_temporary(const dnnl::memory::desc& layout) {
    const dnnl::memory memory(layout, onednn_engine(), DNNL_MEMORY_NONE);
    temporaries.push_back({memory, temporary_bytes});
    temporary_bytes += aligned(static_cast<int64_t>(layout.get_size()));
    return memory;
  }
  void place_temporaries() {
    if (temporaries.empty()) return;
    auto* const base = reinterpret_cast<std::byte*>(
        thread_memory(temporary_bytes / static_cast<int64_t>(sizeof(float))));
    for (Temporary& temporary : temporaries)
      temporary.memory.set_data_handle(base + temporary.offset);
  }
};

namespace {

// primitive::execute() without the list that it makes in each call.
void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             const std::vector<dnnl_exec_arg_t>& arguments) {
  const auto count = static_cast<int>(arguments.size());
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), stream.get(), count, arguments.data()),
      "could not execute a primitive");
}

}  // namespace

OnednnCall::OnednnCall(dnnl::primitive primitive, std::vector<Operand> operands)
    : primitive_(std::move(primitive)), operands_(std::move(operands)) {
  idle_.push_back(with_our_errors([&] { return make_frame(); }));
}

OnednnCall::~OnednnCall() = default;

std::unique_ptr<OnednnCall::Frame> OnednnCall::make_frame() const {
  auto frame = std::make_unique<Frame>();
  const dnnl::memory::desc scratchpad = scratchpad_of(primitive_);
  if (scratchpad.get_size() > 0) {
    frame->arguments.emplace(DNNL_ARG_SCRATCHPAD, frame->add_temporary(scratchpad));
  }
  for (const Operand& operand : operands_) {
    dnnl::memory memory(operand.layout, onednn_engine(), DNNL_MEMORY_NONE);
    frame->memories.push_back(memory);
    if (!operand.copied()) {
      frame->arguments.emplace(operand.argument, memory);
      continue;
    }
    const dnnl::memory wanted = frame->add_temporary(operand.wanted);
    frame->arguments.emplace(operand.argument, wanted);
    if (operand.is_output) {
      frame->after.push_back({wanted, memory, dnnl::reorder(wanted, memory)});
    } else {
      frame->before.push_back({memory, wanted, dnnl::reorder(memory, wanted)});
    }
  }
  for (const auto& [argument, memory] : frame->arguments) {
    frame->list.push_back({argument, memory.get()});
  }
  return frame;
}

void OnednnCall::prepare(int concurrent_calls) const {
  const OnOneThread alone;
  const MutexLock lock(mutex_);
  while (std::ssize(idle_) < concurrent_calls)
    idle_.push_back(with_our_errors([&] { return make_frame(); }));
}

std::unique_ptr<OnednnCall::Frame> OnednnCall::take_frame() const {
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Frame> frame = std::move(idle_.back());
      idle_.pop_back();
      return frame;
    }
  }
  return make_frame();
}

void OnednnCall::run(std::span<void* const> pointers) const {
  const OnOneThread alone;
  with_our_errors([&] {
    std::unique_ptr<Frame> frame = take_frame();
    for (size_t i = 0; i < operands_.size(); ++i) frame->memories[i].set_data_handle(pointers[i]);
    frame->place_temporaries();
    for (Frame::Copy& copy : frame->before) copy.reorder.execute(frame->stream, copy.from, copy.to);
    execute(primitive_, frame->stream, frame->list);
    for (Frame::Copy& copy : frame->after) copy.reorder.execute(frame->stream, copy.from, copy.to);
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(frame));
  });
}

}  // namespace systole::cpu
