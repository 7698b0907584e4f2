// What muster-launcher is told, and which places it uses.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "schedd/launcher/launcher_config.h"
#include "schedd/launcher/trusted_path.h"
#include "tests/contract/backend/backend_fixture.h"

namespace muster {
namespace {

Result<ParsedLauncher> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "muster-launcher");
  return ParseLauncherLine(static_cast<int>(words.size()), words.data());
}

TEST(LauncherConfig, SharesItsKeysWithTheFileOfMusterd) {
  const testing::TemporaryDirectory directory;
  const std::string file = directory.path() + "/musterd.yaml";
  std::ofstream(file) << "data-dir: /var/lib/muster\nlauncher: /run/x/l.sock\nlocal-cluster:\n"
                         "- east,cpu=4,root-jobs=submitter\n- west,job-account=daemon\n";
  const auto parsed = Parse({"--config", file.c_str(), "--daemon-user", "someone"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().detail;
  EXPECT_EQ(parsed->config.socket, "/run/x/l.sock");
  EXPECT_EQ(parsed->config.daemon_user, "someone");
  ASSERT_EQ(parsed->config.clusters.size(), 2u);
  EXPECT_EQ(parsed->config.clusters[0].root_jobs, true);
  EXPECT_EQ(parsed->config.clusters[1].job_account, "daemon");
  const auto over = Parse({"--config", file.c_str(), "--local-cluster", "north", "--socket", "/s"});
  ASSERT_TRUE(over.ok());
  EXPECT_EQ(over->config.socket, "/s");
  ASSERT_EQ(over->config.clusters.size(), 1u);
  EXPECT_EQ(over->config.clusters[0].name, "north");
}

TEST(LauncherConfig, WithoutAnyMemberThereIsOneNamedLocal) {
  const auto parsed = Parse({});
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->config.clusters.size(), 1u);
  EXPECT_EQ(parsed->config.clusters[0].name, "local");
  EXPECT_FALSE(parsed->config.clusters[0].root_jobs.has_value());
}

TEST(LauncherConfig, WhatIsWrongIsNamed) {
  const testing::TemporaryDirectory directory;
  const std::string file = directory.path() + "/wrong.yaml";
  std::ofstream(file) << "launcher: [a]\nlocal-cluster: {a: b}\n";
  const std::vector<std::pair<std::vector<const char*>, std::string>> cases = {
      {{"--local-cluster", "east,root-jobs=perhaps"}, "root-jobs"},
      {{"--local-cluster", "east", "--local-cluster", "east"}, "twice"},
      {{"--state-dir", "members"}, "--state-dir"},
      {{"--socket", "l.sock"}, "--socket"},
      {{"--config", "/nowhere/musterd.yaml"}, "cannot read"},
      {{"--config", file.c_str()}, "launcher: must be a string"},
      {{"--config", file.c_str()}, "local-cluster: must be a list of strings"},
      {{"--data-dir", "/x"}, "data-dir"},
  };
  for (const auto& [words, expected] : cases) {
    const auto parsed = Parse(words);
    ASSERT_FALSE(parsed.ok()) << expected;
    EXPECT_NE(parsed.error().detail.find(expected), std::string::npos) << parsed.error().detail;
  }
}

TEST(LauncherConfig, MusterdTakesTheSocketFromItsFile) {
  const testing::TemporaryDirectory directory;
  const std::string file = directory.path() + "/musterd.yaml";
  std::ofstream(file) << "launcher: /run/x/l.sock\n";
  const auto parse = [](std::vector<const char*> words) {
    words.insert(words.begin(), "musterd");
    return ParseCommandLine(static_cast<int>(words.size()), words.data(),
                            [](const char*) -> const char* { return nullptr; });
  };
  const auto parsed = parse({"--config", file.c_str()});
  ASSERT_TRUE(parsed.ok()) << parsed.error().detail;
  EXPECT_EQ(parsed->config.launcher, "/run/x/l.sock");
  EXPECT_EQ(parse({})->config.launcher, "");
  const auto wrong = parse({"--launcher", "l.sock"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().fields[0].field, "--launcher");
}

TEST(TrustedPath, OnlyRootsOwnPlacesAreUsed) {
  const testing::TemporaryDirectory directory;
  const std::string base = directory.path();
  const auto made = [&base](const std::string& name, mode_t mode) {
    std::filesystem::create_directories(base + "/" + name);
    ::chmod((base + "/" + name).c_str(), mode);
    return base + "/" + name;
  };
  std::filesystem::create_directory_symlink(made("closed", 0711), base + "/link");
  made("open", 0777);
  made("open/below", 0755);
  made("sticky", 01777);
  made("sticky/below", 0755);
  made("group", 0775);
  // Who is not root has no directory that the launcher would use.
  const bool root = ::geteuid() == 0;
  const std::vector<std::pair<std::string, bool>> cases = {
      {"closed", root},      {"link", false},   {"open", false},
      {"open/below", false}, {"sticky", false}, {"sticky/below", root},
      {"group", false},      {"absent", false}, {"closed/../closed", root},
  };
  for (const auto& [name, sound] : cases)
    EXPECT_EQ(CheckTrusted(base + "/" + name).ok(), sound) << name;
  EXPECT_FALSE(CheckTrusted("relative").ok());
  EXPECT_EQ(MakeTrustedDirectory(base + "/closed/new").ok(), root);
  EXPECT_EQ(MakeTrustedDirectory(base + "/sticky/new/").ok(), root);
  EXPECT_FALSE(CheckTrusted(base + "/sticky/").ok()) << "a slash changes nothing";
  EXPECT_FALSE(MakeTrustedDirectory(base + "/open/new").ok());
  EXPECT_FALSE(std::filesystem::exists(base + "/open/new"));
  if (!root) return;
  ASSERT_EQ(::chown((base + "/closed").c_str(), 65534, static_cast<gid_t>(-1)), 0);
  EXPECT_FALSE(CheckTrusted(base + "/closed/new").ok()) << "its directory is another user's";
}

}  // namespace
}  // namespace muster
