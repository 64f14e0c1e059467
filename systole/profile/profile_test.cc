// Analyses and files of recordings made by hand, so that every figure is known.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/wire/compression.h"
#include "systole/profile/memory.h"
#include "systole/profile/pages.h"
#include "systole/profile/report.h"
#include "systole/profile/timeline.h"
#include "systole/profile/trace_json.h"
#include "systole/profile/writer.h"
#include "systole/profile/xplane.h"

namespace systole::profile {
namespace {

using nlohmann::json;
using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tracing::Kind;

constexpr int64_t kMs = 1'000'000;

const DevicePeaks kPeaks{
    .name = "test", .cores = 1, .flops_per_second = 1e9, .bytes_per_second = 1e9};

std::shared_ptr<const tracing::Program> program() {
  auto p = std::make_shared<tracing::Program>();
  p->id = 7;
  p->name = "steps";
  p->replicas = 8;
  p->ops = {{.name = "dot.0",
             .opcode = "dot_general",
             .category = "convolution",
             .expression = "dot f32[64,130]",
             .scope = "dense/MatMul",
             .source = "net.cc:5",
             .shapes = {"f32[64,130]"},
             .flops = 1e6,
             .bytes = 1e5,
             .padded_flops = 4e6,
             .rows = 64},
            {.name = "sum.1",
             .opcode = "reduce",
             .category = "all-reduce",
             .expression = "reduce f32[130]",
             .scope = "CrossReplicaSum",
             .flops = 1e3,
             .bytes = 1e4}};
  const TensorType small{DType::f32, {64, 130}};
  p->allocations = {{.name = "x.0", .kind = "argument", .type = small, .bytes = small.byte_size()},
                    {.name = "a.1",
                     .kind = "temporary",
                     .type = small,
                     .bytes = 1000,
                     .offset = 0,
                     .first = 1,
                     .last = 3},
                    {.name = "b.2",
                     .kind = "temporary",
                     .type = small,
                     .bytes = 500,
                     .offset = 1024,
                     .first = 2,
                     .last = 2},
                    {.name = "c.3",
                     .kind = "temporary",
                     .type = small,
                     .bytes = 1000,
                     .offset = 0,
                     .first = 3,
                     .last = 4}};
  p->temp_bytes = 1536;
  return p;
}

tracing::Event event(const char* name, Kind kind, int64_t begin_ms, int64_t end_ms,
                     tracing::Arg first = {}, tracing::Arg second = {}) {
  return {.begin = begin_ms * kMs,
          .end = end_ms * kMs,
          .name = name,
          .kind = kind,
          .args = {first, second}};
}

// A loop of two steps from 0 to 60 ms: 20 ms of input, a launch of 35 ms, 5 ms of a hook. The first
// step notes its ops, 8 ms of products and 2 ms of an all-reduce.
tracing::Recording recording() {
  tracing::Recording r;
  r.start_unix_ns = 1'700'000'000'000'000'000;
  r.duration_ns = 62 * kMs;
  r.programs[7] = program();
  const tracing::Arg in_program{"program", 7};
  tracing::ThreadEvents main{.name = "", .id = 11};
  main.events = {event("wait for input", Kind::input_wait, 0, 20),
                 event("dot.0", Kind::op, 20, 28, in_program, {"op", 0}),
                 event("sum.1", Kind::op, 28, 30, in_program, {"op", 1}),
                 event("step", Kind::step, 20, 30, in_program, {"ops", 2}),
                 event("step", Kind::step, 30, 50, in_program, {"ops", 0}),
                 event("launch", Kind::launch, 20, 55, {"steps", 2}),
                 event("loop", Kind::loop, 0, 55, {"step", 100}, {"steps", 2}),
                 event("SlowHook", Kind::hook, 55, 60)};
  r.threads.push_back(main);
  r.threads.push_back(
      {.name = "input",
       .id = 12,
       .events = {event("map", Kind::input, 0, 18), event("fusion pass", Kind::compile, 20, 22)},
       .dropped = 3});
  r.inputs = {
      {{.name = "batch", .depth = 0, .elements = 2, .busy_seconds = 0.001},
       {.name = "map", .depth = 1, .elements = 64, .busy_seconds = 0.017, .remedy = "hurry"}}};
  return r;
}

double part_of(const Parts& parts, Part part) { return parts[static_cast<size_t>(part)]; }

TEST(Analysis, divides_the_time_of_steps_and_of_the_recording) {
  const tracing::Recording r = recording();
  const Analysis a = analyse(r, kPeaks);
  ASSERT_EQ(a.steps.size(), 2U);
  EXPECT_EQ(a.steps[0].number, 100);
  EXPECT_EQ(a.steps[1].number, 101);
  // The first step begins with its loop; each of the others where the one before ended.
  EXPECT_NEAR(a.steps[0].seconds(), 0.030, 1e-9);
  EXPECT_NEAR(a.steps[1].seconds(), 0.020, 1e-9);
  EXPECT_NEAR(part_of(a.steps[0].parts, Part::input), 0.020, 1e-9);
  EXPECT_NEAR(part_of(a.steps[0].parts, Part::compute), 0.008, 1e-9);
  EXPECT_NEAR(part_of(a.steps[0].parts, Part::all_reduce), 0.002, 1e-9);
  // The second step is divided as the first was.
  EXPECT_NEAR(part_of(a.steps[1].parts, Part::compute), 0.016, 1e-9);
  EXPECT_NEAR(part_of(a.steps[1].parts, Part::all_reduce), 0.004, 1e-9);
  EXPECT_NEAR(part_of(a.parts, Part::host), 0.005, 1e-9);
  EXPECT_NEAR(part_of(a.parts, Part::launch), 0.005, 1e-9);
  EXPECT_NEAR(part_of(a.parts, Part::other), 0.002, 1e-9);
  EXPECT_NEAR(std::accumulate(a.parts.begin(), a.parts.end(), 0.0), a.seconds, 1e-9);
  EXPECT_EQ(a.replicas, 8);
  EXPECT_EQ(a.dropped_events, 3);
  EXPECT_EQ(a.sampled_steps, 0.5);

  // 8 of 10 ms of noted steps are in the product, so 24 of 30 ms are, in 2 runs.
  ASSERT_EQ(a.ops.size(), 2U);
  EXPECT_EQ(a.ops[0].op->name, "dot.0");
  EXPECT_NEAR(a.ops[0].seconds, 0.024, 1e-9);
  EXPECT_EQ(a.ops[0].runs, 2);
  EXPECT_NEAR(a.ops[0].flops_per_second(), 2e6 / 0.024, 1);
  EXPECT_NEAR(utilisation(a.ops[0], kPeaks), 2e6 / 0.024 / 1e9, 1e-6);
}

// The second step takes the shares of ops from the first. An op after the steps, such as the last
// run of a loop's condition, belongs to none of them.
TEST(Analysis, ops_outside_of_steps_do_not_count_in_the_shares_of_steps) {
  tracing::Recording r = recording();
  r.threads[0].events.push_back(event("sum.1", Kind::op, 50, 54, {"program", 7}, {"op", 1}));
  const Analysis a = analyse(r, kPeaks);
  EXPECT_NEAR(part_of(a.steps[1].parts, Part::compute), 0.016, 1e-9);
  EXPECT_NEAR(part_of(a.steps[1].parts, Part::all_reduce), 0.004, 1e-9);
  EXPECT_NEAR(std::accumulate(a.parts.begin(), a.parts.end(), 0.0), a.seconds, 1e-9);
  EXPECT_NEAR(a.ops[1].seconds, 0.006, 1e-9);
}

TEST(Analysis, says_what_to_change_the_most_valuable_first) {
  const Analysis a = analyse(recording(), kPeaks);
  std::vector<std::string> topics;
  for (const Advice& advice : a.advice) topics.push_back(advice.topic);
  ASSERT_FALSE(topics.empty());
  EXPECT_EQ(topics[0], "input");  // 40 % of the step time
  EXPECT_NEAR(a.advice[0].gain, 0.4, 1e-6);
  EXPECT_THAT(a.advice[0].text, HasSubstr("The slowest stage is map"));
  EXPECT_THAT(a.advice[0].text, HasSubstr("hurry"));
  EXPECT_THAT(topics, Contains("all-reduce"));
  // Padding has a gain on a TPU alone.
  EXPECT_EQ(topics.back(), "padding");
  EXPECT_EQ(a.advice.back().gain, 0);
  DevicePeaks tpu = kPeaks;
  tpu.name = "TPU v3";
  for (const Advice& advice : analyse(recording(), tpu).advice) {
    EXPECT_TRUE(advice.topic != "padding" || advice.gain > 0);
  }
  for (size_t i = 1; i < a.advice.size(); ++i) EXPECT_GE(a.advice[i - 1].gain, a.advice[i].gain);
}

TEST(Analysis, says_why_there_is_nothing_to_see) {
  tracing::Recording nothing;
  nothing.duration_ns = kMs;
  EXPECT_THAT(analyse(nothing, kPeaks).problem, HasSubstr("Nothing ran"));
  nothing.threads = {{.id = 1, .events = {event("fuse", Kind::compile, 0, 1)}}};
  EXPECT_THAT(analyse(nothing, kPeaks).problem, HasSubstr("programs were compiled"));
}

TEST(Analysis, percentiles_are_of_the_sorted_values) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Distribution d = distribution_of(values);
  EXPECT_EQ(d.p50, 50);
  EXPECT_EQ(d.p90, 90);
  EXPECT_EQ(d.p99, 99);
  EXPECT_EQ(d.max, 100);
  EXPECT_EQ(distribution_of({}).mean, 0);
}

TEST(Memory, the_peak_counts_shared_memory_once) {
  const MemoryProfile m = memory_profile(*program());
  EXPECT_THAT(m.temporary_bytes, ElementsAre(0, 1000, 1500, 1000, 1000));
  EXPECT_EQ(m.peak_bytes, 1500);
  EXPECT_EQ(m.peak_position, 2);
  EXPECT_EQ(m.padding_bytes, 4 * (64 * 256 - 64 * 130) * 4);
}

// -- Pages

// The keys of a table's columns.
std::vector<std::string> columns_of(const json& table) {
  std::vector<std::string> ids;
  for (const json& column : table["cols"]) ids.push_back(column["id"]);
  return ids;
}

std::filesystem::path golden_pages() { return "../shared/golden/profile"; }

TEST(Pages, tables_have_the_columns_and_rows_of_the_cloud_tpu_plugin) {
  if (!std::filesystem::exists(golden_pages())) GTEST_SKIP() << "no golden files";
  const Analysis a = analyse(recording(), kPeaks);
  const auto golden = [](const char* name) {
    std::ifstream file(golden_pages() / (std::string("profile_demo.") + name + ".json"));
    return json::parse(file);
  };
  const auto compare = [](const json& ours, const json& theirs) {
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t t = 0; t < ours.size(); ++t) {
      SCOPED_TRACE(t);
      if (!theirs[t].contains("cols")) continue;
      EXPECT_EQ(columns_of(ours[t]), columns_of(theirs[t]));
      for (const json& row : ours[t]["rows"]) EXPECT_EQ(row["c"].size(), ours[t]["cols"].size());
      if (!theirs[t].contains("p")) continue;
      for (const auto& [key, value] : theirs[t]["p"].items()) {
        EXPECT_TRUE(ours[t]["p"].contains(key)) << key;
      }
    }
  };
  compare(overview_page(a), golden("overview_page"));
  compare(input_pipeline_page(a), golden("input_pipeline"));
  const json memory = memory_page(recording(), a);
  const json golden_memory = golden("memory_viewer");
  for (const auto& [key, value] : golden_memory.items()) {
    ASSERT_TRUE(memory.contains(key));
    for (const auto& [inner, ignored] : value.items())
      EXPECT_TRUE(memory[key].contains(inner)) << inner;
  }
  const json pod = pod_page(a);
  for (const char* key : {"hloInfoMap", "podStatsSequence", "runEnvironment"})
    EXPECT_TRUE(pod.contains(key)) << key;
}

double time_of(const json& node) { return node["metrics"]["time"].get<double>(); }

TEST(Pages, times_of_the_op_profile_add_up_in_every_tree) {
  const Analysis a = analyse(recording(), kPeaks);
  const json page = op_profile_page(a);
  const std::function<void(const json&)> check = [&](const json& node) {
    double sum = 0;
    for (const json& child : node["children"]) {
      sum += time_of(child);
      check(child);
    }
    if (node["children"].empty()) return;
    EXPECT_NEAR(sum, time_of(node), 1e-9) << node["name"];
  };
  for (const char* tree : {"byCategory", "byProgram", "byScope", "bySource"}) {
    SCOPED_TRACE(tree);
    EXPECT_NEAR(time_of(page[tree]), 1, 1e-9);
    check(page[tree]);
  }
  const json& first = page["byScope"]["children"][0];
  EXPECT_EQ(first["name"], "dense");
  EXPECT_EQ(first["children"][0]["name"], "MatMul");
  EXPECT_EQ(first["children"][0]["children"][0]["xla"]["source"], "net.cc:5");
  EXPECT_EQ(page["bySource"]["children"][0]["name"], "net.cc:5");
}

// -- Workers

// The recording of a program whose launch, from 20 to 55 ms, was a call of a worker.
tracing::Recording with_worker() {
  tracing::Recording r = recording();
  r.programs.clear();
  std::erase_if(r.threads[0].events, [](const auto& e) { return e.kind == Kind::op; });
  tracing::WorkerRecording& worker = r.workers.emplace_back();
  worker.address = "10.0.0.1:8470";
  worker.clock_offset_ns = -5000;
  worker.clock_error_ns = 30'000;
  worker.calls = {{.name = "calls of 10.0.0.1:8470 (1)",
                   .id = 1 << 22,
                   .events = {event("execute", Kind::launch, 21, 54, {"op", 9}),
                              event("fetch", Kind::transfer, 54, 55, {"op", 10})}}};
  tracing::Recording& remote = worker.recording;
  remote.host = "tpu1_8470";
  remote.start_unix_ns = r.start_unix_ns;
  remote.duration_ns = r.duration_ns;
  remote.peaks = tracing::DevicePeaks{.name = "there", .flops_per_second = 2e9};
  remote.programs[7] = program();
  const tracing::Arg in_program{"program", 7};
  remote.threads = {{.name = "session",
                     .id = 11,
                     .events = {event("dot.0", Kind::op, 25, 45, in_program, {"op", 0}),
                                event("step", Kind::step, 25, 50, in_program, {"ops", 1}),
                                event("execute", Kind::launch, 24, 51, {"op", 9})}}};
  return r;
}

TEST(Workers, are_compared_with_their_calls) {
  const Analysis a = analyse(with_worker(), kPeaks);
  ASSERT_EQ(a.workers.size(), 1U);
  EXPECT_EQ(a.workers[0].host, "tpu1_8470");
  ASSERT_EQ(a.workers[0].calls.size(), 2U);
  EXPECT_EQ(a.workers[0].calls[0].name, "execute");
  EXPECT_NEAR(a.workers[0].calls[0].seconds, 0.033, 1e-9);
  EXPECT_NEAR(a.workers[0].calls[0].worker_seconds, 0.027, 1e-9);
  EXPECT_EQ(a.workers[0].calls[1].worker_seconds, 0);
  EXPECT_THAT(text_of(overview_page(a)),
              HasSubstr("Times of worker 10.0.0.1:8470 are wrong by at most 0.030 ms."));
}

TEST(Workers, are_processes_of_the_trace_on_one_time_axis) {
  std::string text;
  write_trace_json(with_worker(), [&](std::string_view piece) { text += piece; });
  EXPECT_THAT(check_trace_json(text), IsEmpty());
  const json trace = json::parse(text);
  EXPECT_EQ(trace["metadata"]["workers"][0]["clock_error_ns"], 30'000);
  std::map<std::pair<int, std::string>, double> begins;  // by process and name
  for (const json& e : trace["traceEvents"]) {
    if (e.value("ph", "") == "X") begins[{e["pid"], e["name"]}] = e["ts"];
  }
  EXPECT_EQ((begins[{1, "execute"}]), 21'000);
  EXPECT_EQ((begins[{3, "execute"}]), 24'000);
  EXPECT_EQ((begins[{4, "dot.0"}]), 25'000);
}

TEST(Workers, are_hosts_of_their_own) {
  MemoryFileSystem files;
  tracing::Recording r = with_worker();
  r.workers.push_back({.address = "10.0.0.2:8470", .problem = "worker: got none"});
  const WrittenProfile written = write_profile(std::move(r), "logs", files);
  const json own = read_profile(files, "logs");
  EXPECT_EQ(own["workers"].size(), 2U);
  EXPECT_THAT(
      report_text(own),
      AllOf(HasSubstr("worker 10.0.0.1:8470: its clock + -5000 ns is this machine's, within "
                      "30.000 us"),
            HasSubstr("worker 10.0.0.2:8470: worker: got none")));
  const json remote = read_profile(files, written.folder + "/tpu1_8470.systole.json");
  EXPECT_EQ(remote["peaks"]["name"], "there");
  EXPECT_EQ(remote["ops"][0]["scope"], "dense/MatMul");
  EXPECT_TRUE(files.exists(written.folder + "/tpu1_8470.trace.json.gz"));
}

TEST(Workers, say_why_they_recorded_nothing) {
  tracing::Recording r;
  r.duration_ns = kMs;
  r.remark = "No program is connected to the worker.";
  EXPECT_THAT(report_text(analysis_page(r, analyse(r, kPeaks))),
              HasSubstr("Nothing ran during the capture of 0.00 s.\nNo program is connected"));
}

// -- Files

// An independent reader of the protobuf wire format: the fields of a message by number.
struct Field {
  uint64_t number = 0;
  std::string bytes;  // of length-delimited fields
};
using Fields = std::multimap<int, Field>;

uint64_t varint(std::string_view& in) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    EXPECT_FALSE(in.empty());
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

Fields fields_of(std::string_view in) {
  Fields fields;
  while (!in.empty()) {
    const uint64_t tag = varint(in);
    Field field;
    switch (tag & 7) {
      case 0:
        field.number = varint(in);
        break;
      case 1:
        std::memcpy(&field.number, in.data(), 8);
        in.remove_prefix(8);
        break;
      default: {
        const uint64_t size = varint(in);
        field.bytes = std::string(in.substr(0, size));
        in.remove_prefix(size);
      }
    }
    fields.emplace(static_cast<int>(tag >> 3), std::move(field));
  }
  return fields;
}

std::vector<Fields> messages(const Fields& in, int number) {
  std::vector<Fields> result;
  const auto [first, last] = in.equal_range(number);
  for (auto it = first; it != last; ++it) result.push_back(fields_of(it->second.bytes));
  return result;
}

std::string text_at(const Fields& in, int number) {
  const auto it = in.find(number);
  return it == in.end() ? "" : it->second.bytes;
}
int64_t number_at(const Fields& in, int number) {
  const auto it = in.find(number);
  return it == in.end() ? 0 : static_cast<int64_t>(it->second.number);
}

// Names of a map<int64, metadata>: the entries have the key at 1 and the message at 2.
std::map<int64_t, std::string> names_in(const Fields& plane, int number) {
  std::map<int64_t, std::string> names;
  for (const Fields& entry : messages(plane, number)) {
    const Fields metadata = fields_of(text_at(entry, 2));
    EXPECT_EQ(number_at(entry, 1), number_at(metadata, 1));  // the key is the id
    names[number_at(entry, 1)] = text_at(metadata, 2);
  }
  return names;
}

TEST(XPlane, has_the_field_numbers_planes_and_lines_that_xprof_reads) {
  const tracing::Recording r = recording();
  const Fields space = fields_of(xplane_bytes(r, analyse(r, kPeaks), "host7"));
  EXPECT_EQ(text_at(space, 4), "host7");
  std::map<std::string, Fields> planes;
  for (const Fields& plane : messages(space, 1)) planes[text_at(plane, 2)] = plane;
  ASSERT_TRUE(planes.contains("/device:TPU:0"));
  ASSERT_TRUE(planes.contains("/host:CPU"));
  ASSERT_TRUE(planes.contains("Task Environment"));

  const Fields& device = planes["/device:TPU:0"];
  const std::map<int64_t, std::string> stats = names_in(device, 5);
  const std::map<int64_t, std::string> events = names_in(device, 4);
  std::vector<std::string> plane_stats;
  for (const Fields& stat : messages(device, 6))
    plane_stats.push_back(stats.at(number_at(stat, 1)));
  EXPECT_THAT(plane_stats, ElementsAre("peak_teraflops_per_second",
                                       "peak_hbm_bw_gigabytes_per_second", "device_type_string"));
  std::map<std::string, Fields> lines;
  for (const Fields& line : messages(device, 3)) {
    lines[text_at(line, 2)] = line;
    EXPECT_EQ(number_at(line, 3), r.start_unix_ns);
  }
  ASSERT_TRUE(lines.contains("Steps"));
  const std::vector<Fields> steps = messages(lines["Steps"], 4);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(events.at(number_at(steps[0], 1)), "100");
  EXPECT_EQ(number_at(steps[0], 2), 20'000'000'000);  // picoseconds
  EXPECT_EQ(number_at(steps[0], 3), 10'000'000'000);
  const std::vector<Fields> ops = messages(lines["XLA Ops"], 4);
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(events.at(number_at(ops[0], 1)), "dot f32[64,130]");
  std::vector<std::string> op_stats;
  for (const Fields& stat : messages(ops[0], 4)) op_stats.push_back(stats.at(number_at(stat, 1)));
  EXPECT_THAT(op_stats, Contains("hlo_op"));
  // Categories and work stand at the event's metadata.
  bool has_category = false;
  int64_t ops_for_xprof = 0;  // XProf counts those whose metadata has a program and a symbol
  for (const Fields& entry : messages(device, 4)) {
    std::vector<std::string> names;
    for (const Fields& stat : messages(fields_of(text_at(entry, 2)), 5)) {
      names.push_back(stats.at(number_at(stat, 1)));
      has_category |= stats.at(number_at(stat, 1)) == "hlo_category" &&
                      stats.at(number_at(stat, 7)) == "convolution";
    }
    if (std::ranges::find(names, "hlo_category") == names.end()) continue;
    EXPECT_THAT(names, Contains("program_id"));
    EXPECT_THAT(names, Contains("symbol_id"));
    ++ops_for_xprof;
  }
  EXPECT_GT(ops_for_xprof, 0);
  EXPECT_TRUE(has_category);
}

TEST(XPlane, has_the_memory_plans_of_programs) {
  tracing::Recording r = recording();
  auto changed = std::make_shared<tracing::Program>(*r.programs.at(7));
  changed->name = "step\xff";
  changed->allocations[1].scope = "dense/MatMul";
  changed->allocations[1].source = "net.cc:5";
  r.programs[7] = changed;
  std::map<std::string, Fields> planes;
  const Analysis a = analyse(r, kPeaks);
  for (const Fields& plane : messages(fields_of(xplane_bytes(r, a, "host7")), 1)) {
    planes[text_at(plane, 2)] = plane;
  }
  const Fields& metadata = planes.at("/host:metadata");
  EXPECT_EQ(names_in(metadata, 4).at(7), "step\uFFFD(7)");
  const Fields program = fields_of(text_at(messages(metadata, 4).at(0), 2));
  const Fields stat = messages(program, 5).at(0);
  EXPECT_EQ(names_in(metadata, 5).at(number_at(stat, 1)), "Hlo Proto");
  const Fields proto = fields_of(text_at(stat, 6));
  const Fields computation = messages(fields_of(text_at(proto, 1)), 3).at(0);
  const Fields instruction = messages(computation, 2).at(1);
  EXPECT_EQ(text_at(instruction, 1), "a.1");
  EXPECT_EQ(number_at(instruction, 35), 1);
  EXPECT_EQ(number_at(messages(instruction, 3).at(0), 2), 11);  // F32
  EXPECT_EQ(text_at(messages(instruction, 7).at(0), 2), "dense/MatMul");
  EXPECT_EQ(number_at(messages(instruction, 7).at(0), 4), 5);
  const Fields assignment = fields_of(text_at(proto, 3));
  EXPECT_EQ(messages(assignment, 1).size(), 4U);                     // buffers
  ASSERT_EQ(messages(assignment, 3).size(), 2U);                     // argument 0, temporaries
  EXPECT_EQ(number_at(messages(assignment, 3)[1], 2), 1536);         // bytes
  EXPECT_EQ(messages(messages(assignment, 4).at(0), 1).size(), 6U);  // begins and ends

  const json page = memory_page(r, a);
  EXPECT_EQ(page["hloModule"]["name"], "step\uFFFD");
  EXPECT_EQ(page["bufferAssignment"]["bufferAllocations"][1]["assigned"][1]["offset"], "1024");
  EXPECT_EQ(page["bufferAssignment"]["heapSimulatorTraces"][0]["events"][0]["kind"], "ALLOC");
}

std::string trace_text(const tracing::Recording& r, const TraceOptions& options = {}) {
  std::string text;
  write_trace_json(
      r, [&](std::string_view piece) { text += piece; }, options);
  return text;
}

TEST(TraceJson, keeps_to_the_format) {
  const std::string text = trace_text(recording());
  EXPECT_THAT(check_trace_json(text), IsEmpty());
  const json trace = json::parse(text);
  std::map<std::string, json> by_name;
  for (const json& e : trace["traceEvents"]) {
    if (e.value("ph", "") == "X") by_name[e["name"]] = e;
  }
  EXPECT_EQ(by_name["dot.0"]["ts"], 20000.0);
  EXPECT_EQ(by_name["dot.0"]["dur"], 8000.0);
  EXPECT_EQ(by_name["dot.0"]["args"]["source"], "net.cc:5");
  EXPECT_EQ(by_name["wait for input"]["pid"], 1);
  // The second step noted no ops; it was not idle.
  EXPECT_EQ(by_name["ops not recorded"]["tid"], by_name["dot.0"]["tid"]);
  EXPECT_EQ(by_name["ops not recorded"]["pid"], by_name["dot.0"]["pid"]);
  const json limited = json::parse(trace_text(recording(), {.most = 2}));
  EXPECT_GT(limited["metadata"]["events_left_out"], 0);
}

TEST(TraceJson, has_arrows_and_memory_if_asked_for) {
  const std::string text = trace_text(recording(), {.dataflow = true, .memory = true});
  EXPECT_THAT(check_trace_json(text), IsEmpty());
  const json trace = json::parse(text);
  std::map<std::string, json> by_phase;
  for (const json& e : trace["traceEvents"]) by_phase[e.value("ph", "")] = e;
  EXPECT_EQ(by_phase["s"]["pid"], 1);
  EXPECT_EQ(by_phase["f"]["ts"], 20000.0);
  EXPECT_EQ(by_phase["s"]["id"], by_phase["f"]["id"]);
  EXPECT_EQ(by_phase["C"]["args"]["temporaries"], 1536);
}

TEST(TraceJson, the_checker_finds_what_breaks_the_format) {
  const std::string names =
      R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"p"}},)"
      R"({"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"t"}})";
  const std::pair<std::string, std::string> cases[] = {
      {"no json", "not JSON"},
      {R"({"other": []})", "traceEvents is missing"},
      {R"({"traceEvents": [{"name": "a"}]})", "ph is missing"},
      {R"({"traceEvents": [{"ph": "Q", "name": "a", "pid": 1}]})", "'Q' is unknown"},
      {R"({"traceEvents": [)" + names + R"(, {"ph":"X","name":"a","pid":1,"tid":2,"ts":1}]})",
       "dur is missing"},
      {R"({"traceEvents": [)" + names +
           R"(, {"ph":"X","name":"a","pid":1,"tid":2,"ts":"1","dur":1}]})",
       "ts is not a finite number"},
      {R"({"traceEvents": [)" + names +
           R"(, {"ph":"X","name":"a","pid":1,"tid":2,"ts":0,"dur":2},)"
           R"({"ph":"X","name":"b","pid":1,"tid":2,"ts":1,"dur":2}]})",
       "overlap without nesting"},
      {R"({"traceEvents": [)" + names + R"(, {"ph":"B","name":"a","pid":1,"tid":2,"ts":0}]})",
       "B without an E"},
      {R"({"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":2,"ts":0,"dur":2}]})",
       "has no name"}};
  for (const auto& [text, problem] : cases) {
    EXPECT_THAT(check_trace_json(text), Contains(HasSubstr(problem))) << text;
  }
}

TEST(Writer, writes_the_layout_of_tensorboard_and_reports_it) {
  MemoryFileSystem files;
  const WrittenProfile written = write_profile(recording(), "logs", files);
  EXPECT_THAT(written.folder, HasSubstr("logs/plugins/profile/2023_11_14_22_13_20"));
  std::vector<std::string> tools;
  std::string gz;
  for (const std::string& name : files.list(written.folder)) {
    const std::string tool = name.substr(name.rfind('.', name.size() - 9) + 1);
    tools.push_back(tool);
    if (name.ends_with(".trace.json.gz")) gz = join_path(written.folder, name);
  }
  EXPECT_EQ(tools.size(), 8U);
  const auto source = open_source(files.open(gz), Compression::gzip);
  std::string text(1 << 20, '\0');
  text.resize(source->read(text.size(), text.data()));
  EXPECT_THAT(check_trace_json(text), IsEmpty());
  // A second profile of the same second has a folder of its own.
  EXPECT_NE(write_profile(recording(), "logs", files).folder, written.folder);

  const json figures = read_profile(files, "logs");
  const std::string report = report_text(figures);
  for (const char* part :
       {"profile of 2 steps", "where the step time goes", "dense/MatMul", "net.cc:5", "input-bound",
        "SlowHook", "fusion pass", "roofline", "padding"}) {
    EXPECT_THAT(report, HasSubstr(part));
  }
  json slower = figures;
  slower["step_parts"]["compute"] = 10 * slower["step_parts"]["compute"].get<double>();
  const std::string difference = comparison_text(figures, slower);
  EXPECT_THAT(difference, HasSubstr("compute"));
  EXPECT_THAT(difference, HasSubstr("10.00"));
  EXPECT_THAT(error_of([&] { read_profile(files, "nowhere"); }), HasSubstr("NOT_FOUND: nowhere"));
  write_file_atomically(files, "logs/x.systole.json", "[1]");
  EXPECT_THAT(error_of([&] { read_profile(files, "logs/x.systole.json"); }),
              HasSubstr("DATA_LOSS"));
}

TEST(Capture, is_alone_and_says_when_nothing_happened) {
  MemoryFileSystem files;
  Capture capture("logs", &files);
  EXPECT_THAT(error_of([&] { const Capture second("logs", &files); }),
              HasSubstr("another capture in progress"));
  const WrittenProfile written = capture.finish();
  EXPECT_THAT(written.analysis.problem, HasSubstr("Nothing ran"));
  EXPECT_THAT(report_text(read_profile(files, "logs")), HasSubstr("Nothing ran"));
}

}  // namespace
}  // namespace systole::profile
