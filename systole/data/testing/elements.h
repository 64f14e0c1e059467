// What tests of data sets compare: elements as short texts.
#pragma once

#include <string>
#include <vector>

#include "systole/data/dataset.h"

namespace systole::data {

// "3", "[1 2]", "(1, {x: [a b]})".
std::string to_text(const Element& element);
// The elements that are left, at most `limit`; an error is an element "CODE: message".
std::vector<std::string> rest(Iterator& iterator, int64_t limit = 1000);
// All elements of a fresh iterator.
std::vector<std::string> elements(const Dataset& dataset, const IteratorOptions& options = {});
// The same with blanks between them.
std::string joined(const Dataset& dataset, const IteratorOptions& options = {});

}  // namespace systole::data
