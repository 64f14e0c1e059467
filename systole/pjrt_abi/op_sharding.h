// XLA's protobuf message OpSharding, in which PJRT's extension for shardings tells clients how an
// array is split over devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace systole::pjrt_abi {

struct OpSharding {
  // The number of parts of each axis; empty: every device has the whole array.
  std::vector<int64_t> tiles;
  // Devices in the order of their parts; those with the same part side by side, and of these first
  // one for each term.
  std::vector<int64_t> devices;
  bool one_device = false;  // the array is on the only device of `devices`
  // A part is the sum of so many terms, which are on devices of their own. Divides the number of
  // devices with the same part.
  int64_t terms = 1;
};

// Returns the serialised message.
std::string encode(const OpSharding& sharding);

}  // namespace systole::pjrt_abi
