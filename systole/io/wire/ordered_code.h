// Byte strings that sort like what they encode (TensorFlow's lib/strings/ordered_code.cc): the keys
// of the slices of partitioned tensors.
//   number  := u8 n, n bytes big-endian without leading zeros
//   text    := bytes, 00 as 00 ff and ff as ff 00, then 00 01
//   signed  := n bytes big-endian in two's complement, under a header of n one bits and a zero bit;
//              all bits of the header flipped if negative
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace systole {

void append_ordered_number(std::string& out, uint64_t value);
void append_ordered_text(std::string& out, std::string_view text);
void append_ordered_signed(std::string& out, int64_t value);

}  // namespace systole
