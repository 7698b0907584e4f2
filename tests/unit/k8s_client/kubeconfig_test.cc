#include "backends/k8s/client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/k8s_client/client_world.h"

namespace muster::k8s::test {
namespace {

using ::testing::HasSubstr;

std::string Config(const std::string& cluster, const std::string& user,
                   const std::string& context = "") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
         "contexts:\n- name: main\n  context: {cluster: c, user: u" +
         context +
         "}\n- name: other\n  context: {cluster: second, user: u}\n"
         "clusters:\n- name: c\n  cluster: {" +
         cluster +
         "}\n- name: second\n  cluster: {server: 'https://second:7443/'}\n"
         "users:\n- name: u\n  user: {" +
         user + "}\n";
}

const char kServer[] = "server: 'https://10.1.2.3:6443'";

std::string Refusal(const std::string& text, const KubeconfigOptions& options = {}) {
  const Folder folder;
  const auto read = ParseKubeconfig(text, folder.path(), options);
  if (read) return "accepted";
  EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  return read.error().detail;
}

TEST(Kubeconfig, TheCurrentContextNamesServerUserAndNamespace) {
  const auto read =
      ParseKubeconfig(Config("server: 'https://[fd00::7]:6443/k8s/c-1/', tls-server-name: api.east",
                             "token: abc", ", namespace: batch"),
                      "/", {});
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_TRUE(read->tls);
  EXPECT_EQ(read->host, "fd00::7");
  EXPECT_EQ(read->port, "6443");
  EXPECT_EQ(read->base_path, "/k8s/c-1");
  EXPECT_EQ(read->tls_server_name, "api.east");
  EXPECT_EQ(read->token.data, "abc");
  EXPECT_EQ(read->ns, "batch");
}

TEST(Kubeconfig, AnotherContextIsTakenWhenItIsAskedFor) {
  KubeconfigOptions options;
  options.context = "other";
  const auto read = ParseKubeconfig(Config(kServer, "token: abc"), "/", options);
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->host, "second");
  EXPECT_EQ(read->port, "7443");
  EXPECT_EQ(read->base_path, "");
}

TEST(Kubeconfig, DataStandsForFilesAndIsDecoded) {
  const auto read =
      ParseKubeconfig(Config(std::string(kServer) + ", certificate-authority-data: Q0E=",
                             "client-certificate-data: Q0VSVA==, client-key-data: S0VZ"),
                      "/", {});
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->ca.data, "CA");
  EXPECT_EQ(read->client_certificate.data, "CERT");
  EXPECT_EQ(read->client_key.data, "KEY");
}

TEST(Kubeconfig, EachThingThatIsRefusedIsNamedInOneSentence) {
  const std::string server = kServer;
  const std::string exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token";
  KubeconfigOptions with_exec;
  with_exec.allow_exec = true;
  KubeconfigOptions missing_context;
  missing_context.context = "nowhere";
  const std::string cluster = "kubeconfig: clusters[c].cluster.";
  const std::string user = "kubeconfig: users[u].user.";
  const struct {
    std::string text, sentence;
    KubeconfigOptions options = {};
  } cases[] = {
      {"a: [", "kubeconfig: not YAML"},
      {"- a", "kubeconfig: must be one mapping"},
      {"current-context: 7", "kubeconfig.current-context must be a string"},
      {"clusters: []", "kubeconfig: current-context is missing"},
      {"current-context: gone\ncontexts: []",
       "kubeconfig: current-context names \"gone\", which is not in contexts"},
      {Config(server, "token: a"),
       "kubeconfig: the context option names \"nowhere\", which is not in contexts",
       missing_context},
      {"current-context: m\ncontexts:\n- {name: m, context: {cluster: c}}",
       "kubeconfig: contexts[m].context.user is missing"},
      {"current-context: m\ncontexts:\n- {name: m, context: {cluster: c, user: u}}\nclusters:\n"
       "- {name: d}",
       "kubeconfig: contexts[m].context.cluster names \"c\", which is not in clusters"},
      {"current-context: m\ncontexts:\n- {name: m, context: {cluster: c, user: u}}\nclusters:\n"
       "- {name: c, cluster: {server: 'https://a'}}",
       "kubeconfig: contexts[m].context.user names \"u\", which is not in users"},
      {Config("", "token: a"), cluster + "server is missing"},
      {Config("server: 'ftp://a'", "token: a"), cluster + "server is not a URL"},
      {Config("server: 'https://a:99999'", "token: a"), cluster + "server is not a URL"},
      {Config("server: 'https://me:pw@a'", "token: a"), cluster + "server is not a URL"},
      {Config("server: 'http://10.0.0.1:80'", "token: a"),
       cluster + "server must begin with https:// unless it is on loopback"},
      {Config(server + ", proxy-url: 'http://p'", "token: a"),
       cluster + "proxy-url is not supported"},
      {Config(server + ", insecure-skip-tls-verify: true", "token: a"),
       cluster + "insecure-skip-tls-verify is refused unless the server is on loopback"},
      {Config(server + ", insecure-skip-tls-verify: maybe", "token: a"),
       cluster + "insecure-skip-tls-verify must be true or false"},
      {Config("server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true, "
              "certificate-authority-data: Q0E=",
              "token: a"),
       cluster + "insecure-skip-tls-verify cannot stand beside a certificate authority"},
      {Config(server + ", certificate-authority-data: '%%'", "token: a"),
       cluster + "certificate-authority-data is not base64"},
      {Config(server + ", certificate-authority: gone.crt", "token: a"),
       cluster + "certificate-authority does not exist"},
      {Config(server + ", certificate-authority: /etc/passwd", "token: a"),
       cluster + "certificate-authority lies outside the allowed directory"},
      {Config(server + ", novelty: 1", "token: a"), cluster + "novelty is not known to Muster"},
      {Config(server, "username: me, password: pw"), user + "username is not supported"},
      {Config(server, "auth-provider: {name: gcp}"), user + "auth-provider is not supported"},
      {Config(server, "token: a, as: root"), user + "as is not supported"},
      {Config(server, "token: 'a b'"), user + "token holds a blank"},
      {Config(server, "token: [a]"), user + "token must be a string"},
      {Config(server, "client-certificate-data: Q0U="),
       user + "client-certificate and client-key must stand together"},
      {Config("server: 'http://127.0.0.1:1'",
              "client-certificate-data: Q0U=, client-key-data: Q0U="),
       user + "client-certificate needs a server that begins with https://"},
      {Config(server, exec + "}"), user + "exec is refused: exec plugins are not allowed"},
      {Config(server, exec + "}, token: a"), user + "exec cannot stand beside a token", with_exec},
      {Config(server, "exec: {apiVersion: v1, command: x}"),
       user + "exec.apiVersion must be client.authentication.k8s.io/v1", with_exec},
      {Config(server, "exec: {apiVersion: client.authentication.k8s.io/v1}"),
       user + "exec.command is missing", with_exec},
      {Config(server, exec + ", interactiveMode: Always}"), user + "exec.interactiveMode is Always",
       with_exec},
      {Config(server, exec + ", env: [{value: x}]}"),
       user + "exec.env[].name is not a variable's name", with_exec},
  };
  for (const auto& each : cases)
    EXPECT_THAT(Refusal(each.text, each.options), HasSubstr(each.sentence)) << each.text;
}

TEST(Kubeconfig, NoSentenceHoldsASecret) {
  for (const std::string& user :
       {std::string("token: 'sesame sesame'"), std::string("username: sesame, password: sesame"),
        std::string("client-key-data: 'sesame%', client-certificate-data: 'sesame%'")}) {
    EXPECT_EQ(Refusal(Config(kServer, user)).find("sesame"), std::string::npos) << user;
  }
}

TEST(Kubeconfig, PlainHttpAndSkippedChecksAreForLoopback) {
  for (const char* server : {"'http://127.0.0.1:8001'", "'http://localhost'", "'http://[::1]:80'"})
    EXPECT_EQ(Refusal(Config(std::string("server: ") + server, "token: a")), "accepted");
  EXPECT_EQ(
      Refusal(Config("server: 'https://localhost', insecure-skip-tls-verify: true", "token: a")),
      "accepted");
}

TEST(Kubeconfig, FilesAreRelativeToItsDirectoryAndMayNotLeaveIt) {
  const Folder folder, elsewhere;
  std::filesystem::create_directory(folder.path() + "/keys");
  folder.Write("keys/token", "abc\n");
  const std::string secret = elsewhere.Write("secret", "s");
  std::filesystem::create_symlink(secret, folder.path() + "/link");
  ::mkfifo((folder.path() + "/pipe").c_str(), 0600);
  const auto load = [&](const std::string& file, const KubeconfigOptions& options = {}) {
    const auto path = folder.Write("config", Config(kServer, "tokenFile: " + file));
    const auto read = LoadKubeconfig(path, options);
    return read ? "took " + read->token.file : read.error().detail;
  };
  EXPECT_EQ(load("keys/token"), "took " + folder.path() + "/keys/token");
  EXPECT_THAT(load("link"), HasSubstr("tokenFile lies outside the allowed directory"));
  EXPECT_THAT(load(secret), HasSubstr("tokenFile lies outside the allowed directory"));
  EXPECT_THAT(load("../" + elsewhere.path().substr(elsewhere.path().rfind('/') + 1) + "/secret"),
              HasSubstr("tokenFile lies outside the allowed directory"));
  EXPECT_THAT(load("pipe"), HasSubstr("tokenFile is not a regular file"));
  KubeconfigOptions wider;
  wider.allowed_directories = {folder.path(), elsewhere.path()};
  EXPECT_EQ(load("link", wider), "took " + folder.path() + "/link");
}

TEST(Kubeconfig, OneThatIsAddedHoldsWhatItNeedsItself) {
  KubeconfigOptions options;
  options.inline_only = true;
  const std::string server = kServer;
  const std::pair<std::string, std::string> refused[] = {
      {Config(server + ", certificate-authority: ca.crt", "token: abc"),
       "clusters[c].cluster.certificate-authority names a file"},
      {Config(server, "tokenFile: t"), "users[u].user.tokenFile names a file"},
      {Config(server, "client-certificate: c.crt, client-key: c.key"),
       "users[u].user.client-certificate names a file"},
      {Config(server, "exec: {apiVersion: client.authentication.k8s.io/v1, command: id}"),
       "users[u].user.exec is refused"}};
  for (const auto& [text, sentence] : refused)
    EXPECT_THAT(Refusal(text, options), HasSubstr(sentence));
  EXPECT_EQ(Refusal(Config(server + ", certificate-authority-data: YWJj", "token: abc"), options),
            "accepted");
}

TEST(Kubeconfig, OneThatIsNotThereIsNotFound) {
  const auto read = LoadKubeconfig("/nonexistent/config", {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kNotFound);
  EXPECT_EQ(read.error().detail, "the kubeconfig file does not exist");
}

TEST(Kubeconfig, AnAllowedExecPluginIsReadWhole) {
  KubeconfigOptions options;
  options.allow_exec = true;
  const auto read = ParseKubeconfig(
      Config(kServer,
             "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/token, "
             "args: [--for, east], env: [{name: A, value: b}], provideClusterInfo: true}"),
      "/opt/keys", options);
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->exec.command, "/opt/keys/bin/token");
  EXPECT_THAT(read->exec.args, ::testing::ElementsAre("--for", "east"));
  EXPECT_EQ(read->exec.env.at("A"), "b");
  EXPECT_TRUE(read->exec.provide_cluster_info);
}

}  // namespace
}  // namespace muster::k8s::test
