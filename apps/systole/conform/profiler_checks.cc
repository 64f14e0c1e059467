// Checks of the profiler's extension: what a trace holds.
#include <map>
#include <optional>
#include <set>
#include <string>

#include "apps/systole/conform/host.h"
#include "systole/io/wire/varint.h"

namespace systole::app::conform {
namespace {

// A message of protobuf: the values of its fields in order, by number. Read by hand, for the few
// fields that the checks are about.
struct Message {
  std::multimap<uint64_t, uint64_t> numbers;
  std::multimap<uint64_t, std::string_view> texts;

  std::optional<uint64_t> number(uint64_t field) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }
  std::string_view text(uint64_t field) const {
    const auto found = texts.find(field);
    return found == texts.end() ? std::string_view() : found->second;
  }
  std::vector<Message> messages(uint64_t field) const;
};

Message parse(std::string_view bytes) {
  Message message;
  while (!bytes.empty()) {
    const auto key = read_varint64(bytes);
    expect(key.has_value(), "a trace is no message: a key ends too early");
    const uint64_t field = *key >> 3U;
    switch (*key & 7U) {
      case 0: {
        const auto value = read_varint64(bytes);
        expect(value.has_value(), "a trace is no message: field {} ends too early", field);
        message.numbers.emplace(field, *value);
        break;
      }
      case 1:
        expect(bytes.size() >= 8, "a trace is no message: field {} ends too early", field);
        bytes.remove_prefix(8);
        break;
      case 2: {
        const auto size = read_varint64(bytes);
        expect(size.has_value() && *size <= bytes.size(),
               "a trace is no message: field {} ends too early", field);
        message.texts.emplace(field, bytes.substr(0, *size));
        bytes.remove_prefix(*size);
        break;
      }
      default:
        fail("a trace is no message: field {} has the wire type {}", field, *key & 7U);
    }
  }
  return message;
}

std::vector<Message> Message::messages(uint64_t field) const {
  std::vector<Message> all;
  const auto [begin, end] = texts.equal_range(field);
  for (auto at = begin; at != end; ++at) all.push_back(parse(at->second));
  return all;
}

// A profiler of the plugin. Ends with this object.
class Profiler {
 public:
  explicit Profiler(const Host& host) : api_(functions(host)) {
    auto args = make<PLUGIN_Profiler_Create_Args>();
    args.options = "";
    check(api_.create(&args), "create");
    profiler_ = args.profiler;
    expect(profiler_ != nullptr, "PLUGIN_Profiler_Create gave no profiler");
  }
  ~Profiler() {
    auto args = make<PLUGIN_Profiler_Destroy_Args>();
    args.profiler = profiler_;
    api_.destroy(&args);
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  PLUGIN_Profiler_Error* try_start() {
    auto args = make<PLUGIN_Profiler_Start_Args>();
    args.profiler = profiler_;
    return api_.start(&args);
  }
  PLUGIN_Profiler_Error* try_stop() {
    auto args = make<PLUGIN_Profiler_Stop_Args>();
    args.profiler = profiler_;
    return api_.stop(&args);
  }
  PLUGIN_Profiler_Error* try_collect(std::string& bytes) {
    auto args = make<PLUGIN_Profiler_CollectData_Args>();
    args.profiler = profiler_;
    if (PLUGIN_Profiler_Error* const error = api_.collect_data(&args)) return error;
    const std::string own =
        args.buffer == nullptr
            ? ""
            : std::string(reinterpret_cast<const char*>(args.buffer), args.buffer_size_in_bytes);
    has_own_memory_ = args.buffer != nullptr;
    bytes.assign(args.buffer_size_in_bytes + 1, '\x7F');
    args.buffer = reinterpret_cast<uint8_t*>(bytes.data());
    if (PLUGIN_Profiler_Error* const error = api_.collect_data(&args)) return error;
    expect(args.buffer_size_in_bytes + 1 == bytes.size(), "the size of a trace changed");
    expect(bytes.back() == '\x7F', "the plugin wrote behind the size of a trace");
    bytes.pop_back();
    expect(own.empty() || own == bytes, "a trace has other bytes in the profiler's memory");
    return nullptr;
  }

  void start() { check(try_start(), "start"); }
  std::string stop() {
    check(try_stop(), "stop");
    std::string bytes;
    check(try_collect(bytes), "collect_data");
    return bytes;
  }

  // Whether the last trace could be read without memory of the caller.
  bool has_own_memory() const { return has_own_memory_; }

  // Reads an error and destroys it.
  PluginError take(PLUGIN_Profiler_Error* error) const {
    PluginError told;
    auto code = make<PLUGIN_Profiler_Error_GetCode_Args>();
    code.error = error;
    expect(api_.error_get_code(&code) == nullptr, "a profiler's error has no code");
    told.code = static_cast<PJRT_Error_Code>(code.code);
    auto message = make<PLUGIN_Profiler_Error_Message_Args>();
    message.error = error;
    api_.error_message(&message);
    told.message = text_of(message.message, message.message_size);
    auto destroy = make<PLUGIN_Profiler_Error_Destroy_Args>();
    destroy.error = error;
    api_.error_destroy(&destroy);
    return told;
  }

  // Expects an error with a code and a message.
  void refuses(PLUGIN_Profiler_Error* error, std::string_view what) const {
    expect(error != nullptr, "a profiler took {}", what);
    const PluginError told = take(error);
    expect(told.code > 0 && told.code <= 16, "code of a profiler's error, got {}",
           static_cast<int>(told.code));
    expect(!told.message.empty(), "a profiler's error about {} has no message", what);
  }

 private:
  static const PLUGIN_Profiler_Api& functions(const Host& host) {
    const auto& extension =
        host.extension<PJRT_Profiler_Extension>(PJRT_Extension_Type_Profiler, "profiler");
    if (extension.profiler_api == nullptr) throw Absent{"the profiler's functions"};
    expect(extension.profiler_api->struct_size >= PLUGIN_Profiler_Api_STRUCT_SIZE,
           "size of PLUGIN_Profiler_Api, got {}", extension.profiler_api->struct_size);
    return *extension.profiler_api;
  }
  void check(PLUGIN_Profiler_Error* error, std::string_view what) const {
    if (error != nullptr) fail("the profiler's function '{}': {}", what, take(error).message);
  }

  const PLUGIN_Profiler_Api& api_;
  PLUGIN_Profiler* profiler_ = nullptr;
  bool has_own_memory_ = false;
};

// The fields of XSpace, as XLA numbers them.
constexpr uint64_t kPlanes = 1;
constexpr uint64_t kId = 1;
constexpr uint64_t kName = 2;
constexpr uint64_t kLines = 3;
constexpr uint64_t kEventNames = 4;
constexpr uint64_t kStatNames = 5;
constexpr uint64_t kStart = 3;
constexpr uint64_t kEvents = 4;
constexpr uint64_t kOffset = 2;
constexpr uint64_t kDuration = 3;
constexpr uint64_t kStats = 4;
constexpr uint64_t kDisplayName = 4;
constexpr uint64_t kStatsOfName = 5;
constexpr uint64_t kUint = 3;
constexpr uint64_t kText = 5;
constexpr uint64_t kReference = 7;

using Names = std::map<uint64_t, Message>;

Names names_of(const Message& plane, uint64_t field) {
  Names names;
  for (const Message& entry : plane.messages(field)) {
    const Message value = parse(entry.text(2));
    const uint64_t key = entry.number(1).value_or(0);
    expect(value.number(kId).value_or(0) == key, "a name of a trace has two ids");
    expect(!value.text(kName).empty(), "name {} of a trace is empty", key);
    expect(names.emplace(key, value).second, "a trace has two names with the id {}", key);
  }
  return names;
}

void check_stats(const Message& message, uint64_t field, const Names& names) {
  for (const Message& stat : message.messages(field)) {
    expect(names.contains(stat.number(1).value_or(0)), "a statistic of a trace has no name");
    expect(stat.numbers.size() + stat.texts.size() <= 2, "a statistic of a trace has two values");
  }
}

// The texts of statistics, by their names.
void add_texts(const Message& message, uint64_t field, const Names& names,
               std::set<std::string>& seen) {
  for (const Message& stat : message.messages(field)) {
    const auto name = names.find(stat.number(1).value_or(0));
    if (name == names.end()) continue;
    seen.insert(fmt::format("{}={}", name->second.text(kName), stat.text(kText)));
    if (const auto value = stat.number(kUint))
      seen.insert(fmt::format("{}={}", name->second.text(kName), *value));
    if (const auto reference = names.find(stat.number(kReference).value_or(0));
        reference != names.end())
      seen.insert(fmt::format("{}={}", name->second.text(kName), reference->second.text(kName)));
  }
}

// Checks a plane, and returns the names of its events and their statistics.
std::set<std::string> check_plane(const Message& plane, int64_t before_ns, int64_t after_ns) {
  const Names events = names_of(plane, kEventNames);
  const Names stats = names_of(plane, kStatNames);
  std::set<std::string> seen;
  for (const auto& [id, event] : events) {
    check_stats(event, kStatsOfName, stats);
    add_texts(event, kStatsOfName, stats, seen);
  }
  std::set<uint64_t> lines;
  constexpr double kPicosecond = 1e-3;  // in nanoseconds
  for (const Message& line : plane.messages(kLines)) {
    expect(lines.insert(line.number(kId).value_or(0)).second, "two lines of a trace have one id");
    expect(!line.text(kName).empty(), "a line of a trace has no name");
    const auto start = static_cast<double>(line.number(kStart).value_or(0));
    for (const Message& event : line.messages(kEvents)) {
      const auto name = events.find(event.number(1).value_or(0));
      expect(name != events.end(), "an event of a trace has no name");
      check_stats(event, kStats, stats);
      const double begin =
          start + kPicosecond * static_cast<double>(event.number(kOffset).value_or(0));
      const double end =
          begin + kPicosecond * static_cast<double>(event.number(kDuration).value_or(0));
      constexpr double kClocks = 5e7;  // by which clocks may differ
      expect(begin > static_cast<double>(before_ns) - kClocks &&
                 end < static_cast<double>(after_ns) + kClocks && end >= begin,
             "event '{}' of a trace is outside of its time", name->second.text(kName));
      seen.insert(std::string(name->second.text(kName)));
      seen.insert(std::string(name->second.text(kDisplayName)));
      seen.insert(fmt::format("shown as {}", name->second.text(kDisplayName)));
      if (begin > start && end > begin)
        seen.insert(fmt::format("time of {}", name->second.text(kName)));
    }
  }
  return seen;
}

int64_t unix_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

constexpr std::string_view kTraced = R"(module @traced_program {
  func.func public @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("layer/product")
    %1 = stablehlo.tanh %0 : tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  }
})";

struct Trace {
  std::set<std::string> device;  // what the planes of devices have
  std::set<std::string> host;
};

constexpr std::string_view kStep = "a step of the caller";

// A trace of a program that runs while the caller tells of a step.
Trace trace(const Client& client, const Loaded& loaded, Profiler& profiler) {
  const Buffer x = client.put(matrix(64, 64, std::vector<float>(64 * 64, 0.1F)));
  const int64_t before = unix_ns();
  profiler.start();
  const auto step = client.host().call<PJRT_Device_CreateAsyncTrackingEvent_Args>([&](auto& args) {
    args.device = client.device();
    args.description = kStep.data();
    args.description_size = kStep.size();
  });
  PJRT_Buffer* const arguments[] = {x.get()};
  for (int i = 0; i < 5; ++i) client.run(loaded, arguments);
  client.host().call<PJRT_AsyncTrackingEvent_Destroy_Args>(
      [&](auto& args) { args.event = step.event; });
  const std::string bytes = profiler.stop();
  const int64_t after = unix_ns();
  Trace names;
  std::set<uint64_t> planes;
  for (const Message& plane : parse(bytes).messages(kPlanes)) {
    expect(planes.insert(plane.number(kId).value_or(0)).second,
           "two planes of a trace have one id");
    expect(!plane.text(kName).empty(), "a plane of a trace has no name");
    const std::set<std::string> seen = check_plane(plane, before, after);
    auto& all = plane.text(kName).starts_with("/device:") ? names.device : names.host;
    all.insert(seen.begin(), seen.end());
  }
  return names;
}

bool any_contains(const std::set<std::string>& names, std::string_view part) {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

void check_trace(const Host& host) {
  const Client client(host);
  const Loaded loaded = client.compile(kTraced);
  Profiler profiler(host);
  for (int turn = 0; turn < 2; ++turn) {  // the second trace has its own events
    const Trace names = trace(client, loaded, profiler);
    for (const std::string_view part :
         {"traced_program", "dot", "shown as dot", "time of traced_program",
          "hlo_category=", "flops=", "bytes_accessed=", "layer/product"}) {
      expect(any_contains(names.device, part), "a trace of a program has no '{}'", part);
    }
    expect(any_contains(names.host, fmt::format("time of {}", kStep)),
           "a trace has no event of the step that the caller told of");
    expect(!any_contains(names.host, "traced_program"), "the host has the events of a device");
  }
}

// A profiler may leave it to the caller to bring memory for the trace.
void check_own_memory(const Host& host) {
  Profiler profiler(host);
  profiler.start();
  profiler.stop();
  if (!profiler.has_own_memory()) throw Absent{"a trace in the profiler's memory"};
}

void check_order_of_calls(const Host& host) {
  const Client client(host);
  Profiler profiler(host);
  std::string bytes;
  profiler.refuses(profiler.try_stop(), "the end of a recording that did not start");
  profiler.refuses(profiler.try_collect(bytes), "a request for data before a recording");
  profiler.start();
  profiler.refuses(profiler.try_start(), "a second start");
  parse(profiler.stop());
}

void check_destroy_while_recording(const Host& host) {
  const Client client(host);
  {
    Profiler profiler(host);
    profiler.start();
  }
  Profiler profiler(host);
  profiler.start();
  parse(profiler.stop());
}

constexpr Check kChecks[] = {
    {"a trace holds the program and its ops",
     "PJRT_Profiler_Extension PJRT_Device_CreateAsyncTrackingEvent "
     "PJRT_AsyncTrackingEvent_Destroy",
     check_trace},
    {"a trace in the profiler's own memory", "PJRT_Profiler_Extension", check_own_memory},
    {"a profiler's functions in another order are refused", "PJRT_Profiler_Extension",
     check_order_of_calls},
    {"destroy a profiler that records", "PJRT_Profiler_Extension", check_destroy_while_recording},
};

}  // namespace

std::span<const Check> profiler_checks() { return kChecks; }

}  // namespace systole::app::conform
