#include "systole/keras/preprocessing/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/keras/preprocessing/utf8.h"

namespace systole::keras::preprocessing::text {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using IdLists = std::vector<std::vector<int32_t>>;

TEST(TextTest, WordSequences) {
  EXPECT_THAT(text_to_word_sequence("The cat's hat,\tand a 2nd--HAT.\n"),
              ElementsAre("the", "cat's", "hat", "and", "a", "2nd", "hat"));
  EXPECT_THAT(text_to_word_sequence("A b", {.lower = false}), ElementsAre("A", "b"));
  EXPECT_THAT(text_to_word_sequence("a-b c", {.filters = ""}), ElementsAre("a-b", "c"));
  EXPECT_THAT(text_to_word_sequence("a, b,c", {.filters = ",", .split = "--"}),
              ElementsAre("a", " b", "c"));
  EXPECT_THAT(text_to_word_sequence("é«a»", {.filters = "«»"}), ElementsAre("é", "a"));
  EXPECT_THAT(text_to_word_sequence(" .\n "), IsEmpty());
  EXPECT_THAT(text_to_word_sequence("a\rb"), ElementsAre("a\rb"));  // as in Keras
  EXPECT_THAT(error_of([] { text_to_word_sequence("a", {.split = ""}); }), HasSubstr("split"));
}

TEST(TextTest, LowerCase) {
  EXPECT_EQ(utf8_lower("AZaz09 ÄÖÜ ẞ ŸŽ ĀŁ ΑΩΆ АЯЁ Ա Ａ ÷×"), "azaz09 äöü ß ÿž āł αωά аяё ա ａ ÷×");
  EXPECT_EQ(utf8_lower("\xff\xc3\xe2\x82"), "\xff\xc3\xe2\x82");
  EXPECT_THAT(utf8_characters("a\xc3\xa9\xf0\x9f\x98\x80\xff"),
              ElementsAre("a", "\xc3\xa9", "\xf0\x9f\x98\x80", "\xff"));
}

// Numbers: int(hashlib.md5(word).hexdigest(), 16) % (n - 1) + 1 in Python.
TEST(TextTest, HashingTrick) {
  EXPECT_THAT(hashing_trick("The cat sat", 2), ElementsAre(1, 1, 1));
  EXPECT_THAT(hashing_trick("The cat sat", 10), ElementsAre(6, 3, 1));
  EXPECT_THAT(hashing_trick("The cat sat", 1000), ElementsAre(132, 759, 622));
  EXPECT_THAT(hashing_trick("The cat sat", int64_t{1} << 31),
              ElementsAre(1469977283, 1078189249, 1049430576));
  EXPECT_THAT(one_hot("The cat", 10),
              ElementsAre(hashing_trick("the", 10)[0], hashing_trick("cat", 10)[0]));
  const auto length = [](std::string_view word) { return uint64_t{word.size()}; };
  EXPECT_THAT(hashing_trick("a bb cccc", 4, {.hash_function = length}), ElementsAre(2, 3, 2));
  EXPECT_THAT(error_of([] { hashing_trick("a", 1); }), HasSubstr("n, got 1"));
}

const Texts& corpus() {
  static const Texts texts = {"the cat sat on the mat", "The dog sat.", "a cat!", ""};
  return texts;
}

TEST(TokenizerTest, NumbersWordsByCount) {
  Tokenizer tokenizer;
  tokenizer.fit_on_texts(corpus());
  // the 3, cat 2, sat 2, then those of count 1 in the order of the texts.
  EXPECT_THAT(
      tokenizer.index_word(),
      ElementsAre(std::pair(1, "the"), std::pair(2, "cat"), std::pair(3, "sat"), std::pair(4, "on"),
                  std::pair(5, "mat"), std::pair(6, "dog"), std::pair(7, "a")));
  EXPECT_EQ(tokenizer.word_index().at("dog"), 6);
  EXPECT_EQ(tokenizer.document_count(), 4);
  EXPECT_EQ(tokenizer.word_docs().at("the"), 2);
  EXPECT_EQ(tokenizer.index_docs().at(1), 2);
  EXPECT_EQ(tokenizer.texts_to_sequences(Texts{"the dog ate a cat"}), (IdLists{{1, 6, 7, 2}}));
  EXPECT_THAT(tokenizer.sequences_to_texts({{1, 6, 99}, {}}), ElementsAre("the dog", ""));
  tokenizer.fit_on_texts(Texts{"dog dog dog dog"});
  EXPECT_EQ(tokenizer.word_index().at("dog"), 1);
  EXPECT_EQ(tokenizer.word_index().at("the"), 2);
}

TEST(TokenizerTest, NumWordsAndOovToken) {
  Tokenizer few({.num_words = 3});
  few.fit_on_texts(corpus());
  EXPECT_EQ(few.word_index().size(), 7U);
  EXPECT_EQ(few.texts_to_sequences(Texts{"the cat sat ate"}), (IdLists{{1, 2}}));
  Tokenizer oov({.num_words = 4, .oov_token = "<unk>"});
  oov.fit_on_texts(corpus());
  EXPECT_EQ(oov.word_index().at("<unk>"), 1);
  EXPECT_EQ(oov.texts_to_sequences(Texts{"the cat sat ate"}), (IdLists{{2, 3, 1, 1}}));
  EXPECT_THAT(oov.sequences_to_texts({{2, 4, 77}}), ElementsAre("the <unk> <unk>"));
}

TEST(TokenizerTest, CharactersAndWordLists) {
  Tokenizer characters({.char_level = true});
  characters.fit_on_texts(Texts{"Aéa b"});
  EXPECT_EQ(characters.texts_to_sequences(Texts{"bÉa"}), (IdLists{{4, 2, 1}}));
  Tokenizer lists;
  lists.fit_on_texts(WordLists{{"Two words", "b"}, {"b"}});
  EXPECT_EQ(lists.word_index().at("two words"), 2);
  EXPECT_EQ(lists.texts_to_sequences(WordLists{{"B", "two words"}}), (IdLists{{1, 2}}));
}

// Each mode against plain loops over the definition.
TEST(TokenizerTest, MatrixModes) {
  Tokenizer tokenizer({.num_words = 6});
  tokenizer.fit_on_texts(corpus());
  const Texts texts = {"the the cat the dog", "", "mat mat"};
  const IdLists ids = tokenizer.texts_to_sequences(texts);
  for (const std::string mode : {"binary", "count", "freq", "tfidf"}) {
    const Tensor matrix = tokenizer.texts_to_matrix(texts, mode);
    ASSERT_EQ(matrix.type(), (TensorType{DType::f64, {3, 6}}));
    for (int64_t i = 0; i < 3; ++i) {
      const auto& row = ids[i];
      for (int32_t word = 0; word < 6; ++word) {
        const auto count = static_cast<double>(std::ranges::count(row, word));
        double expected = count;
        if (mode == "binary") expected = count > 0 ? 1 : 0;
        if (mode == "freq" && count > 0) expected = count / static_cast<double>(row.size());
        if (mode == "tfidf" && count > 0) {
          double documents = 0;
          for (const std::string& text : corpus()) {
            const auto words = text_to_word_sequence(text);
            documents += std::ranges::count(words, tokenizer.index_word().at(word)) > 0 ? 1 : 0;
          }
          expected = (1 + std::log(count)) * std::log(1 + 4 / (1 + documents));
        }
        EXPECT_DOUBLE_EQ(matrix.as_double(i * 6 + word), expected) << mode << i << word;
      }
    }
  }
  EXPECT_THAT(error_of([&] { tokenizer.texts_to_matrix(texts, "tf"); }),
              HasSubstr("Unknown vectorization mode: 'tf'"));
  EXPECT_THAT(error_of([] { Tokenizer().sequences_to_matrix({{1}}); }),
              HasSubstr("Specify a dimension (`num_words` argument)"));
  EXPECT_THAT(error_of([] { Tokenizer({.num_words = 3}).sequences_to_matrix({{1}}, "tfidf"); }),
              HasSubstr("Fit the Tokenizer on some data before using tfidf mode."));
}

TEST(TokenizerTest, FitOnSequencesCountsDocuments) {
  Tokenizer tokenizer({.num_words = 4});
  tokenizer.fit_on_sequences({{1, 1, 2}, {2}, {3}});
  const Tensor matrix = tokenizer.sequences_to_matrix({{1, 2}}, "tfidf");
  EXPECT_DOUBLE_EQ(matrix.as_double(1), std::log(1 + 3.0 / 2));
  EXPECT_DOUBLE_EQ(matrix.as_double(2), std::log(1 + 3.0 / 3));
}

TEST(TokenizerTest, Json) {
  Tokenizer tokenizer({.num_words = 5, .oov_token = "?"});
  tokenizer.fit_on_texts(Texts{"b \"é\" b", "a 'x"});
  const std::string json = tokenizer.to_json();
  EXPECT_THAT(json, HasSubstr(R"("class_name":"Tokenizer")"));
  EXPECT_THAT(json, HasSubstr(R"("word_counts":"{\"b\": 2, \"\\u00e9\": 1, \"a\": 1)"));
  const Tokenizer again = tokenizer_from_json(json);
  EXPECT_EQ(again.to_json(), json);
  EXPECT_EQ(again.texts_to_sequences(Texts{"a b é z"}),
            tokenizer.texts_to_sequences(Texts{"a b é z"}));
  EXPECT_EQ(again.word_counts(), tokenizer.word_counts());
  for (const char* const broken : {"", "{}", "[]", R"({"config": {"num_words": 3}})"}) {
    EXPECT_THAT(error_of([&] { tokenizer_from_json(broken); }),
                HasSubstr("INVALID_ARGUMENT: tokenizer_from_json"));
  }
}

// As keras_preprocessing 1.0.5 writes it, with indices as strings.
TEST(TokenizerTest, ReadsKerasJson) {
  const Tokenizer tokenizer = tokenizer_from_json(
      R"({"class_name": "Tokenizer", "config": {"num_words": null, "filters": "!", "lower": true,)"
      R"( "split": " ", "char_level": false, "oov_token": null, "document_count": 2,)"
      R"( "word_counts": "{\"hi\": 2, \"you\": 1}", "word_docs": "{\"you\": 1, \"hi\": 2}",)"
      R"( "index_docs": "{\"2\": 1, \"1\": 2}", "index_word": "{\"1\": \"hi\", \"2\": \"you\"}",)"
      R"( "word_index": "{\"hi\": 1, \"you\": 2}"}})");
  EXPECT_EQ(tokenizer.texts_to_sequences(Texts{"You! hi"}), (IdLists{{2, 1}}));
  EXPECT_EQ(tokenizer.document_count(), 2);
}

}  // namespace
}  // namespace systole::keras::preprocessing::text
