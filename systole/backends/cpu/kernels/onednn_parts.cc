#include "systole/backends/cpu/kernels/onednn_parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "systole/backends/cpu/kernels/kept_copies.h"
#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {
namespace {

constexpr int64_t kPartsPerThread = 4;      // a late or slow thread then delays a call little
constexpr int64_t kMinCopyBytes = 1 << 18;  // that are copied by one thread
constexpr int64_t kFeatureBlock = 64;       // features that are copied together, at least
constexpr int64_t kSumGrain = 16384;        // elements
constexpr size_t kMaxOperands = 3;

class PartsKernel : public Kernel {
 public:
  PartsKernel(OnednnWork work, std::unique_ptr<Kernel> otherwise)
      : work_(std::move(work)), otherwise_(std::move(otherwise)) {}

  bool asks_for_versions() const override { return work_.kept_operand.has_value(); }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    if (work_.kept_operand && run_with_kept(buffers, context)) return;
    if (otherwise_ != nullptr) return otherwise_->run(buffers, context);
    std::unique_ptr<Tensor> scratch;
    std::byte* memory = nullptr;
    if (work_.scratch_bytes > 0) {
      scratch = scratch_.take((work_.scratch_bytes + 3) / 4);
      memory = static_cast<std::byte*>(scratch->raw());
    }
    const Places places{buffers, memory};
    run_parts(work_.before, places, context);
    run_parts(work_.parts, places, context);
    if (work_.sums) add_up(*work_.sums, places, context);
    run_parts(work_.after, places, context);
    if (scratch != nullptr) scratch_.give_back(std::move(scratch));
  }

 private:
  struct Places {
    std::span<void* const> buffers;
    std::byte* scratch;

    void* operator()(const PartOperand& operand) const {
      std::byte* const base = operand.buffer == PartOperand::kScratch
                                  ? scratch
                                  : static_cast<std::byte*>(buffers[operand.buffer]);
      return base + operand.offset;
    }
  };

  // Returns false for an operand whose copy is not kept.
  bool run_with_kept(std::span<void* const> buffers, RunContext& context) const {
    const void* const source = buffers[u(*work_.kept_operand)];
    const uint64_t version = context.version_of(source);
    const KeptCopies::Memory memory = kept_.take(source, version, work_.scratch_bytes);
    if (memory.bytes == nullptr) return false;
    const Places places{buffers, static_cast<std::byte*>(memory.bytes->raw())};
    if (!memory.filled) {
      run_parts(work_.before, places, context);
      kept_.keep(source, version, memory.bytes);
    }
    run_parts(work_.parts, places, context);
    return true;
  }

  static void run_parts(const std::vector<OnednnPart>& parts, const Places& places,
                        RunContext& context) {
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const OnednnPart& part = parts[i];
        std::array<void*, kMaxOperands> pointers{};
        for (size_t k = 0; k < part.operands.size(); ++k) pointers[k] = places(part.operands[k]);
        part.call->run(std::span(pointers).first(part.operands.size()));
      }
    };
    if (parts.size() == 1) return run(0, 1);
    if (!parts.empty()) run_in_parallel(context, static_cast<int64_t>(parts.size()), 1, run);
  }

  // In the order of the parts, whatever threads they ran on.
  static void add_up(const PartialSums& sums, const Places& places, RunContext& context) {
    const auto* const first = static_cast<const float*>(places(sums.first));
    auto* const result = static_cast<float*>(places(sums.result));
    run_in_parallel(context, sums.elements, kSumGrain, [&](int64_t begin, int64_t end) {
      constexpr int64_t kPiece = 1024;  // stays in the first-level cache
      for (int64_t at = begin; at < end; at += kPiece) {
        const int64_t stop = std::min(at + kPiece, end);
        float piece[kPiece];
        std::copy(first + at, first + stop, piece);
        for (int64_t part = 1; part < sums.count; ++part) {
          const float* const more = first + part * sums.elements;
          for (int64_t i = at; i < stop; ++i) piece[i - at] += more[i];
        }
        std::copy(piece, piece + (stop - at), result + at);
      }
    });
  }

  OnednnWork work_;
  std::unique_ptr<Kernel> otherwise_;
  mutable ScratchCache scratch_;
  mutable KeptCopies kept_;
};

}  // namespace

std::unique_ptr<Kernel> make_parts_kernel(OnednnWork work, int num_threads,
                                          std::unique_ptr<Kernel> otherwise) {
  for (const auto* parts : {&work.before, &work.parts, &work.after}) {
    std::map<const OnednnCall*, int> uses;
    for (const OnednnPart& part : *parts) ++uses[part.call.get()];
    for (const auto& [call, count] : uses) call->prepare(std::min(count, num_threads));
  }
  return std::make_unique<PartsKernel>(std::move(work), std::move(otherwise));
}

std::vector<OnednnPart> copy_parts(const dnnl::memory::desc& from, PartOperand source,
                                   const dnnl::memory::desc& to, PartOperand target,
                                   int num_threads) {
  const dnnl::memory::dims sizes = sizes_of(from);
  const auto bytes = static_cast<int64_t>(from.get_size());
  const int64_t pieces =
      std::clamp<int64_t>(bytes / kMinCopyBytes, 1, num_threads * kPartsPerThread);
  const int64_t least = std::lcm(block_of_axis(from, 0), block_of_axis(to, 0));
  const int64_t block = (kFeatureBlock + least - 1) / least * least;
  const int64_t blocks = (sizes[0] + block - 1) / block;
  const int64_t step = pieces == 1 ? sizes[0] : (blocks + pieces - 1) / pieces * block;
  const OnOneThread alone;
  std::vector<OnednnPart> result;
  for (int64_t begin = 0; begin < sizes[0]; begin += step) {
    dnnl::memory::dims piece = sizes;
    piece[0] = std::min(step, sizes[0] - begin);
    dnnl::memory::dims offsets(sizes.size(), 0);
    offsets[0] = begin;
    const bool whole = piece == sizes;
    const dnnl::memory::desc piece_from = whole ? from : from.submemory_desc(piece, offsets);
    const dnnl::memory::desc piece_to = whole ? to : to.submemory_desc(piece, offsets);
    const auto primitive = try_make([&] {
      return dnnl::reorder(dnnl::reorder::primitive_desc(
          onednn_engine(), piece_from, onednn_engine(), piece_to, onednn_attributes()));
    });
    result.push_back({std::make_shared<OnednnCall>(
                          *primitive, std::vector<OnednnCall::Operand>{{DNNL_ARG_SRC, piece_from},
                                                                       {DNNL_ARG_DST, piece_to}}),
                      {source, target}});
  }
  return result;
}

int64_t max_parts(double operations, int num_threads) {
  if (num_threads <= 1) return 1;
  return std::clamp<int64_t>(static_cast<int64_t>(operations / kMinOperations), 1,
                             num_threads * kPartsPerThread);
}

}  // namespace systole::cpu
