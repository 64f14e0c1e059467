#include "systole/keras/datasets/data_folder.h"

#include <fmt/ranges.h>

#include "systole/base/environment.h"
#include "systole/io/file_systems/file_pattern.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::keras::datasets {
namespace {

bool has_wildcard(std::string_view name) { return name.find_first_of("*?[") != name.npos; }

}  // namespace

std::vector<std::string> data_folders(const DataSource& source, const std::string& data_dir) {
  std::vector<std::string> roots;
  if (!data_dir.empty()) roots.push_back(data_dir);
  const std::string keras_home = environment_value("KERAS_HOME");
  if (!keras_home.empty()) roots.push_back(join_path(keras_home, "datasets"));
  const std::string home = environment_value("HOME");
  if (!home.empty()) roots.push_back(join_path(home, ".keras/datasets"));
  std::vector<std::string> folders;
  for (const std::string& root : roots) {
    folders.push_back(join_path(root, source.folder));
    folders.push_back(root);
  }
  return folders;
}

std::string find_data_file(const std::vector<std::string>& folders,
                           const std::vector<std::string>& names) {
  FileSystem& files = default_file_system();
  for (const std::string& folder : folders) {
    if (!files.exists(folder)) continue;
    for (const std::string& name : names) {
      const bool directory = name.ends_with('/');
      std::string path = join_path(folder, directory ? name.substr(0, name.size() - 1) : name);
      if (has_wildcard(name)) {
        const std::vector<std::string> found = files_matching(files, path);
        if (!found.empty()) return found.front();
      } else if (files.exists(path) && files.stat(path).is_directory == directory) {
        return path;
      }
    }
  }
  return "";
}

void throw_no_data(const DataSource& source, const std::vector<std::string>& folders,
                   const std::vector<std::string>& names) {
  throw not_found(
      "{}: data set, got none of the files {} in the folders {}; fetch {} and put it into {}, or "
      "name its folder as data_dir",
      source.name, fmt::join(names, ", "), fmt::join(folders, ", "), source.origin,
      folders.empty() ? "a folder" : folders.front());
}

std::string require_data_file(const DataSource& source, const std::string& path,
                              const std::string& data_dir, const std::vector<std::string>& names) {
  FileSystem& files = default_file_system();
  if (!path.empty() && files.exists(path)) return path;
  std::vector<std::string> all = names;
  if (!path.empty()) all.insert(all.begin(), path);
  // A path is a place of its own; only a bare name is searched for.
  if (path.find('/') != path.npos) throw_no_data(source, {parent_path(path)}, {base_name(path)});
  const std::vector<std::string> folders = data_folders(source, data_dir);
  std::string found = find_data_file(folders, all);
  if (found.empty()) throw_no_data(source, folders, all);
  return found;
}

}  // namespace systole::keras::datasets
