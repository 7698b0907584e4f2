#include "clients/lib/settings.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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
    ::testing::Values(UrlCase{"http://127.0.0.1:8686", "http://127.0.0.1:8686"},
                      UrlCase{"http://host/", "http://host:8686"},
                      UrlCase{"host:99", "http://host:99"},
                      UrlCase{"http://[::1]:7", "http://[::1]:7"},
                      UrlCase{"unix:/run/m.sock", "unix:/run/m.sock"},
                      UrlCase{"unix:///run/m.sock", "unix:/run/m.sock"},
                      UrlCase{"https://host", "https://host:8686"},
                      UrlCase{"https://[::1]:7/", "https://[::1]:7"}, UrlCase{"https://a/b", ""},
                      UrlCase{"ftp://host", ""}, UrlCase{"http://host:0", ""},
                      UrlCase{"http://host:65536", ""}, UrlCase{"http://host:8x", ""},
                      UrlCase{"http://", ""}, UrlCase{"http://a/b", ""}, UrlCase{"http://u@h", ""},
                      UrlCase{"unix:rel", ""}, UrlCase{"http://[::1", ""}));

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
  Write("server: https://file:1\ntoken: tf\nnamespace: nf\n");
  EXPECT_EQ(Load()->server.host, "file");
  EXPECT_EQ(Load()->token, "tf");
  env_ = {{"MUSTER_URL", "https://env:2"}, {"MUSTER_NAMESPACE", "ne"}, {"MUSTER_TOKEN", "te"}};
  EXPECT_EQ(Load()->server.host, "env");
  EXPECT_EQ(Load()->ns, "ne");
  EXPECT_EQ(Load()->token, "te");
  EXPECT_EQ(Load({"https://flag:3", "nl"})->server.host, "flag");
  EXPECT_EQ(Load({"https://flag:3", "nl"})->ns, "nl");
}

TEST_F(SettingsFile, GrpcServersAreAListOrBesideEachServer) {
  const auto listed = [this] {
    const auto settings = Load();
    if (!settings.ok()) return settings.error().detail;
    std::string out = settings->grpc + (settings->grpc_tls ? "+tls" : "");
    for (const auto& more : settings->more_grpc)
      out += " " + more.address + (more.tls ? "+tls" : "");
    return out;
  };
  env_ = {{"MUSTER_URL", "https://a.example,https://b.example:1,unix:/nowhere/s.sock"}};
  EXPECT_EQ(listed(), "a.example:8687+tls b.example:8687+tls 127.0.0.1:8687");
  env_["MUSTER_GRPC"] = "a:1,grpc://b:2,unix:/s,a:1";
  EXPECT_EQ(listed(), "a:1+tls b:2 unix:/s");
  for (const char* bad : {",", "a:1,", ",a:1", "a:1,,b:2", "grpc://"}) {
    env_["MUSTER_GRPC"] = bad;
    EXPECT_NE(listed().find("empty address"), std::string::npos) << bad;
  }
  env_ = {{"MUSTER_URL", "http://127.0.0.1:1,http://127.0.0.1:2"}};
  EXPECT_EQ(listed(), "127.0.0.1:8687") << "once";
}

TEST_F(SettingsFile, TlsComesFromFlagsEnvironmentAndFile) {
  Write("server: https://h\nca: site.pem\ncert: /c\nkey: /k\ninsecure-skip-tls-verify: true\n");
  const auto file = Load();
  ASSERT_TRUE(file.ok()) << file.error().detail;
  EXPECT_EQ(file->tls.ca_file, ::testing::TempDir() + "site.pem");
  EXPECT_EQ(file->tls.certificate_file, "/c");
  EXPECT_TRUE(file->tls.skip_verify);
  EXPECT_NE(file->warning.find("https://h:8686"), std::string::npos);
  EXPECT_EQ(file->grpc, "h:8687");
  EXPECT_TRUE(file->grpc_tls);
  env_ = {{"MUSTER_CA", "/env-ca"}, {"MUSTER_CERT", "/env-c"}, {"MUSTER_GRPC", "grpc://g:1"}};
  EXPECT_EQ(Load()->tls.ca_file, "/env-ca");
  EXPECT_EQ(Load()->tls.certificate_file, "/env-c");
  EXPECT_EQ(Load()->grpc, "g:1");
  EXPECT_FALSE(Load()->grpc_tls);
  SettingFlags flags;
  flags.ca = "/flag-ca";
  EXPECT_EQ(Load(flags)->tls.ca_file, "/flag-ca");
  Write("cert: /c\n");
  env_.clear();
  EXPECT_NE(Load().error().detail.find("both its certificate"), std::string::npos);
  Write("insecure-skip-tls-verify: 1\n");
  EXPECT_FALSE(Load().ok());
}

TEST_F(SettingsFile, ATokenIsNotSentInPlainTextBeyondThisHost) {
  env_ = {{"MUSTER_TOKEN", "t"}};
  for (const char* server :
       {"http://127.0.0.1:1", "localhost:1", "http://[::1]:1", "unix:/s", "https://far.example"}) {
    env_["MUSTER_URL"] = server;
    EXPECT_TRUE(Load().ok()) << server;
  }
  for (const char* server : {"http://far.example", "10.0.0.1:1", "127.evil.example"}) {
    env_["MUSTER_URL"] = server;
    ASSERT_FALSE(Load().ok()) << server;
    EXPECT_NE(Load().error().detail.find("plain text"), std::string::npos);
  }
}

TEST_F(SettingsFile, ATokenThatWouldEndItsHeaderIsRefusedAndNotShown) {
  for (const char* token : {"a b", "a\r\nX-Muster-User: root", "a\n", "\xc3\xa4"}) {
    env_ = {{"MUSTER_TOKEN", token}};
    ASSERT_FALSE(Load().ok()) << token;
    EXPECT_EQ(Load().error().detail, "the token (MUSTER_TOKEN, token:) has a blank in it");
  }
}

TEST_F(SettingsFile, ATokenMayComeFromAFileOrAPlugin) {
  const std::string token_file = path_ + ".token";
  std::ofstream(token_file) << "from-file\n";
  Write("token-file: " + token_file + "\n");
  auto settings = Load();
  ASSERT_TRUE(settings.ok()) << settings.error().detail;
  ASSERT_NE(settings->source, nullptr);
  EXPECT_EQ(settings->source->Get()->token, "from-file");
  ::unlink(token_file.c_str());
  const std::string status = R"({"token":"from-plugin"})";
  Write(
      "exec:\n  command: sh\n  args: [-c, 'echo x >> \"$COUNT\"; printf %s \"$DOC\"']\n  env:\n"
      "    COUNT: " +
      path_ +
      ".count\n    DOC: '{\"kind\":\"ExecCredential\","
      "\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":" +
      status + "}'\n");
  settings = Load();
  ASSERT_TRUE(settings.ok()) << settings.error().detail;
  for (int i = 0; i < 3; ++i) {
    const auto credential = settings->source->Get();
    ASSERT_TRUE(credential.ok()) << credential.failure().detail;
    EXPECT_EQ(credential->token, "from-plugin");
  }
  struct stat count {};
  ::stat((path_ + ".count").c_str(), &count);
  EXPECT_EQ(count.st_size, 2) << "the plugin ran more than once";
  ::unlink((path_ + ".count").c_str());
  Write("exec: {command: 'false'}\n");
  EXPECT_NE(Load()->source->Get().failure().detail.find("exit code 1"), std::string::npos);
  Write("exec: {command: a}\ntoken: b\n");
  EXPECT_NE(Load().error().detail.find("only one of"), std::string::npos);
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

// rule U16
TEST(DefaultServer, IsTheFirstSocketThatSomebodyAnswersAt) {
  const auto env = [](const char* name) {
    const std::string key = name;
    return key == "HOME" ? std::string("/home/ada") : std::string();
  };
  EXPECT_EQ(DefaultSockets(env, true), std::vector<std::string>{"/var/lib/muster/run/muster.sock"});
  EXPECT_EQ(DefaultSockets(env, false),
            (std::vector<std::string>{"/home/ada/.local/state/muster/run/muster.sock",
                                      "/var/lib/muster/run/muster.sock"}));
  char made[] = "/tmp/muster-settings-XXXXXX";
  ASSERT_NE(::mkdtemp(made), nullptr);
  const std::string dead = std::string(made) + "/dead.sock",
                    live = std::string(made) + "/live.sock";
  int fds[2];
  int* fd = fds;
  for (const std::string& path : {dead, live}) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    *fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(*fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    if (path == live) {
      ASSERT_EQ(::listen(*fd, 1), 0);
    }
    ++fd;
  }
  EXPECT_EQ(DefaultServer({"/nowhere/x.sock", dead, live}).unix_path, live);
  EXPECT_EQ(DefaultServer({dead}).ToString(), "http://127.0.0.1:8686");
  ::close(fds[0]);
  ::close(fds[1]);
  ::unlink(dead.c_str());
  ::unlink(live.c_str());
  ::rmdir(made);
}

}  // namespace
}  // namespace muster::client
