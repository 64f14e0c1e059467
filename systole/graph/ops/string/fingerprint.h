// The hash that TensorFlow puts strings into buckets with.
#pragma once

#include <cstdint>
#include <string_view>

namespace systole {

// FarmHash's Fingerprint64: the same on every machine, for ever.
uint64_t fingerprint64(std::string_view text);

}  // namespace systole
