// Graph functions as text.
#pragma once

#include <span>
#include <string>

#include "systole/graph/core/graph.h"

namespace systole {

// The nodes that `results` need, a line each, inputs first:
//   (arg: string[]) -> (f32[784]) {
//     DecodeRaw = DecodeRaw(arg) {little_endian = true, out_type = uint8} : u8[?]
//     ...
//     return mul
//   }
std::string function_text(std::span<const Output> args, std::span<const Output> results);

}  // namespace systole
