// The all-reduce between processes beside MPI_Allreduce, which may add in any order:
//   tests/mpi/run.sh 2 build/release/bin/mpi_allreduce
#include <mpi.h>

#include <algorithm>
#include <cstdio>

#include "systole/runtime/mpi_collective.h"

namespace {

using systole::Tensor;
namespace runtime = systole::runtime;

constexpr int kRuns = 15;

// The median time of a call on the slowest rank, in seconds.
template <class Call>
double time_of(Call&& call) {
  std::vector<double> times;
  for (int i = 0; i < kRuns + 2; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    call();
    double seconds = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i >= 2) times.push_back(seconds);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

void measure(runtime::Collective& group, const char* name, int64_t bytes) {
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
  Tensor value = Tensor::zeros(systole::DType::f32, {count});
  const double ours = time_of([&] { group.all_reduce(value, runtime::Reduction::sum); });
  std::vector<float> same(static_cast<size_t>(count));
  const double theirs = time_of([&] {
    MPI_Allreduce(MPI_IN_PLACE, same.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  });
  if (group.rank() > 0) return;
  std::printf("%-22s %10.1f us, %6.2f GB/s, %4.0f %% of MPI_Allreduce (%.1f us), %d processes\n",
              name, ours * 1e6, static_cast<double>(bytes) / ours / 1e9, 100 * theirs / ours,
              theirs * 1e6, group.size());
}

}  // namespace

int main() {
  const auto group = runtime::make_mpi_collective(std::chrono::minutes(5));
  measure(*group, "mpi.allreduce.8B", 8);
  measure(*group, "mpi.allreduce.64kB", 64 << 10);
  measure(*group, "mpi.allreduce.1MB", 1 << 20);
  measure(*group, "mpi.allreduce.100MB", 100'000'000);
  return 0;
}
