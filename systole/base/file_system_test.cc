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
  EXPECT_EQ(join_path("mem://", "b"), "mem://b");
  EXPECT_EQ(join_path("gs://a", "b"), "gs://a/b");
  EXPECT_EQ(join_path("a", "gs://b"), "gs://b");
}

TEST(PathTest, SchemeAndRoot) {
  EXPECT_EQ(path_scheme("gs://bucket/a"), "gs");
  EXPECT_EQ(path_scheme("s3+http://a"), "s3+http");
  for (const char* path : {"", "a", "/a", "a:b", "://a", "a/b://c", "3d://a", "C://a", "gs:/a"}) {
    EXPECT_EQ(path_scheme(path), "") << path;
  }
  EXPECT_EQ(path_root("gs://bucket/a"), "gs://");
  EXPECT_EQ(path_root("file:///a"), "file:///");
  EXPECT_EQ(path_root("/a"), "/");
  EXPECT_EQ(path_root("a/b"), "");
}

TEST(PathTest, ParentAndBaseName) {
  struct Row {
    const char* path;
    const char* parent;
    const char* name;
  };
  for (const Row& row :
       {Row{"a/b/c", "a/b", "c"}, Row{"a", ".", "a"}, Row{"/a", "/", "a"}, Row{"/", "/", "/"},
        Row{"a/b/", "a", "b"}, Row{".", ".", "."}, Row{"gs://a/b/", "gs://a", "b"},
        Row{"gs://a", "gs://", "a"}, Row{"gs://", "gs://", "gs://"},
        Row{"file:///a", "file:///", "a"}, Row{"file:///", "file:///", "file:///"}}) {
    EXPECT_EQ(parent_path(row.path), row.parent) << row.path;
    EXPECT_EQ(base_name(row.path), row.name) << row.path;
  }
}

}  // namespace
}  // namespace systole
