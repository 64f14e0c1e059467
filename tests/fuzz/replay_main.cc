// Runs a fuzz target without libFuzzer on folders of seeds: each seed, its prefixes, single bit
// flips, and random changes for half a second, or for SYSTOLE_FUZZ_SECONDS.
//   fuzz_<name> FOLDER...
//   fuzz_<name> --fail-allocations LEAKS FOLDER...    each seed while allocations fail; LEAKS: how
//                                                     many each run may leak
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#ifdef SYSTOLE_FAILING_MALLOC
#include "tests/allocation_failure/failing_malloc.h"
#endif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Clock = std::chrono::steady_clock;

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

void replay(const std::string& seed) {
  run(seed);
  const size_t step = seed.size() / 500 + 1;
  for (size_t size = 0; size < seed.size(); size += step) {
    run(seed.substr(0, size));
    std::string flipped = seed;
    flipped[size] = static_cast<char>(flipped[size] ^ (1 << (size / step % 8)));
    run(flipped);
  }
}

// Changes bytes, and copies, removes and exchanges parts, also of another seed.
class Mutator {
 public:
  std::string operator()(std::string text, const std::string& other) {
    for (size_t count = 1 + below(4); count > 0; --count) change(text, other);
    return text;
  }
  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

 private:
  void change(std::string& text, const std::string& other) {
    constexpr size_t kLongest = 16;
    const size_t at = below(text.size() + 1);
    const size_t size = 1 + below(kLongest);
    switch (below(6)) {
      case 0:
        text.erase(at, size);
        return;
      case 1:
        text.insert(at, text, below(text.size() + 1), size);
        return;
      case 2:
        text.replace(at, size, other, below(other.size() + 1), size);
        return;
      case 3:
        text.insert(at, 1, static_cast<char>(random_()));
        return;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        return;
      default:
        if (at < text.size())
          text[at] =
              "\0\1\x7f\x80\xff"
              "09-"[below(8)];
    }
  }
  std::mt19937_64 random_;
};

int64_t mutate(const std::vector<std::string>& seeds) {
  const char* const wanted = std::getenv("SYSTOLE_FUZZ_SECONDS");  // NOLINT(concurrency-mt-unsafe)
  const auto end = Clock::now() + (wanted != nullptr ? std::chrono::seconds(std::atoll(wanted))
                                                     : std::chrono::milliseconds(500));
  Mutator mutator;
  int64_t runs = 0;
  while (Clock::now() < end) {
    const std::string& seed = seeds[mutator.below(seeds.size())];
    run(mutator(seed, seeds[mutator.below(seeds.size())]));
    ++runs;
  }
  return runs;
}

std::vector<std::string> read_folder(const char* folder) {
  std::vector<std::string> seeds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

#ifdef SYSTOLE_FAILING_MALLOC
int fail_allocations(const std::vector<std::string>& seeds, int64_t leaks) {
  size_t problems = 0;
  for (const std::string& seed : seeds) {
    const auto report = systole::testing::fail_allocations([&] { run(seed); }, {.leaks = leaks});
    std::printf("%lld allocations, %lld runs\n", static_cast<long long>(report.allocations),
                static_cast<long long>(report.runs));
    for (const std::string& problem : report.problems) std::printf("  %s\n", problem.c_str());
    problems += report.problems.size();
  }
  return problems == 0 ? 0 : 1;
}
#else
int fail_allocations(const std::vector<std::string>&, int64_t) { return 2; }
#endif

}  // namespace

int main(int argc, char** argv) {
  const bool failing = argc > 1 && argv[1] == std::string_view("--fail-allocations");
  std::vector<std::string> seeds;
  for (int i = failing ? 3 : 1; i < argc; ++i) {
    for (std::string& seed : read_folder(argv[i])) seeds.push_back(std::move(seed));
  }
  if (seeds.empty()) return 1;
  if (failing) return fail_allocations(seeds, std::atoll(argv[2]));
  for (const std::string& seed : seeds) replay(seed);
  std::printf("%zu seeds, %lld changed ones\n", seeds.size(),
              static_cast<long long>(mutate(seeds)));
  return 0;
}
