#include "systole/data/sources/record_file.h"

namespace systole {
namespace data {
namespace {

class RecordFilesNode final : public DatasetNode {
 public:
  RecordFilesNode(std::string name, NodePtr files, Spec spec, OpenRecordFile open)
      : DatasetNode(std::move(name), std::move(spec), {std::move(files)}), open(std::move(open)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;

  const OpenRecordFile open;
};

class RecordFilesStage final : public InputStage {
 public:
  RecordFilesStage(const RecordFilesNode& node, const StageContext& context)
      : InputStage(node, context), node_(node) {}

 protected:
  bool do_next(Components& row) override {
    return next_of_files([&] { return file_->next(row); });
  }
  bool do_next_text(std::string_view& text) override {
    return next_of_files([&] { return file_->next_text(text); });
  }
  void do_save(StateWriter& writer) override {
    writer.flag(file_ != nullptr);
    if (file_ != nullptr) {
      writer.bytes(path_);
      writer.number(file_->offset());
    }
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    if (reader.flag()) {
      path_ = reader.bytes();
      file_ = node_.open(path_);
      file_->seek(reader.number());
    }
    input_->restore(reader);
  }

 private:
  template <class Ask>
  bool next_of_files(const Ask& ask) {
    for (;;) {
      if (file_ == nullptr) {
        Components name;
        if (!input_->next(name)) return false;
        path_ = name.front().item<std::string>();
        file_ = node_.open(path_);
      }
      if (next_of_file(ask)) return true;
      file_.reset();
      cancellation_.check();
    }
  }
  template <class Ask>
  bool next_of_file(const Ask& ask) {
    try {
      return ask();
    } catch (...) {
      if (!file_->can_skip()) file_.reset();
      throw;
    }
  }

  const RecordFilesNode& node_;
  std::string path_;
  std::unique_ptr<RecordFile> file_;  // null between files
};

std::unique_ptr<Stage> RecordFilesNode::make(const StageContext& context) const {
  return std::make_unique<RecordFilesStage>(*this, context);
}

}  // namespace

NodePtr record_files_node(std::string name, NodePtr files, Spec spec, OpenRecordFile open) {
  return std::make_shared<RecordFilesNode>(std::move(name), std::move(files), std::move(spec),
                                           std::move(open));
}

size_t checked_buffer_size(std::string_view op, int64_t bytes) {
  if (bytes <= 0) throw invalid_argument("{}: buffer_size, got {}, expected at least 1", op, bytes);
  return static_cast<size_t>(bytes);
}

}  // namespace data

FileNames::FileNames(const std::vector<std::string>& names) {
  if (names.empty()) throw invalid_argument("file names, got none, expected at least one");
  const auto count = static_cast<int64_t>(names.size());
  names_ = Dataset::from_tensor_slices(Element(Tensor::of<std::string>({count}, names)));
}

FileNames::FileNames(const Output& names)
    : FileNames(names.valid() && names.shape().rank() == 0 ? Dataset::from_tensors(names)
                                                           : Dataset::from_tensor_slices(names)) {}

FileNames::FileNames(Dataset names) : names_(std::move(names)) {
  if (names_.element_spec() != data::text_spec()) {
    throw invalid_argument("file names, got a data set of {}, expected {}",
                           names_.element_spec().to_string(), data::text_spec().to_string());
  }
}

}  // namespace systole
