#include "systole/keras/datasets/python2_dict.h"

#include <bit>

namespace systole::keras::datasets {
namespace {

uint64_t python2_hash(std::string_view key) {
  if (key.empty()) return 0;
  uint64_t hash = static_cast<uint64_t>(static_cast<unsigned char>(key[0])) << 7U;
  for (const char c : key) hash = (1000003 * hash) ^ static_cast<unsigned char>(c);
  hash ^= key.size();
  return hash == ~uint64_t{0} ? ~uint64_t{1} : hash;  // -1 means an error there
}

}  // namespace

void Python2Dict::put(std::vector<Entry>& table, const Entry& entry) {
  const uint64_t mask = table.size() - 1;
  uint64_t place = entry.hash & mask;
  uint64_t perturb = entry.hash;
  for (uint64_t probe = place; table[place].used; perturb >>= 5U) {
    probe = (probe << 2U) + probe + perturb + 1;
    place = probe & mask;
  }
  table[place] = entry;
}

void Python2Dict::add(std::string_view key, int32_t value) {
  put(table_, {.used = true, .hash = python2_hash(key), .value = value});
  ++used_;
  if (used_ * 3 < table_.size() * 2) return;
  const size_t wanted = used_ * (used_ > 50000 ? 2 : 4);
  std::vector<Entry> larger(std::bit_ceil(wanted + 1));
  for (const Entry& entry : table_) {
    if (entry.used) put(larger, entry);
  }
  table_.swap(larger);
}

std::vector<int32_t> Python2Dict::values() const {
  std::vector<int32_t> values;
  values.reserve(used_);
  for (const Entry& entry : table_) {
    if (entry.used) values.push_back(entry.value);
  }
  return values;
}

}  // namespace systole::keras::datasets
