#include "apps/systole/inspect/kind.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "apps/systole/inspect/curves.h"
#include "systole/base/counted.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/records/tfrecord.h"

namespace systole::app {
namespace {

// "model.ckpt-7" of "model.ckpt-7.index", "model.ckpt-7.systole" and
// "model.ckpt-7.data-00000-of-00001"; else as it is.
std::string without_bundle_suffix(const std::string& path) {
  for (const std::string_view ending : {".index", ".systole", ".systole2"}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  const size_t data = path.rfind(".data-");
  return data == std::string::npos ? path : path.substr(0, data);
}

bool is_saved_model(FileSystem& file_system, const std::string& path) {
  return file_system.exists(join_path(path, "saved_model.pb")) ||
         file_system.exists(join_path(path, "saved_model.pbtxt"));
}

// The SavedModel in `path` whose name is the largest number; "" if there are none.
std::string newest_export(FileSystem& file_system, const std::string& path) {
  std::string newest;
  for (const std::string& name : file_system.list(path)) {
    const bool number = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
      return std::isdigit(c) != 0;
    });
    if (!number || !is_saved_model(file_system, join_path(path, name))) continue;
    if (std::pair(name.size(), name) > std::pair(newest.size(), newest)) newest = name;
  }
  return newest.empty() ? "" : join_path(path, newest);
}

// The directories in `path` that hold event files or checkpoints.
std::vector<std::string> runs_below(FileSystem& file_system, const std::string& path) {
  std::vector<std::string> runs;
  for (const std::string& name : file_system.list(path)) {
    const std::string below = join_path(path, name);
    if (!file_system.stat(below).is_directory) continue;
    if (!event_files(file_system, below).empty() ||
        !latest_checkpoint(file_system, below).empty()) {
      runs.push_back(name);
    }
  }
  std::ranges::sort(runs);
  return runs;
}

FoundFile find_in_directory(FileSystem& file_system, const std::string& path) {
  if (is_saved_model(file_system, path)) return {FileKind::saved_model, path};
  if (const std::string latest = latest_checkpoint(file_system, path); !latest.empty()) {
    return {FileKind::checkpoint, latest};
  }
  if (const std::string newest = newest_export(file_system, path); !newest.empty()) {
    return {FileKind::saved_model, newest};
  }
  if (!event_files(file_system, path).empty()) return {FileKind::events, path};
  if (const std::vector<std::string> runs = runs_below(file_system, path); !runs.empty()) {
    throw not_found(
        "{0}: directory, got one of {1} ({2}{3}), expected one run; `systole board {0}` and "
        "`systole "
        "inspect {0} --plot curves.svg` show them all",
        path, counted(static_cast<int64_t>(runs.size()), "run"), runs.front(),
        runs.size() == 1 ? "" : ", ...");
  }
  throw not_found(
      "{}: directory, got one without saved_model.pb, checkpoint, exports named by numbers or "
      "event files, expected one of them",
      path);
}

}  // namespace

std::string_view to_string(FileKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {
      "checkpoint", "SavedModel", "graph", "checkpoint state", "event file",
      "TFRecord",   "HLO",        "npy",   "unknown"};
  return kNames.at(static_cast<size_t>(kind));
}

FoundFile find_file(FileSystem& file_system, const std::string& path) {
  if (const std::string prefix = without_bundle_suffix(path); bundle_exists(file_system, prefix)) {
    return {FileKind::checkpoint, prefix};
  }
  if (!file_system.exists(path)) {
    throw not_found(
        "{}: file, got none, expected a file, a directory or the prefix of a checkpoint", path);
  }
  if (file_system.stat(path).is_directory) return find_in_directory(file_system, path);
  const std::string name = base_name(path);
  if (name == "checkpoint") return {FileKind::checkpoint_state, path};
  if (name == "saved_model.pb" || name == "saved_model.pbtxt") {
    return {FileKind::saved_model, parent_path(path)};
  }
  if (is_event_file_name(name)) return {FileKind::events, path};
  for (const std::string_view ending : {".pb", ".pbtxt", ".meta"}) {
    if (name.ends_with(ending)) return {FileKind::graph, path};
  }
  for (const std::string_view ending : {".mlir", ".mlirbc", ".mlir.bc"}) {
    if (name.ends_with(ending)) return {FileKind::hlo, path};
  }
  if (name.ends_with(".npy")) return {FileKind::npy, path};
  if (file_system.stat(path).size == 0 && name.find("tfrecord") == std::string::npos) {
    throw invalid_argument("{}: file, got an empty one, expected one of a kind that we read", path);
  }
  const auto file = file_system.open(path);
  try {
    RecordReader(file_system, path, {.compression = sniff_record_compression(*file)}).next();
  } catch (const Error&) {
    return {FileKind::unknown, path};
  }
  return {FileKind::records, path};
}

}  // namespace systole::app
