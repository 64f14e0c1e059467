#include "systole/tpu_check/hlo_dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

namespace systole::tpu_check {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// Takes a line off the front.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return line;
}

int64_t number_of(std::string_view digits) {
  int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Returns the text behind the first `key` up to any character of `ends`; "" if `key` is not there.
std::string_view after(std::string_view text, std::string_view key, std::string_view ends) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find_first_of(ends));
}

// A quoted text behind `key`, with \" and \\ as they stand.
std::string quoted_after(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return "";
  std::string value;
  for (size_t i = at + key.size(); i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    value += text[i];
  }
  return value;
}

std::string name_of(std::string_view text) {
  if (text.starts_with('%')) text.remove_prefix(1);
  return std::string(text);
}

// The tables at the head of a module: frames of the user's program.
class Frames {
 public:
  // Returns whether the line belongs to a table.
  bool read(std::string_view line) {
    for (const auto& [heading, table] :
         {std::pair{"FileNames", &files_}, std::pair{"FunctionNames", &functions_},
          std::pair{"FileLocations", &locations_}, std::pair{"StackFrames", &frames_}}) {
      if (line != heading) continue;
      table_ = table;
      return true;
    }
    if (table_ == nullptr || line.empty() || std::isdigit(static_cast<unsigned char>(line[0])) == 0)
      return false;
    const size_t space = line.find(' ');
    if (space != std::string_view::npos)
      (*table_)[number_of(line.substr(0, space))] = std::string(line.substr(space + 1));
    return true;
  }
  void end() { table_ = nullptr; }

  void find(int64_t frame, Source& source) const {
    const std::string& location =
        of(locations_, number_in(of(frames_, frame), "file_location_id="));
    source.file = quoted_after(of(files_, number_in(location, "file_name_id=")), "\"");
    source.line = static_cast<int>(number_in(location, " line="));
  }

 private:
  using Table = std::map<int64_t, std::string>;
  static int64_t number_in(std::string_view text, std::string_view key) {
    return number_of(after(text, key, " }"));
  }
  static const std::string& of(const Table& table, int64_t id) {
    static const std::string kNone;
    const auto found = table.find(id);
    return found == table.end() ? kNone : found->second;
  }

  Table files_;
  Table functions_;
  Table locations_;
  Table frames_;
  Table* table_ = nullptr;
};

// An operation as it stands in its computation.
struct Line {
  DumpedOp op;
  double constant = 0;  // the value of a scalar
  double trips = 0;     // of a loop, where the module says it
  std::string body;     // of a loop
  std::string condition;
  std::vector<std::string> calls;     // of a call or a fusion
  std::vector<std::string> branches;  // of a conditional
};

using Computations = std::map<std::string, std::vector<Line>, std::less<>>;

// The type at the front of "f32[2,3]{1,0:T(8,128)} add(...": up to the space outside parentheses.
std::string_view take_type(std::string_view& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == '}') --depth;
    if (text[i] != ' ' || depth != 0) continue;
    const std::string_view type = text.substr(0, i);
    text.remove_prefix(i + 1);
    return type;
  }
  return {};
}

// Without layouts: "(f32[2], s32[])".
std::string without_layouts(std::string_view type) {
  std::string text;
  int depth = 0;
  for (const char c : type) {
    if (c == '{') ++depth;
    if (depth == 0) text += c;
    if (c == '}') --depth;
  }
  return text;
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    names.push_back(name_of(trimmed(list.substr(0, comma))));
    list.remove_prefix(std::min(list.size(), comma + 1));
  }
  return names;
}

Source source_of(std::string_view rest, const Frames& frames) {
  Source source;
  const size_t at = rest.find("metadata={");
  if (at == std::string_view::npos) return source;
  const std::string_view metadata = rest.substr(at, rest.find(", backend_config=", at) - at);
  source.name = quoted_after(metadata, "op_name=\"");
  source.file = quoted_after(metadata, "source_file=\"");
  source.line = static_cast<int>(number_of(after(metadata, "source_line=", " }")));
  const int64_t frame = number_of(after(metadata, "stack_frame_id=", " }"));
  if (source.line == 0 && frame > 0) frames.find(frame, source);
  return source;
}

std::optional<Line> read_op(std::string_view text, const Frames& frames) {
  text = trimmed(text);
  constexpr std::string_view kRoot = "ROOT ";
  if (text.starts_with(kRoot)) text.remove_prefix(kRoot.size());
  const size_t equals = text.find(" = ");
  if (equals == std::string_view::npos) return std::nullopt;
  Line line;
  line.op.name = name_of(text.substr(0, equals));
  std::string_view rest = text.substr(equals + 3);
  line.op.type = without_layouts(take_type(rest));
  line.op.opcode = rest.substr(0, rest.find('('));
  if (line.op.opcode == "fusion") {
    const std::string_view kind = after(rest, "kind=k", ", ");
    if (!kind.empty()) line.op.opcode += ":" + std::string(kind);
  }
  line.op.source = source_of(rest, frames);
  line.op.cycles = static_cast<double>(number_of(after(rest, "\"estimated_cycles\":\"", "\"")));
  if (line.op.opcode == "constant")
    line.constant = static_cast<double>(number_of(after(rest, "constant(", ")")));
  line.trips = static_cast<double>(number_of(after(rest, R"("known_trip_count":{"n":")", "\"")));
  line.body = name_of(after(rest, "body=", ", "));
  line.condition = name_of(after(rest, "condition=", ", "));
  for (const char* key : {"calls=", "to_apply="}) {
    const std::string_view name = after(rest, key, ", ");
    if (!name.empty()) line.calls.push_back(name_of(name));
  }
  line.branches = names_in(after(rest, "branch_computations={", "}"));
  for (const char* key : {"true_computation=", "false_computation="}) {
    const std::string_view name = after(rest, key, ", ");
    if (!name.empty()) line.branches.push_back(name_of(name));
  }
  return line;
}

// Adds up the cycles of computations.
class Adder {
 public:
  Adder(const Computations& computations, HloDump& dump)
      : computations_(computations), dump_(dump) {}

  double add(const std::string& name, double times, int depth = 0) {
    constexpr int kMaxDepth = 64;
    const auto found = computations_.find(name);
    if (found == computations_.end() || depth > kMaxDepth) return 0;
    double sum = 0;
    for (const Line& line : found->second) sum += add(line, times, depth);
    return sum;
  }

 private:
  double add(const Line& line, double times, int depth) {
    if (line.op.opcode == "while") {
      double trips = line.trips > 0 ? line.trips : trips_of(line.condition, 0);
      if (trips <= 0) {
        dump_.has_unknown_loops = true;
        trips = 1;
      }
      return trips * add(line.body, times * trips, depth + 1);
    }
    if (line.op.opcode == "conditional") {
      double most = 0;
      for (const std::string& branch : line.branches)
        most = std::max(most, add(branch, times, depth + 1));
      return most;
    }
    if (line.op.opcode == "call") {
      double sum = 0;
      for (const std::string& callee : line.calls) sum += add(callee, times, depth + 1);
      return sum;
    }
    if (line.op.cycles > 0) {
      dump_.timed.push_back(line.op);
      dump_.timed.back().times = times;
    }
    return line.op.cycles;
  }

  // A TPU's loops do not say how often they run: the largest number of their condition does, which
  // compares it with a counter that begins at 0.
  double trips_of(const std::string& condition, int depth) const {
    const auto found = computations_.find(condition);
    if (found == computations_.end() || depth > 2) return 0;
    double most = 0;
    for (const Line& line : found->second) {
      if (line.op.type == "s32[]" || line.op.type == "u32[]") most = std::max(most, line.constant);
      for (const std::string& callee : line.calls)
        most = std::max(most, trips_of(callee, depth + 1));
    }
    return most;
  }

  const Computations& computations_;
  HloDump& dump_;
};

}  // namespace

std::string Source::to_string(std::string_view program) const {
  const std::string_view at = file == "-" || file.empty() ? program : std::string_view(file);
  const std::string_view base = at.substr(at.rfind('/') + 1);
  std::string text = name.empty() ? "" : fmt::format("'{}'", name);
  if (line > 0) text += fmt::format("{}{}:{}", text.empty() ? "" : " at ", base, line);
  return text;
}

HloDump read_hlo_dump(std::string_view text) {
  Frames frames;
  Computations computations;
  std::vector<Line>* current = nullptr;
  std::string entry;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.starts_with("  ")) {
      if (current == nullptr) continue;
      if (auto op = read_op(line, frames)) current->push_back(std::move(*op));
      continue;
    }
    if (frames.read(line)) continue;
    constexpr std::string_view kEntry = "ENTRY ";
    if (!line.ends_with('{')) continue;
    frames.end();
    const bool is_entry = line.starts_with(kEntry);
    std::string_view head = is_entry ? line.substr(kEntry.size()) : line;
    const std::string name = name_of(head.substr(0, head.find(' ')));
    if (is_entry) entry = name;
    current = &computations[name];
  }
  HloDump dump;
  dump.cycles = Adder(computations, dump).add(entry, 1);
  for (const auto& [name, lines] : computations) {
    for (const Line& line : lines) dump.ops.emplace(line.op.name, line.op);
  }
  std::ranges::stable_sort(dump.timed, std::greater(),
                           [](const DumpedOp& op) { return op.times * op.cycles; });
  return dump;
}

std::vector<LiveArray> read_live_arrays(std::string_view text) {
  std::vector<LiveArray> arrays;
  bool inside = false;
  while (!text.empty()) {
    const std::string_view line = trimmed(next_line(text));
    if (line.starts_with("Live ranges at ")) {
      inside = true;
      continue;
    }
    if (!inside) continue;
    // "convolution_tanh_fusion{}: 262144 bytes (cumulative: 524288 bytes)"
    const size_t brace = line.find('{');
    const size_t colon = line.find("}: ");
    if (brace == std::string_view::npos || colon == std::string_view::npos) break;
    arrays.push_back(
        {.op = name_of(line.substr(0, brace)), .bytes = number_of(after(line, "}: ", " "))});
  }
  std::ranges::stable_sort(arrays, std::greater(), &LiveArray::bytes);
  return arrays;
}

int64_t read_total_bytes(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (!line.starts_with("Memory Space: default")) continue;
    return number_of(after(text, "Total bytes: ", " \n"));
  }
  return 0;
}

}  // namespace systole::tpu_check
