// Attacks of a client with programs: what it compiles and launches.
#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "systole/worker/protocol/convert.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/program.h"

namespace systole::hostile {
namespace {

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

v1::Request compile(uint64_t executable, const std::string& text) {
  v1::Request request;
  v1::Compile& op = *request.mutable_compile();
  op.set_executable(executable);
  worker::set_bytes(text, *op.mutable_program());
  op.mutable_options()->set_num_replicas(1);
  op.mutable_options()->set_num_partitions(1);
  op.mutable_options()->set_optimize(true);
  return request;
}

// A launch of a program with arguments of so many bytes each, and results that stay or are dropped.
v1::Request execute(uint64_t executable, const std::vector<int64_t>& arguments,
                    const std::vector<uint64_t>& results) {
  v1::Request request;
  v1::Execute& op = *request.mutable_execute();
  op.set_executable(executable);
  for (const int64_t bytes : arguments) {
    worker::set_bytes(std::string(static_cast<size_t>(bytes), '\1'),
                      *op.add_arguments()->mutable_host());
  }
  for (const uint64_t buffer : results) {
    v1::Execute::Result& result = *op.add_results();
    if (buffer != 0) result.set_buffer(buffer);
  }
  return request;
}

// A session with its stream open.
std::unique_ptr<Program> open(const Target& target) {
  auto program = std::make_unique<Program>(target);
  program->hello();
  program->open();
  return program;
}

// Compiles and launches a program of one scalar f32 argument and one result.
void compile_and_run(const Target& target, const std::string& text) {
  const auto program = open(target);
  v1::Reply reply;
  if (!program->run(compile(1, text), reply) || reply.has_error()) return;
  program->run(execute(1, {4}, {2}), reply);
}

std::string scalar_main(const std::string& body) {
  return "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n" + body + "}\n";
}

const std::string& endless() {
  static const std::string text = scalar_main(R"(  %y = stablehlo.while(%v = %x) : tensor<f32>
    cond {
      %t = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %n = stablehlo.add %v, %v : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }
  return %y : tensor<f32>
)");
  return text;
}

// ------------------------------------------------------------------------------ compilations

// Functions that each call the next one `calls` times.
std::string calls(int64_t levels, int calls) {
  std::string text = scalar_main(
      "  %y = call @f0(%x) : (tensor<f32>) -> tensor<f32>\n  return %y : tensor<f32>\n");
  for (int64_t level = 0; level < levels; ++level) {
    text += fmt::format("func.func private @f{}(%a0: tensor<f32>) -> tensor<f32> {{\n", level);
    for (int i = 0; i < calls && level + 1 < levels; ++i) {
      text += fmt::format("  %a{} = call @f{}(%a{}) : (tensor<f32>) -> tensor<f32>\n", i + 1,
                          level + 1, i);
    }
    text += fmt::format("  return %a{} : tensor<f32>\n}}\n", level + 1 < levels ? calls : 0);
  }
  return text;
}

void call_bomb(const Target& target) { compile_and_run(target, calls(40, 2)); }
void wide_call_bomb(const Target& target) { compile_and_run(target, calls(6, 100)); }
void chain_of_calls(const Target& target) {
  compile_and_run(target, calls(target.turns(60'000), 1));
}
void recursion(const Target& target) {
  compile_and_run(
      target,
      scalar_main(
          "  %y = call @main(%x) : (tensor<f32>) -> tensor<f32>\n  return %y : tensor<f32>\n"));
}

void composite_bomb(const Target& target) {
  std::string text = scalar_main(
      "  %y = stablehlo.composite \"a.b\" %x {decomposition = @f0} : (tensor<f32>) -> "
      "tensor<f32>\n  return %y : tensor<f32>\n");
  for (int level = 0; level < 40; ++level) {
    text += fmt::format("func.func private @f{}(%a: tensor<f32>) -> tensor<f32> {{\n", level);
    if (level < 39) {
      text += fmt::format(
          "  %b = stablehlo.composite \"a.b\" %a {{decomposition = @f{0}}} : (tensor<f32>) -> "
          "tensor<f32>\n"
          "  %c = stablehlo.composite \"a.b\" %b {{decomposition = @f{0}}} : (tensor<f32>) -> "
          "tensor<f32>\n  return %c : tensor<f32>\n}}\n",
          level + 1);
    } else {
      text += "  return %a : tensor<f32>\n}\n";
    }
  }
  compile_and_run(target, text);
}

void long_chain(const Target& target) {
  std::string body;
  const int64_t ops = target.turns(60'000);
  body = "  %v0 = stablehlo.add %x, %x : tensor<f32>\n";
  for (int64_t i = 1; i < ops; ++i) {
    body += fmt::format("  %v{} = stablehlo.sine %v{} : tensor<f32>\n", i, i - 1);
  }
  compile_and_run(target,
                  scalar_main(body + fmt::format("  return %v{} : tensor<f32>\n", ops - 1)));
}

void nested_loops(const Target& target) {
  std::string begin;
  std::string end;
  std::string value = "%x";
  for (int depth = 0; depth < 60; ++depth) {
    begin += fmt::format(
        "  %y{0} = stablehlo.while(%v{0} = {1}) : tensor<f32> cond {{\n  %t{0} = "
        "stablehlo.constant dense<true> : tensor<i1>\n  stablehlo.return %t{0} : tensor<i1>\n }} "
        "do {{\n",
        depth, value);
    value = fmt::format("%v{}", depth);
  }
  std::string inner = "%v59";
  for (int depth = 59; depth >= 0; --depth) {
    end += fmt::format("  stablehlo.return {} : tensor<f32>\n }}\n", inner);
    inner = fmt::format("%y{}", depth);
  }
  compile_and_run(target, scalar_main(begin + end + "  return %y0 : tensor<f32>\n"));
}

void brackets(const Target& target) {
  compile_and_run(target,
                  scalar_main("  %y = stablehlo.add %x, %x {a = " + std::string(500'000, '[')));
}

void random_text(const Target& target) {
  const auto program = open(target);
  std::mt19937 random(1);
  for (int64_t i = 0; i < target.turns(300); ++i) {
    std::string text = i % 2 == 0 ? endless() : calls(5, 2);
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random());
    v1::Reply reply;
    v1::Request request = compile(static_cast<uint64_t>(i) + 1, text);
    request.mutable_compile()->mutable_options()->set_memory_limit(1 << 20);
    if (!program->run(request, reply)) return;
  }
}

void random_artifacts(const Target& target) {
  const auto program = open(target);
  std::mt19937 random(2);
  for (int64_t i = 0; i < target.turns(1000); ++i) {
    std::string bytes = "ML\xefR";
    for (int k = 0; k < 200; ++k) bytes += static_cast<char>(random());
    v1::Request request;
    request.mutable_deserialize()->set_executable(static_cast<uint64_t>(i) + 1);
    worker::set_bytes(bytes, *request.mutable_deserialize()->mutable_bytes());
    v1::Reply reply;
    if (!program->run(i % 2 == 0 ? request : compile(static_cast<uint64_t>(i) + 1, bytes), reply))
      return;
  }
}

// Options with numbers that nobody has.
void extreme_options(const Target& target) {
  const auto program = open(target);
  uint64_t id = 1;
  for (const int number : {-1, 3000, 3001, 3002, 100'000, INT32_MAX, INT32_MIN}) {
    for (int field = 0; field < 5; ++field) {
      v1::Request request = compile(id++, scalar_main("  return %x : tensor<f32>\n"));
      v1::CompileOptions& options = *request.mutable_compile()->mutable_options();
      if (field == 0) options.set_num_threads(number);
      if (field == 1) options.set_num_replicas(number);
      if (field == 2) options.set_num_partitions(number);
      if (field == 3) options.set_memory_limit(number);
      if (field == 4) options.add_device_assignment(number);
      v1::Reply reply;
      if (!program->run(request, reply)) return;
    }
  }
}

void many_programs(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  for (int64_t i = 0; i < target.turns(300); ++i) {
    const std::string text =
        scalar_main(fmt::format("  %c = stablehlo.constant dense<{}.0> : tensor<f32>\n  %y = "
                                "stablehlo.add %x, %c : tensor<f32>\n  return %y : tensor<f32>\n",
                                i));
    if (!program->run(compile(static_cast<uint64_t>(i) + 1, text), reply)) return;
  }
}

void huge_splat(const Target& target) {
  compile_and_run(target,
                  scalar_main(R"(  %c = stablehlo.constant dense<2.0> : tensor<1000000000xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%c init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1000000000xf32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
)"));
}

void huge_iota(const Target& target) {
  compile_and_run(target, scalar_main(R"(  %c = stablehlo.iota dim = 0 : tensor<1000000000000xf32>
  %s = stablehlo.slice %c [7:8] : (tensor<1000000000000xf32>) -> tensor<1xf32>
  %y = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
  return %y : tensor<f32>
)"));
}

void folded_growth(const Target& target) {
  std::string body = "  %v0 = stablehlo.iota dim = 0 : tensor<16xf32>\n";
  int64_t size = 16;
  for (int i = 0; i < 24; ++i, size *= 2) {
    body += fmt::format(
        "  %v{} = stablehlo.concatenate %v{}, %v{}, dim = 0 : (tensor<{}xf32>, tensor<{}xf32>) -> "
        "tensor<{}xf32>\n",
        i + 1, i, i, size, size, 2 * size);
  }
  body += fmt::format(
      "  %s = stablehlo.slice %v24 [9:10] : (tensor<{}xf32>) -> tensor<1xf32>\n  %y = "
      "stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>\n  return %y : tensor<f32>\n",
      size);
  compile_and_run(target, scalar_main(body));
}

// ----------------------------------------------------------------------------------- launches

// A launch that does not end, and a client that goes.
void endless_launch(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  if (!program->run(compile(1, endless()), reply)) return;
  v1::Request request = execute(1, {4}, {2});
  request.set_op_id(program->next_op());
  program->send(request);
  pause(1);
}

void endless_in_all_sessions(const Target& target) {
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < 15; ++i) {
    programs.push_back(open(target));
    v1::Reply reply;
    if (!programs.back()->run(compile(1, endless()), reply)) continue;
    v1::Request request = execute(1, {4}, {2});
    request.set_op_id(programs.back()->next_op());
    programs.back()->send(request);
  }
  pause(2 * target.scale);
}

// Requests with arrays that wait behind a launch.
void puts_behind_a_launch(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  if (!program->run(compile(1, endless()), reply)) return;
  v1::Request request = execute(1, {4}, {2});
  request.set_op_id(program->next_op());
  program->send(request);
  for (int64_t i = 0; i < target.turns(400); ++i) {
    v1::Request put = Program::put(static_cast<uint64_t>(i) + 10, int64_t{8'000'000});
    put.set_op_id(program->next_op());
    if (!program->send(put)) return;
  }
}

// Messages that take a multiple of their bytes in memory.
void millions_of_arguments(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  if (!program->run(compile(1, endless()), reply)) return;
  v1::Request launch = execute(1, {4}, {2});
  launch.set_op_id(program->next_op());
  program->send(launch);
  v1::Request request;
  request.mutable_execute()->set_executable(1);
  for (int i = 0; i < 3'900'000; ++i) request.mutable_execute()->add_arguments();
  for (int64_t i = 0; i < target.turns(12); ++i) {
    request.set_op_id(program->next_op());
    if (!program->send(request)) return;
  }
}

void temporaries(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  for (uint64_t i = 1; i <= 6; ++i) {
    const std::string text = scalar_main(fmt::format(
        R"(  %b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<{0}xf32>
  %r = stablehlo.reverse %b, dims = [0] : tensor<{0}xf32>
  %s = "stablehlo.sort"(%r) ({{
    ^bb0(%a: tensor<f32>, %c: tensor<f32>):
      %t = stablehlo.compare LT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
  }}) {{dimension = 0 : i64}} : (tensor<{0}xf32>) -> tensor<{0}xf32>
  %e = stablehlo.slice %s [7:8] : (tensor<{0}xf32>) -> tensor<1xf32>
  %y = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
  return %y : tensor<f32>
)",
        4'000'000 + i));
    if (!program->run(compile(i, text), reply)) return;
    if (!program->run(execute(i, {4}, {100 + i}), reply)) return;
  }
}

void results_that_stay(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  const std::string text = R"(func.func @main(%x: tensor<f32>) -> tensor<1000000xf32> {
  %y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1000000xf32>
  return %y : tensor<1000000xf32>
})";
  if (!program->run(compile(1, text), reply)) return;
  for (int64_t i = 0; i < target.turns(500); ++i) {
    v1::Request request = execute(1, {4}, {static_cast<uint64_t>(i) + 10});
    if (i % 2 == 0)
      request.mutable_execute()->mutable_results(0)->set_host(static_cast<uint64_t>(i) + 10);
    if (!program->run(request, reply)) return;
  }
}

// Buffers that failed keep their errors.
void poisoned_buffers(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  for (int64_t i = 0; i < target.turns(20'000); ++i) {
    v1::Request request =
        execute(1000 + static_cast<uint64_t>(i), {}, {1'000'000 + static_cast<uint64_t>(i)});
    if (!program->run(request, reply)) return;
  }
}

void donated_twice(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  const std::string text =
      R"(func.func @main(%x: tensor<f32> {tf.aliasing_output = 0 : i32}, %z: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.add %x, %z : tensor<f32>
  return %y : tensor<f32>
})";
  if (!program->run(compile(1, text), reply)) return;
  for (int64_t i = 0; i < target.turns(500); ++i) {
    const auto buffer = static_cast<uint64_t>(i) + 10;
    if (!program->run(Program::put(buffer, 4), reply)) return;
    v1::Request request;
    v1::Execute& op = *request.mutable_execute();
    op.set_executable(1);
    for (int k = 0; k < 2; ++k) {
      op.add_arguments()->set_buffer(buffer);
      op.mutable_arguments(k)->set_donate(true);
    }
    op.add_results();
    if (!program->run(request, reply)) return;
  }
}

void indices_outside(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  const std::string text =
      R"(func.func @main(%x: tensor<64xf32>, %i: tensor<i32>) -> tensor<64xf32> {
  %s = stablehlo.dynamic_slice %x, %i, sizes = [8] : (tensor<64xf32>, tensor<i32>) -> tensor<8xf32>
  %y = stablehlo.dynamic_update_slice %x, %s, %i : (tensor<64xf32>, tensor<8xf32>, tensor<i32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
})";
  if (!program->run(compile(1, text), reply)) return;
  std::mt19937 random(3);
  for (int64_t i = 0; i < target.turns(2000); ++i) {
    v1::Request request = execute(1, {256}, {0});
    std::string index(4, '\0');
    for (char& c : index) c = static_cast<char>(random());
    worker::set_bytes(index, *request.mutable_execute()->add_arguments()->mutable_host());
    if (!program->run(request, reply)) return;
  }
}

void lawless_sorts(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  const std::string text = R"(func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %y = "stablehlo.sort"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %t = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %t : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<4096xf32>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
})";
  if (!program->run(compile(1, text), reply)) return;
  for (int64_t i = 0; i < target.turns(200); ++i) {
    if (!program->run(execute(1, {16384}, {0}), reply)) return;
  }
}

void describes(const Target& target) {
  const auto program = open(target);
  v1::Reply reply;
  if (!program->run(compile(1, calls(2000, 1)), reply)) return;
  for (int64_t i = 0; i < target.turns(500); ++i) {
    v1::Request request;
    request.mutable_describe()->set_executable(1);
    request.mutable_describe()->set_what(i % 2 == 0 ? v1::Describe::SERIALIZED
                                                    : v1::Describe::OPTIMIZED_PROGRAM);
    request.mutable_describe()->set_transfer(static_cast<uint64_t>(i) + 10);
    if (!program->run(request, reply)) return;
  }
}

// Sessions that come and go, each with a process.
void sessions_that_come_and_go(const Target& target) {
  for (int64_t i = 0; i < target.turns(300); ++i) {
    const auto program = open(target);
    v1::Reply reply;
    program->run(Program::put(1, 100'000), reply);
    const auto context = program->context();
    v1::CloseReply closed;
    program->stub().Close(context.get(), program->key(), &closed);
  }
}

// Requests of random fields.
void random_requests(const Target& target) {
  std::mt19937_64 random(4);
  auto program = open(target);
  v1::Reply reply;
  program->run(compile(1, scalar_main("  return %x : tensor<f32>\n")), reply);
  for (int64_t i = 0; i < target.turns(20'000); ++i) {
    v1::Request request =
        i % 3 == 0   ? Program::put(random() % 50, static_cast<int64_t>(random() % 2000))
        : i % 3 == 1 ? execute(random() % 3, {4}, {random() % 50})
                     : compile(random() % 3, scalar_main("  return %x : tensor<f32>\n"));
    if (random() % 4 == 0) request.add_free(random() % 50);
    std::string bytes = request.SerializeAsString();
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    v1::Request damaged;
    if (!damaged.ParseFromString(bytes)) continue;
    if (!program->run(damaged, reply)) program = open(target);
  }
}

}  // namespace

std::vector<Attack> program_attacks() {
  return {{"program: calls that double 40 times", true, call_bomb},
          {"program: calls that grow 100-fold 6 times", true, wide_call_bomb},
          {"program: chain of calls", true, chain_of_calls},
          {"program: recursion", true, recursion},
          {"program: composites that double 40 times", true, composite_bomb},
          {"program: chain of ops", true, long_chain},
          {"program: nested loops", true, nested_loops},
          {"program: brackets", true, brackets},
          {"program: random text", true, random_text},
          {"program: random artifacts", true, random_artifacts},
          {"program: extreme options", true, extreme_options},
          {"program: many", true, many_programs},
          {"program: constant of 4 GB", true, huge_splat},
          {"program: iota of 4 TB", true, huge_iota},
          {"program: constants that double", true, folded_growth},
          {"launch: endless", true, endless_launch},
          {"launch: endless in 15 sessions", true, endless_in_all_sessions},
          {"launch: puts behind an endless one", true, puts_behind_a_launch},
          {"launch: millions of empty arguments", true, millions_of_arguments},
          {"launch: temporaries of six programs", true, temporaries},
          {"launch: results that stay", true, results_that_stay},
          {"launch: errors that stay", true, poisoned_buffers},
          {"launch: donated twice", true, donated_twice},
          {"launch: indices outside", true, indices_outside},
          {"launch: sorts by no order", true, lawless_sorts},
          {"describe again and again", true, describes},
          {"sessions that come and go", true, sessions_that_come_and_go},
          {"requests of random bits", true, random_requests}};
}

}  // namespace systole::hostile
