// Finds the files of data sets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace systole::keras::datasets {

// A data set as messages call it.
struct DataSource {
  std::string_view name;    // "imdb"
  std::string_view folder;  // of its files in a folder of data sets: "imdb"
  std::string_view origin;  // from where to fetch its files
};

// Folders that may hold the files, in order: <data_dir>/<folder> and <data_dir> if it is not empty,
// then the same of $KERAS_HOME/datasets and ~/.keras/datasets.
std::vector<std::string> data_folders(const DataSource& source, const std::string& data_dir);

// Returns the first <folder>/<name> that exists, or "". Names may contain wildcards, as
// files_matching() takes them; a name that ends in '/' is a folder. Earlier folders are preferred,
// then earlier names.
std::string find_data_file(const std::vector<std::string>& folders,
                           const std::vector<std::string>& names);

// Errors: NOT_FOUND with the names, the folders that were searched, where to fetch the files and
// where to put them.
[[noreturn]] void throw_no_data(const DataSource& source, const std::vector<std::string>& folders,
                                const std::vector<std::string>& names);

// The file `path` if it exists, else find_data_file() or throw_no_data().
std::string require_data_file(const DataSource& source, const std::string& path,
                              const std::string& data_dir, const std::vector<std::string>& names);

}  // namespace systole::keras::datasets
