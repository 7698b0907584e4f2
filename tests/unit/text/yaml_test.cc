#include "schedd/text/yaml.h"
#include "schedd/text/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/base/limits.h"

namespace muster {
namespace {

using testing::HasSubstr;

std::string AsJson(const std::string& yaml) {
  const auto documents = ParseYaml(yaml);
  if (!documents.ok()) return "error: " + documents.error().detail;
  if (documents->size() != 1) return std::to_string(documents->size()) + " documents";
  return WriteJson((*documents)[0]);
}

TEST(ParseYaml, TypesScalarsByTheCoreSchema) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"yes", "\"yes\""},
      {"no", "\"no\""},
      {"on", "\"on\""},
      {"Off", "\"Off\""},
      {"true", "true"},
      {"True", "true"},
      {"FALSE", "false"},
      {"tRue", "\"tRue\""},
      {"null", "null"},
      {"~", "null"},
      {"\"null\"", "\"null\""},
      {"16", "16"},
      {"-3", "-3"},
      {"+5", "5"},
      {"0123", "123"},
      {"0o17", "15"},
      {"0x1F", "31"},
      {"0b11", "\"0b11\""},
      {"1_000", "\"1_000\""},
      {"1:30", "\"1:30\""},
      {"2026-11-21", "\"2026-11-21\""},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"1.", "1.0"},
      {"1e3", "1000.0"},
      {"1.2.3", "\"1.2.3\""},
      {"e3", "\"e3\""},
      {"128Gi", "\"128Gi\""},
      {"500m", "\"500m\""},
      {"'32'", "\"32\""},
      {"\"32\"", "\"32\""},
      {"!!str 32", "\"32\""},
      {"!!int '7'", "7"},
      {"! 12", "\"12\""},
      {"18446744073709551615", "18446744073709551615"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"!!float 2", "2.0"},
      {"!!bool true", "true"},
      {"<<", "\"<<\""},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(AsJson("v: " + text), "{\"v\":" + wanted + "}") << text;
}

struct BadYaml {
  std::string name, text, complaint;
};

TEST(ParseYaml, RefusesBadTextAndSaysWhere) {
  const std::vector<BadYaml> cases = {
      {"a tab for indentation", "a:\n\tb: 1", "document 1, line 2"},
      {"an open bracket", "a: [1, 2", "document 1, line"},
      {"an error in the second document", "a: 1\n---\nb: [}\n", "document 2, line 3"},
      {"a key twice", "a: 1\nb:\n  c: 1\n  c: 2\n",
       "line 4, column 3: the key \"c\" is given twice"},
      {"an unknown alias", "a: *nowhere", "*nowhere names no anchor"},
      {"an anchor inside itself", "a: &x [1, *x]", "names no anchor that ended"},
      {"infinity", "a: .inf", "not a number that JSON can hold"},
      {"not a number", "a: .NaN", "not a number that JSON can hold"},
      {"an integer beyond 64 bits", "a: 18446744073709551616", "beyond 64 bits"},
      {"a negative integer beyond 64 bits", "a: -9223372036854775809", "beyond 64 bits"},
      {"a list as a key", "? [1, 2]\n: x", "a key must be a string"},
      {"a null key", "~: 1", "a key must be a string"},
      {"a foreign tag", "a: !Ref b", "tag \"!Ref\" is not supported"},
      {"a binary tag", "a: !!binary aGVsbG8=", "!!binary is not supported"},
      {"a tag that lies", "a: !!int hello", "not of its tag's type"},
      {"a set", "!!set {a, b}", "not supported"},
      {"NUL by an escape", "a: \"x\\0y\"", "NUL"},
      {"a merge of a scalar", "<<: 3", "merges mappings only"},
      {"bytes that are not UTF-8", "a: \xff\xfe", "document 1"},
      {"a value without indentation", "a:\n  b: 1\n c: 2\n", "document 1, line 3"},
  };
  for (const auto& c : cases) {
    const auto result = ParseYaml(c.text);
    ASSERT_FALSE(result.ok()) << c.name;
    EXPECT_THAT(result.error().detail, HasSubstr(c.complaint)) << c.name;
  }
}

TEST(ParseYaml, ReadsEveryDocumentAndLeavesOutTheEmptyOnes) {
  const auto documents =
      ParseYaml("# only a comment\n---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n");
  ASSERT_TRUE(documents.ok()) << documents.error().detail;
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ(WriteJson((*documents)[1]), "{\"b\":2}");
  EXPECT_TRUE(ParseYaml("")->empty());
  EXPECT_TRUE(ParseYaml("\xef\xbb\xbf# with a byte order mark\n")->empty());
}

TEST(ParseYaml, MergesMappingsAsKubectlDoes) {
  EXPECT_EQ(AsJson("base: &b {cpu: 1, memory: 2Gi}\nbig:\n  <<: *b\n  cpu: 8\n"),
            R"({"base":{"cpu":1,"memory":"2Gi"},"big":{"cpu":8,"memory":"2Gi"}})");
  EXPECT_EQ(AsJson("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n"),
            R"({"a":{"x":1},"b":{"x":2,"y":2},"c":{"x":1,"y":2}})");
  EXPECT_EQ(AsJson("a: {\"<<\": 1}"), R"({"a":{"<<":1}})");
}

TEST(ParseYaml, TurnsPlainKeysIntoStrings) {
  EXPECT_EQ(AsJson("8080: a\ntrue: b\n1.10: c\n"), R"({"8080":"a","true":"b","1.10":"c"})");
}

TEST(ParseYaml, KeepsBlockScalarsToTheByte) {
  EXPECT_EQ(AsJson("a: |\n  x\n    y\n\n  z\n"), R"({"a":"x\n  y\n\nz\n"})");
  EXPECT_EQ(AsJson("a: >-\n  x\n  y\n"), R"({"a":"x y"})");
}

std::string Laughs(int levels) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i <= levels; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 1; k < 10; ++k) text += ", " + before;
    text += "]\n";
  }
  return text;
}

TEST(ParseYaml, StopsAnchorsThatExplode) {
  EXPECT_TRUE(ParseYaml(Laughs(3)).ok());
  const auto bomb = ParseYaml(Laughs(9));
  ASSERT_FALSE(bomb.ok());
  EXPECT_THAT(bomb.error().detail, HasSubstr("more than 500000 values"));
}

TEST(ParseYaml, StopsLongStringsRepeatedByAliases) {
  std::string text = "a: &a " + std::string(100'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 1000; ++i) text += ", *a";
  const auto bomb = ParseYaml(text + "]\n");
  ASSERT_FALSE(bomb.ok());
  EXPECT_THAT(bomb.error().detail, HasSubstr("anchors and aliases repeat more than"));
}

TEST(ParseYaml, BoundsTheDepthAlsoThroughAliases) {
  EXPECT_FALSE(ParseYaml(std::string(100'000, '[')).ok());
  std::string text = "a0: &a0 [1]\n";
  for (int i = 1; i < 80; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            "]\n";
  }
  const auto deep = ParseYaml(text);
  ASSERT_FALSE(deep.ok());
  EXPECT_THAT(deep.error().detail, HasSubstr("nested deeper than 64"));
}

TEST(ParseYaml, RefusesTooManyDocuments) {
  std::string text;
  for (std::size_t i = 0; i <= limits::kYamlDocuments; ++i) text += "--- 1\n";
  EXPECT_THAT(ParseYaml(text).error().detail, HasSubstr("more than 1000 documents"));
}

TEST(ParseDocuments, TakesJsonOrYaml) {
  EXPECT_EQ(ParseDocuments("\n {\"a\": 1}")->size(), 1U);
  EXPECT_EQ(ParseDocuments("a: 1\n---\nb: 2")->size(), 2U);
  EXPECT_THAT(ParseDocuments("{\"a\": 1,}").error().detail, HasSubstr("JSON"));
  const auto two = ParseDocuments("{\"a\": \"--- \\n---\"}\n---\n{\"b\":\t2}\n--- \n");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 2U);
  EXPECT_EQ((*two)[1].at("b"), 2);
  EXPECT_EQ(ParseDocuments("{\"a\": 1}\n---\nb: 2\n---\n# nothing\n")->size(), 2U);
  EXPECT_THAT(ParseDocuments("{\"a\": 1}\n---\n{\"b\": }").error().detail,
              HasSubstr("document 2: "));
}

TEST(ParseYaml, SurvivesEveryPrefixAndEveryByteChanged) {
  const std::string text =
      "a: &x {k: [1, 'two', \"t\\u00e9\"]}\nb: |-\n  lines\n  more\nc: *x\n---\nd: !!str 5 # c\n";
  // Unsupported YAML is refused with a sentence that names YAML.
  const auto answers = [](const std::string& document) {
    const auto read = ParseYaml(document);
    return read.ok() || read.error().detail.starts_with("YAML");
  };
  for (std::size_t n = 0; n <= text.size(); ++n)
    EXPECT_TRUE(answers(text.substr(0, n))) << "the first " << n << " bytes";
  for (std::size_t n = 0; n < text.size(); ++n) {
    for (const char c : {'\0', '\n', '\t', '[', '{', ':', '&', '*', '"', '\xff'}) {
      std::string changed = text;
      changed[n] = c;
      EXPECT_TRUE(answers(changed)) << "byte " << n << " changed to " << static_cast<int>(c);
    }
  }
}

}  // namespace
}  // namespace muster
