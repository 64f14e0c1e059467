#include "apps/systole/config/yaml_documents.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

namespace systole::app {
namespace {

class DocumentStarts final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (count > 0 && mark.pos == at_) throw YAML::ParserException(mark, "a comma before a value");
    at_ = mark.pos;
    ++count;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  int count = 0;

 private:
  int at_ = 0;
};

}  // namespace

int count_yaml_documents(const std::string& yaml) {
  std::istringstream text(yaml);
  YAML::Parser parser(text);
  DocumentStarts starts;
  while (parser.HandleNextDocument(starts)) {
  }
  return starts.count;
}

}  // namespace systole::app
