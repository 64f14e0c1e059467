// Every path that the libraries read or write, with every kind of file at it.
#include "systole/base/testing/file_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/data/dataset.h"
#include "systole/io/archives/archive_reader.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/proto/graph.pb.h"
#include "systole/io/records/tfrecord.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/io/tables/csv.h"
#include "systole/io/tables/idx.h"
#include "systole/io/tables/npy.h"
#include "systole/io/tables/npz.h"
#include "systole/keras/preprocessing/image_file.h"
#include "systole/train/loop/model_dir_lock.h"
#include "systole/train/saver.h"

namespace systole {
namespace {

using systole::testing::all_file_kinds;
using systole::testing::error_of;
using systole::testing::FileKind;
using systole::testing::make_file_of_kind;
using systole::testing::name_of;
using systole::testing::TempFolder;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr unsigned kSecondsToHang = 20;  // of one row with one kind

FileSystem& disk() { return local_file_system(); }

void write_bundle(const std::string& folder) {
  BundleWriter writer(disk(), folder + "/m");
  writer.add("x", Tensor(1.0F));
  writer.finish();
}

struct Row {
  const char* name;
  const char* path;  // where the kind lies, below the folder
  void (*act)(const std::string& folder);
};

// The files of a bundle are made before; the one at `path` is replaced.
const Row kReads[] = {
    {"state", "checkpoint",
     [](const std::string& folder) { read_checkpoint_state(disk(), folder); }},
    {"index", "m.index", [](const std::string& folder) { BundleReader(disk(), folder + "/m"); }},
    {"data", "m.data-00000-of-00001",
     [](const std::string& folder) { BundleReader(disk(), folder + "/m").verify(); }},
    {"extras", "m.systole",
     [](const std::string& folder) { read_checkpoint_extras(disk(), folder + "/m"); }},
    {"saved_model", "saved_model.pb",
     [](const std::string& folder) { SavedModelFile(disk(), folder); }},
    {"graph", "graph.pbtxt",
     [](const std::string& folder) { read_graph_def(disk(), folder + "/graph.pbtxt"); }},
    {"meta_graph", "m.meta",
     [](const std::string& folder) { read_graph_def(disk(), folder + "/m.meta"); }},
    {"events", "events",
     [](const std::string& folder) {
       EventReader reader(disk(), folder + "/events");
       while (reader.next()) {
       }
     }},
    {"records", "r",
     [](const std::string& folder) {
       RecordReader reader(disk(), folder + "/r");
       while (reader.next()) {
       }
     }},
    {"csv", "a.csv",
     [](const std::string& folder) {
       CsvReader reader(disk().open(folder + "/a.csv"));
       CsvRecord record;
       while (reader.next(record)) {
       }
     }},
    {"npy", "a.npy", [](const std::string& folder) { read_npy(disk(), folder + "/a.npy"); }},
    {"npz", "a.npz", [](const std::string& folder) { NpzFile(disk(), folder + "/a.npz"); }},
    {"idx", "a.idx", [](const std::string& folder) { read_idx(disk(), folder + "/a.idx"); }},
    {"archive", "a.tar",
     [](const std::string& folder) {
       ArchiveReader archive(disk(), folder + "/a.tar");
       while (archive.next()) archive.read();
     }},
    {"h5", "a.h5", [](const std::string& folder) { Hdf5Reader(disk(), folder + "/a.h5"); }},
    {"image", "a.png",
     [](const std::string& folder) { keras::preprocessing::image::load_img(folder + "/a.png"); }},
    {"text", "a.txt", [](const std::string& folder) { read_file(disk(), folder + "/a.txt"); }},
};

// What appears under its name when it is complete: takes the place of a link.
const Row kReplaces[] = {
    {"state", "checkpoint",
     [](const std::string& folder) {
       write_checkpoint_state(disk(), folder, {.model_checkpoint_path = folder + "/m"});
     }},
    {"index", "m.index", write_bundle},
    {"data", "m.data-00000-of-00001",
     [](const std::string& folder) {
       // A bundle that is there would be replaced by one whose data file has another name.
       std::filesystem::remove(folder + "/m.index");
       write_bundle(folder);
     }},
    {"npy", "a.npy",
     [](const std::string& folder) { write_npy(disk(), folder + "/a.npy", Tensor(1.0F)); }},
    {"idx", "a.idx",
     [](const std::string& folder) {
       write_idx(disk(), folder + "/a.idx", Tensor::of<uint8_t>({1}, {1}));
     }},
    {"text", "a.txt",
     [](const std::string& folder) { write_file_atomically(disk(), folder + "/a.txt", "new"); }},
    {"extras", "m.systole",
     [](const std::string& folder) {
       write_checkpoint_extras(disk(), folder + "/m", {{"random", "state"}});
     }},
    {"records", "r",
     [](const std::string& folder) {
       RecordWriter writer(disk(), folder + "/r");
       writer.write("record");
       writer.close();
     }},
};

// What is written in place.
const Row kWrites[] = {
    {"lock", ".systole.lock", [](const std::string& folder) { ModelDirLock{folder}; }},
    {"log", "log",
     [](const std::string& folder) {
       const auto file = disk().create(folder + "/log");
       file->append("line");
       file->close();
     }},
};

class FileKindsTest : public ::testing::Test {
 protected:
  ~FileKindsTest() override { ::alarm(0); }

  // Runs `row` with a file of this kind at its path, and checks what is outside.
  static std::string run(const Row& row, FileKind kind) {
    const TempFolder outside;
    const std::string victim = outside / "victim";
    std::ofstream(victim) << "outside";
    const TempFolder folder;
    write_bundle(folder.path());
    const std::string path = folder / row.path;
    std::filesystem::remove(path);
    make_file_of_kind(kind, path, victim);
    ::alarm(kSecondsToHang);
    const std::string error = error_of([&] { row.act(folder.path()); });
    std::ifstream file(victim);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "outside") << row.name;
    const auto files = std::filesystem::directory_iterator(outside.path());
    EXPECT_EQ(std::distance(files, {}), 1) << row.name;
    return error;
  }
};

std::string kind_text(FileKind kind) {
  switch (kind) {
    case FileKind::pipe:
      return "a named pipe";
    case FileKind::device:
      return "a device";
    case FileKind::socket:
      return "a socket";
    default:
      return "irectory";
  }
}

TEST_F(FileKindsTest, Reads) {
  for (const Row& row : kReads) {
    for (const FileKind kind :
         {FileKind::pipe, FileKind::device, FileKind::socket, FileKind::directory}) {
      EXPECT_THAT(run(row, kind), HasSubstr(kind_text(kind))) << row.name;
    }
    // A limit of a format, or its first bytes, end it. No memory is asked for. Zeros are an archive
    // without files.
    const std::string sparse = run(row, FileKind::sparse);
    EXPECT_THAT(sparse, Not(HasSubstr("memory"))) << row.name;
    const bool archive = std::string_view(row.path).ends_with(".tar") ||
                         std::string_view(row.path).ends_with(".npz");
    EXPECT_EQ(sparse == "no error", archive) << row.name;
    run(row, FileKind::link);  // read, as the contents of a file
    run(row, FileKind::dangling_link);
    const std::string unreadable = run(row, FileKind::unreadable);
    // Root reads everything.
    if (::geteuid() == 0) continue;
    EXPECT_THAT(unreadable, HasSubstr("PERMISSION_DENIED")) << row.name;
  }
}

TEST_F(FileKindsTest, Replacements) {
  for (const Row& row : kReplaces) {
    for (const FileKind kind : {FileKind::pipe, FileKind::socket}) {
      EXPECT_THAT(run(row, kind), HasSubstr("got a pipe, a socket or a device there")) << row.name;
    }
    EXPECT_THAT(run(row, FileKind::directory), HasSubstr("irectory")) << row.name;
    for (const FileKind kind : {FileKind::device, FileKind::link, FileKind::dangling_link,
                                FileKind::sparse, FileKind::unreadable}) {
      EXPECT_EQ(run(row, kind), "no error") << row.name << ", " << name_of(kind);
    }
  }
}

TEST_F(FileKindsTest, Writes) {
  for (const Row& row : kWrites) {
    for (const FileKind kind : {FileKind::pipe, FileKind::socket, FileKind::directory}) {
      EXPECT_THAT(run(row, kind), HasSubstr(kind_text(kind))) << row.name;
    }
    for (const FileKind kind : {FileKind::device, FileKind::link, FileKind::dangling_link}) {
      EXPECT_THAT(run(row, kind), HasSubstr("a symbolic link")) << row.name;
    }
    EXPECT_EQ(run(row, FileKind::sparse), "no error") << row.name;
    const std::string unreadable = run(row, FileKind::unreadable);
    EXPECT_EQ(unreadable.substr(0, 17), ::geteuid() == 0 ? "no error" : "PERMISSION_DENIED");
  }
}

// The names of event files have the time, so that nobody can lay them before; the clock of the test
// stands still.
TEST_F(FileKindsTest, EventFiles) {
  for (const FileKind kind : {FileKind::pipe, FileKind::device, FileKind::socket, FileKind::link,
                              FileKind::dangling_link, FileKind::directory}) {
    const TempFolder folder;
    const std::string victim = folder / "victim";
    std::ofstream(victim) << "outside";
    FakeClock clock;
    std::string path;
    {
      EventWriter writer(disk(), folder / "logs", "", clock);
      writer.close();
      path = writer.path();
    }
    std::filesystem::remove(path);
    make_file_of_kind(kind, path, victim);
    // A name that is taken is not written to: the next number is.
    error_of([&] {
      EventWriter writer(disk(), folder / "logs", "", clock);
      writer.add_scalar("loss", 1, 2);
      writer.close();
    });
    EXPECT_EQ(read_file(disk(), victim), "outside");
    EXPECT_FALSE(disk().exists(victim + ".none"));
  }
}

// A checkpoint that a file with holes took the place of does not keep a training from the one
// before.
TEST_F(FileKindsTest, RestoringGoesBackFromFilesWithHoles) {
  for (const std::string suffix : {".index", ".data-00000-of-00001", "checkpoint"}) {
    const TempFolder folder;
    Graph graph;
    const GraphScope scope(graph);
    const Variable w(Tensor(1.0F), {.name = "w"});
    Session session("", {.graph = &graph});
    session.run({global_variables_initializer()});
    Saver saver({.file_system = &disk()});
    for (const int64_t step : {1, 2}) saver.save(session, folder / "m", {.global_step = step});
    const std::string path =
        suffix == "checkpoint" ? folder / "checkpoint" : folder / ("m-2" + suffix);
    std::filesystem::remove(path);
    make_file_of_kind(FileKind::sparse, path, "");
    EXPECT_EQ(saver.restore_latest(session, folder.path()).prefix,
              folder / (suffix == "checkpoint" ? "m-2" : "m-1"));
  }
}

}  // namespace
}  // namespace systole
