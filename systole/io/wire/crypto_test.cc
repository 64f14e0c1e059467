#include "systole/io/wire/crypto.h"

#include <gtest/gtest.h>

namespace systole::crypto {
namespace {

// The test suite of RFC 1321.
TEST(Crypto, Md5) {
  EXPECT_EQ(hex_text(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex_text(md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hex_text(md5("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
}

// The example of FIPS 180-4.
TEST(Crypto, Sha256) {
  EXPECT_EQ(hex_text(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace systole::crypto
