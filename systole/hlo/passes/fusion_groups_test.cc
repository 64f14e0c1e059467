#include "systole/hlo/passes/fusion_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "systole/base/random.h"
#include "systole/hlo/ir/builder.h"

namespace systole::hlo {
namespace {

// Sums, and products of matrices, which no loop computes, of what came before.
void add_random_program(Computation& main, uint64_t seed) {
  RandomStream random(seed, 0);
  Builder b(main);
  std::vector<Value> values;
  for (int i = 0; i < 3; ++i) values.push_back(main.add_parameter({DType::f32, {4, 4}}));
  const auto any = [&] {
    // Mostly of the last few.
    const size_t back = random.next_below(random.next_below(4) == 0 ? values.size() : 6);
    return values[values.size() - 1 - std::min(back, values.size() - 1)];
  };
  std::vector<Value> results;
  for (int i = 0; i < 60; ++i) {
    const Value x = any();
    const Value y = any();
    const DotAttrs product{.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}};
    values.push_back(random.next_below(4) == 0 ? b.dot_general(x, y, product) : b.add(x, y));
    if (random.next_below(10) == 0) results.push_back(values.back());
  }
  results.push_back(values.back());
  main.set_results(results);
}

// Every group that a path of uses leads to from these instructions.
std::set<int> reached(const FusionGroups& groups, std::vector<int> waiting) {
  std::vector<std::vector<int>> members(static_cast<size_t>(groups.size()));
  for (int i = 0; i < groups.size(); ++i) members[groups.group(i)].push_back(i);
  std::set<int> found;
  while (!waiting.empty()) {
    const int g = groups.group(waiting.back());
    waiting.pop_back();
    if (!found.insert(g).second) continue;
    for (const int member : members[g]) {
      for (const int user : groups.users(member)) {
        if (groups.group(user) != g) waiting.push_back(user);
      }
    }
  }
  return found;
}

// The instructions that use the group of `g`, which are not of it.
std::vector<int> users_of_group(const FusionGroups& groups, int g) {
  std::vector<int> users;
  for (int i = 0; i < groups.size(); ++i) {
    if (groups.group(i) != g) continue;
    for (const int user : groups.users(i)) {
      if (groups.group(user) != g) users.push_back(user);
    }
  }
  return users;
}

// No group leads back to itself, and a sum is left out of a user's group only where another of its
// users leads into that group.
TEST(FusionGroups, AgreeWithPlainSearch) {
  FusionOptions options = FusionOptions::defaults();
  options.max_code = 1000;
  int left_out = 0;
  int joined = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Module module;
    Computation& main = module.add_function("main");
    add_random_program(main, seed);
    FusionGroups groups(main, options);
    groups.form();
    for (int i = 0; i < groups.size(); ++i) {
      joined += groups.group(i) == i ? 0 : 1;
      if (groups.group(i) != i) continue;
      ASSERT_FALSE(reached(groups, users_of_group(groups, i)).contains(i)) << seed << " " << i;
      if (!groups.instruction(i)->is(Opcode::add)) continue;
      for (const int user : groups.users(i)) {
        const int g = groups.group(user);
        if (!groups.instruction(g)->is(Opcode::add)) continue;
        std::vector<int> others;
        for (const int other : groups.users(i)) {
          if (groups.group(other) != g) others.push_back(other);
        }
        EXPECT_TRUE(reached(groups, others).contains(g)) << seed << " " << i << " " << user;
        ++left_out;
      }
    }
  }
  EXPECT_GT(joined, 0);
  EXPECT_GT(left_out, 0);
}

}  // namespace
}  // namespace systole::hlo
