#include "systole/backends/cpu/kernels/join.h"

#include <algorithm>
#include <cstring>

#include "systole/backends/cpu/kernels/parallel.h"

namespace systole::cpu {
namespace {

constexpr int64_t kJoinGrainBytes = 64 * 1024;  // that are worth a thread

class JoinKernel : public Kernel {
 public:
  explicit JoinKernel(JoinedRows joined) : joined_(std::move(joined)) {
    int64_t place = joined_.offset;
    for (const int64_t piece : joined_.pieces) {
      places_.push_back(place);
      place += piece;
    }
    const int64_t bytes = std::max<int64_t>(place - joined_.offset, 1);
    grain_ = std::max<int64_t>(kJoinGrainBytes * std::ssize(joined_.pieces) / bytes, 1);
  }

  void run(std::span<void* const> buffers, RunContext& context) const override {
    auto* result = static_cast<std::byte*>(buffers[0]);
    const int64_t count = std::ssize(joined_.pieces);
    run_in_parallel(context, joined_.rows * count, grain_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / count;
        const int64_t k = i % count;
        const int64_t piece = joined_.pieces[k];
        const auto* from = static_cast<const std::byte*>(buffers[k + 1]);
        std::memcpy(result + row * joined_.row_bytes + places_[k], from + row * piece,
                    static_cast<size_t>(piece));
      }
    });
  }

 private:
  JoinedRows joined_;
  std::vector<int64_t> places_;
  int64_t grain_ = 1;  // pieces
};

}  // namespace

std::unique_ptr<Kernel> make_join_kernel(JoinedRows joined) {
  return std::make_unique<JoinKernel>(std::move(joined));
}

}  // namespace systole::cpu
