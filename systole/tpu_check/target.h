// The TPUs that programs are compiled for, by the names under which they are rented.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace systole::tpu_check {

struct Target {
  std::string system;    // "v3-8"
  std::string topology;  // what libtpu calls it: "v3:2x2"
  int devices = 0;       // that a program sees: cores of v2, v3, v4 and tpu7x, chips of the others
  double clock_hz = 0;   // of a core
  // What a device's memory gives to programs, as libtpu says; a large slice has a little less.
  int64_t memory_bytes = 0;
  std::string_view chip = {};  // "v3"
};

// Maps v2-8 ... v2-512, v3-8 ... v3-2048, v4-8, v5e-4, v5p-8, v6e-8, tpu7x-8 and so on to
// topologies. The number counts what the name of Google's counts: cores of v2, v3, v4, v5p and
// tpu7x, chips of v5e and v6e. Errors: INVALID_ARGUMENT with the names of the generation, also for
// a number that no topology divides into hosts.
Target target_of(std::string_view system);

// "v2-8", "v3-8"..., one of each generation.
std::vector<std::string_view> examples_of_targets();

}  // namespace systole::tpu_check
