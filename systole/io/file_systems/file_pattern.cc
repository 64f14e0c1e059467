#include "systole/io/file_systems/file_pattern.h"

namespace systole {
namespace {

// Returns whether the set at pattern[p] (after the bracket) contains `c`; advances p past it. An
// unclosed set contains nothing.
bool in_set(std::string_view pattern, size_t& p, char c) {
  const bool negated = p < pattern.size() && pattern[p] == '!';
  if (negated) ++p;
  bool found = false;
  for (bool first = true; p < pattern.size(); first = false) {
    if (pattern[p] == ']' && !first) {
      ++p;
      return found != negated;
    }
    const char low = pattern[p++];
    char high = low;
    if (p + 1 < pattern.size() && pattern[p] == '-' && pattern[p + 1] != ']') {
      high = pattern[p + 1];
      p += 2;
    }
    found = found || (low <= c && c <= high);
  }
  return false;
}

// Matches one name with one part of a pattern.
bool matches_pattern(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;  // where the last '*' was, and what it had taken
  size_t taken = 0;
  while (n < name.size()) {
    size_t next = p;
    bool ok = false;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
      continue;
    }
    if (p < pattern.size()) {
      ++next;
      ok = pattern[p] == '?' ||
           (pattern[p] == '[' ? in_set(pattern, next, name[n]) : pattern[p] == name[n]);
    }
    if (ok) {
      p = next;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool has_wildcard(std::string_view part) { return part.find_first_of("*?[") != part.npos; }

// Finds the paths that start with `base` and continue as `pattern`.
void find_files(FileSystem& file_system, const std::string& base, std::string_view pattern,
                std::vector<std::string>& found) {
  const size_t slash = pattern.find('/');
  const std::string_view part = pattern.substr(0, slash);
  const bool last = slash == std::string_view::npos;
  const std::string_view rest = last ? std::string_view() : pattern.substr(slash + 1);
  const auto go_on = [&](std::string_view name) {
    const std::string path = base + std::string(name);
    if (!last) {
      find_files(file_system, path + "/", rest, found);
    } else if (file_system.exists(path) && !file_system.stat(path).is_directory) {
      found.push_back(path);
    }
  };
  if (!has_wildcard(part)) return go_on(part);
  const std::string folder = base.empty() ? "." : base;
  if (!file_system.exists(folder) || !file_system.stat(folder).is_directory) return;
  for (const std::string& name : file_system.list(folder)) {
    const bool hidden = name.starts_with('.') && !part.starts_with('.');
    if (!hidden && matches_pattern(part, name)) go_on(name);
  }
}

}  // namespace

std::vector<std::string> files_matching(FileSystem& file_system, const std::string& pattern) {
  const std::string root(path_root(pattern));
  std::vector<std::string> found;
  find_files(file_system, root, std::string_view(pattern).substr(root.size()), found);
  return found;
}

}  // namespace systole
