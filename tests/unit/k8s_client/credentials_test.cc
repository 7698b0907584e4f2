// TLS, and credentials that change while they are used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "tests/unit/k8s_client/client_world.h"

namespace muster::k8s::test {
namespace {

using ::testing::HasSubstr;

constexpr char kNames[] = "IP:127.0.0.1,DNS:api.east";

Reply Hello(const SeenRequest&) { return Reply{200, "hello"}; }

MemberAccess Trusting(const TestServer& server, const Authority& authority) {
  MemberAccess access = AccessTo(server);
  access.ca.data = authority.certificate_pem();
  return access;
}

// Answers 401 but to the one token.
class TokenServer {
 public:
  explicit TokenServer(std::string token)
      : token_(std::move(token)), server([this](const SeenRequest& seen) {
          std::lock_guard lock(mutex_);
          return Reply{seen.authorization == "Bearer " + token_ ? 200 : 401, ""};
        }) {}
  void Want(const std::string& token) {
    std::lock_guard lock(mutex_);
    token_ = token;
  }

 private:
  std::mutex mutex_;
  std::string token_;

 public:
  TestServer server;
};

MemberAccess WithTokenFile(const TestServer& server, const Folder& folder) {
  MemberAccess access = AccessTo(server);
  access.token.file = folder.path() + "/token";
  access.allowed_directories = {folder.path()};
  return access;
}

// A plugin that gives what the file `given` holds and counts its runs in `runs`.
MemberAccess WithPlugin(const TestServer& server, const Folder& folder) {
  MemberAccess access = AccessTo(server);
  access.exec.command = "/bin/sh";
  access.exec.args = {"-c", "cd " + folder.path() + " && echo x >> runs && cat given"};
  access.exec.api_version = "client.authentication.k8s.io/v1";
  return access;
}

void Give(const Folder& folder, const std::string& token, const std::string& expires = "") {
  folder.Write("given",
               "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
               "\"status\":{\"token\":\"" +
                   token + "\"" +
                   (expires.empty() ? "" : ",\"expirationTimestamp\":\"" + expires + "\"") + "}}");
}

int Runs(const Folder& folder) {
  std::ifstream file(folder.path() + "/runs");
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

TEST(Tls, ACertificateOfOurAuthorityForTheHostIsTrusted) {
  ClientWorld world;
  const Authority authority("ours");
  TestServer server(Hello, TlsOptions{authority.Issue("api", kNames), "", false});
  const auto client = world.Client(Trusting(server, authority));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  EXPECT_EQ(server.accepted(), 1);
}

TEST(Tls, ACertificateThatIsNotTrustedSaysWhy) {
  const Authority ours("ours"), theirs("theirs");
  const struct {
    Identity identity;
    std::string sentence;
  } cases[] = {
      {theirs.Issue("api", kNames), "unable to get local issuer certificate"},
      {ours.Issue("api", "DNS:elsewhere,IP:127.0.0.2"), "IP address mismatch"},
      {ours.Issue("api", kNames, -7200, -3600), "certificate has expired"},
  };
  for (const auto& each : cases) {
    ClientWorld world;
    TestServer server(Hello, TlsOptions{each.identity, "", false});
    const auto client = world.Client(Trusting(server, ours));
    const Answer answer(*client, Post("/x"));
    EXPECT_EQ(answer.GetCode(), Code::kUnauthenticated);
    EXPECT_THAT(answer.Sentence(), HasSubstr("member east: its certificate is not trusted: "));
    EXPECT_THAT(answer.Sentence(), HasSubstr(each.sentence));
    EXPECT_EQ(server.count(), 0u);
  }
}

TEST(Tls, TheServerNameReplacesTheHost) {
  const Authority authority("ours");
  TestServer server(Hello, TlsOptions{authority.Issue("api", "DNS:api.east"), "", false});
  ClientWorld world;
  MemberAccess access = Trusting(server, authority);
  EXPECT_EQ(Answer(*world.Client(access), Get("/x")).GetCode(), Code::kUnauthenticated);
  access.tls_server_name = "api.east";
  EXPECT_EQ(Answer(*world.Client(access), Get("/x")).Status(), 200);
  access.tls_server_name = "api.west";
  EXPECT_EQ(Answer(*world.Client(access), Get("/x")).GetCode(), Code::kUnauthenticated);
}

TEST(Tls, SkippedVerificationTakesAnyCertificate) {
  const Authority theirs("theirs");
  TestServer server(Hello, TlsOptions{theirs.Issue("api", "DNS:elsewhere"), "", false});
  ClientWorld world;
  MemberAccess access = AccessTo(server);
  access.skip_verify = true;
  EXPECT_EQ(Answer(*world.Client(access), Get("/x")).Status(), 200);
}

TEST(Tls, AnUntrustedMemberStaysSoWhileItsCircuitIsOpen) {
  ClientWorld world;
  const Authority ours("ours"), theirs("theirs");
  TestServer server(Hello, TlsOptions{theirs.Issue("api", kNames), "", false});
  const auto client = world.Client(Trusting(server, ours), {.failures_to_open = 2});
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(Answer(*client, Get("/x")).GetCode(), Code::kUnauthenticated);
  EXPECT_FALSE(client->Health().reachable);
  EXPECT_EQ(client->Health().code, Code::kUnauthenticated);
  EXPECT_EQ(server.accepted(), 2);
}

TEST(Tls, OurCertificateIsShownAndARefusedOneSaysSo) {
  const Authority authority("ours");
  const TlsOptions tls{authority.Issue("api", kNames), authority.certificate_pem(), true};
  TestServer server(Hello, tls);
  ClientWorld world;
  MemberAccess access = Trusting(server, authority);
  const auto stranger = world.Client(access);
  const Answer without(*stranger, Post("/x"));
  EXPECT_EQ(without.GetCode(), Code::kUnauthenticated);
  EXPECT_EQ(without.Sentence(), "member east: it refuses our client certificate");
  const Identity us = authority.Issue("muster", "");
  access.client_certificate.data = us.certificate_pem;
  access.client_key.data = us.key_pem;
  EXPECT_EQ(Answer(*world.Client(access), Get("/x")).Status(), 200);
  EXPECT_EQ(server.seen().back().client_subject, "muster");
  EXPECT_EQ(server.count(), 1u);
}

TEST(Tls, MaterialThatIsOfNoUseIsNamed) {
  const Authority authority("ours");
  TestServer server(Hello, TlsOptions{authority.Issue("api", kNames), "", false});
  ClientWorld world;
  MemberAccess no_ca = AccessTo(server);
  no_ca.ca.data = "nonsense";
  EXPECT_EQ(Answer(*world.Client(no_ca), Get("/x")).Sentence(),
            "member east: the certificate authority is not a PEM certificate");
  MemberAccess mixed = Trusting(server, authority);
  mixed.client_certificate.data = authority.Issue("a", "").certificate_pem;
  mixed.client_key.data = authority.Issue("b", "").key_pem;
  const auto client = world.Client(mixed);
  const Answer answer(*client, Get("/x"));
  EXPECT_EQ(answer.GetCode(), Code::kUnauthenticated);
  EXPECT_EQ(answer.Sentence(),
            "member east: the client key is not the PEM key of the client certificate");
}

TEST(Credentials, CertificateFilesThatChangeAreUsedForNewConnections) {
  ClientWorld world;
  const Folder folder;
  const Authority authority("ours");
  TestServer server(Hello,
                    TlsOptions{authority.Issue("api", kNames), authority.certificate_pem(), true});
  const auto be = [&](const std::string& name) {
    const Identity identity = authority.Issue(name, "");
    folder.Write("key", identity.key_pem);
    folder.Write("certificate", identity.certificate_pem);
  };
  be("first");
  MemberAccess access = Trusting(server, authority);
  access.allowed_directories = {folder.path()};
  access.client_certificate.file = folder.path() + "/certificate";
  access.client_key.file = folder.path() + "/key";
  const auto client = world.Client(access);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  be("second");
  world.Advance(1100);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  EXPECT_EQ(server.seen().front().client_subject, "first");
  EXPECT_EQ(server.seen().back().client_subject, "second");
  // Half of a pair is not used: the other half follows.
  folder.Write("certificate", authority.Issue("third", "").certificate_pem);
  world.Advance(1100);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  EXPECT_EQ(server.seen().back().client_subject, "second");
}

TEST(Credentials, FilesThatComeApartAreUsedOnceTheyAreWhole) {
  ClientWorld world;
  const Folder folder;
  const Authority authority("ours");
  TestServer server(Hello,
                    TlsOptions{authority.Issue("api", kNames), authority.certificate_pem(), true});
  const auto be = [&](const std::string& name) {
    const Identity identity = authority.Issue(name, "");
    folder.Write("key", identity.key_pem);
    folder.Write("certificate", identity.certificate_pem);
  };
  MemberAccess access = Trusting(server, authority);
  access.allowed_directories = {folder.path()};
  access.client_certificate.file = folder.path() + "/certificate";
  access.client_key.file = folder.path() + "/key";
  access.token.file = folder.path() + "/token";
  be("first");
  folder.Write("token", "same");
  const auto client = world.Client(access);
  const auto subject = [&] {
    world.Advance(1100);
    EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
    return server.seen().back().client_subject;
  };
  EXPECT_EQ(subject(), "first");
  std::filesystem::remove(folder.path() + "/token");
  be("second");
  EXPECT_EQ(subject(), "first") << "one of the files is not there";
  folder.Write("token", "same");
  EXPECT_EQ(subject(), "second") << "what had changed before it came back counts";
}

TEST(Credentials, FilesBehindALinkThatMovesToAnotherDirectoryAreReadThere) {
  ClientWorld world;
  const Folder folder;
  TokenServer guarded("first");
  // As a projected volume does it: the link is replaced by a rename.
  const auto rotate = [&](const std::string& token) {
    const std::string real = folder.path() + "/.." + token;
    std::filesystem::create_directory(real);
    std::ofstream(real + "/token") << token;
    std::ofstream(real + "/config")
        << "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
        << "clusters: [{name: c, cluster: {server: '" << guarded.server.url() << "'}}]\n"
        << "users: [{name: u, user: {tokenFile: token}}]\n";
    std::filesystem::create_symlink(real, folder.path() + "/..new");
    std::filesystem::rename(folder.path() + "/..new", folder.path() + "/..data");
  };
  rotate("first");
  const auto access = LoadKubeconfig(folder.path() + "/..data/config", {});
  ASSERT_TRUE(access) << access.error().detail;
  const auto client = world.Client(*access);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  rotate("second");
  guarded.Want("second");
  world.Advance(1100);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  EXPECT_EQ(guarded.server.count(), 2u) << "no 401 on the way";
}

TEST(Credentials, ATokenFileIsReadAnewWhenItChanges) {
  ClientWorld world;
  const Folder folder;
  folder.Write("token", "one\n");
  TokenServer guarded("one");
  const auto client = world.Client(WithTokenFile(guarded.server, folder));
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  folder.Write("token", "second");
  guarded.Want("second");
  world.Advance(1100);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  EXPECT_EQ(guarded.server.count(), 2u);  // no 401 on the way
}

TEST(Credentials, A401MakesTheTokenFileReadAtOnceAndTheRequestRepeated) {
  ClientWorld world;
  const Folder folder;
  folder.Write("token", "one");
  TokenServer guarded("one");
  const auto client = world.Client(WithTokenFile(guarded.server, folder));
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  folder.Write("token", "second");
  guarded.Want("second");
  EXPECT_EQ(Answer(*client, Post("/x")).Status(), 200);
  EXPECT_EQ(guarded.server.count(), 3u);
}

TEST(Credentials, A401ThatNothingHelpsIsTheAnswer) {
  ClientWorld world;
  const Folder folder;
  folder.Write("token", "stale");
  TokenServer guarded("fresh");
  const auto client = world.Client(WithTokenFile(guarded.server, folder));
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 401);
  EXPECT_EQ(guarded.server.count(), 1u);
  MemberAccess fixed = AccessTo(guarded.server);
  fixed.token.data = "stale";
  EXPECT_EQ(Answer(*world.Client(fixed), Get("/x")).Status(), 401);
  EXPECT_EQ(guarded.server.count(), 2u);
}

TEST(Credentials, ATokenFileThatIsOfNoUseIsOneSentenceAndHealsByItself) {
  ClientWorld world;
  const Folder folder, elsewhere;
  TokenServer guarded("one");
  const auto client = world.Client(WithTokenFile(guarded.server, folder));
  const auto sentence = [&] {
    world.Advance(1100);
    const Answer answer(*client, Get("/x"));
    EXPECT_EQ(answer.GetCode(), Code::kUnauthenticated);
    return answer.Sentence();
  };
  EXPECT_EQ(sentence(), "member east: the file of tokenFile does not exist");
  folder.Write("token", "");
  EXPECT_EQ(sentence(), "member east: the file of tokenFile is empty");
  folder.Write("token", "two words");
  EXPECT_EQ(sentence(), "member east: the file of tokenFile holds something that is no token");
  std::filesystem::remove(folder.path() + "/token");
  std::filesystem::create_symlink(elsewhere.Write("token", "one"), folder.path() + "/token");
  EXPECT_EQ(sentence(), "member east: the file of tokenFile lies outside the allowed directory");
  folder.Write("token", "one");
  world.Advance(1100);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  // Once there was a good one it is kept over a moment without.
  std::filesystem::remove(folder.path() + "/token");
  world.Advance(1100);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
}

TEST(Credentials, ThePluginIsRunOnceForAllThatWait) {
  ClientWorld world;
  const Folder folder;
  Give(folder, "one");
  TokenServer guarded("one");
  const auto client = world.Client(WithPlugin(guarded.server, folder));
  std::vector<std::unique_ptr<Answer>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(std::make_unique<Answer>(*client, Get("/x")));
  for (const auto& answer : answers) EXPECT_EQ(answer->Status(), 200);
  EXPECT_EQ(Runs(folder), 1);
}

TEST(Credentials, A401MakesThePluginRunOnceMore) {
  ClientWorld world;
  const Folder folder;
  Give(folder, "one");
  TokenServer guarded("one");
  const auto client = world.Client(WithPlugin(guarded.server, folder));
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
  Give(folder, "two");
  guarded.Want("two");
  EXPECT_EQ(Answer(*client, Post("/x")).Status(), 200);
  EXPECT_EQ(Runs(folder), 2);
  // One that goes on giving what is refused is not run for every request.
  guarded.Want("three");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Answer(*client, Get("/x")).Status(), 401);
  EXPECT_EQ(Runs(folder), 3);
}

TEST(Credentials, ThePluginRunsAgainBeforeItsTokenExpires) {
  ClientWorld world;
  const Folder folder;
  // The world's clock begins one second after midnight.
  Give(folder, "one", "2026-01-01T00:10:00Z");
  TestServer server([](const SeenRequest&) { return Reply{}; });
  const auto client = world.Client(WithPlugin(server, folder), {.idle_connection_ms = 3'600'000});
  const auto token = [&] {
    EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
    return server.seen().back().authorization;
  };
  EXPECT_EQ(token(), "Bearer one");
  Give(folder, "two", "2026-01-01T01:00:00Z");
  world.Advance(8 * 60'000);
  EXPECT_EQ(token(), "Bearer one");
  EXPECT_EQ(Runs(folder), 1);
  // Less than a minute is left: requests go on with the old one until the new one is there.
  world.Advance(60'000 + 10'000);
  EXPECT_EQ(token(), "Bearer one");
  ASSERT_TRUE(Eventually([&] { return token() == "Bearer two"; }));
  world.Advance(60'000);
  EXPECT_EQ(token(), "Bearer two");
  EXPECT_EQ(Runs(folder), 2);
  EXPECT_EQ(server.accepted(), 1);
}

TEST(Credentials, APluginThatFailsIsOneSentenceAndIsTriedAgainLater) {
  ClientWorld world;
  const Folder folder;
  TokenServer guarded("one");
  const auto client = world.Client(WithPlugin(guarded.server, folder));
  for (int i = 0; i < 3; ++i) {
    const Answer answer(*client, Get("/x"));
    EXPECT_EQ(answer.GetCode(), Code::kUnauthenticated);
    EXPECT_EQ(answer.Sentence(), "member east: the exec plugin ended with exit code 1");
  }
  EXPECT_EQ(Runs(folder), 1);
  Give(folder, "late", "2020-01-01T00:00:00Z");
  world.Advance(11'000);
  EXPECT_EQ(Answer(*client, Get("/x")).Sentence(),
            "member east: the exec plugin printed credentials that have expired");
  Give(folder, "one");
  world.Advance(11'000);
  EXPECT_EQ(Answer(*client, Get("/x")).Status(), 200);
}

TEST(Credentials, StopEndsAPluginThatRuns) {
  ClientWorld world;
  const Folder folder;
  TokenServer guarded("one");
  MemberAccess access = WithPlugin(guarded.server, folder);
  access.exec.args[1] = "cd " + folder.path() + " && echo x >> runs && exec sleep 1000";
  const auto client = world.Client(access);
  const Answer answer(*client, Get("/x"));
  ASSERT_TRUE(Eventually([&] { return Runs(folder) == 1; }));
  client->Stop();
  EXPECT_EQ(answer.GetCode(), Code::kUnavailable);
}

}  // namespace
}  // namespace muster::k8s::test
