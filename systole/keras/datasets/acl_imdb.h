// The reviews of aclImdb as the arrays of Keras's imdb.npz.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/keras/datasets/word_lists.h"

namespace systole::keras::datasets {

// Before load_data() shuffles them.
struct AclImdb {
  LabelledLists train;             // ranks of words from 1
  LabelledLists test;              // without the words that no training review has
  std::vector<std::string> words;  // by rank, from 0
};

// Reads an archive or a folder, with two threads. Gives what imdb.npz holds: texts are bytes, of
// which A to Z become lower case and Keras's filters become blanks; positive reviews come first,
// sorted by file name as text; words are ranked by their count in the training reviews, ties in the
// order of a dict of Python 2.7, with which imdb.npz was made. Errors: those of the files;
// INVALID_ARGUMENT if a part has no reviews.
AclImdb read_acl_imdb(const std::string& path);

}  // namespace systole::keras::datasets
