#include "systole/io/tables/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/tables/npy.h"
#include "systole/io/tables/pickle.h"
#include "systole/io/testing/archive_builder.h"
#include "systole/io/testing/golden.h"

namespace systole {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using IntLists = std::vector<std::vector<int32_t>>;

// Written by NumPy 1.24: numpy.savez_compressed(f, x_train=o, y_train=numpy.array([1, 0]),
// m=numpy.array([[1, 2], [3, 4]], dtype=numpy.int32)), o = an array of the lists [1, 300, 70000]
// and [-5].
constexpr std::string_view kNumpyNpz =
    "504b0304140000000800000021007e87fef2e0000000320100000b001400785f747261696e2e6e7079010010"
    "003201000000000000e0000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05ee3afaea3a0"
    "9e965f54529498179f5f94920a12764bcc294e058a17672416a402f91a463a9a3a0ab50a9400ae06e6e4bcd2"
    "dc824abde4fca254bddcd29c92ccc4a2a2c44aaef8a2d4e4fcbce292a2d2e412ae4206882aaebc14886c21a3"
    "37436b219333635221737b214b5021ab8637a337536b211b54614a4965412a57217b0413030383bf45214767"
    "477b2167502197863773042350aca690dbcfcfcfeb3f1080096ffb92429ea4ced8425e8dd8423ea069be3a8c"
    "5e05828c0ca9b185fc5ebf812a12534b0a0592f400504b03041400000008000000210071fb39ab4800000090"
    "0000000b001400795f747261696e2e6e707901001000900000000000000048000000000000009bec17ea1b10"
    "c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e965f54529498179f5f94920a12774bcc294e058a17"
    "672416a402f91a463a9a3a0ab50a14002e4606540000504b0304140000000800000021007bc8617c52000000"
    "90000000050014006d2e6e707901001000900000000000000052000000000000009bec17ea1b10c9c850c650"
    "ad9e925a9c5ca46ea5a06e9369a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402"
    "f91a463a0a469a3a0ab50a64032e46060606262066066216200600504b01021403140000000800000021007e"
    "87fef2e0000000320100000b0000000000000000000000800100000000785f747261696e2e6e7079504b0102"
    "14031400000008000000210071fb39ab48000000900000000b000000000000000000000080011d010000795f"
    "747261696e2e6e7079504b01021403140000000800000021007bc8617c520000009000000005000000000000"
    "00000000008001a20100006d2e6e7079504b05060000000003000300a50000002b0200000000";

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

NpzFile npz_of(const std::string& bytes) {
  MemoryFileSystem fs({{"f.npz", bytes}});
  return {fs, "f.npz"};
}

// Reads all that a file has.
std::string npz_error(const std::string& bytes) {
  return testing::error_of([&] {
    const NpzFile file = npz_of(bytes);
    for (const std::string& name : file.names()) {
      (void)testing::error_of([&] { file.array(name); });
      (void)file.int_lists(name);
    }
  });
}

TEST(NpzTest, ReadsWhatNumpyWrites) {
  const NpzFile file = npz_of(from_hex(kNumpyNpz));
  EXPECT_THAT(file.names(), ElementsAre("m", "x_train", "y_train"));
  EXPECT_EQ(file.int_lists("x_train"), (IntLists{{1, 300, 70000}, {-5}}));
  EXPECT_EQ(file.array("y_train").to_string(), "s64[2] {1, 0}");
  EXPECT_EQ(file.array("m").to_string(), "s32[2,2] {{1, 2}, {3, 4}}");
  EXPECT_EQ(file.int_lists("m"), (IntLists{{1, 2}, {3, 4}}));
  EXPECT_THAT(testing::error_of([&] { file.array("x"); }),
              HasSubstr("array, got no 'x', expected one of: m, x_train, y_train"));
  EXPECT_THAT(testing::error_of([&] { file.array("x_train"); }), HasSubstr("got '|O'"));
  EXPECT_THAT(testing::error_of([&] { file.int_lists("y_train"); }),
              HasSubstr("expected lists of integers"));
}

TEST(NpzTest, ListsOfManyForms) {
  const IntLists lists = {{}, {0, 255, 256, 65535, 65536, -1, 2147483647, -2147483647 - 1}, {7}};
  for (const bool deflate : {false, true}) {
    const NpzFile file =
        npz_of(testing::zip_of({{"x.npy", testing::npy_of_lists(lists)}}, deflate));
    EXPECT_EQ(file.int_lists("x"), lists);
  }
}

TEST(NpzTest, CutAtEveryByte) {
  const std::string bytes = from_hex(kNumpyNpz);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(npz_error(bytes.substr(0, size)), "no error") << size;
  }
}

TEST(NpzTest, RandomDamageNeverCrashes) {
  const std::string deflated = from_hex(kNumpyNpz);
  const std::string stored = testing::zip_of({{"x.npy", testing::npy_of_lists({{1, 2, 3}, {4}})},
                                              {"y.npy", testing::npy_of(Tensor(1.0F))}},
                                             false);
  RandomStream random(7);
  for (const std::string& bytes : {deflated, stored}) {
    for (int round = 0; round < 4000; ++round) {
      std::string broken = bytes;
      for (uint64_t flips = 1 + random.next_below(3); flips > 0; --flips) {
        char& byte = broken[random.next_below(broken.size())];
        byte = static_cast<char>(byte ^ (1 << random.next_below(8)));
      }
      if (random.next_below(4) == 0) broken.resize(random.next_below(broken.size()));
      (void)npz_error(broken);
    }
  }
}

// Checksums of the archive keep most damage from the pickle: here it is read without one.
TEST(NpzTest, DamagedPicklesNeverCrash) {
  const std::string npy = testing::npy_of_lists({{1, 2, 3}, {70000, -4}, {}});
  const std::string pickle = npy.substr(npy.find('\x80'));
  const auto read = [](const std::string& bytes) {
    return testing::error_of([&] {
      const Pickle parsed("p", bytes);
      for (const PickleValue& element : parsed.elements(parsed.root())) {
        (void)parsed.int_list(element);
      }
      (void)testing::error_of([&] { parsed.byte_array(parsed.root()); });
    });
  };
  EXPECT_EQ(read(pickle), "no error");
  for (size_t size = 0; size < pickle.size(); ++size) {
    EXPECT_NE(read(pickle.substr(0, size)), "no error") << size;
  }
  for (size_t i = 0; i < pickle.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string broken = pickle;
      broken[i] = static_cast<char>(value);
      (void)read(broken);
    }
  }
}

TEST(NpzTest, PicklesAreNotExecuted) {
  const auto error = []<size_t Size>(const char(&text)[Size]) {
    return testing::error_of([&] {
      const Pickle pickle("p", std::string_view(text, Size - 1));
      (void)pickle.int_list(pickle.root());
    });
  };
  // NOLINTBEGIN(bugprone-string-literal-with-embedded-nul): error() takes the whole array
  EXPECT_THAT(error("\x80\x02"
                    "cos\nsystem\nX\x02\0\0\0ls\x85R."),
              StartsWith("INVALID_ARGUMENT: p"));
  // NOLINTEND(bugprone-string-literal-with-embedded-nul)
  EXPECT_THAT(error("\x80\x02]K\x01\x81."),
              StartsWith("UNIMPLEMENTED: p: pickle opcode at byte 5"));
  EXPECT_THAT(error("\x80\x09]."), HasSubstr("a protocol after 5"));
  EXPECT_THAT(error("\x80\x02"
                    "e."),
              HasSubstr("no mark"));
  EXPECT_THAT(error("\x80\x02]h\x07."), HasSubstr("a value that was not stored"));
  EXPECT_THAT(error("\x80\x02](X\x01"), StartsWith("DATA_LOSS: p: pickle ends early"));
}

// A list may stand in an array many times, which would let a small file demand any memory.
TEST(NpzTest, RepeatedListsAreRefused) {
  std::string npy = testing::npy_of_lists({std::vector<int32_t>(100, 1)});
  npy.resize(npy.size() - 4);  // etb.
  npy += "q\x01";
  for (int i = 0; i < 1000; ++i) npy += "h\x01";
  npy += "etb.";
  EXPECT_THAT(npz_error(testing::zip_of({{"x.npy", npy}})),
              HasSubstr("got more integers than bytes"));
}

TEST(NpzTest, ByteArrays) {
  // pickle.dumps(numpy.array([[1, 200, 3], [4, 5, 6]], dtype='u1'), 2) of Python 3.
  const std::string bytes = from_hex(
      "8002636e756d70792e636f72652e6d756c746961727261790a5f7265636f6e7374727563740a7100636e756d7079"
      "0a6e6461727261790a71014b00857102635f636f646563730a656e636f64650a7103580100000062710458060000"
      "006c6174696e317105867106527107877108527109284b014b024b0386710a636e756d70790a64747970650a710b"
      "58020000007531710c898887710d52710e284b0358010000007c710f4e4e4e4affffffff4affffffff4b00747110"
      "62896803580700000001c3880304050671116805867112527113747114622e");
  const Pickle pickle("p", bytes);
  EXPECT_EQ(pickle.byte_array(pickle.root()).to_string(), "u8[2,3] {{1, 200, 3}, {4, 5, 6}}");
}

// Files of NumPy 1 and 2, in every version of .npy.
TEST(NpzTest, GoldenFiles) {
  const testing::GoldenFolder& golden = testing::GoldenFolder::own();
  for (const auto& [file, arrays] : golden.expected("numpy").items()) {
    for (const auto& [name, expected] : arrays.items()) {
      SCOPED_TRACE(file + " " + name);
      const std::string path = golden.path(file);
      const Tensor array = name.empty() ? read_npy(local_file_system(), path)
                                        : NpzFile(local_file_system(), path).array(name);
      EXPECT_EQ(array.dtype(), dtype_from_tf(expected["dtype"].get<std::string>()));
      testing::expect_golden_array(array, expected);
    }
  }
}

}  // namespace
}  // namespace systole
