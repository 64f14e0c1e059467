// Arrays of the reconstructed programs: rows of the Unified Buffer, and input and output.
#pragma once

#include "systole/tpu_v1/builder/layers.h"

namespace systole::tpu_v1 {

// Gives out rows of the Unified Buffer from row 0 on, and never takes them back.
class BufferRows {
 public:
  explicit BufferRows(const MachineConfig& config) : config_(config) {}
  // Returns the first row of an array (builder/layers.h).
  int64_t array(int64_t features, int64_t vectors, bool wide = false) {
    return rows(rows_of_array(config_, features, vectors, wide));
  }
  int64_t tables(int64_t outputs) {
    return rows(kChannelTableRows * rows_of_array(config_, outputs, 1));
  }
  int64_t rows(int64_t count) {
    next_ += count;
    return next_ - count;
  }

 private:
  const MachineConfig& config_;
  int64_t next_ = 0;
};

// Reads or writes an array, block by block: only bytes of features cross the host link.
void transfer_array(ProgramBuilder& builder, bool in, int64_t ub, int64_t features, int64_t vectors,
                    bool wide);
// Reads the channel tables of a layer.
void read_tables(ProgramBuilder& builder, int64_t ub, int64_t outputs);

}  // namespace systole::tpu_v1
