// What Google's compiler says of a program.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace systole::tpu_check {

enum class Verdict : uint8_t { fits, too_big, refused, crashed, out_of_time };

// An array at the fullest moment of the step.
struct CompiledArray {
  std::string op;      // the compiler's name
  std::string type;    // "bf16[128,112,112,64]"
  std::string source;  // "'dense/MatMul' at iris.cc:41"
  int64_t bytes = 0;
};

struct CompiledOp {
  std::string op;
  std::string kind;  // "fusion:Output"
  std::string type;
  std::string source;
  double cycles = 0;  // of all its executions in a step
  double times = 1;
};

struct CompileReport {
  std::string system;
  std::string version;  // of libtpu, "0.0.42.1"; "" where it is not known
  Verdict verdict = Verdict::fits;
  std::string message;  // the compiler's words, where it refused; how it ended

  // Bytes of a core. `total` and `limit` are also known of programs that do not fit.
  int64_t arguments = 0;
  int64_t results = 0;
  int64_t aliased = 0;  // results in the memory of arguments
  int64_t temporaries = 0;
  int64_t code = 0;
  int64_t total = 0;
  int64_t limit = 0;
  std::vector<CompiledArray> largest;  // ten, where the compiler planned the memory

  double flops = 0;   // of a core; loops count once
  double cycles = 0;  // of a core's step, without sums over cores; 0: not known
  double clock_hz = 0;
  bool has_unknown_loops = false;   // loops that count once
  std::vector<CompiledOp> longest;  // those with the most cycles
  int replicas = 1;
  int partitions = 1;
  bool low_effort = false;
  bool cached = false;
  double compile_seconds = 0;
  std::string saved;  // the file of the executable

  bool fits() const { return verdict == Verdict::fits; }
  double seconds() const { return clock_hz > 0 ? cycles / clock_hz : 0; }
  // Text for users.
  std::string to_string() const;
  nlohmann::json to_json() const;
};

// "fits", "too_big"...
std::string_view verdict_name(Verdict verdict);
// Reads what to_json() made. Errors: those of nlohmann::json for another object.
CompileReport report_of(const nlohmann::json& json);

}  // namespace systole::tpu_check
