#include "apps/systole/inspect/curves.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/io/events/event_reader.h"

namespace systole::app {
namespace {

constexpr int kDeepest = 3;  // folders of runs: runs/first/eval

using RunsByName = std::map<std::string, std::map<std::string, Curve>>;

// TensorFlow begins every event file with the version of the format.
bool begins_with_version(EventReader& reader) {
  try {
    const auto first = reader.next();
    return !first || first->kind == Event::Kind::file_version;  // or is still empty
  } catch (const Error& error) {
    if (error.code() != Code::data_loss && error.code() != Code::invalid_argument) throw;
    return false;
  }
}

void add_event_file(FileSystem& file_system, const std::string& path, const std::string& run,
                    std::map<std::string, Curve>& curves) {
  EventReader reader(file_system, path);
  if (!begins_with_version(reader)) {
    throw invalid_argument(
        "{}: file, got one that does not begin as an event file, expected an event file or a "
        "folder of some",
        path);
  }
  try {
    while (const auto event = reader.next()) {
      for (const SummaryValue& value : event->values) {
        if (value.kind != SummaryValue::Kind::scalar) continue;
        Curve& curve = curves.try_emplace(value.tag, Curve{run, value.tag, {}}).first->second;
        curve.points[event->step] = value.scalar;
      }
    }
  } catch (const Error& error) {
    if (error.code() != Code::data_loss || reader.offset() == 0) throw;
    log_warning("{}; showing the events before it", error.message());
  }
}

// Absent if the path no longer exists: a running training renames its files, and links may dangle.
std::optional<bool> is_directory_now(FileSystem& file_system, const std::string& path) {
  try {
    return file_system.stat(path).is_directory;
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    return std::nullopt;
  }
}

// Whether there was an event file.
bool add_event_folder(FileSystem& file_system, const std::string& folder, const std::string& name,
                      int depth, RunsByName& runs) {
  bool found = false;
  for (const std::string& path : event_files(file_system, folder)) {
    const std::string run = name.empty() ? "train" : name;
    add_event_file(file_system, path, run, runs[run]);
    found = true;
  }
  if (depth == kDeepest) return found;
  for (const std::string& below : file_system.list(folder)) {
    const std::string path = join_path(folder, below);
    if (!is_directory_now(file_system, path).value_or(false)) continue;
    const std::string run = join_path(name, below);
    found |= add_event_folder(file_system, path, run, depth + 1, runs);
  }
  return found;
}

// A file of CSVLogger: a line of names that begins with "epoch", then a line for each epoch.
// "val_loss" is the loss of the run "eval".
void add_csv_file(const std::string& path, const std::string& text, RunsByName& runs) {
  constexpr std::string_view kFirst = "epoch";
  if (!text.starts_with(kFirst) || text.size() == kFirst.size()) {
    throw invalid_argument("{}: first line, got '{}', expected the names of CSVLogger: epoch,loss",
                           path, text.substr(0, std::min<size_t>(text.find('\n'), 60)));
  }
  const char separator = text[kFirst.size()];
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    std::vector<std::string> fields;
    std::istringstream cut(line);
    for (std::string field; std::getline(cut, field, separator);) fields.push_back(field);
    if (names.empty()) {
      names = std::move(fields);
      continue;
    }
    if (fields.empty() || fields.size() > names.size()) continue;
    for (size_t i = 1; i < fields.size(); ++i) {
      char* end = nullptr;
      const float value = std::strtof(fields[i].c_str(), &end);
      if (end == fields[i].c_str()) continue;
      const bool held_out = names[i].starts_with("val_");
      const std::string run = held_out ? "eval" : "train";
      const std::string tag = held_out ? names[i].substr(4) : names[i];
      Curve& curve = runs[run].try_emplace(tag, Curve{run, tag, {}}).first->second;
      curve.points[std::strtoll(fields[0].c_str(), nullptr, 10)] = value;
    }
  }
}

bool is_evaluation_run(const std::string& run) {
  return run.substr(run.rfind('/') + 1).starts_with("eval");
}

}  // namespace

bool is_event_file_name(const std::string& name) {
  return name.find("tfevents") != std::string::npos;
}

std::vector<std::string> event_files(FileSystem& file_system, const std::string& path) {
  if (!file_system.stat(path).is_directory) return {path};
  std::vector<std::string> files;
  for (const std::string& name : file_system.list(path)) {
    if (!is_event_file_name(name)) continue;
    const std::string file = join_path(path, name);
    if (!is_directory_now(file_system, file).value_or(true)) files.push_back(file);
  }
  std::ranges::sort(files);  // their names hold the time
  return files;
}

std::vector<Curve> read_curves(FileSystem& file_system, const std::string& path) {
  RunsByName runs;
  if (path.ends_with(".csv")) {
    add_csv_file(path, read_file(file_system, path), runs);
  } else if (!file_system.stat(path).is_directory) {
    add_event_file(file_system, path, "train", runs["train"]);
  } else if (!add_event_folder(file_system, path, "", 0, runs)) {
    throw not_found("{}: event files, got none in the folder and those below it, expected some",
                    path);
  }
  std::set<std::string> measured;
  std::vector<Curve> curves;
  for (const auto& [run, tags] : runs) {
    for (const auto& [tag, curve] : tags) {
      curves.push_back(curve);
      if (is_evaluation_run(run)) measured.insert(tag);
    }
  }
  if (curves.empty()) {
    throw failed_precondition("{}: scalars, got none in the event files, expected some", path);
  }
  const auto rank = [&](const Curve& curve) {
    const int group = curve.tag == "loss" ? 0 : measured.contains(curve.tag) ? 1 : 2;
    return std::tuple(group, curve.tag, is_evaluation_run(curve.run), curve.run);
  };
  std::ranges::sort(curves, {}, rank);
  return curves;
}

}  // namespace systole::app
