// Records, events, arrays and compiled code under power failures.
#include <gtest/gtest.h>

#include "apps/systole/data/shards.h"
#include "systole/backends/cpu/jit/code_cache.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/records/example.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/tables/idx.h"
#include "systole/io/tables/npy.h"
#include "tests/crash_states/crash_states.h"

namespace systole::testing {
namespace {

Tensor numbers(int number) {
  Tensor result(DType::f32, {300});
  for (float& value : result.data<float>()) value = static_cast<float>(number);
  return result;
}

TEST(IoCrashStates, Files) {
  MemoryFileSystem fs;
  expect_survives(one_file("arrays (.npy)", fs, "out/a.npy", [&](int number) {
    fs.make_directories("out");
    write_npy(fs, "out/a.npy", numbers(number));
  }));
  expect_survives(one_file("arrays (IDX)", fs, "out/a.gz", [&](int number) {
    fs.make_directories("out");
    write_idx(fs, "out/a.gz", numbers(number), Compression::gzip);
  }));
}

TEST(IoCrashStates, Records) {
  MemoryFileSystem fs;
  const std::string path = "data/train.tfrecord";
  expect_survives({.name = "records",
                   .files = &fs,
                   .save =
                       [&](int number) {
                         fs.make_directories("data");
                         RecordWriter writer(fs, path);
                         for (int i = 0; i < 3; ++i)
                           writer.write(std::string(300, static_cast<char>(number)));
                         writer.close();
                       },
                   .read = [&]() -> int {
                     if (!fs.exists(path)) return 0;
                     RecordReader reader(fs, path);
                     std::string all;
                     while (const auto record = reader.next()) all += *record;
                     if (all.size() == 900 && all == std::string(900, all[0])) return all[0];
                     throw make_error(Code::data_loss, "{}: got a part of the records", path);
                   }});
}

class NumberedExamples : public app::ExampleSource {
 public:
  explicit NumberedExamples(int number) : number_(number) {}
  int64_t size() const override { return 6; }
  void read(int64_t index, ExampleBuilder& out) override { out.int64("x", {number_, index}); }
  uint64_t bytes() override { return 300; }
  std::string identity() const override { return std::to_string(number_); }

 private:
  int64_t number_;
};

// Each conversion replaces the one before it, which is gone from the moment that it begins.
TEST(IoCrashStates, Convert) {
  MemoryFileSystem fs;
  const auto convert = [&](int number) {
    app::Split split{.name = "train", .source = std::make_unique<NumberedExamples>(number)};
    split.notes = {{"labels.txt", "a\nb\n"}};
    FakeClock clock;
    app::write_shards(fs, split, {.folder = "out/mnist", .shard_bytes = 100, .force = true}, clock,
                      {});
  };
  const auto read = [&] {
    int64_t number = -1;
    for (int64_t shard = 0; shard < 3; ++shard) {
      const std::string path = join_path("out/mnist", app::shard_name("train", shard, 3));
      if (!fs.exists(path)) return 0;
      RecordReader reader(fs, path);
      for (int64_t i = 0; i < 2; ++i) {
        const ExampleView view(reader.next().value());
        int64_t x[2] = {};
        if (!view.read("x", x)) throw make_error(Code::data_loss, "{}: feature", path);
        if (number == -1) number = x[0];
        if (x[1] != shard * 2 + i) throw make_error(Code::data_loss, "{}: order", path);
        if (x[0] != number) return 0;  // a conversion that has not ended
      }
      if (reader.next()) throw make_error(Code::data_loss, "{}: more records", path);
    }
    return static_cast<int>(number);
  };
  for (const int number : {1}) {
    expect_survives({.name = "conversions", .files = &fs, .save = convert, .read = read}, number);
  }
  // A conversion that is continued takes over only what is whole.
  expect_survives({.name = "conversions, continued",
                   .files = &fs,
                   .save = [&](int) { convert(1); },
                   .read = read,
                   .durable = false},
                  3);
}

// Event files grow and are not synced: those that survive hold the first events, whole.
TEST(IoCrashStates, Events) {
  MemoryFileSystem fs;
  FakeClock clock;
  expect_survives({.name = "events",
                   .files = &fs,
                   .save =
                       [&](int number) {
                         EventWriter writer(fs, "logs/train", "", clock);
                         for (int step = 1; step <= 4; ++step) {
                           writer.add_scalar("loss", step, number);
                           writer.flush();
                         }
                         writer.close();
                       },
                   .read =
                       [&] {
                         if (!fs.exists("logs/train")) return 0;
                         for (const std::string& name : fs.list("logs/train")) {
                           EventReader reader(fs, "logs/train/" + name);
                           try {
                             for (int64_t step = 0; const auto event = reader.next(); ++step) {
                               if (event->step != step) {
                                 throw failed_precondition("{}: got step {} in place of {}", name,
                                                           event->step, step);
                               }
                             }
                           } catch (const Error& error) {
                             if (error.code() != Code::data_loss) throw;
                           }
                         }
                         return 0;
                       },
                   .durable = false});
}

TEST(IoCrashStates, CodeCache) {
  MemoryFileSystem fs;
  const std::string key = cpu::digest_of("a program");
  expect_survives({.name = "compiled code",
                   .files = &fs,
                   .save =
                       [&](int number) {
                         cpu::CodeCache(fs, "cache/systole", 1 << 20)
                             .store(key, std::string(700, static_cast<char>(number)));
                       },
                   .read = [&]() -> int {
                     const auto code = cpu::CodeCache(fs, "cache/systole", 1 << 20).find(key);
                     if (!code) return 0;
                     if (*code == std::string(700, code->at(0))) return code->at(0);
                     throw make_error(Code::data_loss, "got code that nobody stored");
                   }});
}

}  // namespace
}  // namespace systole::testing
