// Files of strangers: cut off, changed, of other models, of unknown classes; and a full disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/graph/core/graph.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/wire/checksum_trailer.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using ::systole::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The bytes of the checksum behind the file, which is whole without them.
constexpr size_t kTrailer = kHdf5ChecksumMark.size() + sizeof(uint32_t);

class DamagedFilesTest : public ::testing::Test {
 protected:
  DamagedFilesTest() : scope_(graph_) { set_random_seed(1); }

  static Sequential model() {
    return Sequential({layers::Dense(2, {.activation = "tanh", .input_shape = Shape{3}}),
                       layers::Dense(1, {.name = "last"})});
  }
  // Loads `bytes` as weights. After an error the model has the weights that it had.
  static void expect_error_or_weights(const Sequential& loaded, const std::string& bytes,
                                      bool must_fail) {
    const std::string path = "mem://damaged/x.h5";
    write_file_atomically(default_file_system(), path, bytes);
    const std::vector<Tensor> before = loaded.get_weights();
    try {
      loaded.load_weights(path);
      EXPECT_FALSE(must_fail);
      loaded.set_weights(before);
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("x.h5"));
      const std::vector<Tensor> after = loaded.get_weights();
      for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(after[i].identical(before[i]));
    }
  }

  Graph graph_;
  GraphScope scope_;
};

TEST_F(DamagedFilesTest, TruncatedFilesChangeNothing) {
  model().save_weights("mem://damaged/whole.h5");
  const std::string bytes = read_file(default_file_system(), "mem://damaged/whole.h5");
  const Sequential loaded = model();
  for (size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE(size);
    expect_error_or_weights(loaded, bytes.substr(0, size),
                            /*must_fail=*/size + kTrailer < bytes.size());
  }
}

TEST_F(DamagedFilesTest, FlippedBitsAreErrorsOrWeights) {
  model().save_weights("mem://damaged/whole.h5");
  const std::string bytes = read_file(default_file_system(), "mem://damaged/whole.h5");
  const Sequential loaded = model();
  for (size_t at = 0; at < bytes.size(); ++at) {
    SCOPED_TRACE(at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    expect_error_or_weights(loaded, damaged, /*must_fail=*/false);
  }
}

TEST_F(DamagedFilesTest, WeightsOfAnotherModelChangeNothing) {
  Sequential(
      {layers::Conv1D(2, 3, {.input_shape = Shape{5, 3}}), layers::Flatten(), layers::Dense(1)})
      .save_weights("mem://damaged/other.h5");
  const std::string bytes = read_file(default_file_system(), "mem://damaged/other.h5");
  expect_error_or_weights(model(), bytes, /*must_fail=*/true);
}

TEST_F(DamagedFilesTest, UnknownClassesAreNamed) {
  const Sequential saved = model();
  saved.save("mem://damaged/class.h5");
  std::string bytes = read_file(default_file_system(), "mem://damaged/class.h5");
  for (size_t at = bytes.find("\"Dense\""); at != std::string::npos; at = bytes.find("\"Dense\"")) {
    bytes.replace(at, 7, "\"Densf\"");
  }
  bytes.resize(bytes.size() - kTrailer);  // as libhdf5 does when it changes a file
  write_file_atomically(default_file_system(), "mem://damaged/class.h5", bytes);
  EXPECT_THAT(error_of([] { load_model("mem://damaged/class.h5"); }),
              AllOf(HasSubstr("class.h5"), HasSubstr("Unknown layer: Densf"),
                    HasSubstr("did you mean 'Dense'?")));
}

// Saving writes a file beside the old one; where the disk is full the old one stays.
TEST_F(DamagedFilesTest, AFullDiskLeavesTheOldFile) {
  const Sequential saved = model();
  saved.compile({.optimizer = "adam", .loss = "mse"});
  const std::string path = "mem://full_disk/model.h5";
  saved.save(path);
  const std::string bytes = read_file(default_file_system(), path);
  saved.set_weights(model().get_weights());
  for (const bool whole : {true, false}) {
    memory_file_system().inject(
        {.path_contains = "full_disk/model", .at_byte = 100, .code = Code::resource_exhausted});
    EXPECT_THAT(error_of([&] { whole ? saved.save(path) : saved.save_weights(path); }),
                AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("model.h5")));
    EXPECT_EQ(read_file(default_file_system(), path), bytes);
  }
}

}  // namespace
}  // namespace systole::keras
