#include "systole/base/available_cpus.h"

#include <gtest/gtest.h>

#include <fstream>

#include "systole/base/testing/temp_folder.h"

namespace systole {
namespace {

namespace fs = std::filesystem;

class CpuQuotaTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const fs::path path = root() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::optional<double> quota(const std::string& groups) {
    write("groups", groups);
    return cpu_quota(root() / "groups", root() / "fs");
  }
  fs::path root() { return fs::path(folder_.path()); }

 private:
  testing::TempFolder folder_;
};

TEST_F(CpuQuotaTest, OfVersion2IsTheLeastOfTheGroupAndThoseAroundIt) {
  write("fs/a/cpu.max", "300000 100000\n");
  write("fs/a/b/cpu.max", "max 100000\n");
  write("fs/a/b/c/cpu.max", "350000 100000\n");
  EXPECT_EQ(quota("0::/a/b/c\n"), 3.0);
  EXPECT_EQ(quota("0::/other\n"), std::nullopt);
}

TEST_F(CpuQuotaTest, OfAContainerIsAtTheRoot) {
  write("fs/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota("0::/\n"), 1.5);
  EXPECT_EQ(quota("0::/../../outside\n"), 1.5);
}

TEST_F(CpuQuotaTest, OfVersion1IsInTheFolderOfItsController) {
  write("fs/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "50000\n");
  write("fs/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n");
  write("fs/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("fs/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("9:cpuset:/docker/1\n4:cpu,cpuacct:/docker/1\n0::/\n"), 0.5);
}

TEST_F(CpuQuotaTest, IsNoneWhereNothingSaysOne) {
  EXPECT_EQ(cpu_quota(root() / "missing", root() / "missing"), std::nullopt);
  write("fs/cpu.max", "words\n");
  EXPECT_EQ(quota("0::/\nno colons\n"), std::nullopt);
}

TEST(AvailableCpus, AreSome) { EXPECT_GE(available_cpus(), 1); }

}  // namespace
}  // namespace systole
