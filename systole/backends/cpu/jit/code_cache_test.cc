#include "systole/backends/cpu/jit/code_cache.h"

#include <gtest/gtest.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/SHA256.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>

#include "systole/backends/cpu/cpu_backend.h"
#include "systole/backends/cpu/jit/parts.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/backends/cpu/testing/programs.h"
#include "systole/base/log.h"
#include "systole/base/testing/file_kinds.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/cache_folder.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tracing/recorder.h"

namespace systole::cpu {
namespace {

constexpr int64_t kLarge = 1 << 20;

// "a": a key.
std::string key(const char* name) { return digest_of(name); }
std::string path_of(const char* name) { return "/cache/" + cache_entry_name(key(name)); }

TEST(CodeCache, FindsWhatWasStored) {
  MemoryFileSystem files;
  CodeCache cache(files, "/cache", kLarge);
  EXPECT_EQ(cache.find(key("a")), std::nullopt);
  cache.store(key("a"), "first");
  cache.store(key("b"), "other");
  cache.store(key("a"), "second");
  EXPECT_EQ(cache.find(key("a")), "second");
  EXPECT_EQ(cache.find(key("b")), "other");
  EXPECT_EQ(CodeCache(files, "/cache", kLarge).find(key("a")), "second");
}

TEST(CodeCache, RefusesDamagedEntries) {
  MemoryFileSystem whole;
  CodeCache(whole, "/cache", kLarge).store(key("a"), "some code");
  const std::string contents = whole.contents().at(path_of("a"));
  std::vector<std::string> damaged = {"", "another file\n",
                                      "systole code 0\n" + contents.substr(15)};
  for (size_t i = 0; i < contents.size(); ++i) {
    damaged.push_back(contents.substr(0, i));
    damaged.push_back(contents);
    damaged.back()[i] ^= 1;
  }
  for (const std::string& bytes : damaged) {
    const LogCapture log;
    MemoryFileSystem files({{path_of("a"), bytes}});
    CodeCache cache(files, "/cache", kLarge);
    EXPECT_EQ(cache.find(key("a")), std::nullopt) << bytes.size();
    ASSERT_EQ(log.messages().size(), 1);
    EXPECT_EQ(log.messages()[0],
              fmt::format("warning: {}: compiled code, got {} damaged bytes; it is compiled again",
                          path_of("a"), bytes.size()));
    cache.store(key("a"), "some code");
    EXPECT_EQ(cache.find(key("a")), "some code");
  }
}

TEST(CodeCache, EvictsTheLeastRecentlyUsed) {
  MemoryFileSystem files({{"/cache/libm.o.1", std::string(10000, 'x')}, {"/cache/main.o", "x"}});
  const std::string code(1000, 'x');
  CodeCache cache(files, "/cache", 3500);
  for (const char* name : {"a", "b", "c"}) cache.store(key(name), code);
  EXPECT_EQ(cache.find(key("a")), code);
  cache.store(key("d"), code);
  EXPECT_EQ(cache.find(key("b")), std::nullopt);
  for (const char* name : {"a", "c", "d"}) EXPECT_EQ(cache.find(key(name)), code) << name;
  EXPECT_TRUE(files.exists("/cache/libm.o.1"));
  EXPECT_TRUE(files.exists("/cache/main.o"));
}

TEST(CodeCache, WarnsOnceWhenTheFolderFails) {
  MemoryFileSystem files;
  CodeCache(files, "/cache", kLarge).store(key("a"), "code");
  for (int64_t operation = 0; operation < 8; ++operation) {
    CodeCache cache(files, "/cache", kLarge);
    const LogCapture log;
    files.inject({.path_contains = "/cache", .at_operation = operation, .stays = true});
    cache.store(key("b"), "code");
    EXPECT_EQ(cache.find(key("a")), std::nullopt);
    files.inject({});
    EXPECT_EQ(log.messages().size(), 1U) << "one warning a process";
    EXPECT_EQ(cache.find(key("a")), "code");
  }
}

// -- Programs

class CodeCacheOnDisk : public ::testing::Test {
 protected:
  std::unique_ptr<runtime::Executable> compile(runtime::Client& client, bool optimize = true) {
    return client.compile(*testing::training_step({}),
                          {.optimize = optimize, .num_threads = 1, .cache_folder = folder_});
  }
  std::vector<std::string> files() { return local_file_system().list(folder_); }

  // One that knows no code but that on disk.
  runtime::Client& new_client() { return *clients_.emplace_back(make_client()); }

  std::vector<std::unique_ptr<runtime::Client>> clients_;
  const systole::testing::TempFolder temporary_;
  const std::string& folder_ = temporary_.path();
};

TEST_F(CodeCacheOnDisk, SparesTheNextClientTheWork) {
  const auto first = make_client();
  const auto made = compile(*first);
  EXPECT_FALSE(made->stats().code_cached);
  EXPECT_TRUE(compile(*first)->stats().code_cached) << "in memory";
  const auto second = make_client();
  const auto read = compile(*second);
  EXPECT_TRUE(read->stats().code_cached);
  EXPECT_EQ(read->stats().code_bytes, made->stats().code_bytes);
  EXPECT_EQ(files().size(), 1);
}

// How often each part of compilation ran in `run`.
std::map<std::string, int> parts_of(const std::function<void()>& run) {
  EXPECT_TRUE(tracing::start({.workers = false}));
  run();
  std::map<std::string, int> parts;
  for (const tracing::ThreadEvents& thread : tracing::stop().threads) {
    for (const tracing::Event& event : thread.events) ++parts[event.name];
  }
  return parts;
}

// Kernels of every kind that has data of its own, loops, and a program inside of a loop.
constexpr const char* kManyKernels = R"(
func.func @main(%x: tensor<96x128xf32>, %w: tensor<128x64xf32>, %b: tensor<64xf32>) -> (tensor<96x64xf32>, tensor<64x96xf32>, tensor<96x128xf32>, tensor<33xcomplex<f32>>, tensor<i32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<96x128xf32>, tensor<128x64xf32>) -> tensor<96x64xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<96x64xf32>
  %2 = stablehlo.add %0, %1 : tensor<96x64xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<96x64xf32>) -> tensor<64x96xf32>
  %4 = "stablehlo.sort"(%x) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %less = stablehlo.compare LT, %l, %r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<96x128xf32>) -> tensor<96x128xf32>
  %5 = stablehlo.fft %b, type = RFFT, length = [64] : (tensor<64xf32>) -> tensor<33xcomplex<f32>>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %6 = stablehlo.while(%i = %zero) : tensor<i32>
   cond {
    %end = stablehlo.constant dense<7> : tensor<i32>
    %more = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next : tensor<i32>
  }
  return %2, %3, %4, %5, %6 : tensor<96x64xf32>, tensor<64x96xf32>, tensor<96x128xf32>, tensor<33xcomplex<f32>>, tensor<i32>
})";

TEST_F(CodeCacheOnDisk, SparesTheNextClientTheCodeGenerator) {
  for (const char* text : {kManyKernels, ""}) {
    const auto module = *text == '\0' ? testing::training_step({}) : hlo::parse(text);
    const auto compile_module = [&] {
      return new_client().compile(
          *module, {.program = {.profile = true}, .num_threads = 1, .cache_folder = folder_});
    };
    std::unique_ptr<runtime::Executable> made;
    const auto cold = parts_of([&] { made = compile_module(); });
    EXPECT_EQ(cold.at("emit code"), 1);
    EXPECT_EQ(cold.at("make machine code"), 1);
    std::unique_ptr<runtime::Executable> read;
    const auto warm = parts_of([&] { read = compile_module(); });
    EXPECT_FALSE(warm.contains("emit code"));
    EXPECT_FALSE(warm.contains("make machine code"));
    EXPECT_EQ(warm.at("link code"), 1);

    EXPECT_TRUE(read->stats().code_cached);
    RandomStream random(5);
    std::vector<Tensor> arguments;
    for (const TensorType& type : made->parameter_types())
      arguments.push_back(testing::random_tensor(random, type, 0, 1));
    std::vector<runtime::StepProfile> steps[2];
    const auto expected = runtime::run(*made, arguments, {.profile = &steps[0]});
    const auto found = runtime::run(*read, arguments, {.profile = &steps[1]});
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(found[i].identical(expected[i])) << i;
    ASSERT_EQ(steps[1].size(), steps[0].size());
    for (size_t i = 0; i < steps[0].size(); ++i) {
      EXPECT_EQ(steps[1][i].step, steps[0][i].step);
      EXPECT_EQ(steps[1][i].runs, steps[0][i].runs);
    }
  }
}

// The names of nodes and of the program are no part of its code.
TEST_F(CodeCacheOnDisk, KnowsARenamedProgram) {
  const auto module = hlo::parse(kManyKernels);
  const runtime::CompileOptions options{.num_threads = 1, .cache_folder = folder_};
  make_client()->compile(*module, options);
  const auto renamed = hlo::parse("module @other {" + std::string(kManyKernels) + "}");
  EXPECT_TRUE(make_client()->compile(*renamed, options)->stats().code_cached);
}

TEST_F(CodeCacheOnDisk, KeepsProgramsApart) {
  const auto compile_text = [&](const std::string& text, const runtime::CompileOptions& more) {
    runtime::CompileOptions options = more;
    options.cache_folder = folder_;
    return make_client()->compile(*hlo::parse(text), options)->stats().code_cached;
  };
  const std::string text = kManyKernels;
  EXPECT_FALSE(compile_text(text, {.num_threads = 1}));
  std::string other = text;
  other.replace(other.find("dense<7>"), 8, "dense<8>");
  EXPECT_FALSE(compile_text(other, {.num_threads = 1})) << "another constant";
  EXPECT_FALSE(compile_text(text, {.num_threads = 2})) << "other threads";
  EXPECT_FALSE(compile_text(text, {.program = {.profile = true}, .num_threads = 1}));
  std::string in_place = text;
  in_place.replace(in_place.find("%x: tensor<96x128xf32>"), 22,
                   "%x: tensor<96x128xf32> {tf.aliasing_output = 2 : i32}");
  EXPECT_FALSE(compile_text(in_place, {.num_threads = 1})) << "a result in place";
  EXPECT_TRUE(compile_text(text, {.num_threads = 1}));
}

TEST_F(CodeCacheOnDisk, RunsCodeThatItReads) {
  RandomStream random(91);
  std::vector<Tensor> arguments;
  std::vector<Tensor> outputs[2];
  for (std::vector<Tensor>& output : outputs) {
    const auto client = make_client();
    const auto executable = compile(*client);
    if (arguments.empty()) {
      for (const TensorType& type : executable->parameter_types())
        arguments.push_back(testing::random_tensor(random, type, 0, 1));
    }
    output = runtime::run(*executable, arguments);
  }
  for (size_t k = 0; k < 3; ++k) EXPECT_TRUE(outputs[0][k].identical(outputs[1][k]));
}

TEST_F(CodeCacheOnDisk, KeepsOptionsApart) {
  compile(*make_client(), true);
  EXPECT_FALSE(compile(*make_client(), false)->stats().code_cached);
  EXPECT_EQ(files().size(), 2);
}

// The code of a program without parameters must not be found as that of another program.
TEST_F(CodeCacheOnDisk, RunsProgramsWithoutParameters) {
  const auto module = hlo::parse(R"(
func.func @main() -> tensor<1000xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<1000xf32>
  %1 = stablehlo.sqrt %0 : tensor<1000xf32>
  return %1 : tensor<1000xf32>
})");
  for (int round = 0; round < 2; ++round) {
    const auto client = make_client();
    const auto executable = client->compile(*module, {.num_threads = 1, .cache_folder = folder_});
    EXPECT_EQ(executable->stats().code_cached, round == 1);
    const Tensor roots = runtime::run(*executable, {})[0];
    for (int i = 0; i < 1000; i += 37)
      EXPECT_FLOAT_EQ(roots.data<float>()[i], std::sqrt(static_cast<float>(i)));
  }
}

TEST_F(CodeCacheOnDisk, ReplacesADamagedEntry) {
  compile(*make_client());
  ASSERT_EQ(files().size(), 1);
  const std::string path = join_path(folder_, files()[0]);
  std::filesystem::resize_file(path, 100);
  const LogCapture log;
  EXPECT_FALSE(compile(*make_client())->stats().code_cached);
  EXPECT_TRUE(compile(*make_client())->stats().code_cached);
  EXPECT_TRUE(std::ranges::any_of(log.messages(), [&](const std::string& line) {
    return line.starts_with("warning: " + path + ": compiled code, got 100 damaged bytes");
  }));
}

// A file whose digest is right was written by this user, but perhaps by a faulty program.
TEST_F(CodeCacheOnDisk, ReplacesAnEntryThatIsOfNoUse) {
  const auto module = hlo::parse(kManyKernels);
  const auto compile_module = [&] {
    return new_client().compile(*module, {.num_threads = 1, .cache_folder = folder_});
  };
  compile_module();
  ASSERT_EQ(files().size(), 1);
  const std::string path = join_path(folder_, files()[0]);
  const std::string whole = read_file(local_file_system(), path);
  constexpr size_t kHeader = 15 + 32;  // magic and digest
  const std::string code = whole.substr(kHeader);
  const std::vector<std::string_view> parts = split_objects(code);
  ASSERT_EQ(parts.size(), 2);
  const std::string record(parts[0]);
  const std::string object(parts[1]);
  std::vector<std::vector<std::string>> entries = {
      {}, {"", object}, {record}, {record, ""}, {record, "not an object"}, {object, record}};
  for (size_t word = 0; word < record.size() / 8; ++word) {
    entries.push_back({record, object});
    entries.back()[0].replace(8 * word, 8, std::string(8, '\x7f'));
  }
  entries.push_back({record.substr(0, record.size() - 8), object});
  entries.push_back({record + std::string(8, '\0'), object});
  const auto write = [&](const std::string& bytes) {
    const auto digest =
        llvm::SHA256::hash({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    write_file_atomically(private_file_system(), path,
                          whole.substr(0, 15) + std::string(digest.begin(), digest.end()) + bytes);
  };
  int used = 0;
  for (const std::vector<std::string>& entry : entries) {
    write(join_objects(entry));
    if (compile_module()->stats().code_cached) {
      ++used;
    } else {
      EXPECT_EQ(read_file(local_file_system(), path).substr(kHeader), code);
    }
  }
  // That there is a loop of steps, that a step was interpreted, and arguments that kernels ignore.
  EXPECT_LT(used, static_cast<int>(entries.size()) / 2);
}

TEST_F(CodeCacheOnDisk, RunsNoCodeFromAFolderThatOthersCanWrite) {
  compile(*make_client());
  ASSERT_EQ(files().size(), 1U);
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  const LogCapture log;
  const auto client = make_client();
  EXPECT_FALSE(compile(*client)->stats().code_cached);
  EXPECT_FALSE(compile(*client, false)->stats().code_cached);
  EXPECT_FALSE(compile(*make_client())->stats().code_cached);
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(std::ranges::count_if(log.messages(),
                                  [&](const std::string& line) {
                                    return line == "warning: " + folder_ +
                                                       ": cache of compiled code, writable by "
                                                       "others, got mode 777, expected 700; it is "
                                                       "not used";
                                  }),
            1)
      << "one warning a process";
}

// Another user of the machine may write to files of a program whose umask is 0, and may make files
// in a folder that was open for a while.
TEST_F(CodeCacheOnDisk, RunsNoCodeOfOthers) {
  const mode_t before = ::umask(0);
  compile(*make_client());
  ::umask(before);
  ASSERT_EQ(files().size(), 1U);
  const std::string path = join_path(folder_, files()[0]);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path).permissions(), perms::owner_read | perms::owner_write);
  const auto used = [&] { return compile(*make_client())->stats().code_cached; };
  EXPECT_TRUE(used());

  // Each entry that is not taken is replaced by one of this user.
  std::filesystem::permissions(path, perms::owner_all | perms::others_write);
  EXPECT_FALSE(used());
  EXPECT_TRUE(used());
  std::filesystem::rename(path, folder_ + "/elsewhere");
  std::filesystem::create_symlink(folder_ + "/elsewhere", path);
  EXPECT_FALSE(used());
  EXPECT_TRUE(used());
  std::filesystem::remove(path);
  std::filesystem::create_hard_link(folder_ + "/elsewhere", path);
  EXPECT_FALSE(used());
  EXPECT_TRUE(used());
  if (::chown(path.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root gives files away";
  EXPECT_FALSE(used());
  EXPECT_TRUE(used());
}

TEST_F(CodeCacheOnDisk, TakesNoOtherKindOfFileForAnEntry) {
  const systole::testing::TempFolder outside;
  const std::string victim = outside / "victim";
  write_file_atomically(local_file_system(), victim, "outside");
  for (const auto kind : systole::testing::all_file_kinds()) {
    const systole::testing::TempFolder folder;
    const LogCapture log;
    CodeCache cache(private_file_system(), folder.path(), kLarge);
    make_file_of_kind(kind, join_path(folder.path(), cache_entry_name(key("a"))), victim);
    EXPECT_EQ(cache.find(key("a")), std::nullopt);
    cache.store(key("a"), "code");
    cache.store(key("b"), "other code");
    EXPECT_EQ(cache.find(key("b")), "other code");
    EXPECT_EQ(read_file(local_file_system(), victim), "outside");
    EXPECT_EQ(local_file_system().list(outside.path()).size(), 1U);
  }
}

// This program again: the second process emits no code.
TEST_F(CodeCacheOnDisk, SparesTheNextProcessTheCodeGenerator) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto lines_with = [&](const char* wanted) {
    const std::string command = fmt::format(
        "SYSTOLE_LOG=debug SYSTOLE_CACHE_DIR='{}' '{}' --gtest_filter='ControlFlow.*' 2>&1 | grep "
        "'cpu: code .* bytes {}' | wc -l",
        folder_, self, wanted);
    std::FILE* const process = popen(command.c_str(), "r");
    int lines = -1;
    EXPECT_EQ(std::fscanf(process, "%d", &lines), 1);
    EXPECT_EQ(pclose(process), 0);
    return lines;
  };
  EXPECT_GT(lines_with("made"), 0);
  EXPECT_EQ(lines_with("made"), 0);
  EXPECT_GT(lines_with("from"), 0);
}

// This program again, several times at once and over one folder: each run checks its results.
TEST_F(CodeCacheOnDisk, ServesProcessesAtOnce) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = fmt::format(
      "SYSTOLE_CACHE_DIR='{}' '{}' --gtest_filter='ControlFlow.*' >/dev/null 2>&1", folder_, self);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::FILE*> processes;
    for (int i = 0; i < 3; ++i) processes.push_back(popen(command.c_str(), "r"));
    for (std::FILE* process : processes) EXPECT_EQ(pclose(process), 0);
  }
  EXPECT_FALSE(files().empty());
  for (const std::string& name : files()) EXPECT_TRUE(name.ends_with(".o")) << name;
}

}  // namespace
}  // namespace systole::cpu
