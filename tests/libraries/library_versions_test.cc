// docs/deploying.md lists the versions of libraries with their known holes: those that this build
// links are in it.
#include <archive.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <google/protobuf/stubs/common.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <leveldb/db.h>
#include <openssl/crypto.h>
#include <openssl/opensslv.h>
#include <png.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace systole {
namespace {

// The cells of the table's rows, by their first one.
std::map<std::string, std::vector<std::string>> table_of_versions() {
  std::ifstream file("docs/deploying.md");
  std::map<std::string, std::vector<std::string>> table;
  std::string line;
  bool in_section = false;
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) in_section = line == "## Libraries with known holes";
    if (!in_section || !line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) {
      const auto begin = cell.find_first_not_of(' ');
      const auto end = cell.find_last_not_of(' ');
      cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
    }
    table[cells[0]] = {cells.begin() + 1, cells.end()};
  }
  return table;
}

// "3.0" is the version of "3.0.19", not of "3.01".
bool is_version_of(const std::string& listed, const std::string& version) {
  return version == listed || version.starts_with(listed + ".");
}

TEST(LibraryVersions, AreInTheTableOfKnownHoles) {
  const auto table = table_of_versions();
  const int protobuf = GOOGLE_PROTOBUF_VERSION;  // 3021012
  const int archive = archive_version_number();  // 3006002
  const std::map<std::string, std::string> linked = {
      {"gRPC", grpc::Version()},
      {"OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING)},
      {"protobuf",
       fmt::format("{}.{}.{}", protobuf / 1'000'000, protobuf / 1000 % 1000, protobuf % 1000)},
      {"cpp-httplib", CPPHTTPLIB_VERSION},
      {"LevelDB", fmt::format("{}.{}", leveldb::kMajorVersion, leveldb::kMinorVersion)},
      {"libpng", png_get_libpng_ver(nullptr)},
      {"libarchive",
       fmt::format("{}.{}.{}", archive / 1'000'000, archive / 1000 % 1000, archive % 1000)},
  };
  for (const auto& [name, version] : linked) {
    const auto row = table.find(name);
    ASSERT_NE(row, table.end()) << name;
    EXPECT_TRUE(is_version_of(row->second.at(0), version) ||
                is_version_of(row->second.at(1), version))
        << name << " " << version << " is not in docs/deploying.md: look up its known holes, and "
        << "write there what they mean for this project";
  }
}

}  // namespace
}  // namespace systole
