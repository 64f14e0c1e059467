#include "systole/io/wire/openssl.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "systole/io/wire/crypto.h"

namespace systole::crypto {
namespace {

// Uses OpenSSL as a thread would that still runs while the process ends.
void use_openssl_and_exit() {
  int code = 1;
  try {
    if (crypto::hex_text(crypto::md5("abc")) == "900150983cd24fb0d6963f7d28e17f72") code = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::_Exit(code);
}

TEST(OpenSsl, CanBeUsedUntilTheProcessHasEnded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the child has not used OpenSSL
  const auto exit_after_use = [] {
    // exit() calls it after what OpenSSL registers at its first use, below.
    if (std::atexit(use_openssl_and_exit) != 0) std::_Exit(2);
    crypto::md5("first use");
    std::exit(3);  // NOLINT(concurrency-mt-unsafe): one thread
  };
  EXPECT_EXIT(exit_after_use(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace systole::crypto
