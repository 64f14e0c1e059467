#include "systole/hlo/testing/bombs.h"

#include <fmt/format.h>
#include <pthread.h>

#include "systole/base/error.h"

namespace systole::hlo::testing {
namespace {

std::string function(const std::string& name, const std::string& body) {
  return fmt::format(
      "func.func {}@{}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{}  return %r : tensor<4xf32>\n}}\n",
      name == "main" ? "public " : "private ", name, body);
}

std::string call(const std::string& result, const std::string& operand, int callee,
                 bool composite) {
  if (composite) {
    return fmt::format(
        "  {0} = stablehlo.composite \"a.b\" {1} {{decomposition = @f{2}}} : (tensor<4xf32>) -> "
        "tensor<4xf32>\n",
        result, operand, callee);
  }
  return fmt::format("  {0} = call @f{2}({1}) : (tensor<4xf32>) -> tensor<4xf32>\n", result,
                     operand, callee);
}

// `result` = a loop that counts to 3 and carries `from`. Its body, which names the value %x<id>,
// computes %r<id>.
std::string loop(int id, const std::string& from, const std::string& result,
                 const std::string& body) {
  return fmt::format(
      R"(  %zero{0} = stablehlo.constant dense<0> : tensor<i32>
  %one{0} = stablehlo.constant dense<1> : tensor<i32>
  %three{0} = stablehlo.constant dense<3> : tensor<i32>
  %w{0}:2 = stablehlo.while(%i{0} = %zero{0}, %x{0} = {1}) : tensor<i32>, tensor<4xf32>
    cond {{
      %more{0} = stablehlo.compare LT, %i{0}, %three{0} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more{0} : tensor<i1>
    }} do {{
{3}
      %j{0} = stablehlo.add %i{0}, %one{0} : tensor<i32>
      stablehlo.return %j{0}, %r{0} : tensor<i32>, tensor<4xf32>
    }}
  {2} = stablehlo.add %w{0}#1, %w{0}#1 : tensor<4xf32>
)",
      id, from, result, body);
}

// Loops within each other around `body(x, r)`.
std::string nest(int levels, const std::function<std::string(std::string, std::string)>& body) {
  std::string text = body(levels == 0 ? "%x" : "%x0", levels == 0 ? "%r" : "%r0");
  for (int i = 0; i < levels; ++i) {
    const bool outermost = i == levels - 1;
    text = loop(i, outermost ? "%x" : fmt::format("%x{}", i + 1),
                outermost ? "%r" : fmt::format("%r{}", i + 1), text);
  }
  return text;
}

std::string leaf(const std::string& x, const std::string& r) {
  return fmt::format("  {1} = stablehlo.add {0}, {0} : tensor<4xf32>\n", x, r);
}

std::string chain(int length, const std::string& type, const std::string& first,
                  const std::string& prefix, bool doubling) {
  std::string text;
  std::string last = first;
  for (int i = 0; i < length; ++i) {
    const std::string next = fmt::format("{}{}", prefix, i);
    text += fmt::format("  {} = stablehlo.add {}, {} : {}\n", next, last, doubling ? last : first,
                        type);
    last = next;
  }
  return text;
}

}  // namespace

std::string doubling_calls(int levels, bool composites) {
  std::string text = function("main", call("%r", "%x", 0, composites));
  for (int i = 0; i < levels; ++i) {
    text += function(fmt::format("f{}", i),
                     call("%a", "%x", i + 1, composites) + call("%r", "%a", i + 1, composites));
  }
  return text + function(fmt::format("f{}", levels), leaf("%x", "%r"));
}

std::string chain_of_calls(int levels) {
  std::string text = function("main", call("%r", "%x", 0, false));
  for (int i = 0; i + 1 < levels; ++i) {
    text += function(fmt::format("f{}", i), call("%r", "%x", i + 1, false));
  }
  return text + function(fmt::format("f{}", levels - 1), leaf("%x", "%r"));
}

std::string chain_of_ops(int length) {
  return function("main",
                  chain(length, "tensor<4xf32>", "%x", "%c", false) +
                      fmt::format("  %r = stablehlo.add %c{}, %x : tensor<4xf32>\n", length - 1));
}

std::string fan_out(int length) {
  std::string text = "  %c0 = stablehlo.tanh %x : tensor<4xf32>\n";
  const int count = length / 3;
  for (int i = 1; i <= count; ++i) {
    text += fmt::format(
        "  %a{0} = stablehlo.multiply %x, %c0 : tensor<4xf32>\n"
        "  %b{0} = stablehlo.subtract %a{0}, %c{1} : tensor<4xf32>\n"
        "  %c{0} = stablehlo.add %b{0}, %c{2} : tensor<4xf32>\n",
        i, i / 2, i - 1);
  }
  return function("main",
                  text + fmt::format("  %r = stablehlo.add %c{}, %c0 : tensor<4xf32>\n", count));
}

std::string nested_loops(int levels) { return function("main", nest(levels, leaf)); }

std::string loops_in_calls(int levels, int nested) {
  std::string text = function("main", call("%r", "%x", 0, false));
  for (int i = 0; i < levels; ++i) {
    const auto call_next = [&](const std::string& x, const std::string& r) {
      return call(r, x, i + 1, false);
    };
    text += function(fmt::format("f{}", i), nest(nested, call_next));
  }
  return text + function(fmt::format("f{}", levels), leaf("%x", "%r"));
}

std::string doubling_condition(int levels) {
  std::string condition;
  for (int i = 1; i < levels; ++i) {
    condition += fmt::format(
        "      %s{0} = stablehlo.add %s{1}, %s{1} : tensor<i32>\n"
        "      %p{0} = stablehlo.and %p{1}, %p{1} : tensor<i1>\n",
        i, i - 1);
  }
  return fmt::format(R"(func.func @main(%x: tensor<i32>) -> tensor<i32> {{
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r = stablehlo.while(%i = %x) : tensor<i32>
    cond {{
      %s0 = stablehlo.add %i, %one : tensor<i32>
      %p0 = stablehlo.compare NE, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
{0}
      %p = stablehlo.compare LT, %s{1}, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %more = stablehlo.and %p{1}, %p : tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j : tensor<i32>
    }}
  return %r : tensor<i32>
}}
)",
                     condition, levels - 1);
}

std::string sort_with_long_comparator(int length, bool doubling) {
  return fmt::format(R"(func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {{
  %r = "stablehlo.sort"(%x) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
{}{}
    %less = stablehlo.compare LT, %p{}, %q{} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }}) {{dimension = 0 : i64, is_stable = true}} : (tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}}
)",
                     chain(length, "tensor<f32>", "%a", "%p", doubling),
                     chain(length, "tensor<f32>", "%b", "%q", doubling), length - 1, length - 1);
}

std::string chain_in_constant_branch(int length) {
  return function("main",
                  fmt::format("  %p = stablehlo.constant dense<true> : tensor<i1>\n"
                              "  %r = \"stablehlo.if\"(%p) ({{\n{}"
                              "  stablehlo.return %c{} : tensor<4xf32>\n"
                              "  }}, {{ stablehlo.return %x : tensor<4xf32> }}) : (tensor<i1>) -> "
                              "tensor<4xf32>\n",
                              chain(length, "tensor<4xf32>", "%x", "%c", false), length - 1));
}

std::string chain_of_invariants(int length) {
  std::string text =
      "      %v0 = stablehlo.broadcast_in_dim %seed, dims = [0] : (tensor<4xf32>) -> "
      "tensor<4x64xf32>\n";
  for (int i = 1; i <= length; ++i) {
    text += fmt::format("      %v{} = stablehlo.tanh %v{} : tensor<4x64xf32>\n", i, i - 1);
  }
  text += fmt::format(
      "      %slice = stablehlo.slice %v{} [0:4, 0:1] : (tensor<4x64xf32>) -> tensor<4x1xf32>\n"
      "      %row = stablehlo.reshape %slice : (tensor<4x1xf32>) -> tensor<4xf32>\n"
      "      %r0 = stablehlo.add %x0, %row : tensor<4xf32>\n",
      length);
  return function("main",
                  "  %seed = stablehlo.tanh %x : tensor<4xf32>\n" + loop(0, "%x", "%r", text));
}

std::string doubling_concatenations(int levels) {
  std::string text;
  const auto type = [](int level) { return fmt::format("tensor<{}xi32>", int64_t{1} << level); };
  for (int i = 1; i <= levels; ++i) {
    text +=
        fmt::format("  %c{0} = stablehlo.concatenate %c{1}, %c{1}, dim = 0 : ({2}, {2}) -> {3}\n",
                    i, i - 1, type(i - 1), type(i));
  }
  return fmt::format(
      "func.func @main(%c0: {0}) -> tensor<1xi32> {{\n{1}  %r = stablehlo.slice %c{2} [0:1] : "
      "({3}) "
      "-> tensor<1xi32>\n  return %r : tensor<1xi32>\n}}\n",
      type(0), text, levels, type(levels));
}

std::string foldable_constants(int count, int elements) {
  std::string text;
  std::string results;
  std::string types;
  for (int i = 0; i < count; ++i) {
    text += fmt::format(
        "  %k{0} = stablehlo.constant dense<{0}> : tensor<1xi32>\n"
        "  %p{0} = stablehlo.pad %k{0}, %zero, low = [0], high = [{1}], interior = [0] : "
        "(tensor<1xi32>, tensor<i32>) -> tensor<{2}xi32>\n",
        i, elements - 1, elements);
    results += fmt::format("{}%p{}", i == 0 ? "" : ", ", i);
    types += fmt::format("{}tensor<{}xi32>", i == 0 ? "" : ", ", elements);
  }
  return fmt::format(
      "func.func @main() -> ({0}) {{\n  %zero = stablehlo.constant dense<0> : tensor<i32>\n{1}  "
      "return {2} : {0}\n}}\n",
      types, text, results);
}

std::string on_stack_of(size_t bytes, const std::function<void()>& action) {
  struct Work {
    const std::function<void()>& action;
    std::string error;
  } work{action, ""};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    Work& work = *static_cast<Work*>(argument);
    try {
      work.action();
    } catch (const Error& error) {
      work.error = error.what();
    }
    return nullptr;
  };
  const int failed = pthread_create(&thread, &attributes, run, &work);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return "no thread";
  pthread_join(thread, nullptr);
  return work.error;
}

}  // namespace systole::hlo::testing
