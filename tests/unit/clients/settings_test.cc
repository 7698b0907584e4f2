#include "clients/lib/settings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "clients/lib/idempotency_key.h"
#include "schedd/base/ids.h"

namespace muster::client {
namespace {

struct UrlCase {
  const char* text;
  const char* expected;  // Endpoint::ToString, or "" when refused
};

class ServerUrl : public ::testing::TestWithParam<UrlCase> {};

TEST_P(ServerUrl, IsReadOrRefused) {
  const Result<Endpoint> endpoint = ParseServerUrl(GetParam().text);
  EXPECT_EQ(endpoint.ok() ? endpoint->ToString() : "", GetParam().expected) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ServerUrl,
    ::testing::Values(
        UrlCase{"http://127.0.0.1:8686", "http://127.0.0.1:8686"},
        UrlCase{"http://host/", "http://host:8686"}, UrlCase{"host:99", "http://host:99"},
        UrlCase{"http://[::1]:7", "http://[::1]:7"},
        UrlCase{"unix:/run/m.sock", "unix:/run/m.sock"},
        UrlCase{"unix:///run/m.sock", "unix:/run/m.sock"}, UrlCase{"https://host", ""},
        UrlCase{"ftp://host", ""}, UrlCase{"http://host:0", ""}, UrlCase{"http://host:65536", ""},
        UrlCase{"http://host:8x", ""}, UrlCase{"http://", ""}, UrlCase{"http://a/b", ""},
        UrlCase{"http://u@h", ""}, UrlCase{"unix:rel", ""}, UrlCase{"http://[::1", ""}));

class SettingsFile : public ::testing::Test {
 protected:
  SettingsFile()
      : path_(::testing::TempDir() + "muster-config-" + std::to_string(::getpid()) + ".yaml") {}
  ~SettingsFile() override { ::unlink(path_.c_str()); }
  void Write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
  }
  Result<Settings> Load(const SettingFlags& flags = {}) {
    return LoadSettings(
        flags, [this](const char* name) { return env_[name]; }, path_);
  }
  std::string path_;
  std::map<std::string, std::string> env_;
};

TEST_F(SettingsFile, DefaultsWithoutAnySource) {
  const auto settings = Load();
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->server.ToString(), "http://127.0.0.1:8686");
  EXPECT_EQ(settings->grpc, "127.0.0.1:8687");
  EXPECT_EQ(settings->ns, "default");
  EXPECT_EQ(settings->token, "");
}

TEST_F(SettingsFile, FlagBeatsEnvironmentBeatsFile) {
  Write("server: http://file:1\ntoken: tf\nnamespace: nf\n");
  EXPECT_EQ(Load()->server.host, "file");
  EXPECT_EQ(Load()->token, "tf");
  env_ = {{"MUSTER_URL", "http://env:2"}, {"MUSTER_NAMESPACE", "ne"}, {"MUSTER_TOKEN", "te"}};
  EXPECT_EQ(Load()->server.host, "env");
  EXPECT_EQ(Load()->ns, "ne");
  EXPECT_EQ(Load()->token, "te");
  EXPECT_EQ(Load({"http://flag:3", "nl"})->server.host, "flag");
  EXPECT_EQ(Load({"http://flag:3", "nl"})->ns, "nl");
}

TEST_F(SettingsFile, RefusesUnknownKeysAndOtherShapes) {
  Write("servr: x\n");
  EXPECT_NE(Load().error().detail.find("unknown key \"servr\""), std::string::npos);
  Write("- a\n");
  EXPECT_FALSE(Load().ok());
  Write("server: 5\n");
  EXPECT_FALSE(Load().ok());
}

TEST_F(SettingsFile, RefusesATokenThatOthersMayRead) {
  Write("token: t\n", 0644);
  EXPECT_NE(Load().error().detail.find("chmod 600"), std::string::npos);
  Write("namespace: x\n", 0644);
  EXPECT_TRUE(Load().ok());
}

TEST(IdempotencyKey, IsAFreshUuid) {
  Uid uid;
  EXPECT_TRUE(Uid::Parse(NewIdempotencyKey(), &uid));
  EXPECT_NE(NewIdempotencyKey(), NewIdempotencyKey());
}

TEST(PercentEncode, LeavesOnlyUnreservedBytes) {
  EXPECT_EQ(PercentEncode("a-Z_0.~"), "a-Z_0.~");
  EXPECT_EQ(PercentEncode("a/b c?\xC3\xA9"), "a%2Fb%20c%3F%C3%A9");
}

}  // namespace
}  // namespace muster::client
