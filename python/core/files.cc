// Files of any scheme, for tf.gfile.
#include "bindings.h"
#include "systole/base/file_system.h"
#include "systole/io/file_systems/file_systems.h"
#include "values.h"

namespace systole::python {
namespace {

template <class F>
auto unlocked(F&& f) {
  const nb::gil_scoped_release released;
  return f();
}

FileSystem& files() { return default_file_system(); }

}  // namespace

void bind_files(nb::module_& m) {
  nb::class_<WritableFile>(m, "WritableFile")
      .def("append", [](WritableFile& f, nb::bytes bytes) { f.append(std::string_view(bytes.c_str(), bytes.size())); })
      .def("flush", [](WritableFile& f) { unlocked([&] { f.flush(); }); })
      .def("close", [](WritableFile& f) { unlocked([&] { f.close(); }); });
  m.def("create_file", [](const std::string& path) { return unlocked([&] { return files().create(path); }); });
  m.def("read_file", [](const std::string& path) {
    const std::string bytes = unlocked([&] { return read_file(files(), path); });
    return nb::bytes(bytes.data(), bytes.size());
  });
  m.def("file_exists", [](const std::string& path) { return unlocked([&] { return files().exists(path); }); });
  // (size, is a directory, nanoseconds since the Unix epoch).
  m.def("file_stat", [](const std::string& path) {
    const FileStat stat = unlocked([&] { return files().stat(path); });
    return nb::make_tuple(stat.size, stat.is_directory, stat.modified_ns);
  });
  m.def("list_files", [](const std::string& path) {
    nb::list all;
    for (const std::string& name : unlocked([&] { return files().list(path); })) all.append(name);
    return all;
  });
  m.def("make_directories", [](const std::string& path) { unlocked([&] { files().make_directories(path); }); });
  m.def("rename_file", [](const std::string& from, const std::string& to) { unlocked([&] { files().rename(from, to); }); });
  m.def("remove_file", [](const std::string& path) { unlocked([&] { files().remove(path); }); });
  m.def("remove_tree", [](const std::string& path) { unlocked([&] { remove_tree(files(), path); }); });
}

}  // namespace systole::python
