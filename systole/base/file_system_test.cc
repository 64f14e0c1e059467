#include "systole/base/file_system.h"

#include <gtest/gtest.h>

// AtomicFile and the reading helpers are tested in io/, where there are file systems.
namespace systole {
namespace {

TEST(PathTest, Join) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("/", "b"), "/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
}

TEST(PathTest, ParentAndBaseName) {
  struct Row {
    const char* path;
    const char* parent;
    const char* name;
  };
  for (const Row& row : {Row{"a/b/c", "a/b", "c"}, Row{"a", ".", "a"}, Row{"/a", "/", "a"},
                         Row{"/", "/", "/"}, Row{"a/b/", "a", "b"}, Row{".", ".", "."}}) {
    EXPECT_EQ(parent_path(row.path), row.parent) << row.path;
    EXPECT_EQ(base_name(row.path), row.name) << row.path;
  }
}

}  // namespace
}  // namespace systole
