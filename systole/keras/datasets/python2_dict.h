// The order of the keys of a dict of Python 2.7 on a 64-bit machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace systole::keras::datasets {

// A dict of Python 2.7 with string keys and integer values. It reproduces Python's hash table, so
// that values() has Python's iteration order: the hash of strings, the probe sequence and the
// growth. Source: CPython 2.7, Objects/dictobject.c, Objects/stringobject.c.
class Python2Dict {
 public:
  Python2Dict() : table_(8) {}

  // REQUIRES: `key` was not added before.
  void add(std::string_view key, int32_t value);
  // Returns the values in the order of Python's items().
  std::vector<int32_t> values() const;

 private:
  struct Entry {
    bool used = false;
    uint64_t hash = 0;
    int32_t value = 0;
  };
  static void put(std::vector<Entry>& table, const Entry& entry);

  std::vector<Entry> table_;
  size_t used_ = 0;
};

}  // namespace systole::keras::datasets
