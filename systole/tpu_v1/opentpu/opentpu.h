// OpenTPU's programs (UCSB ArchLab), translated to ours.
//   file    := word*
//   word    := opcode:u8 flags:u8 length:u8 address:u64 buffer:u24      14 bytes, big-endian
//   opcodes := 0 NOP, 1 WHM, 2 RW, 3 MMC, 4 ACT, 5 SYNC, 6 RHM, 7 HLT
//   flags   := 1 switch tile, 2 convolve, 4 overwrite, 8 ReLU, 16 sigmoid
// `address` is a vector of host memory (WHM, RHM), a weight tile (RW) or an accumulator (MMC, ACT).
// ACT keeps the low 8 bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "systole/tpu_v1/isa/program.h"
#include "systole/tpu_v1/machine/config.h"

namespace systole::tpu_v1 {

// The machine that OpenTPU's programs run on: an array of `size` cells, 4096 rows of the Unified
// Buffer.
MachineConfig opentpu_config(int size);

// Translates a program for an array of `size` x `size` cells. `weights` holds size * size bytes for
// each tile. Vector v of host memory is at byte v * size. NOPs and SYNCs vanish: the syncs of our
// machine replace them. Accumulators hold 0 at first, as there. `path` is for messages. Errors:
// DATA_LOSS for a length that is no multiple of 14; INVALID_ARGUMENT for unknown opcodes and flags;
// UNIMPLEMENTED for convolve and for sigmoid, on which OpenTPU's simulator and hardware disagree.
Program translate_opentpu(std::string_view bytes, int size, std::span<const uint8_t> weights,
                          const std::string& path);

}  // namespace systole::tpu_v1
