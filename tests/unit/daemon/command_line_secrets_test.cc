#include "schedd/daemon/command_line_secrets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace muster {
namespace {

bool SaysPw(const char* url) { return std::strstr(url, "pw") != nullptr; }

// The command line behind argv[0] after it was hidden, as /proc/PID/cmdline has it.
std::string Left(std::vector<std::string> words, bool* found) {
  words.insert(words.begin(), "musterd");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  *found = HideDatabasePasswords(static_cast<int>(argv.size()), argv.data(), SaysPw);
  std::string left;
  for (std::size_t i = 1; i < words.size(); ++i) left += (i > 1 ? " " : "") + words[i];
  return left;
}

TEST(CommandLineSecrets, OnlyDatabaseUrlsWithAPasswordAreOverwritten) {
  bool found = false;
  const std::string nulls(11, '\0');
  EXPECT_EQ(Left({"--postgres", "postgresql://m:pw"}, &found), "--postgres hidden" + nulls);
  EXPECT_TRUE(found);
  EXPECT_EQ(Left({"--postgres-owner=host=a password=pw"}, &found).find("pw"), std::string::npos);
  EXPECT_TRUE(found);
  EXPECT_EQ(Left({"--postgres=pw", "--rest", "pw:1"}, &found), "--postgres=hi --rest pw:1");
  EXPECT_TRUE(found);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--postgres", "postgresql:///muster"},
                                             {"--data-dir", "pw"},
                                             {"--postgres"},
                                             {"--postgresql=pw"},
                                             {"--postgres-ownership", "pw"}}) {
    std::string before;
    for (const std::string& word : words) before += (before.empty() ? "" : " ") + word;
    EXPECT_EQ(Left(words, &found), before);
    EXPECT_FALSE(found) << before;
  }
}

}  // namespace
}  // namespace muster
