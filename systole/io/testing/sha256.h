// SHA-256 (FIPS 180-4), for the lists of golden files. For tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace systole::testing {

class Sha256 {
 public:
  void update(std::string_view bytes);
  // Returns the digest in hexadecimal. No update may follow.
  std::string finish();

 private:
  void block();

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  size_t used_ = 0;
  uint64_t total_ = 0;
};

}  // namespace systole::testing
