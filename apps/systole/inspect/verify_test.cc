#include "apps/systole/inspect/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/wire/checksum_trailer.h"
#include "systole/train/saver.h"

namespace systole::app {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    for (const std::string prefix : {"d/model.ckpt-7", "m/variables/variables"}) {
      fs_.make_directories(parent_path(prefix));
      BundleWriter writer(fs_, prefix);
      writer.add("dense/kernel", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
      writer.add("names", Tensor::of<std::string>({2}, {"a", "bc"}));
      writer.add("global_step", Tensor(int64_t{7}));
      writer.finish();
    }
    write_checkpoint_extras(fs_, "d/model.ckpt-7", {{"random", "abc"}});
  }

  Verification verified(const std::string& path) { return verify(fs_, find_file(fs_, path)); }
  void flip(const std::string& path, size_t bit) {
    std::string bytes = read_file(fs_, path);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    write_file_atomically(fs_, path, bytes);
  }

  MemoryFileSystem fs_;
};

TEST_F(VerifyTest, AWholeCheckpoint) {
  const Verification found = verified("d/model.ckpt-7");
  EXPECT_EQ(found.tensors, 3);
  EXPECT_THAT(found.damaged, IsEmpty());
  EXPECT_THAT(found.unproven, IsEmpty());
}

TEST_F(VerifyTest, EveryBitOfTheDataIsLookedAt) {
  for (const std::string path : {"d/model.ckpt-7.data-00000-of-00001", "d/model.ckpt-7.systole",
                                 "m/variables/variables.data-00000-of-00001"}) {
    const size_t bits = read_file(fs_, path).size() * 8;
    ASSERT_GT(bits, 0U);
    for (size_t bit = 0; bit < bits; ++bit) {
      flip(path, bit);
      const std::string prefix = path[0] == 'd' ? "d/model.ckpt-7" : "m/variables/variables";
      EXPECT_THAT(verified(prefix).damaged, SizeIs(1)) << path << ", bit " << bit;
      flip(path, bit);
    }
  }
}

TEST_F(VerifyTest, AllDamagedTensorsAreTold) {
  const std::string data = "m/variables/variables.data-00000-of-00001";
  flip(data, 0);
  flip(data, read_file(fs_, data).size() * 8 - 1);
  write_file_atomically(fs_, "m/saved_model.pb", "no message");
  EXPECT_THAT(verified("m").damaged, ElementsAre(HasSubstr("saved_model.pb"), HasSubstr("checksum"),
                                                 HasSubstr("checksum")));
  fs_.remove(data);
  EXPECT_THAT(verify(fs_, {FileKind::checkpoint, "m/variables/variables"}).damaged, SizeIs(3));
}

// A graph with a variable.
std::string saved_model_bytes() {
  tensorflow::SavedModel model;
  model.set_saved_model_schema_version(1);
  auto& node = *model.add_meta_graphs()->mutable_graph_def()->add_node();
  node.set_name("w");
  node.set_op("VarHandleOp");
  return model.SerializeAsString();
}

TEST_F(VerifyTest, GraphsMayEndWithAChecksum) {
  std::string bytes = saved_model_bytes();
  write_file_atomically(fs_, "m/saved_model.pb", bytes);
  EXPECT_THAT(verified("m").unproven, ElementsAre(HasSubstr("saved_model.pb")));
  append_checksum_trailer(bytes, kSavedModelChecksumMark);
  write_file_atomically(fs_, "m/saved_model.pb", bytes);
  const Verification whole = verified("m");
  EXPECT_THAT(whole.unproven, IsEmpty());
  EXPECT_THAT(whole.damaged, IsEmpty());
  flip("m/saved_model.pb", 0);
  EXPECT_THAT(verified("m").damaged, ElementsAre(HasSubstr("checksum")));
}

TEST_F(VerifyTest, VariablesOfAGraphMustBeThere) {
  fs_.make_directories("n");
  write_file_atomically(fs_, "n/saved_model.pb", saved_model_bytes());
  EXPECT_THAT(verified("n").damaged, ElementsAre(HasSubstr("variables")));
}

TEST_F(VerifyTest, FilesWithoutAChecksumAreNamed) {
  write_file_atomically(fs_, "m/saved_model.pb", saved_model_bytes());
  write_file_atomically(fs_, "m/model.mlir", "module {}");
  fs_.make_directories("m/assets");
  write_file_atomically(fs_, "m/assets/words", "a\n");
  EXPECT_THAT(verified("m").unproven,
              ElementsAre(HasSubstr("saved_model.pb"), HasSubstr("m/model.mlir"),
                          HasSubstr("m/assets/words")));
}

TEST_F(VerifyTest, OtherFilesHaveNoChecksums) {
  write_file_atomically(fs_, "a.mlir", "module {}");
  EXPECT_THAT(error_of([&] { verified("a.mlir"); }),
              StartsWith("INVALID_ARGUMENT: a.mlir: --verify"));
}

}  // namespace
}  // namespace systole::app
