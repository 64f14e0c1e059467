// Files of imported graphs.
#include "systole/session/kernels/node_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/io_ops.h"
#include "systole/graph/api/lookup_ops.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Runs what `build` makes of a file's name, after an export and an import.
class NodeFilesTest : public ::testing::Test {
 protected:
  NodeFilesTest() {
    default_file_system().make_directories(assets_);
    write_file_atomically(default_file_system(), assets_ + "/words", "a\nb\n");
    write_file_atomically(default_file_system(), secret_, "c\n");
  }

  using Build = std::function<Operation(const std::string& path)>;

  std::string run(const Build& build, const std::string& path, const ImportOptions& options = {}) {
    Graph original;
    std::string bytes;
    std::string name;
    {
      const GraphScope scope(original);
      name = build(path).name();
      bytes = graph_def_bytes(original);
    }
    Graph graph;
    const GraphScope scope(graph);
    import_graph_def(bytes, options);
    Session session("", {.graph = &graph});
    return error_of([&] { session.run({Fetch(Operation(graph.find_node(name)))}); });
  }

  const TempFolder folder_;
  const std::string assets_ = folder_ / "model/assets";
  const std::string secret_ = folder_ / "secret";
  const std::map<std::string, Build> kernels_ = {
      {"ReadFile",
       [](const std::string& path) { return Operation(read_file(Tensor(path.c_str()))); }},
      {"WriteFile",
       [](const std::string& path) { return write_file(Tensor(path.c_str()), Tensor("x\n")); }},
      {"MatchingFiles",
       [](const std::string& path) {
         return Operation(matching_files(Tensor((parent_path(path) + "/*").c_str())));
       }},
      {"InitializeTable",
       [](const std::string& path) { return index_table_from_file(path).initializer(); }},
      {"LookupTableSizeV2",
       [](const std::string& path) { return Operation(index_table_from_file(path).size()); }},
      {"LookupTableFindV2", [](const std::string& path) {
         return Operation(index_table_from_file(path).lookup(Tensor("a")));
       }}};
};

TEST_F(NodeFilesTest, KernelsOfImportedGraphsOpenTheirAssetsOnly) {
  for (const auto& [op, build] : kernels_) {
    SCOPED_TRACE(op);
    EXPECT_THAT(run(build, secret_),
                AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr(op), HasSubstr(folder_.path()),
                      HasSubstr("expected none"), HasSubstr("--allow-files")));
    const ImportOptions own{.asset_folder = assets_};
    EXPECT_THAT(run(build, secret_, own),
                AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("expected one in"),
                      HasSubstr(assets_), HasSubstr("--allow-files")));
    EXPECT_THAT(run(build, assets_ + "/../../secret", own), HasSubstr("PERMISSION_DENIED"));
    EXPECT_EQ(run(build, assets_ + "/words", own), "no error");
    EXPECT_EQ(run(build, secret_, {.allow_files = true}), "no error");
  }
  EXPECT_EQ(read_file(default_file_system(), assets_ + "/words"), "x\n");
}

// A program builds its own graph, so it opens what it names.
TEST_F(NodeFilesTest, GraphsOfTheProgramAreNotLimited) {
  for (const auto& [op, build] : kernels_) {
    SCOPED_TRACE(op);
    Graph graph;
    const GraphScope scope(graph);
    const Operation built = build(secret_);
    Session session("", {.graph = &graph});
    EXPECT_NO_THROW(session.run({Fetch(built)}));
  }
}

TEST_F(NodeFilesTest, LinksAreResolved) {
  namespace fs = std::filesystem;
  const ImportOptions own{.asset_folder = assets_};
  fs::create_symlink(secret_, assets_ + "/link");
  fs::create_directory_symlink(folder_.path(), assets_ + "/folder");
  EXPECT_THAT(run(kernels_.at("ReadFile"), assets_ + "/link", own), HasSubstr("PERMISSION_DENIED"));
  EXPECT_THAT(run(kernels_.at("WriteFile"), assets_ + "/folder/new", own),
              HasSubstr("PERMISSION_DENIED"));
  EXPECT_FALSE(fs::exists(folder_ / "new"));
  // A model that is reached by a link has its assets.
  fs::create_directory_symlink(folder_ / "model", folder_ / "current");
  const ImportOptions linked{.asset_folder = folder_ / "current/assets"};
  EXPECT_EQ(run(kernels_.at("ReadFile"), folder_ / "current/assets/words", linked), "no error");
}

TEST_F(NodeFilesTest, AFolderOfAssetsIsNoLink) {
  namespace fs = std::filesystem;
  fs::create_directory(folder_ / "other");
  for (const std::string& target : {folder_.path(), std::string("/")}) {
    const std::string assets = folder_ / "other/assets";
    fs::create_directory_symlink(target, assets);
    for (const std::string& folder : {assets, assets + "/"}) {
      const ImportOptions own{.asset_folder = folder};
      EXPECT_THAT(run(kernels_.at("ReadFile"), secret_, own), HasSubstr("PERMISSION_DENIED"));
      EXPECT_THAT(run(kernels_.at("WriteFile"), folder_ / "new", own),
                  HasSubstr("PERMISSION_DENIED"));
    }
    fs::remove(assets);
  }
}

TEST_F(NodeFilesTest, BucketsAreLimitedByTheirNames) {
  const ImportOptions own{.asset_folder = "mem://model/assets"};
  FileSystem& files = default_file_system();
  for (const char* folder : {"mem://model/assets", "mem://model/assets2"}) {
    files.make_directories(folder);
    write_file_atomically(files, std::string(folder) + "/words", "a\n");
  }
  EXPECT_EQ(run(kernels_.at("ReadFile"), "mem://model/assets/words", own), "no error");
  for (const std::string& path :
       {std::string("mem://model/assets2/words"), std::string("mem://model/assets/../secret"),
        std::string("gs://bucket/x"), std::string("s3://bucket/x"), secret_}) {
    EXPECT_THAT(run(kernels_.at("ReadFile"), path, own), HasSubstr("PERMISSION_DENIED")) << path;
  }
  EXPECT_THAT(run(kernels_.at("ReadFile"), "mem://model/assets/words", {.asset_folder = assets_}),
              HasSubstr("PERMISSION_DENIED"));
}

// A message cannot give itself another folder, and an export does not tell where it was imported.
TEST_F(NodeFilesTest, TheLimitIsNoPartOfMessages) {
  Graph graph;
  const GraphScope scope(graph);
  const Output contents = read_file(Tensor(secret_.c_str()));
  import_graph_def(graph_def_bytes(graph, std::vector<Operation>{contents}),
                   {.asset_folder = "/secret-place"});
  EXPECT_THAT(graph_def_bytes(graph), ::testing::Not(HasSubstr("secret-place")));
}

}  // namespace
}  // namespace systole
