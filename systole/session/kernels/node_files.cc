#include "systole/session/kernels/node_files.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "systole/base/error.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/local/local_file_system.h"

namespace systole {
namespace {

bool is_below(std::string_view folder, std::string_view path) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return path == folder ||
         (path.starts_with(folder) && path.substr(folder.size()).starts_with('/'));
}

// Whether a name between two separators is "." or "..".
bool has_dots(std::string_view path) {
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (name == "." || name == "..") return true;
    path.remove_prefix(std::min(path.size(), name.size() + 1));
  }
  return false;
}

// Returns the path without links and dots. What does not exist is taken as it is written.
std::optional<std::string> real_path(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, failed);
  return failed ? std::nullopt : std::optional(real.string());
}

// Returns the path without links, but for the last name: the folder belongs to a model that a
// stranger may have made, with a link of that name to anywhere.
std::optional<std::string> real_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::path path = std::filesystem::absolute(folder, failed);
  if (failed) return std::nullopt;
  if (!path.has_filename()) path = path.parent_path();  // "assets/"
  const std::optional<std::string> above = real_path(path.parent_path().string());
  return above ? std::optional((std::filesystem::path(*above) / path.filename()).string())
               : std::nullopt;
}

bool is_in_folder(const std::string& folder, const std::string& path) {
  const std::optional<std::string> local_folder = local_path(folder);
  const std::optional<std::string> local = local_path(path);
  if (local_folder.has_value() != local.has_value()) return false;
  if (!local) return is_below(folder, path) && !has_dots(path);
  const auto allowed = real_folder(*local_folder);
  const auto real = real_path(*local);
  return allowed && real && is_below(*allowed, *real);
}

}  // namespace

NodeFiles::NodeFiles(const Node& node) {
  const auto it = node.attrs().find(kFilesAttr);
  if (it != node.attrs().end()) folder_ = &std::get<std::string>(it->second);
}

std::string NodeFiles::limit() const {
  return folder_ == nullptr ? "all files" : "in '" + *folder_ + "'";
}

FileSystem& NodeFiles::files_for(const std::string& path) const {
  if (folder_ == nullptr) return default_file_system();
  if (folder_->empty()) {
    throw make_error(Code::permission_denied,
                     "file, got '{}', expected none: an imported graph opens files only with "
                     "allow_files (--allow-files)",
                     path);
  }
  if (is_in_folder(*folder_, path)) return default_file_system();
  throw make_error(Code::permission_denied,
                   "file, got '{}', expected one in '{}': an imported graph opens others only with "
                   "allow_files (--allow-files)",
                   path, *folder_);
}

std::unique_ptr<RandomAccessFile> NodeFiles::open(const std::string& path) {
  return files_for(path).open(path);
}
std::unique_ptr<WritableFile> NodeFiles::create(const std::string& path) {
  return files_for(path).create(path);
}
bool NodeFiles::exists(const std::string& path) { return files_for(path).exists(path); }
FileStat NodeFiles::stat(const std::string& path) { return files_for(path).stat(path); }
std::vector<std::string> NodeFiles::list(const std::string& directory) {
  return files_for(directory).list(directory);
}
void NodeFiles::make_directories(const std::string& directory) {
  files_for(directory).make_directories(directory);
}
void NodeFiles::rename(const std::string& from, const std::string& to) {
  files_for(from);
  files_for(to).rename(from, to);
}
void NodeFiles::touch(const std::string& path) { files_for(path).touch(path); }
void NodeFiles::remove(const std::string& path) { files_for(path).remove(path); }

}  // namespace systole
