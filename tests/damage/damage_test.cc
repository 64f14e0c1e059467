// Every single bit of the files of a small model: a flipped one is found when the file is read, or
// changes nothing. SYSTOLE_DAMAGED_BITS=all tries all bits, otherwise a sample of the larger files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "systole/base/log.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/keras/keras.h"
#include "systole/train/saved_model.h"
#include "systole/train/saved_model_builder.h"
#include "systole/train/saver.h"

namespace systole::testing {
namespace {

constexpr int64_t kSample = 300;  // of each file

struct DamageReport {
  int64_t bits = 0;
  int64_t found = 0;     // an Error
  int64_t harmless = 0;  // the same contents
  int64_t silent = 0;    // other contents
  std::string first_silent;
};

// Flips bits of a file. `read` returns the contents of the undamaged file.
DamageReport damage(MemoryFileSystem& fs, const std::string& path,
                    const std::function<std::string()>& read) {
  const std::string whole = read_file(fs, path);
  const std::string expected = read();
  const auto bits = static_cast<int64_t>(whole.size()) * 8;
  const bool all = std::getenv("SYSTOLE_DAMAGED_BITS") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  const int64_t step = all ? 1 : std::max<int64_t>(bits / kSample, 1);
  DamageReport report;
  set_log_level(LogLevel::off);
  for (int64_t bit = 0; bit < bits; bit += step) {
    std::string damaged = whole;
    char& byte = damaged[bit / 8];
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    write_file_atomically(fs, path, damaged);
    ++report.bits;
    try {
      if (read() == expected) {
        ++report.harmless;
      } else if (report.silent++ == 0) {
        report.first_silent = fmt::format("bit {} of byte {}", bit % 8, bit / 8);
      }
    } catch (const Error&) {
      ++report.found;
    }
  }
  set_log_level(LogLevel::info);
  write_file_atomically(fs, path, whole);
  fmt::print("{:<36} {:>7} bits: {} found, {} harmless, {} silent\n", path, report.bits,
             report.found, report.harmless, report.silent);
  return report;
}

TEST(Damage, Checkpoint) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable w(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), {.name = "dense/kernel"});
  const Variable b(Tensor::of<float>({3}, {7, 8, 9}), {.name = "dense/bias"});
  Session session("", {.graph = &graph});
  session.run({global_variables_initializer()});
  MemoryFileSystem fs;
  Saver saver({.file_system = &fs});
  saver.save(session, "d/m", {.global_step = 1, .extras = {{"random", "state"}, {"input", "12"}}});
  const auto read = [&] {
    Session other("", {.graph = &graph});
    const RestoredCheckpoint found = saver.restore_latest(other, "d");
    std::string text = found.prefix;
    for (const Variable& variable : {w, b}) text += other.variable_value(variable).to_string();
    for (const auto& [name, bytes] : found.extras) text += name + bytes;
    return text;
  };
  for (const char* file : {"index", "data-00000-of-00001", "systole"}) {
    const DamageReport report = damage(fs, std::string("d/m-1.") + file, read);
    EXPECT_EQ(report.silent, 0) << report.first_silent;
  }
  // It names the checkpoint, which is also found without it.
  const DamageReport report = damage(fs, "d/checkpoint", read);
  EXPECT_EQ(report.silent, 0) << report.first_silent;
}

TEST(Damage, SavedModel) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {kUnknown, 2}, "x");
  const Variable w(Tensor::of<float>({2, 1}, {1, 2}), {.name = "w"});
  ExportOptions options;
  options.signatures["serving_default"] = {.inputs = {{"x", x}},
                                           .outputs = {{"y", add(matmul(x, w), 0.5F)}}};
  MemoryFileSystem fs;
  options.file_system = &fs;
  Session session("", {.graph = &graph});
  session.run({global_variables_initializer()});
  export_saved_model(session, "m", options);
  const auto read = [&] {
    SavedModel model("m", {.file_system = &fs});
    std::string text;
    for (const auto& [name, y] : model.predict({{"x", Tensor::of<float>({1, 2}, {3, 4})}})) {
      text += name + y.to_string();
    }
    return text;
  };
  for (const char* file :
       {"saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"}) {
    const DamageReport report = damage(fs, std::string("m/") + file, read);
    EXPECT_EQ(report.silent, 0) << report.first_silent;
  }
}

TEST(Damage, KerasFile) {
  const std::string path = "mem://damage/model.h5";
  const keras::Sequential model(
      {keras::layers::Dense(2, {.activation = "relu", .input_shape = Shape{2}}),
       keras::layers::Dense(1)});
  model.set_weights({Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2}, {5, 6}),
                     Tensor::of<float>({2, 1}, {7, 8}), Tensor::of<float>({1}, {9})});
  model.save(path);
  const auto read = [&] {
    const keras::Model loaded = keras::load_model(path, {.compile = false});
    std::string text = loaded.to_json();
    for (const Tensor& weight : loaded.get_weights()) text += weight.to_string();
    return text;
  };
  const DamageReport report = damage(memory_file_system(), path, read);
  EXPECT_EQ(report.silent, 0) << report.first_silent;
}

}  // namespace
}  // namespace systole::testing
