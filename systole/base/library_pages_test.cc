#include "systole/base/library_pages.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace systole {
namespace {

// Zeros would have no place in the file.
constexpr auto kNumbers = [] {
  std::array<int32_t, 1 << 16> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i + 1);
  return numbers;
}();

int64_t sum_of_numbers() {
  const volatile int32_t* const first = kNumbers.data();
  int64_t sum = 0;
  for (size_t i = 0; i < kNumbers.size(); ++i) sum += first[i];
  return sum;
}

// Resident bytes of the mapping that the address lies in.
int64_t resident_bytes(const void* inside) {
  const auto address = reinterpret_cast<uintptr_t>(inside);
  std::ifstream maps("/proc/self/smaps");
  bool counted = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (const size_t dash = first.find('-'); dash != std::string::npos) {
      counted = std::stoull(first.substr(0, dash), nullptr, 16) <= address &&
                address < std::stoull(first.substr(dash + 1), nullptr, 16);
    } else if (counted && first == "Rss:") {
      int64_t kilobytes = 0;
      words >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

constexpr int64_t kSum = int64_t{1 << 16} * ((1 << 16) + 1) / 2;

TEST(LibraryPages, AreGivenBackAndComeAgain) {
  EXPECT_EQ(sum_of_numbers(), kSum);
  const int64_t used = resident_bytes(&kNumbers);
  ASSERT_GE(used, static_cast<int64_t>(sizeof(kNumbers)));
  release_library_pages(&kNumbers);
  EXPECT_LE(resident_bytes(&kNumbers), used - static_cast<int64_t>(sizeof(kNumbers)) / 2);
  EXPECT_EQ(sum_of_numbers(), kSum);
}

int written = 7;

TEST(LibraryPages, KeepWhatWasWritten) {
  written = 8;
  release_all_library_pages();
  EXPECT_EQ(sum_of_numbers(), kSum);
  EXPECT_EQ(written, 8);
}

TEST(LibraryPages, OfNoLibraryAreLeftAlone) {
  std::array<int, 4> local = {1, 2, 3, 4};
  release_library_pages(&local);
  EXPECT_EQ(local[3], 4);
}

}  // namespace
}  // namespace systole
