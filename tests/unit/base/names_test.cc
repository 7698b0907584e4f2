#include "schedd/base/names.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct NameCase {
  std::string text;
  bool label, label1035, subdomain, qualified, label_value;
};

TEST(Names, EachRuleJudgesEachText) {
  const std::string s63(63, 'a'), s64(64, 'a');
  const std::vector<NameCase> cases = {
      //  text              label  1035   subdom qualif value
      {"train", true, true, true, true, true},
      {"", false, false, false, false, true},
      {"9lives", true, false, true, true, true},
      {"a.b-c.d", false, false, true, true, true},
      {"a..b", false, false, false, true, true},
      {"-a", false, false, false, false, false},
      {"a-", false, false, false, false, false},
      {"Upper", false, false, false, true, true},
      {"under_score", false, false, false, true, true},
      {"a/b", false, false, false, true, false},
      {"nvidia.com/gpu", false, false, false, true, false},
      {"a/b/c", false, false, false, false, false},
      {"/b", false, false, false, false, false},
      {"Bad_Prefix/b", false, false, false, false, false},
      {"a\nb", false, false, false, false, false},
      {std::string("a\0b", 3), false, false, false, false, false},
      {"caf\xc3\xa9", false, false, false, false, false},
      {s63, true, true, true, true, true},
      {s64, false, false, true, false, false},
      {s63 + "." + s63 + "." + s63 + "." + std::string(61, 'b'), false, false, true, false, false},
      {s63 + "." + s63 + "." + s63 + "." + s63, false, false, false, false, false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(IsDnsLabel(c.text), c.label) << c.text;
    EXPECT_EQ(IsDns1035Label(c.text), c.label1035) << c.text;
    EXPECT_EQ(IsDnsSubdomain(c.text), c.subdomain) << c.text;
    EXPECT_EQ(IsQualifiedName(c.text), c.qualified) << c.text;
    EXPECT_EQ(IsLabelValue(c.text), c.label_value) << c.text;
  }
}

TEST(Names, EnvironmentNamesArePrintableWithoutEquals) {
  EXPECT_TRUE(IsEnvName("PATH"));
  EXPECT_TRUE(IsEnvName("my.odd-name"));
  EXPECT_FALSE(IsEnvName(""));
  EXPECT_FALSE(IsEnvName("A=B"));
  EXPECT_FALSE(IsEnvName("A\n"));
  EXPECT_FALSE(IsEnvName("\xc3\xa9"));
}

TEST(Names, DataKeysAreFileNames) {
  EXPECT_TRUE(IsDataKey("train.py"));
  EXPECT_TRUE(IsDataKey(".hidden"));
  EXPECT_FALSE(IsDataKey("."));
  EXPECT_FALSE(IsDataKey(".."));
  EXPECT_FALSE(IsDataKey("../etc"));
  EXPECT_FALSE(IsDataKey("a/b"));
  EXPECT_FALSE(IsDataKey(std::string(254, 'a')));
}

TEST(Names, QuotedTextIsShortAndHarmless) {
  EXPECT_EQ(Quoted("abc"), "\"abc\"");
  EXPECT_EQ(Quoted("a\nb"), "\"a?b\"");
  EXPECT_LE(Quoted(std::string(1000, 'x')).size(), 90U);
  // Cut in the middle of a two-byte letter: the half is dropped.
  EXPECT_EQ(Quoted(std::string(79, 'x') + "\xc3\xa9zzz"), "\"" + std::string(79, 'x') + "...\"");
}

}  // namespace
}  // namespace muster
