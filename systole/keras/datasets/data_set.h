// What load_data() returns:
//   auto [train, test] = st::keras::datasets::mnist::load_data();
//   auto [x_train, y_train] = train;
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::keras::datasets {

struct DataPart {
  Tensor x;
  Tensor y;
};
struct DataSet {
  DataPart train;
  DataPart test;
};

// Texts as the numbers of their words.
struct WordListPart {
  std::vector<std::vector<int32_t>> x;
  Tensor y;  // s64 [texts]
};
struct WordListDataSet {
  WordListPart train;
  WordListPart test;
};

// Words and their ranks: 1 is the most frequent.
using WordIndex = std::unordered_map<std::string, int32_t>;

// The words of a WordIndex by their ranks. Copies them.
class ReverseWordIndex {
 public:
  explicit ReverseWordIndex(const WordIndex& words);
  // Null for a rank that no word has.
  const std::string* find(int32_t rank) const;

 private:
  std::unordered_map<int32_t, std::string> words_;
};

}  // namespace systole::keras::datasets
