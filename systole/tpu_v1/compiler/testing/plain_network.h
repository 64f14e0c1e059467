// Networks by plain loops, to check compiled programs.
#pragma once

#include <cstdint>
#include <vector>

#include "systole/tpu_v1/compiler/network.h"

namespace systole::tpu_v1::testing {

// Values by array: [images, height, width, channels].
using PlainValues = std::vector<std::vector<int32_t>>;

// Computes all arrays from the inputs in `values`.
void run_plain(const Network& network, int64_t images, PlainValues& values);

// Bytes of a port, as Machine::write_port() takes them, and back.
std::vector<uint8_t> port_bytes(const NetworkArray& array, const std::vector<int32_t>& values);
std::vector<int32_t> values_of_port(const NetworkArray& array, const std::vector<uint8_t>& bytes);

}  // namespace systole::tpu_v1::testing
