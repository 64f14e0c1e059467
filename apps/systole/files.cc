// systole files: lists, shows, copies and removes files of every file system.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/systole/base/command.h"
#include "systole/base/error.h"
#include "systole/base/progress.h"
#include "systole/io/file_systems/file_pattern.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/local/local_file_system.h"
#include "systole/runtime/memory.h"

namespace systole::app {
namespace {

constexpr size_t kCopyBytes = size_t{8} << 20;

struct FilesFlags {
  std::vector<std::string> paths;
  bool recursive = false;
  bool long_form = false;
  bool force = false;
};

bool is_pattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

// Expands patterns. A path that exists as it is written is none. Errors: NOT_FOUND for a pattern
// that matches nothing.
std::vector<std::string> expanded_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> result;
  for (const std::string& path : paths) {
    if (!is_pattern(path) || default_file_system().exists(path)) {
      result.push_back(path);
      continue;
    }
    const auto files = files_matching(default_file_system(), path);
    if (files.empty()) throw not_found("{}: pattern, got no file, expected one at least", path);
    result.insert(result.end(), files.begin(), files.end());
  }
  return result;
}

struct FoundFile {
  std::string path;
  FileStat stat;
};

// Returns the files below a path in order; the path itself if it is a file.
void collect_files(const std::string& path, std::vector<FoundFile>* files) {
  FileSystem& fs = default_file_system();
  const FileStat stat = fs.stat(path);
  if (!stat.is_directory) {
    files->push_back({path, stat});
    return;
  }
  for (const std::string& name : fs.list(path)) collect_files(join_path(path, name), files);
}

void print_entry(const FilesFlags& flags, const std::string& shown, const std::string& path) {
  if (!flags.long_form) {
    fmt::print("{}\n", shown);
    return;
  }
  const FileStat stat = default_file_system().stat(path);
  if (stat.is_directory) {
    fmt::print("{:>14}  {:19}  {}/\n", "-", "", shown);
    return;
  }
  const std::time_t seconds = stat.modified_ns / 1'000'000'000;
  std::tm time{};
  ::gmtime_r(&seconds, &time);
  std::array<char, 32> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &time);
  fmt::print("{:>14}  {}  {}\n", stat.size, std::string_view(text.data(), size), shown);
}

void list_files(const FilesFlags& flags) {
  for (const std::string& path : expanded_paths(flags.paths)) {
    if (flags.recursive) {
      std::vector<FoundFile> files;
      collect_files(path, &files);
      for (const FoundFile& file : files) print_entry(flags, file.path, file.path);
      continue;
    }
    if (!default_file_system().stat(path).is_directory) {
      print_entry(flags, path, path);
      continue;
    }
    for (const std::string& name : default_file_system().list(path)) {
      print_entry(flags, name, join_path(path, name));
    }
  }
}

// Calls `take` with the contents in order, a few megabytes at a time.
template <class Take>
void read_in_parts(const std::string& path, const Take& take) {
  const auto file = default_file_system().open(path);
  std::string part(kCopyBytes, '\0');
  for (uint64_t offset = 0; true;) {
    const size_t count = file->read(offset, part.size(), part.data());
    if (count == 0) return;
    take(std::string_view(part).substr(0, count));
    offset += count;
  }
}

void show_files(const FilesFlags& flags) {
  for (const std::string& path : expanded_paths(flags.paths)) {
    read_in_parts(
        path, [](std::string_view bytes) { std::fwrite(bytes.data(), 1, bytes.size(), stdout); });
  }
}

void copy_files(const FilesFlags& flags) {
  FileSystem& fs = default_file_system();
  if (flags.paths.size() < 2) throw UsageError("paths, got one, expected a source and a target");
  const std::string& target = flags.paths.back();
  const auto sources = expanded_paths({flags.paths.begin(), flags.paths.end() - 1});
  const bool into = target.ends_with('/') || sources.size() > 1 ||
                    (fs.exists(target) && fs.stat(target).is_directory);
  struct Copy {
    FoundFile from;
    std::string to;
  };
  std::vector<Copy> copies;
  int64_t total = 0;
  for (const std::string& source : sources) {
    const std::string to = into ? join_path(target, base_name(source)) : target;
    if (fs.stat(source).is_directory && !flags.recursive) {
      throw failed_precondition("{}: cannot copy, got a directory, expected a file or --recursive",
                                source);
    }
    std::vector<FoundFile> files;
    collect_files(source, &files);
    for (FoundFile& file : files) {
      total += static_cast<int64_t>(file.stat.size);
      std::string inner = file.path.substr(source.size());
      while (inner.starts_with('/')) inner.erase(0, 1);
      copies.push_back({std::move(file), inner.empty() ? to : join_path(to, inner)});
    }
  }
  Progress progress(real_clock(), stderr, ::isatty(STDERR_FILENO) != 0, "copy", total);
  for (const Copy& copy : copies) {
    progress.set_note("bytes, " + base_name(copy.to));
    fs.make_directories(parent_path(copy.to));
    const auto write = [&](WritableFile& file) {
      read_in_parts(copy.from.path, [&](std::string_view bytes) {
        file.append(bytes);
        progress.add(static_cast<int64_t>(bytes.size()));
      });
    };
    if (local_path(copy.to)) {
      write_file_atomically(fs, copy.to, write);
    } else {
      // An object appears whole when it is closed: it needs no temporary name.
      const auto file = fs.create(copy.to);
      write(*file);
      file->close();
    }
  }
  progress.finish();
  fmt::print("copied {} file{}, {}\n", copies.size(), copies.size() == 1 ? "" : "s",
             runtime::bytes_text(static_cast<double>(total)));
}

// Whether a path is a root or a bucket, or may be one: "/", "gs://bucket/", "gs://bucket/a/..".
bool is_top(std::string path) {
  while (path.ends_with('/') && path != path_root(path)) path.pop_back();
  const std::string name = base_name(path);
  const bool bucket = !path_scheme(path).empty() && parent_path(path) == path_root(path);
  return path == path_root(path) || bucket || name == "." || name == "..";
}

void remove_files(const FilesFlags& flags) {
  FileSystem& fs = default_file_system();
  for (const std::string& path : flags.paths) {
    if (flags.force && !is_pattern(path) && !fs.exists(path)) continue;
    for (const std::string& found : expanded_paths({path})) {
      if (!flags.recursive) {
        fs.remove(found);
        continue;
      }
      if (is_top(found)) {
        throw failed_precondition("{}: cannot remove with all in it, expected a path below it",
                                  found);
      }
      if (!fs.exists(found)) throw not_found("{}: cannot remove, got no such file", found);
      remove_tree(fs, found);
    }
  }
}

template <void (*kAction)(const FilesFlags&)>
void add_files_action(CommandLine& line, bool recursive, bool long_form, bool force) {
  const auto flags = std::make_shared<FilesFlags>();
  line.option("paths", flags->paths, "Paths or patterns: a/b, 'gs://bucket/run/*.index'")
      .required();
  if (recursive) line.flag("-r,--recursive", flags->recursive, "Directories with all below them");
  if (long_form) line.flag("-l,--long", flags->long_form, "Show sizes in bytes and times (UTC)");
  if (force) line.flag("-f,--force", flags->force, "Ignore paths that do not exist");
  line.on_run([flags] { kAction(*flags); });
}

constexpr Command kFilesCommands[] = {
    {.name = "ls",
     .summary = "Lists files and directories",
     .add = [](CommandLine& line) { add_files_action<list_files>(line, true, true, false); },
     .examples = {"gs://bucket/run", "-lr s3://bucket/data"}},
    {.name = "cat",
     .summary = "Writes the contents of files to standard output",
     .add = [](CommandLine& line) { add_files_action<show_files>(line, false, false, false); },
     .examples = {"gs://bucket/run/checkpoint"}},
    {.name = "cp",
     .summary = "Copies files to another path",
     .add = [](CommandLine& line) { add_files_action<copy_files>(line, true, false, false); },
     .examples = {"model.yaml gs://bucket/", "-r gs://bucket/run run"}},
    {.name = "rm",
     .summary = "Removes files",
     .add = [](CommandLine& line) { add_files_action<remove_files>(line, true, false, true); },
     .examples = {"gs://bucket/run/model.ckpt-100.*", "-r s3://bucket/run"}},
};

}  // namespace

const Command kFilesCommand{
    .name = "files",
    .summary = "Lists, shows, copies and removes files here and in buckets",
    .add = [](CommandLine& line) { add_commands(line, kFilesCommands); },
    .examples = {"ls gs://bucket/run", "cp -r gs://bucket/run run"},
};

}  // namespace systole::app
