#include "systole/tpu_v1/workloads/program_arrays.h"

#include <algorithm>

namespace systole::tpu_v1 {

void transfer_array(ProgramBuilder& builder, bool in, int64_t ub, int64_t features, int64_t vectors,
                    bool wide) {
  const int64_t array = builder.config().array;
  const int64_t rows = vectors * (wide ? 2 : 1);
  for (int64_t first = 0; first < features; first += array) {
    const int64_t bytes = std::min(array, features - first);
    const ProgramBuilder::Rows where{
        .ub = ub + first / array * rows, .rows = rows, .host = builder.allocate_host(rows * bytes)};
    if (in) {
      builder.read_host(where, bytes);
    } else {
      builder.write_host(where, bytes);
    }
  }
}

void read_tables(ProgramBuilder& builder, int64_t ub, int64_t outputs) {
  const int64_t rows = kChannelTableRows * rows_of_array(builder.config(), outputs, 1);
  builder.read_host(
      {.ub = ub, .rows = rows, .host = builder.allocate_host(rows * builder.config().array)});
}

}  // namespace systole::tpu_v1
