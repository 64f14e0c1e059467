#include "systole/tpu_v1/opentpu/opentpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npy.h"
#include "systole/tpu_v1/machine/machine.h"

namespace systole::tpu_v1 {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOpenTpuFolder = "../shared/data/opentpu";

std::string opentpu_word(int opcode, int flags, int length, int address, int buffer) {
  std::string word(14, '\0');
  word[0] = static_cast<char>(opcode);
  word[1] = static_cast<char>(flags);
  word[2] = static_cast<char>(length);
  word[10] = static_cast<char>(address);
  word[13] = static_cast<char>(buffer);
  return word;
}

std::vector<uint8_t> npy_bytes(const std::string& name) {
  const Tensor tensor = read_npy(default_file_system(), std::string(kOpenTpuFolder) + "/" + name);
  const std::span<const int8_t> data = tensor.data<int8_t>();
  return {data.begin(), data.end()};
}

// Runs a program and returns the rows of host memory from vector 0 on.
std::vector<uint8_t> run_opentpu(const std::string& program, int size, const std::string& memory,
                                 const std::string& weights) {
  const std::vector<uint8_t> host = npy_bytes(memory);
  Machine machine(opentpu_config(size));
  machine.write_host(0, host);
  machine.run(translate_opentpu(program, size, npy_bytes(weights), "p"));
  return machine.read_host(0, host.size());
}

void expect_column_0(const std::vector<uint8_t>& rows, size_t size,
                     const std::vector<int>& expected) {
  for (size_t i = 0; i < expected.size() * size; ++i) {
    EXPECT_EQ(rows[i], i % size == 0 ? expected[i / size] : 0) << i;
  }
}

TEST(OpenTpu, Simplemult) {
  if (!std::filesystem::exists(kOpenTpuFolder)) GTEST_SKIP() << kOpenTpuFolder << " is not there";
  const std::string program = opentpu_word(6, 0, 8, 0, 0) + opentpu_word(2, 0, 0, 0, 0) +
                              opentpu_word(0, 0, 0, 0, 0) + opentpu_word(3, 1, 8, 0, 0) +
                              opentpu_word(4, 8, 8, 0, 0) + opentpu_word(1, 0, 8, 0, 0) +
                              opentpu_word(7, 0, 0, 0, 0);
  expect_column_0(run_opentpu(program, 8, "simplemult_hostmem.npy", "simplemult_weights.npy"), 8,
                  {100, 128, 44, 58, 198, 198, 72, 21});
}

TEST(OpenTpu, Boston) {
  if (!std::filesystem::exists(kOpenTpuFolder)) GTEST_SKIP() << kOpenTpuFolder << " is not there";
  std::string program = opentpu_word(6, 0, 10, 0, 0);
  for (int tile = 0; tile < 3; ++tile) program += opentpu_word(2, 0, 0, tile, 0);
  for (int layer = 0; layer < 3; ++layer)
    program += opentpu_word(3, 5, 10, 0, 0) + opentpu_word(4, 8, 10, 0, 0);
  program += opentpu_word(1, 0, 10, 0, 0) + opentpu_word(7, 0, 0, 0, 0);
  expect_column_0(run_opentpu(program, 16, "boston_input.npy", "boston_weights.npy"), 16,
                  {128, 0, 0, 0, 36, 71, 0, 0, 0, 113});
}

TEST(OpenTpu, RefusesWhatItCannotRun) {
  const auto error = [](const std::string& program) {
    return systole::testing::error_of(
        [&] { translate_opentpu(program, 8, std::vector<uint8_t>(64), "p"); });
  };
  EXPECT_THAT(error("abc"), HasSubstr("p: length, got 3 bytes, expected a multiple of 14"));
  EXPECT_THAT(error(opentpu_word(9, 0, 0, 0, 0)), HasSubstr("p: word 0: opcode, got 9"));
  EXPECT_THAT(error(opentpu_word(2, 0, 0, 1, 0)), HasSubstr("tile, got 1, expected below 1"));
  EXPECT_THAT(error(opentpu_word(3, 2, 1, 0, 0)), HasSubstr("UNIMPLEMENTED"));
  EXPECT_THAT(error(opentpu_word(4, 16, 1, 0, 0)), HasSubstr("UNIMPLEMENTED"));
  EXPECT_THAT(error(opentpu_word(4, 1, 1, 0, 0)), HasSubstr("flags, got 0x1"));
}

}  // namespace
}  // namespace systole::tpu_v1
