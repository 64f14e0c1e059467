// The files that a node may open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/graph/core/graph.h"

namespace systole {

// The default file system, for a node: kernels open every file through this. A node of the program
// opens all files. A node that an import has added, without ImportOptions::allow_files, reads and
// writes only inside the folder of its assets: of a bucket by its name, on the local disk wherever
// links lead. Thread-safe. Errors: those of the files; PERMISSION_DENIED for another path, with the
// switch that allows it.
class NodeFiles final : public FileSystem {
 public:
  // `node` must outlive it.
  explicit NodeFiles(const Node& node);

  // The folder that limits the node, as text that differs from that of a node without limit.
  std::string limit() const;

  std::unique_ptr<RandomAccessFile> open(const std::string& path) override;
  std::unique_ptr<WritableFile> create(const std::string& path) override;
  bool exists(const std::string& path) override;
  FileStat stat(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void make_directories(const std::string& directory) override;
  void rename(const std::string& from, const std::string& to) override;
  void touch(const std::string& path) override;
  void remove(const std::string& path) override;

 private:
  // The file system, for a path that the node may open.
  FileSystem& files_for(const std::string& path) const;

  const std::string* folder_ = nullptr;  // null: all files; empty: none
};

}  // namespace systole
