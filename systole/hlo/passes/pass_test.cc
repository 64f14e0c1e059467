#include "systole/hlo/passes/pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "systole/base/testing/temp_folder.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/testing/run_op.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using systole::testing::TempFolder;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

const TensorType kF32{DType::f32, {}};

// main(x) returns x.
std::unique_ptr<Module> make_module() {
  auto module = std::make_unique<Module>("m");
  Computation& main = module->add_function("main");
  main.set_results({main.add_parameter(kF32)});
  return module;
}

// Puts one negate more before the return, up to a total.
class AddNegate final : public Pass {
 public:
  explicit AddNegate(int total) : total_(total) {}
  std::string_view name() const override { return "add_negate"; }
  bool run(Module& module) override {
    Computation& main = module.entry();
    if (main.num_instructions() - 2 >= total_) return false;
    main.set_results({Builder(main).negate(main.results()[0])});
    return true;
  }

 private:
  int total_;
};

class DoNothing final : public Pass {
 public:
  std::string_view name() const override { return "do_nothing"; }
  bool run(Module&) override { return false; }
};

class Throw final : public Pass {
 public:
  std::string_view name() const override { return "throw"; }
  bool run(Module&) override { throw unimplemented("negate: got f32, expected another"); }
};

// Puts a use before its definition.
class Break final : public Pass {
 public:
  std::string_view name() const override { return "break"; }
  bool run(Module& module) override {
    Computation& main = module.entry();
    Instruction* negate = main.results()[0].def;
    negate->set_operand(0, main.insert(Opcode::abs, {negate->result()}, {kF32})->result());
    return true;
  }
};

std::vector<std::string> names(const Pipeline& pipeline) {
  std::vector<std::string> result;
  for (const PassTiming& timing : pipeline.timings()) {
    result.push_back(timing.name + (timing.changed ? "+" : ""));
  }
  return result;
}

std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST(PipelineTest, RunsInOrderAndTimes) {
  Pipeline pipeline("p", PipelineOptions{.verify = true});
  pipeline.add<AddNegate>(1).add<DoNothing>().add<AddNegate>(1);
  const auto module = make_module();
  EXPECT_TRUE(pipeline.run(*module));
  EXPECT_THAT(names(pipeline), ElementsAre("add_negate+", "do_nothing", "add_negate"));
  for (const PassTiming& timing : pipeline.timings()) EXPECT_GE(timing.seconds, 0);
  EXPECT_FALSE(pipeline.run(*module));
  EXPECT_EQ(pipeline.timings().size(), 3U);
}

TEST(PipelineTest, FixedPointStopsWhenNothingChanges) {
  Pipeline pipeline("p", PipelineOptions{});
  auto inner = std::make_unique<Pipeline>("inner", PipelineOptions{});
  inner->add<AddNegate>(3).add<DoNothing>();
  pipeline.add_fixed_point(std::move(inner)).add<DoNothing>();
  const auto module = make_module();
  EXPECT_TRUE(pipeline.run(*module));
  EXPECT_EQ(module->entry().num_instructions(), 5);
  EXPECT_THAT(names(pipeline),
              ElementsAre("add_negate+", "do_nothing", "add_negate+", "do_nothing", "add_negate+",
                          "do_nothing", "add_negate", "do_nothing", "do_nothing"));
  EXPECT_FALSE(pipeline.run(*module));
}

TEST(PipelineTest, FixedPointHasALimit) {
  Pipeline pipeline("p", PipelineOptions{});
  auto inner = std::make_unique<Pipeline>("inner", PipelineOptions{});
  inner->add<AddNegate>(1'000'000);
  pipeline.add_fixed_point(std::move(inner), 4);
  const auto module = make_module();
  EXPECT_TRUE(pipeline.run(*module));
  EXPECT_EQ(module->entry().num_instructions(), 6);
}

TEST(PipelineTest, DisabledPassesDoNotRunInNestedPipelinesEither) {
  Pipeline pipeline("p", PipelineOptions{.disabled = {"add_negate"}});
  auto inner = std::make_unique<Pipeline>("inner", PipelineOptions{});
  inner->add<AddNegate>(2).add<DoNothing>();
  pipeline.add<AddNegate>(2).add_fixed_point(std::move(inner));
  const auto module = make_module();
  EXPECT_FALSE(pipeline.run(*module));
  EXPECT_THAT(names(pipeline), ElementsAre("do_nothing"));
}

TEST(PipelineTest, ErrorsNameThePass) {
  Pipeline pipeline("p", PipelineOptions{});
  pipeline.add<DoNothing>().add<Throw>();
  EXPECT_EQ(error_of([&] { pipeline.run(*make_module()); }),
            "UNIMPLEMENTED: negate: got f32, expected another, in pass 'throw'");
}

TEST(PipelineTest, VerifiesBeforeAndAfter) {
  Pipeline pipeline("p", PipelineOptions{.verify = true});
  pipeline.add<AddNegate>(1).add<Break>();
  const auto module = make_module();
  EXPECT_THAT(error_of([&] { pipeline.run(*module); }),
              ::testing::EndsWith("from 'negate' in 'main', after pass 'break'"));
  EXPECT_THAT(error_of([&] { pipeline.run(*module); }), ::testing::EndsWith("before pipeline 'p'"));
  Pipeline unchecked("p", PipelineOptions{});
  unchecked.add<Break>();
  EXPECT_EQ(error_of([&] { unchecked.run(*module); }), "no error");
}

TEST(PipelineTest, DumpsWhatChanged) {
  const TempFolder folder;
  set_module_printer([](const Module& module) { return print(module); });
  PipelineOptions options{.dump_folder = folder / "deep"};
  Pipeline pipeline("p", options);
  auto inner = std::make_unique<Pipeline>("inner", PipelineOptions{});
  inner->add<AddNegate>(2);
  pipeline.add<DoNothing>().add<AddNegate>(1).add_fixed_point(std::move(inner));
  const auto module = make_module();
  pipeline.run(*module);
  EXPECT_THAT(files_in(options.dump_folder),
              ElementsAre("000.after_add_negate.mlir", "001.after_add_negate.mlir"));
  std::ifstream file(options.dump_folder + "/000.after_add_negate.mlir");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, HasSubstr("negate"));
  // A second run keeps what the first one wrote.
  pipeline.run(*make_module());
  EXPECT_EQ(files_in(options.dump_folder).size(), 4U);
}

TEST(PipelineTest, DumpFolderThatCannotBe) {
  const TempFolder folder;
  set_module_printer([](const Module& module) { return print(module); });
  std::ofstream(folder / "file") << "a file";
  Pipeline pipeline("p", PipelineOptions{.dump_folder = folder / "file"});
  pipeline.add<AddNegate>(1);
  EXPECT_THAT(error_of([&] { pipeline.run(*make_module()); }),
              HasSubstr("000.after_add_negate.mlir: dump, got 'Not a directory'"));
}

TEST(PipelineOptionsTest, FromEnvironment) {
  setenv("SYSTOLE_DUMP", "/somewhere", 1);
  setenv("SYSTOLE_DISABLE_PASSES", "cse,,dce", 1);
  const PipelineOptions options = PipelineOptions::from_environment();
  unsetenv("SYSTOLE_DUMP");
  unsetenv("SYSTOLE_DISABLE_PASSES");
  EXPECT_EQ(options.dump_folder, "/somewhere");
  EXPECT_THAT(options.disabled, ElementsAre("cse", "dce"));
  EXPECT_TRUE(PipelineOptions::from_environment().dump_folder.empty());
}

}  // namespace
}  // namespace systole::hlo
