#include "schedd/text/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/base/limits.h"

namespace muster {
namespace {

using testing::HasSubstr;

struct BadJson {
  std::string name, text, complaint;
};

TEST(ParseJson, RefusesBadTextAndSaysWhere) {
  const std::vector<BadJson> cases = {
      {"nothing", "", "ends too early at line 1, column 1"},
      {"an open object", "{\"a\": 1", "ends too early"},
      {"a missing comma", "{\"a\": 1\n \"b\": 2}", "line 2, column 2"},
      {"a trailing comma", "{\"a\": 1,}", "line 1"},
      {"text after the end", "{} x", "line 1, column 4"},
      {"two documents", "{}\n{}", "after the end of the document at line 2, column 1"},
      {"a key twice", R"({"a": {"b": [0, {"c": 1, "d": 2, "c": 3}]}})",
       "\"a.b[1].c\" is given twice"},
      {"a key twice at the top", R"({"a":1,"a":1})", "\"a\" is given twice"},
      {"a key twice, written with an escape", R"({"a":1,"\u0061":1})", "\"a\" is given twice"},
      {"NUL in a string", R"({"a": "x\u0000y"})", "NUL"},
      {"NUL in a key", R"({"a\u0000": 1})", "NUL"},
      {"a comment", "{/* c */}", "line 1"},
      {"NaN", "[NaN]", "line 1"},
      {"single quotes", "{'a': 1}", "line 1"},
      {"bytes that are not UTF-8", "[\"\xff\xfe\"]", "line 1"},
      {"half a surrogate pair", R"(["\ud800"])", "line 1"},
      {"an integer beyond 64 bits", R"({"n": 18446744073709551616})", "beyond 64 bits"},
      {"a double beyond range", "[1e999]", "beyond the range of a double at line 1"},
      {"a leading zero", "[01]", "line 1"},
      {"a raw line break in a string", "[\"a\nb\"]", "line 1"},
  };
  for (const auto& c : cases) {
    const auto result = ParseJson(c.text);
    ASSERT_FALSE(result.ok()) << c.name;
    EXPECT_EQ(result.error().code, Code::kInvalidArgument) << c.name;
    EXPECT_THAT(result.error().detail, HasSubstr(c.complaint)) << c.name;
  }
}

TEST(ParseJson, BoundsTheDepth) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJson(nested(limits::kJsonDepth)).ok());
  const auto too_deep = ParseJson(nested(limits::kJsonDepth + 1));
  ASSERT_FALSE(too_deep.ok());
  EXPECT_THAT(too_deep.error().detail, HasSubstr("nested deeper than 64 levels"));
  EXPECT_FALSE(ParseJson(std::string(5'000'000, '[')).ok());
}

TEST(ParseJson, KeepsTypesAndTheOrderOfMembers) {
  const auto value = ParseJson(
      R"({"z":1,"a":-1,"m":18446744073709551615,"d":1.5,"s":"\u00e9\n","b":true,"n":null})");
  ASSERT_TRUE(value.ok()) << value.error().detail;
  EXPECT_EQ(WriteJson(*value),
            "{\"z\":1,\"a\":-1,\"m\":18446744073709551615,\"d\":1.5,\"s\":\"\xc3\xa9\\n\",\"b\":"
            "true,\"n\":null}");
}

TEST(ParseJson, EqualKeysInDifferentObjectsAreFine) {
  EXPECT_TRUE(ParseJson(R"([{"a":1},{"a":1,"b":{"a":2}}])").ok());
}

TEST(WriteJson, WritesDoublesShortAndStillAsDoubles) {
  EXPECT_EQ(WriteJson(json::value(0.1)), "0.1");
  EXPECT_EQ(WriteJson(json::value(2.0)), "2.0");
  EXPECT_EQ(WriteJson(json::value(1e300)), "1e+300");
  EXPECT_TRUE(ParseJson(WriteJson(json::value(1e300)))->is_double());
}

TEST(WriteJson, EscapesWhatMustBeEscaped) {
  EXPECT_EQ(WriteJson(json::value("a\"b\\c\t\x01")), R"("a\"b\\c\t\u0001")");
}

TEST(WriteJson, PrettyTextReadsBackAsTheSameValue) {
  const auto value = ParseJson(R"({"a":[1,{"b":[]},{}],"c":{}})");
  ASSERT_TRUE(value.ok());
  const std::string pretty = WriteJsonPretty(*value);
  EXPECT_EQ(pretty,
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    },\n    {}\n  ],\n  \"c\": {}\n}");
  EXPECT_EQ(*ParseJson(pretty), *value);
}

TEST(ParseJson, SurvivesEveryPrefixOfADocument) {
  const std::string text = R"({"a":{"b":[1,2.5e3,"x\u00e9y",true,null,{"c":-7}]},"d":"\\"})";
  for (std::size_t n = 0; n < text.size(); ++n)
    EXPECT_FALSE(ParseJson(text.substr(0, n)).ok()) << n;
  EXPECT_TRUE(ParseJson(text).ok());
}

}  // namespace
}  // namespace muster
