#include <charconv>
#include <nlohmann/json.hpp>

#include "systole/keras/base/json.h"
#include "systole/keras/preprocessing/text.h"

namespace systole::keras::preprocessing::text {
namespace {

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true);
}
std::string json_text(int64_t number) { return std::to_string(number); }
std::string json_key(const std::string& text) { return json_text(text); }
std::string json_key(int32_t number) { return fmt::format("\"{}\"", number); }

// Keras writes the counts as JSON in strings.
template <class Items>
std::string json_object(const Items& items) {
  std::string json = "{";
  for (const auto& [key, value] : items) {
    if (json.size() > 1) json += ", ";
    json += json_key(key);
    json += ": ";
    json += json_text(value);
  }
  return json + "}";
}

int32_t index_of(const std::string& key) {
  int32_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (error != std::errc() || end != key.data() + key.size()) {
    throw invalid_argument("tokenizer_from_json: index, got '{}', expected an integer", key);
  }
  return index;
}

// Calls take(key, value) in the order of the file.
template <class F>
void each_item(const Json& config, const char* name, F&& take) {
  using Event = nlohmann::json::parse_event_t;
  std::string key;
  const auto visit = [&](int depth, Event event, nlohmann::json& parsed) {
    if (depth == 1 && event == Event::key) key = parsed;
    if (depth == 1 && event == Event::value) take(key, parsed);
    return true;
  };
  const auto items = nlohmann::json::parse(config.at(name).get<std::string>(), visit);
  if (!items.is_object()) {
    throw invalid_argument("tokenizer_from_json: {}, got {}, expected an object", name,
                           items.type_name());
  }
}

}  // namespace

std::string Tokenizer::to_json() const {
  try {
    Json config;
    config["num_words"] = options_.num_words ? Json(*options_.num_words) : Json(nullptr);
    config["filters"] = options_.filters;
    config["lower"] = options_.lower;
    config["split"] = options_.split;
    config["char_level"] = options_.char_level;
    config["oov_token"] = options_.oov_token ? Json(*options_.oov_token) : Json(nullptr);
    config["document_count"] = document_count_;
    config["word_counts"] = json_object(word_counts_);
    config["word_docs"] = json_object(std::map(word_docs_.begin(), word_docs_.end()));
    config["index_docs"] = json_object(index_docs_);
    config["index_word"] = json_object(index_word_);
    std::vector<std::pair<std::string, int32_t>> words;
    for (const auto& [index, word] : index_word_) words.emplace_back(word, index);
    config["word_index"] = json_object(words);
    Json json;
    json["class_name"] = "Tokenizer";
    json["config"] = std::move(config);
    return json.dump(-1, ' ', /*ensure_ascii=*/true);
  } catch (const nlohmann::json::exception& error) {
    throw invalid_argument("Tokenizer: to_json, got words that are not UTF-8 ({})", error.what());
  }
}

Tokenizer tokenizer_from_json(const std::string& json) {
  try {
    const Json config = Json::parse(json).at("config");
    TokenizerOptions options;
    if (!config.at("num_words").is_null()) options.num_words = config["num_words"].get<int64_t>();
    options.filters = config.at("filters").get<std::string>();
    options.lower = config.at("lower").get<bool>();
    options.split = config.at("split").get<std::string>();
    options.char_level = config.at("char_level").get<bool>();
    if (!config.at("oov_token").is_null()) {
      options.oov_token = config["oov_token"].get<std::string>();
    }
    Tokenizer tokenizer(options);
    tokenizer.document_count_ = config.at("document_count").get<int64_t>();
    each_item(config, "word_counts", [&](const std::string& word, const nlohmann::json& count) {
      tokenizer.place_[word] = tokenizer.word_counts_.size();
      tokenizer.word_counts_.emplace_back(word, count.get<int64_t>());
    });
    each_item(config, "word_docs", [&](const std::string& word, const nlohmann::json& documents) {
      tokenizer.word_docs_[word] = documents.get<int64_t>();
    });
    each_item(config, "index_docs", [&](const std::string& index, const nlohmann::json& documents) {
      tokenizer.index_docs_[index_of(index)] = documents.get<int64_t>();
    });
    each_item(config, "index_word", [&](const std::string& index, const nlohmann::json& word) {
      tokenizer.index_word_[index_of(index)] = word.get<std::string>();
    });
    each_item(config, "word_index", [&](const std::string& word, const nlohmann::json& index) {
      tokenizer.word_index_[word] = index.get<int32_t>();
    });
    return tokenizer;
  } catch (const nlohmann::json::exception& error) {
    throw invalid_argument("tokenizer_from_json: got {}, expected what Tokenizer.to_json() writes",
                           error.what());
  }
}

}  // namespace systole::keras::preprocessing::text
