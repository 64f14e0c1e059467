// The TPUs that programs are compiled for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace systole::tpu_check {

struct Target {
  std::string system;            // "v3-8"
  std::string topology;          // what libtpu calls it: "v3:2x2"
  std::string chip_config = {};  // and how chips are configured: "megacore"; "" for its default
  int devices = 0;               // that a program sees
  double clock_hz = 0;           // of a core
  // What a device's memory gives to programs, as libtpu says; a large slice has a little less.
  int64_t memory_bytes = 0;
};

// The names are those of profile::tpu_system(), the errors, too.
Target target_of(std::string_view system);

}  // namespace systole::tpu_check
