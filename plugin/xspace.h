// The message of TensorFlow's profiler. By hand: the library of protobuf would meet that of the
// host in one process.
#pragma once

#include <string>

#include "systole/tracing/recording.h"

namespace systole::plugin {

// Returns an XSpace of two planes: the device, with rows of programs and of their ops, and the
// host, with a row for each thread that did anything.
std::string xspace_bytes(const tracing::Recording& recording);

}  // namespace systole::plugin
