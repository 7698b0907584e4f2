#include "schedd/text/base64.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Base64, EncodesAndDecodesEveryLength) {
  const std::string text("\0\xff\x10 hello world", 14);
  for (std::size_t n = 0; n <= text.size(); ++n) {
    const std::string bytes = text.substr(0, n);
    EXPECT_EQ(DecodeBase64(EncodeBase64(bytes)), bytes) << n;
  }
  EXPECT_EQ(EncodeBase64("hello"), "aGVsbG8=");
  EXPECT_EQ(DecodeBase64("aGVs\nbG8="), "hello");
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text :
       {"a", "ab", "abc", "a===", "=aaa", "ab=c", "a b=", "abcd=", "****", "ab-_"}) {
    EXPECT_FALSE(DecodeBase64(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace muster
