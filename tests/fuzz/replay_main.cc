// Runs a fuzz target over a folder of seeds where there is no libFuzzer: each seed, its prefixes,
// and single bit flips.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

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

}  // namespace

int main(int argc, char** argv) {
  int seeds = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      replay({std::istreambuf_iterator<char>(file), {}});
      ++seeds;
    }
  }
  std::printf("%d seeds\n", seeds);
  return seeds > 0 ? 0 : 1;
}
