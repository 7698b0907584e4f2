#include "api/ui/page_answer.h"

#include <gtest/gtest.h>

#include "api/ui/page_files.h"

namespace muster::test {
namespace {

std::string Header(const ui::PageAnswer& answer, std::string_view name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) return value;
  }
  return "";
}

std::string ScriptName() {
  for (const ui::PageFile& file : ui::PageFiles()) {
    if (file.name.ends_with(".js")) return std::string(file.name);
  }
  return "";
}

TEST(PageAnswer, ACodingIsTakenAsTheHeaderSays) {
  EXPECT_FALSE(ui::TakesCoding("", "gzip"));
  EXPECT_TRUE(ui::TakesCoding("deflate, GZIP ;q=0.1", "gzip"));
  EXPECT_FALSE(ui::TakesCoding("gzip;q=0", "gzip"));
  EXPECT_FALSE(ui::TakesCoding("gzip;q=0.000", "gzip"));
  EXPECT_TRUE(ui::TakesCoding("*", "br"));
  EXPECT_FALSE(ui::TakesCoding("*, br;q=0", "br"));
  EXPECT_FALSE(ui::TakesCoding("xgzip", "gzip"));
}

TEST(PageAnswer, EachFormHasItsOwnTagAndIsNotSentTwice) {
  const ui::PageAnswer plain = ui::IndexAnswer({});
  const ui::PageAnswer packed = ui::IndexAnswer({"gzip", ""});
  EXPECT_EQ(plain.status, 200);
  EXPECT_NE(plain.body.find("<div id=\"app\">"), std::string_view::npos);
  EXPECT_EQ(packed.body.substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(Header(packed, "Content-Encoding"), "gzip");
  EXPECT_NE(Header(plain, "ETag"), Header(packed, "ETag"));
  const std::string tag = Header(packed, "ETag");
  const std::string asked = "\"other\", W/" + tag;
  const ui::PageAnswer same = ui::IndexAnswer({"gzip", asked});
  EXPECT_EQ(same.status, 304);
  EXPECT_TRUE(same.body.empty());
  EXPECT_EQ(Header(same, "ETag"), tag);
  EXPECT_EQ(ui::IndexAnswer({"", tag}).status, 200);
}

TEST(PageAnswer, OnlyFilesWithAHashInTheirNameAreKept) {
  EXPECT_EQ(Header(ui::IndexAnswer({}), "Cache-Control"), "no-cache");
  const ui::PageAnswer script = ui::FileAnswer(ScriptName(), {});
  EXPECT_EQ(script.status, 200);
  EXPECT_NE(Header(script, "Cache-Control").find("immutable"), std::string::npos);
  EXPECT_EQ(ui::FileAnswer("index.html", {}).status, 404);
  EXPECT_EQ(ui::FileAnswer("../index.html", {}).status, 404);
}

TEST(PageAnswer, ThePolicyLetsNoOtherScriptIn) {
  const std::string policy = Header(ui::IndexAnswer({}), "Content-Security-Policy");
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
  EXPECT_NE(policy.find("require-trusted-types-for 'script'"), std::string::npos);
}

}  // namespace
}  // namespace muster::test
