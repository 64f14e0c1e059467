// What libtpu's dump tells of an optimised program: the cycles of its operations, the arrays at its
// fullest moment, and the user's source of both.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace systole::tpu_check {

// The user's source of an operation.
struct Source {
  std::string name;  // of the op: "dense/MatMul", "jit(step)/jvp(MLP)/dot_general"
  std::string file;  // "-": the program itself
  int line = 0;

  // "'dense/MatMul' at iris.cc:41"; `program` stands for "-". "" if nothing is known.
  std::string to_string(std::string_view program) const;
};

struct DumpedOp {
  std::string name;
  std::string opcode;  // of a fusion "fusion", with its kind: "fusion:Output"
  std::string type;    // "f32[65536,1024]", without layout; of a tuple with parentheses
  double cycles = 0;   // of one execution; 0: not known
  double times = 1;    // executions in a step, of those that are listed by `timed`
  Source source;
};

struct HloDump {
  std::map<std::string, DumpedOp, std::less<>> ops;  // of all computations, by name
  std::vector<DumpedOp> timed;  // those that run and have cycles, the most cycles first
  double cycles = 0;            // of a step; 0: not known

  // Whether loops without a known number of trips are counted once.
  bool has_unknown_loops = false;
};

// Reads the text of an optimised module. Loops count as often as they run. Skips what it does not
// know.
HloDump read_hlo_dump(std::string_view text);

struct LiveArray {
  std::string op;
  int64_t bytes = 0;
};

// The arrays that are alive at the fullest moment, the largest first, of a live range file.
std::vector<LiveArray> read_live_arrays(std::string_view text);

// "Total bytes: 51539607552" of the default memory space in a memory usage report; 0 if there is no
// such line.
int64_t read_total_bytes(std::string_view text);

}  // namespace systole::tpu_check
