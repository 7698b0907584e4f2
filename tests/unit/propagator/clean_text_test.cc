// Texts that members write, in the form in which they may be stored.
#include "schedd/propagation/clean_text.h"

#include <gtest/gtest.h>

#include "schedd/base/limits.h"

namespace muster::propagation {
namespace {

TEST(CleanText, KeepsWhatIsUtf8AndReplacesTheRest) {
  struct Case {
    const char* name;
    std::string text, clean;
  };
  const Case cases[] = {
      {"plain", "a b\n\tc", "a b\n\tc"},
      {"characters of every length", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
       "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"a null", std::string("a\0b", 3), "a?b"},
      {"control characters", "a\x01\x7f", "a??"},
      {"a stray continuation", "a\x80z", "a?z"},
      {"cut in the middle", "a\xe2\x82", "a??"},
      {"overlong", "\xc0\x80", "??"},
      {"overlong in three bytes", "\xe0\x80\x80", "???"},
      {"a surrogate", "\xed\xa0\x80", "???"},
      {"beyond the last character", "\xf4\x90\x80\x80", "????"},
  };
  for (const Case& one : cases) EXPECT_EQ(CleanText(one.text, 100), one.clean) << one.name;
}

TEST(CleanText, CutsBetweenCharacters) {
  EXPECT_EQ(CleanText("abcd", 4), "abcd");
  EXPECT_EQ(CleanText("abcde", 4), "abcd...");
  EXPECT_EQ(CleanText("abc\xc3\xa9z", 4), "abc...");
}

TEST(CleanText, ReachesEveryTextOfAStatus) {
  ManifestStatus status;
  const std::string bad = std::string(3000, 'a') + "\xff";
  status.message = status.remote_uid = bad;
  status.differences = {{bad, bad, bad}, {"/\xff", std::nullopt, "\xff"}};
  CleanTexts(&status);
  EXPECT_LE(status.message.size(), kWaitsBytes + 3);
  EXPECT_LE(status.remote_uid.size(), 300U);
  EXPECT_LE(status.differences[0].path.size(), kWaitsBytes + 3);
  EXPECT_LE(status.differences[0].in_member->size(), limits::kDifferenceBytes + 100);
  EXPECT_LE(status.differences[0].in_hub->size(), limits::kDifferenceBytes + 100);
  EXPECT_EQ(status.differences[1].path, "/?");
  EXPECT_FALSE(status.differences[1].in_member.has_value());
  EXPECT_EQ(status.differences[1].in_hub, "?");
}

}  // namespace
}  // namespace muster::propagation
