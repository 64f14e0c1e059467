// main of every test executable. Tests leave the user's cache of compiled code alone; those of the
// cache name a folder.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("SYSTOLE_CACHE_DIR", "", /*overwrite=*/0);  // NOLINT(concurrency-mt-unsafe): no threads yet
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
