// What a recorder recorded: the threads' events, the programs that ran, the input pipelines, and
// the same of the workers. systole/profile makes files and reports of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/shape.h"
#include "systole/tracing/span.h"

namespace systole::tracing {

// An instruction of a compiled program that has time of its own.
struct Op {
  std::string name;                 // "fusion.3"
  std::string opcode;               // "fusion", "dot_general"
  std::string category;             // "convolution", "loop fusion", "all-reduce"
  std::string expression;           // "fusion(exponential, reduce) f32[32]"
  std::string scope;                // the graph node's name, "dense/MatMul"; "" if unknown
  std::string source;               // "mnist.cc:41"; "" if unknown
  std::vector<std::string> shapes;  // of the results, "f32[32,10]"
  double flops = 0;                 // of one run, without transcendental functions
  double bytes = 0;                 // of one run: each operand and each result once
  // For products and convolutions, else 0: the floating-point operations of a TPU's matrix unit,
  // whose operands are padded (rows to 8, contracted and output features to 128); and the rows of
  // the left operand.
  double padded_flops = 0;
  double rows = 0;
  bool interpreted = false;
};

// An array of a program and its lifetime.
struct Allocation {
  std::string name;  // of the instruction that makes it
  std::string kind;  // "argument", "result", "temporary", "constant"
  TensorType type;
  std::string scope;
  std::string source;
  int64_t bytes = 0;
  int index = 0;       // number of the argument, result or constant
  int64_t offset = 0;  // in the memory of its kind
  int first = 0;       // positions in program order: where it is made, and read last
  int last = 0;
};

// What is known of a program without running it.
struct Program {
  int64_t id = 0;    // unique in the process
  std::string name;  // of the module
  int replicas = 1;
  std::vector<Op> ops;
  std::vector<Allocation> allocations;
  int64_t argument_bytes = 0;
  int64_t result_bytes = 0;
  int64_t temp_bytes = 0;
};
// Counters of one input stage. Those of a Recording are of its time alone.
struct Stage {
  std::string name;
  int depth = 0;  // number of stages after it
  bool threaded = false;
  int threads = 1;
  int64_t elements = 0;
  double busy_seconds = 0;    // work on all its threads, without its inputs
  double waited_seconds = 0;  // how long consumers waited for a threaded stage
  std::string remedy = {};    // what makes it faster, "give it num_parallel_calls = AUTOTUNE"
};

struct ThreadEvents {
  std::string name;           // "main", "input"
  int64_t id = 0;             // the kernel's
  std::vector<Event> events;  // in the order in which they ended
  int64_t dropped = 0;        // older events, for which there was no room
};

// The limits of a device, for utilisations.
struct DevicePeaks {
  std::string name;  // "AMD EPYC 9B45"
  int cores = 0;
  double flops_per_second = 0;  // f32
  double bytes_per_second = 0;
};

struct WorkerRecording;

// What was recorded.
struct Recording {
  int64_t start_unix_ns = 0;
  int64_t start_steady_ns = 0;  // on the steady clock
  int64_t duration_ns = 0;
  // Set in another machine's recording:
  std::string host;                       // its name in file names; "": this machine
  std::optional<DevicePeaks> peaks = {};  // none: those of this machine
  std::string remark;                     // why it has less than was asked for; "" otherwise
  std::vector<ThreadEvents> threads;
  std::map<int64_t, std::shared_ptr<const Program>> programs;  // by id
  std::vector<std::vector<Stage>> inputs;                      // of each pipeline in use
  std::map<std::string, int64_t> counters;
  std::vector<WorkerRecording> workers;  // that this process used
};

// What a worker recorded for this process, while this process recorded. Its times are those of this
// process's recording: the clocks were compared.
struct WorkerRecording {
  std::string address;          // "127.0.0.1:8470"
  std::string problem;          // why there is no recording; "" otherwise
  int64_t clock_offset_ns = 0;  // was added to the worker's clock
  int64_t clock_error_ns = 0;   // by so much the offset may be wrong, in either direction
  Recording recording;
  // The calls as this process saw them, from the request to the reply. A call and the worker's
  // event of its work have the same argument "op". Rows of calls that do not overlap.
  std::vector<ThreadEvents> calls;
};

}  // namespace systole::tracing
