#include "apps/board/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <utility>

#include "apps/board/hparams.h"
#include "apps/board/names.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/records/tfrecord_format.h"
#include "systole/io/wire/crc32c.h"
#include "systole/io/wire/wire.h"

namespace systole::board {
namespace {

constexpr int kRecordsPerLock = 2048;
constexpr size_t kMaxProblems = 20;
constexpr size_t kMaxDescriptionBytes = 20'000;
// What is kept for a tag besides its texts: its entry, its place in the index, the first points.
constexpr size_t kTagBytes = sizeof(TagData) + 400;
constexpr size_t kFileBytes = 600;
constexpr size_t kHparamBytes = 1000;
constexpr const char* kNoMemory =
    "The run has more {} than fit into the memory (option --memory); the others are not shown.";

TagKind kind_of_plugin(std::string_view plugin) {
  if (plugin == "scalars") return TagKind::scalars;
  if (plugin == "histograms") return TagKind::histograms;
  if (plugin == "images") return TagKind::images;
  if (plugin == "text") return TagKind::text;
  if (plugin == "pr_curves") return TagKind::pr_curves;
  return TagKind::other;
}

TagKind kind_of_value(const ValueView& value) {
  switch (value.kind) {
    case SummaryValue::Kind::scalar:
      return TagKind::scalars;
    case SummaryValue::Kind::histogram:
      return TagKind::histograms;
    case SummaryValue::Kind::image:
      return TagKind::images;
    case SummaryValue::Kind::tensor:
      // The plugin's name is in the metadata, which only the first event of a tag has. Some writers
      // never write it for scalars.
      if (value.plugin.empty() && scalar_of_tensor(value.message)) return TagKind::scalars;
      return kind_of_plugin(value.plugin);
    default:
      return TagKind::other;
  }
}

struct RecordHeader {
  bool is_complete = false;
  bool is_intact = false;
  uint64_t length = 0;
};

RecordHeader header_at(FileSystem& file_system, const std::string& path, uint64_t offset) {
  std::array<char, kRecordHeaderBytes> bytes{};
  const auto file = file_system.open(path);
  if (file->read(offset, bytes.size(), bytes.data()) < bytes.size()) return {};
  RecordHeader header{.is_complete = true};
  uint32_t crc = 0;
  std::memcpy(&crc, bytes.data() + kRecordLengthBytes, sizeof(crc));
  std::memcpy(&header.length, bytes.data(), sizeof(header.length));
  header.is_intact = crc == mask_crc32c(crc32c({bytes.data(), kRecordLengthBytes}));
  return header;
}

// Returns whether the record at `offset` has an intact length: it is only not complete yet.
bool is_incomplete_record(FileSystem& file_system, const std::string& path, uint64_t offset) {
  const RecordHeader header = header_at(file_system, path, offset);
  return !header.is_complete || header.is_intact;
}

size_t bytes_of(const TagData& tag) {
  return tag.scalars.bytes() + tag.blobs.capacity() * sizeof(BlobRef);
}

// Keeps every second reference, and always the last.
void halve(std::vector<BlobRef>& blobs) {
  if (blobs.size() <= 2) return;
  size_t kept = 0;
  for (size_t i = (blobs.size() - 1) % 2; i < blobs.size(); i += 2) blobs[kept++] = blobs[i];
  blobs.resize(kept);
  blobs.shrink_to_fit();
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  out += static_cast<char>(value);
}

// Returns value `index` of a Summary as an event that has no other; "" if there is none.
std::string event_of_value(std::string_view summary, uint32_t index) {
  wire::Reader reader(summary);
  while (reader.next()) {
    if (!reader.is(1, wire::Type::bytes)) {
      reader.skip();
      continue;
    }
    const std::string_view value = reader.bytes();
    if (index-- > 0) continue;
    std::string only("\x0a");  // field 1 of the Summary
    append_varint(only, value.size());
    only += value;
    std::string event("\x2a");  // field 5 of the Event
    append_varint(event, only.size());
    return event + only;
  }
  return "";
}

// Returns SessionLog.status.
uint64_t session_status(std::string_view session_log) {
  wire::Reader reader(session_log);
  uint64_t status = 0;
  while (reader.next()) {
    if (reader.is(1, wire::Type::varint)) {
      status = reader.varint();
    } else {
      reader.skip();
    }
  }
  return status;
}

}  // namespace

std::string_view to_string(TagKind kind) {
  constexpr std::array<std::string_view, kTagKinds> kNames = {"scalars", "histograms", "images",
                                                              "text",    "pr_curves",  "other"};
  return kNames[static_cast<size_t>(kind)];
}

Run::Run(FileSystem& file_system, std::string name, std::string directory, uint32_t id,
         Limits limits, MemoryBudget& budget, std::function<void()> on_full)
    : file_system_(file_system),
      name_(std::move(name)),
      directory_(std::move(directory)),
      id_(id),
      limits_(limits),
      budget_(budget),
      on_full_(std::move(on_full)) {}

void Run::add_files(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (file_names_.contains(name)) continue;
    const auto hold = lock();
    if (!budget_.take_names(kFileBytes + directory_.size() + 2 * name.size())) {
      add_problem(fmt::format(fmt::runtime(kNoMemory), "event files"));
      return;
    }
    file_names_.insert(name);
    files_.emplace_back();
    files_.back().path = join_path(directory_, name);
  }
}

void Run::set_hparam_files(std::vector<std::string> paths) {
  if (paths == hparam_paths_) return;
  hparam_paths_ = std::move(paths);
  hparam_times_.assign(hparam_paths_.size(), -1);
}

std::map<std::string, Hparam> Run::hparams() const {
  std::map<std::string, Hparam> all = file_hparams_;
  for (const auto& [name, hparam] : facts_.hparams) all[name] = hparam;
  return all;
}

// Reads all files again if one has changed.
bool Run::refresh_hparams() {
  bool changed = false;
  for (size_t i = 0; i < hparam_paths_.size(); ++i) {
    const int64_t time = file_system_.stat(hparam_paths_[i]).modified_ns;
    changed |= std::exchange(hparam_times_[i], time) != time;
  }
  if (!changed) return false;
  std::map<std::string, Hparam> hparams;
  std::vector<std::string> problems;
  for (const std::string& path : hparam_paths_) {
    try {
      add_hparam_file(file_system_, path, hparams);
    } catch (const std::exception& error) {
      problems.emplace_back(error.what());
    }
  }
  budget_.give_names(std::exchange(file_hparam_bytes_, 0));
  if (const size_t bytes = hparams.size() * kHparamBytes; budget_.take_names(bytes)) {
    file_hparam_bytes_ = bytes;
  } else {
    hparams.clear();
    problems.push_back(fmt::format(fmt::runtime(kNoMemory), "hyperparameters"));
  }
  const auto hold = lock();
  file_hparams_ = std::move(hparams);
  for (const std::string& problem : problems) add_problem(problem);
  ++generation_;
  return true;
}

std::unique_lock<Mutex> Run::lock() const {
  ++waiting_;
  std::unique_lock<Mutex> hold(mutex_);
  --waiting_;
  return hold;
}

uint64_t Run::bytes_left() const {
  const auto hold = lock();
  uint64_t left = 0;
  for (const File& file : files_) left += file.size - std::min(file.size, file.offset);
  return left;
}

const TagData* Run::find_tag(std::string_view name, TagKind kind) const {
  const auto found = std::ranges::find_if(
      tags_, [&](const TagData& tag) { return tag.kind == kind && tag.name == name; });
  return found == tags_.end() ? nullptr : &*found;
}

void Run::add_problem(const std::string& problem) {
  if (facts_.problems.size() < kMaxProblems &&
      std::ranges::find(facts_.problems, problem) == facts_.problems.end()) {
    facts_.problems.push_back(safe_text(problem, 1000));
    ++generation_;
  }
}

void Run::start_over() {
  for (File& file : files_) {
    file.offset = file.failed_at = 0;
    file.reader.reset();
  }
  budget_.give_names(std::exchange(name_bytes_, 0));
  tags_.clear();
  tag_index_.clear();
  raw_tags_.clear();
  expected_tag_ = 0;
  started_ = false;
  facts_ = {};
  add_problem("A file became shorter: the run was read again from the start.");
  ++generation_;
}

bool Run::refresh(std::atomic<uint64_t>& bytes_read, const std::atomic<bool>& stop) {
  bool changed = false;
  try {
    changed = refresh_hparams();
  } catch (const std::exception& error) {
    const auto hold = lock();
    add_problem(error.what());
  }
  for (uint32_t i = 0; i < files_.size() && !stop; ++i) {
    try {
      changed |= refresh_file(i, bytes_read, stop);
    } catch (const std::exception& error) {
      const auto hold = lock();
      files_[i].reader.reset();
      add_problem(error.what());
    }
  }
  return changed;
}

bool Run::refresh_file(uint32_t index, std::atomic<uint64_t>& bytes_read,
                       const std::atomic<bool>& stop) {
  File& file = files_[index];
  const uint64_t size = file_system_.stat(file.path).size;
  {
    const auto hold = lock();
    if (size < file.offset) {
      start_over();
      return true;
    }
    file.size = size;
    if (size == file.offset || size == file.failed_at) return false;
    if (!file.reader) {
      file.reader = std::make_unique<RecordReader>(
          file_system_, file.path,
          RecordReaderOptions{.max_record_bytes = limits_.max_record_bytes});
      file.reader->seek(file.offset);
    }
  }
  bool changed = false;
  while (!stop) {
    const uint64_t before = file.offset;
    const bool more = read_batch(index, bytes_read);
    changed |= file.offset > before;
    if (budget_.is_over() && !budget_.is_full() && on_full_) on_full_();
    if (!more) break;
    // A mutex is not fair: without this, requests would wait for the whole file.
    while (waiting_ > 0) std::this_thread::yield();
  }
  if (changed) ++generation_;
  return changed;
}

// Goes to the record after one that is too large. Returns false if the file ends before.
bool Run::skip_too_large(File& file) {
  const RecordHeader header = header_at(file_system_, file.path, file.offset);
  const uint64_t around = kRecordHeaderBytes + sizeof(uint32_t);
  if (!header.is_complete || !header.is_intact || file.size < around ||
      header.length > file.size - around || file.offset > file.size - around - header.length) {
    return false;
  }
  ++facts_.damaged_records;
  file.offset += around + header.length;
  file.reader->seek(file.offset);
  return true;
}

// Returns whether there may be more records.
bool Run::read_batch(uint32_t index, std::atomic<uint64_t>& bytes_read) {
  const std::unique_lock<Mutex> hold(mutex_);
  File& file = files_[index];
  for (int i = 0; i < kRecordsPerLock; ++i) {
    std::optional<std::string_view> record;
    try {
      record = file.reader->next();
    } catch (const Error& error) {
      if (file.reader->skip_damaged()) {
        ++facts_.damaged_records;
        add_problem(error.message());
        file.offset = file.reader->offset();
        continue;
      }
      if (error.code() == Code::resource_exhausted && skip_too_large(file)) {
        add_problem(error.message());
        continue;
      }
      if (error.code() != Code::data_loss ||
          !is_incomplete_record(file_system_, file.path, file.offset)) {
        add_problem(error.message());
      }
      file.failed_at = file.size;
    }
    if (!record) {
      file.reader.reset();
      return false;
    }
    const uint64_t offset = file.offset;
    file.offset = file.reader->offset();
    bytes_read += file.offset - offset;
    try {
      add_event(view_event(*record), index, offset);
    } catch (const Error& error) {
      ++facts_.damaged_records;
      add_problem(fmt::format("{}: record at offset {}: {}", file.path, offset, error.message()));
    }
  }
  return true;
}

void Run::add_event(const EventView& event, uint32_t file, uint64_t offset) {
  if (facts_.events++ == 0) facts_.first_wall_time = event.wall_time;
  facts_.last_wall_time = std::max(facts_.last_wall_time, event.wall_time);
  switch (event.kind) {
    case Event::Kind::summary:
      facts_.last_step = event.step;
      visit_values(event.body, [&](uint32_t index, const ValueView& value) {
        add_value(event, file, offset, index, value);
      });
      break;
    case Event::Kind::graph_def:
      facts_.graph =
          BlobRef{.step = event.step, .wall_time = event.wall_time, .offset = offset, .file = file};
      break;
    case Event::Kind::session_log:
      if (session_status(event.body) == static_cast<uint64_t>(SessionStatus::start)) {
        if (std::exchange(started_, true)) ++facts_.restarts;
      }
      break;
    default:
      break;
  }
}

TagData* Run::new_tag(const ValueView& value) {
  if (tags_.size() >= limits_.max_tags) {
    add_problem(
        fmt::format("The run has more than {} tags; the others are not shown.", limits_.max_tags));
    return nullptr;
  }
  TagData tag{.name = safe_text(value.tag, limits_.max_name_bytes),
              .kind = kind_of_value(value),
              .display_name = safe_text(value.display_name, limits_.max_name_bytes),
              .description = safe_text(value.description, kMaxDescriptionBytes)};
  // The name is also kept as it is in the file, and in the index.
  const size_t bytes =
      kTagBytes + 4 * tag.name.size() + tag.display_name.size() + tag.description.size();
  if (!budget_.take_names(bytes)) {
    add_problem(fmt::format(fmt::runtime(kNoMemory), "tags"));
    return nullptr;
  }
  name_bytes_ += bytes;
  if (value.tag.size() <= limits_.max_name_bytes) {
    raw_tags_.emplace_back(value.tag);
  } else {
    raw_tags_.push_back(tag.name);
  }
  tag_index_.emplace(raw_tags_.back(), static_cast<uint32_t>(tags_.size()));
  tags_.push_back(std::move(tag));
  return &tags_.back();
}

TagData* Run::tag_of(const ValueView& value) {
  if (expected_tag_ < raw_tags_.size() && raw_tags_[expected_tag_] == value.tag) {
    return &tags_[expected_tag_++];
  }
  const auto found = value.tag.size() <= limits_.max_name_bytes
                         ? tag_index_.find(value.tag)
                         : tag_index_.find(safe_text(value.tag, limits_.max_name_bytes));
  if (found == tag_index_.end()) {
    expected_tag_ = tags_.size() + 1;
    return new_tag(value);
  }
  expected_tag_ = found->second + 1;
  return &tags_[found->second];
}

void Run::add_value(const EventView& event, uint32_t file, uint64_t offset, uint32_t index,
                    const ValueView& value) {
  if (value.plugin == "hparams") {
    std::map<std::string, Hparam> added;
    add_hparams(value.plugin_content, added);
    for (auto& [name, hparam] : added) {
      if (!facts_.hparams.contains(name)) {
        if (facts_.hparams.size() >= kMaxHparams) continue;
        if (!budget_.take_names(kHparamBytes)) {
          add_problem(fmt::format(fmt::runtime(kNoMemory), "hyperparameters"));
          return;
        }
        name_bytes_ += kHparamBytes;
      }
      facts_.hparams[name] = std::move(hparam);
    }
    return;
  }
  if (value.kind == SummaryValue::Kind::none) return;
  TagData* const tag = tag_of(value);
  if (tag == nullptr) return;
  if (budget_.is_full()) {
    add_problem(fmt::format(fmt::runtime(kNoMemory), "points"));
    return;
  }
  if (tag->kind == TagKind::scalars) {
    std::optional<double> number;
    if (value.kind == SummaryValue::Kind::scalar) number = value.simple_value;
    if (value.kind == SummaryValue::Kind::tensor) number = scalar_of_tensor(value.message);
    if (!number) return;
    budget_.add_points(sizeof(ScalarPoint));
    tag->scalars.add({.step = event.step, .wall_time = event.wall_time, .value = *number});
    return;
  }
  ++tag->total_blobs;
  budget_.add_points(2 * sizeof(BlobRef));
  if (tag->blobs.size() >= limits_.max_blobs) halve(tag->blobs);
  tag->blobs.push_back({.step = event.step,
                        .wall_time = event.wall_time,
                        .offset = offset,
                        .file = file,
                        .value = index});
}

size_t Run::bytes() const {
  const auto hold = lock();
  size_t bytes = 0;
  for (const TagData& tag : tags_) bytes += bytes_of(tag);
  return bytes;
}

size_t Run::shrink() {
  const auto hold = lock();
  size_t largest = 0;
  for (const TagData& tag : tags_) largest = std::max(largest, bytes_of(tag));
  size_t freed = 0;
  for (TagData& tag : tags_) {
    const size_t before = bytes_of(tag);
    if (before <= largest / 2) continue;
    tag.scalars.thin();
    halve(tag.blobs);
    const size_t after = bytes_of(tag);
    freed += before > after ? before - after : 0;
  }
  ++generation_;
  return freed;
}

Event Run::read_event(const BlobRef& ref) const {
  std::string path;
  {
    const auto hold = lock();
    if (ref.file >= files_.size()) {
      throw make_error(Code::out_of_range, "{}: file {}, expected at most {} files", name_,
                       ref.file, files_.size());
    }
    path = files_[ref.file].path;
  }
  RecordReader reader(file_system_, path, {.max_record_bytes = limits_.max_record_bytes});
  reader.seek(ref.offset);
  const auto record = reader.next();
  if (!record) throw make_error(Code::data_loss, "{}: no record at offset {}", path, ref.offset);
  const std::string what = fmt::format("{}: event at byte {}", path, ref.offset);
  const EventView view = view_event(*record);
  if (view.kind != Event::Kind::summary) return parse_event(what, *record);
  // A parsed value may take many times its bytes in memory: of an event only the value that is
  // asked for is parsed.
  visit_values(view.body, [&](uint32_t index, const ValueView& value) {
    const bool image = value.kind == SummaryValue::Kind::image || value.plugin == "images";
    if (index == ref.value && !image && value.message.size() > limits_.max_value_bytes) {
      throw make_error(Code::resource_exhausted, "{}: tag '{}', got {} bytes, expected at most {}",
                       what, safe_text(value.tag, 200), value.message.size(),
                       limits_.max_value_bytes);
    }
  });
  Event event = parse_event(what, event_of_value(view.body, ref.value));
  event.wall_time = view.wall_time;
  event.step = view.step;
  return event;
}

}  // namespace systole::board
