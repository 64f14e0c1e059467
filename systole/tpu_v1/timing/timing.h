// The timing machine: how many cycles a program takes, and what the matrix unit does in them.
//
// Five units work at the same time, each on its instructions in order.
//  - An instruction starts at the latest of: the end of the one before in its unit, its syncs, and
//    the issue, which takes a cycle an instruction.
//  - host_in and host_out take bytes / host_bandwidth. Rows that overlap in host memory cross the
//    link once.
//  - weights: tile i begins at the latest of its issue, the arrival of tile i - 1 and the departure
//    of tile i - fifo_tiles from the FIFO. It arrives tile bytes / weight_bandwidth later.
//  - matrix takes a cycle a vector, two for 16-bit activations. A new tile is shifted into the
//  second
//    set of weights in `array` cycles, from the later of its arrival and the start of the product
//    with the tile before it. The product starts after the shift. Results are readable 2 * array
//    cycles after its last row.
//  - activation takes a cycle for each row of operands or of results, whichever are more, and nine
//    for the channel table.
//  - sync waits for the end of an instruction; sync_buffer adds buffer_sync_seconds.
// Idle cycles of the matrix unit are, in this order: non-matrix while a sync, the issue or the end
// of the program holds it; weight stall until the shift of the tile begins; weight shift.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "systole/tpu_v1/isa/program.h"
#include "systole/tpu_v1/machine/config.h"

namespace systole::tpu_v1 {

// Cycles, unless said otherwise. The rows are those of the paper's table 3.
struct Counters {
  double cycles = 0;
  double active = 0;         // row 1: the array multiplies
  double useful = 0;         // row 2: its share of cells with useful weights
  double weight_stall = 0;   // row 4
  double weight_shift = 0;   // row 5
  double non_matrix = 0;     // row 6; rows 1, 4, 5 and 6 add up to `cycles`
  double raw_stall = 0;      // row 7: part of row 6 in which a sync on results holds the array
  double input_stall = 0;    // row 8: the same for input from the host
  double multiply_adds = 0;  // of useful weights, each once, whatever its width
  double weight_bytes = 0;
  double host_in_bytes = 0;
  double host_out_bytes = 0;
  int64_t tiles = 0;
  int64_t instructions = 0;
  int64_t buffer_bytes = 0;  // high-water mark

  double unused() const { return active - useful; }  // row 3
  double percent(double part) const { return cycles > 0 ? 100 * part / cycles : 0; }
};

// Operations a second, two for a multiply-add: row 9.
double ops_per_second(const Counters& counters, const MachineConfig& config);

// A table of the counters with the rows of the paper's table 3, a line each, under a line with the
// name, the cycles, the time and the rate.
std::string counters_table(const std::string& name, const Counters& counters,
                           const MachineConfig& config);

// What a unit did from `begin` to `end`, in cycles.
struct TimelineEvent {
  Unit unit = Unit::host_in;
  int64_t index = 0;  // of the instruction
  double begin = 0;
  double end = 0;
};

struct TimingReport {
  Counters counters;
  std::vector<TimelineEvent> timeline;  // empty unless asked for
};

// Errors: those of accesses_of(); FAILED_PRECONDITION for an empty weight FIFO and a program
// without halt. Does not look for missing syncs: Machine does.
TimingReport simulate(const Program& program, const MachineConfig& config, bool timeline = false);

}  // namespace systole::tpu_v1
