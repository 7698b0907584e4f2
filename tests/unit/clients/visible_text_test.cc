// Text of others on a terminal: the visible form of hostile strings.
#include "clients/lib/visible_text.h"

#include <gtest/gtest.h>

namespace muster::client {
namespace {

struct Case {
  const char* name;
  std::string text;
  const char* shown;
};

const Case kCases[] = {
    {"PlainText", "job 7 waits for 3 GPUs", "job 7 waits for 3 GPUs"},
    {"NothingAtAll", "", ""},
    {"ABackslash", "C:\\033", "C:\\033"},
    {"LettersBeyondAscii", "Grüße, 東京, 🚀", "Grüße, 東京, 🚀"},
    {"AColour", "\x1b[31mred\x1b[0m", "\\033[31mred\\033[0m"},
    {"AClearedScreen", "\x1b[H\x1b[2J", "\\033[H\\033[2J"},
    {"ATitleOfTheWindow", "\x1b]0;owned\x07", "\\033]0;owned\\007"},
    {"ABackspaceAndADelete", "rm\b\b\x7f", "rm\\010\\010\\177"},
    {"ANul", std::string("a\0b", 3), "a\\000b"},
    {"LineEnds", "one\ntwo\r\tthree", "one\\ntwo\\r\\tthree"},
    {"AC1ControlSequenceIntroducer",
     "\xc2\x9b"
     "31m",
     "\\u009b31m"},
    {"ARawC1Byte",
     "\x9b"
     "31m",
     "\\23331m"},
    {"ANextLine", "a\xc2\x85z", "a\\u0085z"},
    {"ARightToLeftOverride", "exe.\xe2\x80\xaetxt", "exe.\\u202etxt"},
    {"AnIsolate", "\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"},
    {"AMarkOfDirection", "\xe2\x80\x8fx\xd8\x9c", "\\u200fx\\u061c"},
    {"ASeparatorOfLines", "a\xe2\x80\xa8z", "a\\u2028z"},
    {"AByteOrderMark", "\xef\xbb\xbfx", "\\ufeffx"},
    {"BytesThatAreNoUtf8", "\xff\xfe", "\\377\\376"},
    {"ACutCharacter", "x\xe6\x9d", "x\\346\\235"},
    {"AnOverlongEscape", "\xc0\x9b", "\\300\\233"},
    {"ASurrogate", "\xed\xa0\x80", "\\355\\240\\200"},
};

class VisibleTextTest : public ::testing::TestWithParam<Case> {};

TEST_P(VisibleTextTest, IsShownSoThatATerminalDoesNothing) {
  const std::string shown = VisibleText(GetParam().text);
  EXPECT_EQ(shown, GetParam().shown);
  EXPECT_EQ(VisibleText(shown), shown) << "once is enough";
}

INSTANTIATE_TEST_SUITE_P(Hostile, VisibleTextTest, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(VisibleText, PagesKeepTheirLines) {
  EXPECT_EQ(VisibleText("a: 1\n\tb: \x1b[1m\r\n", LineEnds::kKept), "a: 1\n\tb: \\033[1m\\r\n");
}

}  // namespace
}  // namespace muster::client
