#include <gtest/gtest.h>

#include <random>

#include "schedd/text/yaml.h"
#include "schedd/text/yaml_write.h"

namespace muster {
namespace {

json::value Value(const std::string& text) {
  auto value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().detail);
  return std::move(value).value();
}

TEST(WriteYaml, ReadsLikeWhatPeopleWrite) {
  EXPECT_EQ(WriteYaml(Value(R"({"kind":"Job","metadata":{"name":"a","labels":{}},
      "spec":{"args":["-c","echo 1\necho 2\n"],"size":3,"list":[{"a":1,"b":[]},{"c":null}],"q":"32","yes":"yes"}})")),
            "kind: Job\n"
            "metadata:\n"
            "  name: a\n"
            "  labels: {}\n"
            "spec:\n"
            "  args:\n"
            "  - \"-c\"\n"
            "  - |\n"
            "    echo 1\n"
            "    echo 2\n"
            "  size: 3\n"
            "  list:\n"
            "  - a: 1\n"
            "    b: []\n"
            "  - c: null\n"
            "  q: \"32\"\n"
            "  \"yes\": \"yes\"\n");
}

void ExpectRoundTrip(const json::value& value) {
  const std::string text = WriteYaml(value);
  const auto back = ParseYaml(text);
  ASSERT_TRUE(back.ok()) << back.error().detail << "\n" << text;
  if (value.is_null()) {
    EXPECT_TRUE(back->empty());
    return;
  }
  ASSERT_EQ(back->size(), 1U) << text;
  EXPECT_EQ((*back)[0], value) << text;
}

TEST(WriteYaml, EveryAwkwardStringReadsBackAsItself) {
  const std::vector<std::string> strings = {
      "",
      " ",
      "a ",
      " a",
      "~",
      "null",
      "true",
      "0x10",
      "1e3",
      ".5",
      ".inf",
      "-",
      "- a",
      "? b",
      "a: b",
      "a:b",
      "a #b",
      "#b",
      "a#b",
      "[x]",
      "{x}",
      "a, b",
      "&x",
      "*x",
      "!x",
      "|",
      ">",
      "'",
      "\"",
      "%",
      "@",
      "`",
      "=",
      "<<",
      "---",
      "...",
      "--- a",
      "\n",
      "\n\n",
      "a\n",
      "a\n\n",
      "a\n\n\nb",
      " a\nb",
      "a\n b\n",
      "a\nb ",
      "\ta\n",
      "a\n\tb",
      "a\r\nb",
      "\x01",
      "\x7f",
      "caf\xc3\xa9",
      "\xe2\x80\xa8",
      "\xef\xbb\xbf",
      "\xc2\x85",
      "\xf0\x9f\x9a\x80",
      "key: |\n  x\n",
      "a\n#b\n",
      "a\n---\nb\n",
      "a\\nb",
      "1:30",
      "yes",
      "No",
      "off",
      "y",
      "0o17",
      "+1",
      "a\n\n",
      "\n a",
  };
  for (const auto& text : strings) {
    ExpectRoundTrip(json::value(json::string(text)));
    ExpectRoundTrip(json::array{json::string(text), json::string(text)});
    ExpectRoundTrip(json::object{{text, text}, {"k", json::array{json::object{{text, text}}}}});
  }
}

TEST(WriteYaml, LongKeysReadBack) {
  for (const std::size_t length : {999, 1001, 1025, 5000}) {
    for (const char* fill : {"a", "\\", "é"}) {
      std::string key;
      while (key.size() < length) key += fill;
      const json::value scalar = json::object{{"first", 1}, {key, "text"}, {"last", 2}};
      const json::value below = json::object{{key, json::object{{"a", json::array{1, key}}}}};
      const json::value list = json::object{{key, json::array{scalar, json::array{below}}}};
      for (const json::value& value : {scalar, below, list})
        ExpectRoundTrip(json::array{value, json::object{{"in", value}, {"after", true}}});
    }
  }
  EXPECT_EQ(WriteYaml(json::object{{std::string(1001, 'a'), 1}}),
            "? " + std::string(1001, 'a') + "\n: 1\n");
}

json::value Random(std::mt19937_64& random, int depth) {
  static const std::vector<std::string> kPieces = {"a",  "B",  "\n",   " ",    ":", "-", "#",
                                                   "\"", "'",  "\t",   "1",    ".", "é", "{",
                                                   "|",  "\\", "true", "\x02", "~"};
  switch (random() % (depth > 4 ? 6 : 9)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random());
    case 3:
      return static_cast<double>(static_cast<std::int64_t>(random() % 100000)) / 7;
    case 4:
    case 5: {
      std::string text;
      for (auto n = random() % 8; n > 0; --n) text += kPieces[random() % kPieces.size()];
      return json::string(text);
    }
    case 6: {
      json::array array;
      for (auto n = random() % 4; n > 0; --n) array.push_back(Random(random, depth + 1));
      return array;
    }
    default: {
      json::object object;
      for (auto n = random() % 4; n > 0; --n) {
        std::string key;
        for (auto m = random() % 5; m > 0; --m) key += kPieces[random() % kPieces.size()];
        object[key] = Random(random, depth + 1);
      }
      return object;
    }
  }
}

TEST(WriteYaml, RandomValuesReadBackFromYamlAndFromJson) {
  std::mt19937_64 random(20261121);
  for (int i = 0; i < 3000; ++i) {
    const json::value value = Random(random, 0);
    ExpectRoundTrip(value);
    const auto back = ParseJson(WriteJson(value));
    ASSERT_TRUE(back.ok()) << WriteJson(value);
    ASSERT_EQ(*back, value);
  }
}

}  // namespace
}  // namespace muster
