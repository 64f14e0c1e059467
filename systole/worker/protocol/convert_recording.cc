#include "systole/worker/protocol/convert_recording.h"

#include <algorithm>
#include <map>
#include <utility>

#include "systole/base/error.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/recording.pb.h"

namespace systole::worker {
namespace {

using tracing::Event;

// The bound of times and sizes, so that sums of some do not overflow.
constexpr int64_t kLargest = int64_t{1} << 60;

template <class... Args>
Error damaged(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::data_loss, "worker: recording: {}",
                    fmt::format(format, std::forward<Args>(args)...));
}

// ------------------------------------------------------------------------------------ encoding

// The names of events, each once.
class Names {
 public:
  explicit Names(v1::Recording& message) : message_(message) {}
  uint32_t index_of(std::string_view name) {
    const auto [entry, added] = indices_.try_emplace(name, static_cast<uint32_t>(indices_.size()));
    if (added) message_.add_names(std::string(name));
    return entry->second;
  }

 private:
  v1::Recording& message_;
  std::map<std::string_view, uint32_t> indices_;
};

void encode_thread(const tracing::ThreadEvents& thread, size_t most, Names& names,
                   v1::RecordedThread& message) {
  const size_t first = thread.events.size() - std::min(thread.events.size(), most);
  message.set_name(thread.name);
  message.set_id(thread.id);
  message.set_dropped(thread.dropped + static_cast<int64_t>(first));
  int64_t last = 0;
  for (size_t i = first; i < thread.events.size(); ++i) {
    const Event& event = thread.events[i];
    message.add_end(event.end - std::exchange(last, event.end));
    message.add_duration(static_cast<uint64_t>(event.end - event.begin));
    message.add_name_index(names.index_of(event.name));
    message.add_kind(static_cast<uint32_t>(event.kind));
    for (const tracing::Arg& arg : event.args) {
      message.add_key(arg.key == nullptr ? 0 : names.index_of(arg.key) + 1);
      message.add_value(arg.key == nullptr ? 0 : arg.value);
    }
  }
}

void encode_op(const tracing::Op& op, v1::RecordedOp& message) {
  message.set_name(op.name);
  message.set_opcode(op.opcode);
  message.set_category(op.category);
  message.set_expression(op.expression);
  message.set_scope(op.scope);
  message.set_source(op.source);
  for (const std::string& shape : op.shapes) message.add_shapes(shape);
  message.set_flops(op.flops);
  message.set_bytes(op.bytes);
  message.set_padded_flops(op.padded_flops);
  message.set_rows(op.rows);
  message.set_interpreted(op.interpreted);
}

void encode_allocation(const tracing::Allocation& a, v1::RecordedAllocation& message) {
  message.set_name(a.name);
  message.set_kind(a.kind);
  to_wire(a.type, *message.mutable_type());
  message.set_scope(a.scope);
  message.set_source(a.source);
  message.set_bytes(a.bytes);
  message.set_index(a.index);
  message.set_offset(a.offset);
  message.set_first(a.first);
  message.set_last(a.last);
}

void encode_program(const tracing::Program& program, v1::RecordedProgram& message) {
  message.set_id(program.id);
  message.set_name(program.name);
  message.set_replicas(program.replicas);
  for (const tracing::Op& op : program.ops) encode_op(op, *message.add_ops());
  for (const tracing::Allocation& a : program.allocations) {
    encode_allocation(a, *message.add_allocations());
  }
  message.set_argument_bytes(program.argument_bytes);
  message.set_result_bytes(program.result_bytes);
  message.set_temp_bytes(program.temp_bytes);
}

v1::Recording encode(const tracing::Recording& recording, size_t most_events) {
  v1::Recording message;
  message.set_start_unix_ns(recording.start_unix_ns);
  message.set_start_steady_ns(recording.start_steady_ns);
  message.set_duration_ns(recording.duration_ns);
  message.set_host(recording.host);
  message.set_remark(recording.remark);
  if (recording.peaks) {
    v1::Peaks& peaks = *message.mutable_peaks();
    peaks.set_name(recording.peaks->name);
    peaks.set_cores(recording.peaks->cores);
    peaks.set_flops_per_second(recording.peaks->flops_per_second);
    peaks.set_bytes_per_second(recording.peaks->bytes_per_second);
  }
  Names names(message);
  for (const tracing::ThreadEvents& thread : recording.threads) {
    encode_thread(thread, most_events, names, *message.add_threads());
  }
  for (const auto& [id, program] : recording.programs) {
    encode_program(*program, *message.add_programs());
  }
  return message;
}

// -------------------------------------------------------------------------------------- joining

// Ids of programs are unique in a process alone.
constexpr int kProcessShift = 32;

// Moves the events of a thread to a recording that began `shift_ns` earlier and whose names and
// programs have other numbers.
void move_events(v1::RecordedThread& thread, int64_t shift_ns, uint32_t first_name,
                 int64_t program_offset, uint32_t program_key) {
  if (thread.end_size() > 0) thread.set_end(0, thread.end(0) + shift_ns);
  for (uint32_t& name : *thread.mutable_name_index()) name += first_name;
  const int arguments = std::min(thread.key_size(), thread.value_size());
  for (int i = 0; i < arguments; ++i) {
    if (thread.key(i) == 0) continue;
    if (thread.key(i) == program_key) thread.set_value(i, thread.value(i) + program_offset);
    thread.set_key(i, thread.key(i) + first_name);
  }
}

void add_part(const RecordingPart& part, int number, v1::Recording& whole) {
  v1::Recording message;
  if (!message.ParseFromString(part.bytes)) return;
  const int64_t shift_ns = message.start_steady_ns() - whole.start_steady_ns();
  const auto first_name = static_cast<uint32_t>(whole.names_size());
  const int64_t program_offset = int64_t{number} << kProcessShift;
  uint32_t program_key = 0;
  for (int i = 0; i < message.names_size(); ++i) {
    if (message.names(i) == "program") program_key = static_cast<uint32_t>(i) + 1;
    whole.add_names(std::move(*message.mutable_names(i)));
  }
  for (v1::RecordedThread& thread : *message.mutable_threads()) {
    move_events(thread, shift_ns, first_name, program_offset, program_key);
    if (thread.id() == part.thread) thread.set_name(part.name);
    whole.add_threads()->Swap(&thread);
  }
  for (v1::RecordedProgram& program : *message.mutable_programs()) {
    program.set_id(program.id() + program_offset);
    whole.add_programs()->Swap(&program);
  }
}

// ------------------------------------------------------------------------------------ decoding

int64_t checked(int64_t value, const char* what) {
  if (value >= -kLargest && value <= kLargest) return value;
  throw damaged("{}, got {}, expected at most 2^60", what, value);
}

double checked(double value, const char* what) {
  if (value >= 0 && value <= static_cast<double>(kLargest)) return value;
  throw damaged("{}, got {}, expected 0 to 2^60", what, value);
}

// Positions in a program: there is memory for each.
int checked_position(int position) {
  constexpr int kMax = 1 << 24;
  if (position >= 0 && position <= kMax) return position;
  throw damaged("position, got {}, expected 0 to 2^24", position);
}

tracing::ThreadEvents decode_thread(const v1::RecordedThread& message,
                                    const std::vector<const char*>& names) {
  const int count = message.end_size();
  if (message.duration_size() != count || message.name_index_size() != count ||
      message.kind_size() != count || message.key_size() != 2 * count ||
      message.value_size() != 2 * count) {
    throw damaged("events of a thread, got columns of different lengths");
  }
  const auto name_of = [&](uint32_t index) {
    if (index < names.size()) return names[index];
    throw damaged("name, got number {}, expected one below {}", index, names.size());
  };
  tracing::ThreadEvents thread{
      .name = message.name(),
      .id = message.id(),
      .dropped = std::max<int64_t>(checked(message.dropped(), "events"), 0)};
  thread.events.reserve(static_cast<size_t>(count));
  int64_t end = 0;
  for (int i = 0; i < count; ++i) {
    end = checked(end + checked(message.end(i), "time"), "time");
    if (message.duration(i) > static_cast<uint64_t>(kLargest) ||
        message.kind(i) >= static_cast<uint32_t>(tracing::kNumKinds)) {
      throw damaged("event, got kind {} of {} ns", message.kind(i), message.duration(i));
    }
    Event& event = thread.events.emplace_back();
    event.begin = end - static_cast<int64_t>(message.duration(i));
    event.end = end;
    event.name = name_of(message.name_index(i));
    event.kind = static_cast<tracing::Kind>(message.kind(i));
    for (int k = 0; k < 2; ++k) {
      if (const uint32_t key = message.key(2 * i + k); key > 0) {
        event.args[k] = {name_of(key - 1), message.value(2 * i + k)};
      }
    }
  }
  return thread;
}

tracing::Op decode_op(const v1::RecordedOp& message) {
  return {.name = message.name(),
          .opcode = message.opcode(),
          .category = message.category(),
          .expression = message.expression(),
          .scope = message.scope(),
          .source = message.source(),
          .shapes = {message.shapes().begin(), message.shapes().end()},
          .flops = checked(message.flops(), "FLOP"),
          .bytes = checked(message.bytes(), "bytes"),
          .padded_flops = checked(message.padded_flops(), "FLOP"),
          .rows = checked(message.rows(), "rows"),
          .interpreted = message.interpreted()};
}

tracing::Allocation decode_allocation(const v1::RecordedAllocation& message) {
  return {.name = message.name(),
          .kind = message.kind(),
          .type = from_wire(message.type()),
          .scope = message.scope(),
          .source = message.source(),
          .bytes = checked(message.bytes(), "bytes"),
          .index = message.index(),
          .offset = checked(message.offset(), "offset"),
          .first = checked_position(message.first()),
          .last = checked_position(message.last())};
}

std::shared_ptr<const tracing::Program> decode_program(const v1::RecordedProgram& message) {
  auto program = std::make_shared<tracing::Program>();
  program->id = message.id();
  program->name = message.name();
  program->replicas = std::max(message.replicas(), 1);
  for (const v1::RecordedOp& op : message.ops()) program->ops.push_back(decode_op(op));
  for (const v1::RecordedAllocation& a : message.allocations()) {
    program->allocations.push_back(decode_allocation(a));
  }
  program->argument_bytes = checked(message.argument_bytes(), "bytes");
  program->result_bytes = checked(message.result_bytes(), "bytes");
  program->temp_bytes = checked(message.temp_bytes(), "bytes");
  return program;
}

tracing::Recording decode(const v1::Recording& message) {
  tracing::Recording recording;
  recording.start_unix_ns = std::max<int64_t>(message.start_unix_ns(), 0);
  recording.start_steady_ns = checked(message.start_steady_ns(), "time");
  recording.duration_ns = std::max<int64_t>(checked(message.duration_ns(), "time"), 0);
  recording.host = message.host();
  recording.remark = message.remark();
  if (message.has_peaks()) {
    const v1::Peaks& peaks = message.peaks();
    recording.peaks =
        tracing::DevicePeaks{.name = peaks.name(),
                             .cores = peaks.cores(),
                             .flops_per_second = checked(peaks.flops_per_second(), "FLOP/s"),
                             .bytes_per_second = checked(peaks.bytes_per_second(), "bytes/s")};
  }
  std::vector<const char*> names;
  for (const std::string& name : message.names()) names.push_back(tracing::intern(name));
  for (const v1::RecordedThread& thread : message.threads()) {
    recording.threads.push_back(decode_thread(thread, names));
  }
  for (const v1::RecordedProgram& program : message.programs()) {
    recording.programs[program.id()] = decode_program(program);
  }
  return recording;
}

}  // namespace

std::string encode_recording(const tracing::Recording& recording, int64_t max_bytes) {
  size_t most = 0;
  for (const tracing::ThreadEvents& thread : recording.threads) {
    most = std::max(most, thread.events.size());
  }
  while (true) {
    const v1::Recording message = encode(recording, most);
    const size_t bytes = message.ByteSizeLong();
    if (bytes <= static_cast<size_t>(std::min<int64_t>(max_bytes, INT32_MAX))) {
      return message.SerializeAsString();
    }
    if (most == 0) {
      throw make_error(Code::resource_exhausted,
                       "worker: recording, got programs of {} bytes, expected at most {}", bytes,
                       max_bytes);
    }
    most /= 2;
  }
}

bool has_events(const RecordingPart& part) {
  v1::Recording message;
  return message.ParseFromString(part.bytes) && message.threads_size() > 0;
}

std::string join_recordings(std::string_view whole, const std::vector<RecordingPart>& parts,
                            int64_t max_bytes) {
  v1::Recording message;
  if (!message.ParseFromArray(whole.data(), static_cast<int>(whole.size()))) {
    throw damaged("got {} bytes that are no message", whole.size());
  }
  auto left = std::min<int64_t>(max_bytes, INT32_MAX) - static_cast<int64_t>(whole.size());
  int number = 0;
  for (const RecordingPart& part : parts) {
    left -= static_cast<int64_t>(part.bytes.size());
    if (left < 0) break;
    add_part(part, ++number, message);
  }
  return message.SerializeAsString();
}

tracing::Recording decode_recording(std::string_view bytes) {
  v1::Recording message;
  if (bytes.size() > INT32_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw damaged("got {} bytes that are no message", bytes.size());
  }
  try {
    return decode(message);
  } catch (const Error& error) {
    if (error.code() == Code::data_loss) throw;
    throw damaged("{}", error.message());
  }
}

}  // namespace systole::worker
