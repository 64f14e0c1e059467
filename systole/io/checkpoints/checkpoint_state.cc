#include "systole/io/checkpoints/checkpoint_state.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "systole/base/log.h"
#include "systole/base/number_text.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/proto/checkpoint.pb.h"
#include "systole/io/wire/message.h"

namespace systole {
namespace {

// TensorFlow writes some hundred bytes a checkpoint.
constexpr uint64_t kMaxStateBytes = 64 << 20;

std::string state_path(const std::string& directory) { return join_path(directory, "checkpoint"); }

std::string relative(const std::string& directory, const std::string& path) {
  return parent_path(path) == parent_path(join_path(directory, "x")) ? base_name(path) : path;
}

}  // namespace

std::optional<CheckpointState> read_checkpoint_state(FileSystem& file_system,
                                                     const std::string& directory) {
  const std::string path = state_path(directory);
  if (!file_system.exists(path)) return std::nullopt;
  if (file_system.stat(path).is_directory) {
    throw invalid_argument("{}: got a directory, expected a file that names the checkpoints", path);
  }
  tensorflow::CheckpointState message;
  parse_message_text(path, read_file(file_system, path, kMaxStateBytes), message);
  CheckpointState state;
  if (!message.model_checkpoint_path().empty()) {
    state.model_checkpoint_path = join_path(directory, message.model_checkpoint_path());
  }
  for (const std::string& name : message.all_model_checkpoint_paths()) {
    state.all_model_checkpoint_paths.push_back(join_path(directory, name));
  }
  state.all_model_checkpoint_timestamps.assign(message.all_model_checkpoint_timestamps().begin(),
                                               message.all_model_checkpoint_timestamps().end());
  state.last_preserved_timestamp = message.last_preserved_timestamp();
  return state;
}

std::optional<CheckpointState> find_checkpoint_state(FileSystem& file_system,
                                                     const std::string& directory) {
  try {
    return read_checkpoint_state(file_system, directory);
  } catch (const Error& error) {
    if (error.code() != Code::invalid_argument && error.code() != Code::data_loss) throw;
    log_once(LogLevel::warning, "{}; the file is ignored", error.message());
    return std::nullopt;
  }
}

bool is_in_directory(const std::string& prefix, const std::string& directory) {
  const std::string name = base_name(prefix);
  return name != ".." && name != "." && prefix == join_path(directory, name);
}

void write_checkpoint_state(FileSystem& file_system, const std::string& directory,
                            const CheckpointState& state) {
  tensorflow::CheckpointState message;
  message.set_model_checkpoint_path(relative(directory, state.model_checkpoint_path));
  for (const std::string& path : state.all_model_checkpoint_paths) {
    // Not add_...(std::string&&), which leaves a broken message if memory is lacking.
    *message.add_all_model_checkpoint_paths() = relative(directory, path);
  }
  for (const double time : state.all_model_checkpoint_timestamps) {
    message.add_all_model_checkpoint_timestamps(time);
  }
  message.set_last_preserved_timestamp(state.last_preserved_timestamp);
  write_file_atomically(file_system, state_path(directory), print_message_text(message));
}

namespace {

struct Candidate {
  std::string prefix;
  int64_t step = -1;  // of "model.ckpt-7"; -1 without one
  int64_t modified_ns = 0;

  // Newest first.
  bool operator<(const Candidate& other) const {
    return std::tie(other.step, other.modified_ns, prefix) <
           std::tie(step, modified_ns, other.prefix);
  }
};

int64_t step_of(std::string_view prefix) {
  const size_t dash = prefix.rfind('-');
  if (dash == std::string_view::npos) return -1;
  return parse_number<int64_t>(prefix.substr(dash + 1)).value_or(-1);
}

// Returns the names of the bundles whose index and data files are all among `files`, sorted.
std::vector<std::string> whole_bundles(const std::vector<std::string>& files) {
  constexpr std::string_view kIndex = ".index";
  const auto exists = [&](const std::string& file) {
    return std::ranges::binary_search(files, file);
  };
  std::vector<std::string> names;
  for (const std::string& file : files) {
    if (!file.ends_with(kIndex)) continue;
    const std::string name = file.substr(0, file.size() - kIndex.size());
    const std::string first = name + ".data-00000-of-";
    const auto data = std::ranges::lower_bound(files, first);
    if (data == files.end() || !data->starts_with(first)) continue;
    const int shards = parse_number<int>(data->substr(first.size())).value_or(0);
    bool whole = shards > 0;
    for (int shard = 0; shard < shards && whole; ++shard) {
      whole = exists(bundle_data_path(name, shard, shards));
    }
    if (whole) names.push_back(name);
  }
  return names;
}

std::string listed(const std::vector<Candidate>& candidates) {
  constexpr size_t kMaxListed = 5;
  std::string text;
  for (size_t i = 0; i < std::min(candidates.size(), kMaxListed); ++i) {
    text += (i == 0 ? "" : ", ") + base_name(candidates[i].prefix);
  }
  if (candidates.size() > kMaxListed) {
    text += fmt::format(" and {} more", candidates.size() - kMaxListed);
  }
  return text;
}

}  // namespace

std::vector<std::string> find_checkpoints(FileSystem& file_system, const std::string& directory) {
  const auto state = find_checkpoint_state(file_system, directory);
  std::set<std::string> prefixes;
  if (state) {
    for (const std::string& prefix : state->all_model_checkpoint_paths) {
      if (bundle_exists(file_system, prefix)) prefixes.insert(prefix);
    }
  }
  if (file_system.exists(directory) && file_system.stat(directory).is_directory) {
    for (const std::string& name : whole_bundles(file_system.list(directory))) {
      prefixes.insert(join_path(directory, name));
    }
  }
  const std::string latest = state ? state->model_checkpoint_path : "";
  const bool latest_exists = !latest.empty() && bundle_exists(file_system, latest);
  prefixes.erase(latest);
  std::vector<Candidate> others;
  for (const std::string& prefix : prefixes) {
    others.push_back({.prefix = prefix,
                      .step = step_of(prefix),
                      .modified_ns = file_system.stat(bundle_index_path(prefix)).modified_ns});
  }
  std::ranges::sort(others, std::less<>());
  if (!latest_exists && !others.empty()) {
    log_once(LogLevel::warning, "{}: {}; found {}; the newest is used", state_path(directory),
             latest.empty()
                 ? "no such file, or it names no checkpoint"
                 : fmt::format("names '{}', which does not exist", relative(directory, latest)),
             listed(others));
  }
  std::vector<std::string> found;
  if (latest_exists) found.push_back(latest);
  for (Candidate& other : others) found.push_back(std::move(other.prefix));
  return found;
}

std::string latest_checkpoint(FileSystem& file_system, const std::string& directory) {
  const std::vector<std::string> found = find_checkpoints(file_system, directory);
  return found.empty() ? "" : found.front();
}

}  // namespace systole
