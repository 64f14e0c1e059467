// What TPUs of any generation refuse of a StableHLO program, or take at a price: read from its
// text, so that programs that no module expresses are checked too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace systole::tpu_check {

struct Finding {
  // "line 41", "'dense/MatMul' at iris.cc:41", "in 12 operations, first line 3".
  std::string place;
  std::string what;  // "custom_call @my_kernel"
  std::string why;   // "Google's compiler has no such kernel"
  // True if libtpu 0.0.42.1 refuses the program or crashes on it. False if it compiles it at a
  // cost, which `why` names.
  bool refused = false;

  std::string to_string() const;
};

// Returns the findings in the order of the text, refusals first. `has_lines`: the text is the
// user's file, whose lines are places where an op has no location of its own.
std::vector<Finding> findings_of(std::string_view text, bool has_lines);

}  // namespace systole::tpu_check
