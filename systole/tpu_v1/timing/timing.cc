#include "systole/tpu_v1/timing/timing.h"

#include <algorithm>
#include <array>

#include "systole/base/error.h"
#include "systole/tpu_v1/isa/encoding.h"
#include "systole/tpu_v1/machine/hazards.h"
#include "systole/tpu_v1/machine/machine.h"

namespace systole::tpu_v1 {
namespace {

class TimingModel {
 public:
  TimingModel(const MachineConfig& config, bool timeline)
      : config_(config), keeps_timeline_(timeline) {}

  TimingReport run(const Program& program);

 private:
  struct WeightTile {
    double issued;
    int64_t rows;
    int64_t columns;
    int64_t index;
  };
  // The end of the wait of a unit and the part of it that each kind of sync explains.
  struct Hold {
    double until = 0;
    double raw_until = 0;
    double input_until = 0;
  };

  void step(const Instruction& instruction, int64_t index);
  void sync(const Instruction& instruction);
  void host(Unit unit, const Instruction& instruction, int64_t index);
  void matrix(const Instruction& instruction, int64_t index);
  double activation_cycles(const Instruction& instruction) const;
  double shift_next_tile(double ready, int64_t index, double& shift_begin);
  double ready_of(Unit unit) const {
    return std::max({free_[id(unit)], holds_[id(unit)].until, now_});
  }
  // Records an instruction; results are readable `latency` cycles after its end.
  void record(Unit unit, int64_t index, double begin, double end, double latency = 0);
  static size_t id(Unit unit) { return static_cast<size_t>(unit); }

  const MachineConfig& config_;
  bool keeps_timeline_;
  Registers registers_;
  TimingReport report_;
  double now_ = 0;  // of the issue
  std::array<double, kUnits> free_{};
  std::array<Hold, kUnits> holds_{};
  std::array<std::vector<double>, kUnits>
      ends_;                        // readable results, by number of the unit's instruction
  std::vector<WeightTile> tiles_;   // asked for so far
  std::vector<double> departures_;  // from the FIFO, of the tiles taken so far
  double channel_free_ = 0;         // of the weight memory
  double last_switch_ = 0;          // start of the product with the tile in the array
  bool halted_ = false;
};

void TimingModel::record(Unit unit, int64_t index, double begin, double end, double latency) {
  free_[id(unit)] = end;
  ends_[id(unit)].push_back(end + latency);
  report_.counters.cycles = std::max(report_.counters.cycles, end + latency);
  if (keeps_timeline_) report_.timeline.push_back({unit, index, begin, end});
}

void TimingModel::sync(const Instruction& instruction) {
  const auto& ends = ends_[instruction.on];
  const int64_t until = static_cast<int64_t>(ends.size()) - instruction.behind;
  if (until <= 0) return;
  double end = ends[until - 1];
  if (instruction.opcode == Opcode::sync_buffer)
    end += config_.buffer_sync_seconds * config_.clock_hz;
  Hold& hold = holds_[instruction.waiter];
  hold.until = std::max(hold.until, end);
  double& cause =
      instruction.on == static_cast<int64_t>(Unit::host_in) ? hold.input_until : hold.raw_until;
  cause = std::max(cause, end);
}

void TimingModel::host(Unit unit, const Instruction& instruction, int64_t index) {
  const HostRows rows = host_rows_of(instruction, registers_, config_);
  // Rows that overlap in host memory cross the link once.
  const int64_t bytes =
      instruction.rows == 0
          ? 0
          : (instruction.rows - 1) * std::min(rows.bytes, rows.stride) + rows.bytes;
  Counters& counters = report_.counters;
  (unit == Unit::host_in ? counters.host_in_bytes : counters.host_out_bytes) +=
      static_cast<double>(bytes);
  const double begin = ready_of(unit);
  record(unit, index, begin,
         begin + static_cast<double>(bytes) / config_.host_bandwidth * config_.clock_hz);
}

// Returns when the next tile is in the array, for a product that is otherwise ready at `ready`.
double TimingModel::shift_next_tile(double ready, int64_t index, double& shift_begin) {
  const size_t i = departures_.size();
  if (i >= tiles_.size()) {
    throw failed_precondition(
        "instruction {}: weight FIFO underflow, got no tile, expected a read_weights before it",
        index);
  }
  const auto depth = static_cast<size_t>(config_.fifo_tiles);
  const double slot = i >= depth ? departures_[i - depth] : 0;
  const double begin = std::max({tiles_[i].issued, channel_free_, slot});
  channel_free_ = begin + config_.tile_cycles();
  if (keeps_timeline_)
    report_.timeline.push_back({Unit::weights, tiles_[i].index, begin, channel_free_});
  shift_begin = std::max(channel_free_, last_switch_);
  const double shifted = shift_begin + config_.array;
  departures_.push_back(shifted);
  last_switch_ = std::max(ready, shifted);
  return shifted;
}

void TimingModel::matrix(const Instruction& instruction, int64_t index) {
  Counters& counters = report_.counters;
  const double idle_from = free_[id(Unit::matrix)];
  const double ready = ready_of(Unit::matrix);
  double start = ready;
  if ((instruction.flags & kNext) != 0) {
    double shift_begin = 0;
    const double shifted = shift_next_tile(ready, index, shift_begin);
    start = std::max(ready, shifted);
    const double stalled_until = std::clamp(shift_begin, ready, start);
    counters.weight_stall += stalled_until - ready;
    counters.weight_shift += start - stalled_until;
  } else if (departures_.empty()) {
    throw failed_precondition(
        "instruction {}: weights, got none in the array, expected flag next first", index);
  }
  const Hold& hold = holds_[id(Unit::matrix)];
  counters.non_matrix += ready - idle_from;
  counters.raw_stall += std::max(0.0, std::min(hold.raw_until, ready) - idle_from);
  counters.input_stall += std::max(0.0, std::min(hold.input_until, ready) - idle_from);
  const WeightTile& tile = tiles_[departures_.size() - 1];
  const auto vectors = static_cast<double>(matrix_vectors(instruction, registers_));
  const bool two_planes = (instruction.flags & kInput16) != 0 && !reads_high_bytes(instruction);
  const double cycles = vectors * (two_planes ? 2 : 1);
  counters.active += cycles;
  counters.useful += cycles * static_cast<double>(tile.rows * tile.columns) /
                     static_cast<double>(config_.tile_bytes());
  const int64_t columns = (instruction.flags & kWeights16) != 0 ? tile.columns / 2 : tile.columns;
  counters.multiply_adds += vectors * static_cast<double>(tile.rows * columns);
  record(Unit::matrix, index, start, start + cycles, 2.0 * config_.array);
}

double TimingModel::activation_cycles(const Instruction& instruction) const {
  const int64_t results =
      result_vectors(instruction, registers_) * ((instruction.flags & kOutput16) != 0 ? 2 : 1);
  int64_t operands = instruction.rows;
  int64_t table = 0;
  if (instruction.opcode == Opcode::vector) {
    operands *= (instruction.flags & kA16) != 0 ? 2 : 1;
    if ((instruction.flags & (kAdd | kMultiply)) != 0) {
      operands += instruction.rows * ((instruction.flags & kB16) != 0 ? 2 : 1);
    }
  } else if ((instruction.flags & kRaw) == 0) {
    table = kChannelTableRows;
  }
  return static_cast<double>(std::max(operands, results) + table);
}

void TimingModel::step(const Instruction& instruction, int64_t index) {
  check_instruction(instruction, index);
  Counters& counters = report_.counters;
  ++counters.instructions;
  for (const Access& access : accesses_of(instruction, registers_, config_, index)) {
    if (access.memory != Memory::buffer) continue;
    counters.buffer_bytes =
        std::max(counters.buffer_bytes, (access.first + access.rows) * config_.array);
  }
  switch (unit_of(instruction.opcode)) {
    case static_cast<int>(Unit::host_in):
      host(Unit::host_in, instruction, index);
      break;
    case static_cast<int>(Unit::host_out):
      host(Unit::host_out, instruction, index);
      break;
    case static_cast<int>(Unit::weights):
      for (int64_t i = 0; i < instruction.repeat; ++i) {
        tiles_.push_back({now_, instruction.rows, instruction.columns, index});
        ++counters.tiles;
        counters.weight_bytes += static_cast<double>(config_.tile_bytes());
      }
      break;
    case static_cast<int>(Unit::matrix):
      matrix(instruction, index);
      break;
    case static_cast<int>(Unit::activation): {
      const double begin = ready_of(Unit::activation);
      record(Unit::activation, index, begin, begin + activation_cycles(instruction));
      break;
    }
    default:
      break;
  }
  if (instruction.opcode == Opcode::sync || instruction.opcode == Opcode::sync_buffer)
    sync(instruction);
  if (instruction.opcode == Opcode::set) {
    registers_.set(static_cast<Register>(instruction.reg), instruction.value);
  }
  halted_ = instruction.opcode == Opcode::halt;
  now_ += 1;
}

TimingReport TimingModel::run(const Program& program) {
  const auto count = static_cast<int64_t>(program.instructions.size());
  for (int64_t i = 0; i < count && !halted_; ++i) step(program.instructions[i], i);
  if (!halted_)
    throw failed_precondition("program: halt, got none in {} instructions, expected one", count);
  Counters& counters = report_.counters;
  counters.cycles = std::max(counters.cycles, now_);
  counters.non_matrix += counters.cycles - free_[id(Unit::matrix)];
  return std::move(report_);
}

}  // namespace

double ops_per_second(const Counters& counters, const MachineConfig& config) {
  return counters.cycles > 0 ? 2 * counters.multiply_adds / counters.cycles * config.clock_hz : 0;
}

std::string counters_table(const std::string& name, const Counters& counters,
                           const MachineConfig& config) {
  std::string text =
      fmt::format("{}: {:.0f} cycles, {:.1f} us, {:.2f} TOPS of {:.2f}\n", name, counters.cycles,
                  counters.cycles / config.clock_hz * 1e6, ops_per_second(counters, config) * 1e-12,
                  config.peak_ops() * 1e-12);
  const std::pair<const char*, double> rows[] = {
      {"1 array active", counters.active},       {"2 useful products", counters.useful},
      {"3 unused products", counters.unused()},  {"4 weight stall", counters.weight_stall},
      {"5 weight shift", counters.weight_shift}, {"6 non-matrix", counters.non_matrix},
      {"7 RAW stalls", counters.raw_stall},      {"8 input data stalls", counters.input_stall}};
  for (const auto& [what, cycles] : rows)
    text += fmt::format("  {:<24}{:6.1f} %\n", what, counters.percent(cycles));
  return text +
         fmt::format(
             "  {} weight tiles, {:.1f} KiB in, {:.1f} KiB out, {:.2f} MiB of the Unified Buffer\n",
             counters.tiles, counters.host_in_bytes / 1024, counters.host_out_bytes / 1024,
             static_cast<double>(counters.buffer_bytes) / (1024.0 * 1024.0));
}

TimingReport simulate(const Program& program, const MachineConfig& config, bool timeline) {
  config.check();
  if (program.array != config.array) {
    throw invalid_argument("program: array, got {}, expected {} of the machine", program.array,
                           config.array);
  }
  return TimingModel(config, timeline).run(program);
}

}  // namespace systole::tpu_v1
