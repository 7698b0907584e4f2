// The order of the methods, and who may act as whom.
#include "api/auth/chain_authenticator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "api/auth/audit_sink.h"
#include "schedd/model/access.h"
#include "schedd/text/request_digest.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/identity/fixed_accounts.h"

namespace muster::test {
namespace {

// Knows the one token "Bearer good".
class OneToken final : public auth::CredentialMethod {
 public:
  bool Recognises(const auth::Authorization& given) const override {
    return !given.CredentialsOf("Bearer").empty();
  }
  Result<auth::Principal> Check(const auth::Evidence& evidence) const override {
    if (evidence.authorization->text() != "Bearer good")
      return Error{Code::kUnauthenticated, "the token is not valid"};
    auth::Principal who;
    who.user = "tina";
    who.method = "token";
    return who;
  }
  Status StillGood(const auth::Principal& who) const override {
    if (who.method != "token" || good) return Done{};
    return Error{Code::kUnauthenticated, "the token was revoked"};
  }
  bool good = true;
};

// Root may act as anybody, ada as bob and the group physics.
class SomeMayAct final : public auth::Authorizer {
 public:
  bool Allows(const auth::Principal& who, auth::Verb verb,
              const auth::ResourceRef& what) const override {
    if (verb != auth::Verb::kImpersonate) return false;
    if (revoked) return false;
    if (who.user == "root") return true;
    return who.user == "ada" && ((what.resource == "users" && what.name == "bob") ||
                                 (what.resource == "groups" && what.name == "physics"));
  }
  bool AllowsPath(const auth::Principal&, auth::Verb, std::string_view) const override {
    return false;
  }
  bool revoked = false;
};

// What was noted for the audit trail.
class Refusals final : public auth::AuditSink {
 public:
  void Refused(const auth::Principal& who, std::string_view verb, const auth::ResourceRef& what,
               const Error&) override {
    noted.push_back(who.user + " " + who.request_id + " " + std::string(verb) + " " +
                    std::string(what.resource) + "/" + std::string(what.name));
  }
  void Failed(const auth::Principal&, std::string_view, std::string_view, const Error&) override {}
  Status Read(const auth::Principal&, auth::Verb, const auth::ResourceRef&) override {
    return Done{};
  }
  std::vector<std::string> noted;
};

struct Chain {
  explicit Chain(bool loopback_peers = true) {
    auto owned = std::make_unique<FixedAccounts>();
    source = owned.get();
    accounts = std::make_unique<auth::Accounts>(std::move(owned), clock);
    auth::ChainOptions options;
    options.methods = {token};
    options.accepted = {"a token"};
    options.loopback_peers = loopback_peers;
    options.own_uid = 900;
    chain = std::make_unique<auth::ChainAuthenticator>(*accounts, authorizer, clock, options);
  }
  static net::Peer Unix(std::uint32_t uid) {
    net::Peer peer;
    peer.kind = net::Peer::Kind::kUnix;
    peer.uid = uid;
    peer.address = "unix";
    return peer;
  }
  Result<auth::Principal> Ask(const net::Peer& peer, const auth::Authorization& authorization = "",
                              std::string_view as = "",
                              std::vector<std::string_view> groups = {}) const {
    auth::Evidence evidence;
    evidence.peer = &peer;
    evidence.authorization = &authorization;
    evidence.request_id = "r1";
    evidence.audit = &refusals;
    evidence.as_user = as;
    evidence.as_groups = std::move(groups);
    return chain->Authenticate(evidence);
  }
  FakeClock clock;
  SomeMayAct authorizer;
  mutable Refusals refusals;
  std::shared_ptr<OneToken> token = std::make_shared<OneToken>();
  FixedAccounts* source = nullptr;
  std::unique_ptr<auth::Accounts> accounts;
  std::unique_ptr<auth::ChainAuthenticator> chain;
};

bool In(const auth::Principal& who, const std::string& group) {
  return std::find(who.groups.begin(), who.groups.end(), group) != who.groups.end();
}

TEST(Chain, TheKernelsAccountHasItsNameAndGroups_AndOnlyRootAndTheDaemonsAreMasters) {
  const Chain chain;
  const auto ada = chain.Ask(Chain::Unix(1000));
  ASSERT_TRUE(ada.ok()) << ada.error().detail;
  EXPECT_EQ(ada->user, "ada");
  EXPECT_EQ(ada->groups, (std::vector<std::string>{"ada", "physics", kAuthenticatedGroup}));
  EXPECT_EQ(ada->method, "unix");
  EXPECT_EQ(ada->source, "unix:1000");
  EXPECT_EQ(ada->uid, std::optional<std::uint32_t>(1000));
  EXPECT_TRUE(In(*chain.Ask(Chain::Unix(0)), kMastersGroup));
  EXPECT_TRUE(In(*chain.Ask(Chain::Unix(900)), kMastersGroup));
  EXPECT_EQ(chain.Ask(Chain::Unix(4711))->user, "4711");
  // A name service cannot make masters.
  EXPECT_FALSE(In(*chain.Ask(Chain::Unix(1001)), kMastersGroup));
}

TEST(Chain, MayBlockOnlyForAnAccountThatIsNotKnown) {
  const Chain chain;
  const net::Peer ada = Chain::Unix(1000);
  EXPECT_TRUE(chain.chain->MayBlock("", &ada));
  EXPECT_FALSE(chain.chain->MayBlock("Bearer good", &ada));
  EXPECT_FALSE(chain.chain->MayBlock("", nullptr));
  EXPECT_TRUE(chain.Ask(ada).ok());
  EXPECT_FALSE(chain.chain->MayBlock("", &ada));
}

TEST(Chain, AThreadThatMayNotWait_IsToldToComeAgain_OrPreparesFirst) {
  const Chain chain;
  const net::Peer ada = Chain::Unix(1000);
  auth::Evidence evidence;
  evidence.peer = &ada;
  evidence.may_wait = false;
  const auto early = chain.chain->Authenticate(evidence);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, Code::kUnavailable);
  EXPECT_GT(early.error().retry_after_ms, 0);
  std::promise<void> ready;
  chain.chain->Prepare(ada, [&ready] { ready.set_value(); });
  ready.get_future().wait();
  EXPECT_EQ(chain.chain->Authenticate(evidence)->user, "ada");
  // Whoever has no account is ready at once.
  bool at_once = false;
  chain.chain->Prepare(net::Peer(), [&at_once] { at_once = true; });
  EXPECT_TRUE(at_once);
}

// A method that asks another program, as JWT and munge do.
class SlowMethod final : public auth::CredentialMethod {
 public:
  bool Recognises(const auth::Authorization& given) const override {
    return !given.CredentialsOf("Slow").empty();
  }
  Result<auth::Principal> Check(const auth::Evidence&) const override { return auth::Principal(); }
  Status StillGood(const auth::Principal&) const override { return Done{}; }
  bool MayBlock(const auth::Authorization& given) const override {
    return given.text() != "Slow known";
  }
};

TEST(Chain, WhoseQuestionMayBlock) {
  FakeClock clock;
  const SomeMayAct authorizer;
  auth::Accounts accounts(std::make_unique<FixedAccounts>(), clock);
  const net::Peer ada = Chain::Unix(1000), eve = Chain::Unix(1001);
  ASSERT_TRUE(accounts.Find(1000).ok());
  net::Peer loopback = eve, remote = eve, nameless = eve, certified = eve;
  loopback.kind = net::Peer::Kind::kLoopback;
  remote.kind = net::Peer::Kind::kRemote;
  nameless.uid.reset();
  certified.certificate = std::make_shared<net::PeerCertificate>();
  const struct {
    const char* what;
    std::string authorization;
    const net::Peer* peer;
    bool with_loopback, without;  // the answer, with loopback-peers and without
  } cases[] = {
      {"an account that is known", "", &ada, false, false},
      {"an account that is not known", "", &eve, true, true},
      {"an account that is not known, on loopback", "", &loopback, true, false},
      {"a peer beyond this host", "", &remote, false, false},
      {"a peer of whom the kernel says nothing", "", &nameless, false, false},
      {"nobody", "", nullptr, false, false},
      {"a certificate, whatever the account", "", &certified, false, false},
      {"a token that is looked up here", "Bearer good", &eve, false, false},
      {"a credential that is asked about elsewhere", "Slow x", &ada, true, true},
      {"the same without a peer", "Slow x", nullptr, true, true},
      {"one that its method knows already", "Slow known", &eve, false, false},
      {"a scheme that no method knows", "Basic eDp5", &eve, false, false},
  };
  for (const bool loopback_peers : {true, false}) {
    auth::ChainOptions options;
    options.methods = {std::make_shared<OneToken>(), std::make_shared<SlowMethod>()};
    options.loopback_peers = loopback_peers;
    const auth::ChainAuthenticator chain(accounts, authorizer, clock, options);
    for (const auto& one : cases) {
      EXPECT_EQ(chain.MayBlock(one.authorization, one.peer),
                loopback_peers ? one.with_loopback : one.without)
          << one.what << ", loopback-peers " << loopback_peers;
    }
  }
}

TEST(Authorization, HasASchemeInAnyCase_AndTheDigestOfItsCredentialsAlone) {
  const auth::Authorization plain("Bearer a b"), other("bEARER   a b"), foreign("Basic a b");
  EXPECT_EQ(plain.CredentialsOf("Bearer"), "a b");
  EXPECT_EQ(other.CredentialsOf("Bearer"), "a b");
  EXPECT_EQ(foreign.CredentialsOf("Bearer"), "");
  for (const char* text : {"", "Bearer", "Bearer ", "Bearera b", " Bearer a b"})
    EXPECT_EQ(auth::Authorization(text).CredentialsOf("Bearer"), "") << text;
  EXPECT_EQ(plain.Digest(), other.Digest());
  EXPECT_EQ(plain.Digest(), Sha256Hex("a b"));
  EXPECT_NE(plain.Digest(), auth::Authorization("Bearer a c").Digest());
  // A header that takes the place of another one has none of its digest.
  auth::Authorization replaced = plain;
  replaced = auth::Authorization("Bearer a c");
  EXPECT_EQ(replaced.Digest(), Sha256Hex("a c"));
}

TEST(Chain, AnAuthorizationHeaderDecidesAlone) {
  const Chain chain;
  EXPECT_EQ(chain.Ask(Chain::Unix(0), "Bearer good")->user, "tina");
  EXPECT_EQ(chain.Ask(Chain::Unix(0), "Bearer bad").error().code, Code::kUnauthenticated);
  EXPECT_EQ(chain.Ask(Chain::Unix(0), "Basic eDp5").error().code, Code::kUnauthenticated);
}

TEST(Chain, ACertificateComesBeforeTheAccount) {
  const Chain chain;
  auto certificate = std::make_shared<net::PeerCertificate>();
  certificate->common_name = "carol";
  certificate->organizations = {"ops"};
  certificate->issuer = "ab";
  certificate->serial = "0a";
  certificate->not_after_s = chain.clock.WallNow().us / kMicrosPerSecond + 60;
  net::Peer peer = Chain::Unix(0);
  peer.certificate = certificate;
  const auto carol = chain.Ask(peer);
  ASSERT_TRUE(carol.ok()) << carol.error().detail;
  EXPECT_EQ(carol->user, "carol");
  EXPECT_EQ(carol->method, "certificate");
  EXPECT_EQ(carol->credential, "ab:0a");
  EXPECT_FALSE(carol->uid.has_value());
  certificate->not_after_s -= 120;
  EXPECT_EQ(chain.Ask(peer).error().code, Code::kUnauthenticated);
}

TEST(Chain, WithoutAnyIdentityNobodyComesIn) {
  net::Peer loopback;
  loopback.kind = net::Peer::Kind::kLoopback;
  loopback.address = "127.0.0.1:4000";
  EXPECT_EQ(Chain().Ask(loopback).error().code, Code::kUnauthenticated);
  loopback.uid = 0;
  EXPECT_EQ(Chain().Ask(loopback)->method, "loopback");
  EXPECT_EQ(Chain(false).Ask(loopback).error().code, Code::kUnauthenticated);
  net::Peer remote = loopback;
  remote.kind = net::Peer::Kind::kRemote;
  EXPECT_EQ(Chain().Ask(remote).error().code, Code::kUnauthenticated);
  EXPECT_EQ(Chain().chain->Authenticate({}).error().code, Code::kUnauthenticated);
}

TEST(Chain, ActingAsOthersNeedsTheRight_ForTheUserAndForEachGroup) {
  const Chain chain;
  EXPECT_EQ(chain.Ask(Chain::Unix(1000), "", "ada")->impersonator, "");
  const auto bob = chain.Ask(Chain::Unix(1000), "", "bob");
  ASSERT_TRUE(bob.ok()) << bob.error().detail;
  EXPECT_EQ(bob->user, "bob");
  EXPECT_EQ(bob->impersonator, "ada");
  EXPECT_EQ(bob->groups, std::vector<std::string>{kAuthenticatedGroup});
  EXPECT_FALSE(bob->uid.has_value()) << "jobs would run as the account of ada";
  EXPECT_TRUE(chain.Ask(Chain::Unix(1000), "", "bob", {"physics"}).ok());
  for (const std::string_view group : {"system:masters", "chemistry"}) {
    EXPECT_EQ(chain.Ask(Chain::Unix(1000), "", "bob", {group}).error().code,
              Code::kPermissionDenied);
    EXPECT_EQ(chain.Ask(Chain::Unix(1000), "", "ada", {group}).error().code,
              Code::kPermissionDenied);
  }
  EXPECT_EQ(chain.Ask(Chain::Unix(1000), "", "root").error().code, Code::kPermissionDenied);
  EXPECT_EQ(chain.Ask(Chain::Unix(1000), "", "", {"physics"}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(chain.Ask(Chain::Unix(0), "", "a\nb").error().code, Code::kInvalidArgument);
}

TEST(Chain, WhoMayNotActAsAnother_IsNotedByItsOwnName_AndOnce) {
  const Chain chain;
  const auto as_root = chain.Ask(Chain::Unix(1000), "", "root");
  ASSERT_FALSE(as_root.ok());
  EXPECT_TRUE(as_root.error().audited) << "the server would note it again, without a name";
  EXPECT_FALSE(chain.Ask(Chain::Unix(1000), "", "bob", {"physics", "chemistry"}).ok());
  EXPECT_TRUE(chain.Ask(Chain::Unix(1000), "", "bob").ok());
  EXPECT_EQ(chain.refusals.noted,
            (std::vector<std::string>{"ada r1 impersonate users/root",
                                      "ada r1 impersonate groups/chemistry"}));
  // Of a wrong token nobody is known.
  const auto nobody = chain.Ask(Chain::Unix(1000), "Bearer bad", "root");
  ASSERT_FALSE(nobody.ok());
  EXPECT_FALSE(nobody.error().audited);
  EXPECT_EQ(chain.refusals.noted.size(), 2u);
}

TEST(Chain, AnOpenStreamEndsWithTheRightToActAsItsUser) {
  Chain chain;
  const auth::Principal ada = *chain.Ask(Chain::Unix(1000));
  const auth::Principal bob = *chain.Ask(Chain::Unix(1000), "", "bob", {"physics"});
  EXPECT_TRUE(chain.chain->StillGood(bob).ok());
  chain.authorizer.revoked = true;
  EXPECT_EQ(chain.chain->StillGood(bob).error().code, Code::kPermissionDenied);
  EXPECT_TRUE(chain.chain->StillGood(ada).ok());
}

TEST(Chain, AnOpenStreamEndsWithItsCredential) {
  Chain chain;
  const auth::Principal tina = *chain.Ask(Chain::Unix(0), "Bearer good");
  const auth::Principal ada = *chain.Ask(Chain::Unix(1000));
  const auth::Principal bob = *chain.Ask(Chain::Unix(1000), "", "bob");
  for (const auto* who : {&tina, &ada, &bob}) EXPECT_TRUE(chain.chain->StillGood(*who).ok());
  chain.token->good = false;
  EXPECT_FALSE(chain.chain->StillGood(tina).ok());
  chain.source->Change([](auto* all) { all->erase(1000); });
  chain.clock.Advance(31'000);
  // The name service is asked in the background.
  for (int i = 0; i < 500 && chain.chain->StillGood(ada).ok(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(chain.chain->StillGood(ada).ok());
  EXPECT_FALSE(chain.chain->StillGood(bob).ok());
  chain.source->away = true;
  chain.clock.Advance(31'000);
  EXPECT_FALSE(chain.chain->StillGood(ada).ok());
}

// A certificate that is put on the list counts no more, over open connections and for open streams.
TEST(Chain, ARevokedCertificateIsNobody_AndItsStreamsEnd) {
  FakeClock clock;
  const SomeMayAct authorizer;
  auth::Accounts accounts(std::make_unique<FixedAccounts>(), clock);
  std::string revoked;
  auth::ChainOptions options;
  options.certificate_still_good = [&revoked](const auth::Principal& who) -> Status {
    if (who.credential != revoked) return Done{};
    return Error{Code::kUnauthenticated, "the client certificate was revoked"};
  };
  const auth::ChainAuthenticator chain(accounts, authorizer, clock, options);
  const auto peer_of = [&](const char* user, const char* serial) {
    auto certificate = std::make_shared<net::PeerCertificate>();
    certificate->common_name = user;
    certificate->issuer = "AB";
    certificate->serial = serial;
    certificate->not_after_s = clock.WallNow().us / kMicrosPerSecond + 60;
    net::Peer peer = Chain::Unix(0);
    peer.certificate = std::move(certificate);
    return peer;
  };
  const auto ask = [&](const net::Peer& peer, std::string_view as) {
    auth::Evidence evidence;
    evidence.peer = &peer;
    evidence.as_user = as;
    return chain.Authenticate(evidence);
  };
  const net::Peer ada = peer_of("ada", "0A"), carol = peer_of("carol", "0B");
  const auth::Principal before = *ask(ada, ""), as_bob = *ask(ada, "bob"), other = *ask(carol, "");
  for (const auto* who : {&before, &as_bob, &other}) EXPECT_TRUE(chain.StillGood(*who).ok());
  revoked = "AB:0A";
  EXPECT_EQ(chain.StillGood(before).error().code, Code::kUnauthenticated);
  EXPECT_EQ(chain.StillGood(as_bob).error().code, Code::kUnauthenticated);
  EXPECT_EQ(ask(ada, "").error().code, Code::kUnauthenticated);
  EXPECT_TRUE(chain.StillGood(other).ok());
  EXPECT_TRUE(ask(carol, "").ok());
  clock.Advance(60'000);
  EXPECT_FALSE(chain.StillGood(other).ok()) << "it has ended by itself";
}

TEST(Chain, AnOpenStreamEndsWithAGroupOfItsAccount) {
  Chain chain;
  const auth::Principal ada = *chain.Ask(Chain::Unix(1000));
  const auth::Principal bob = *chain.Ask(Chain::Unix(1000), "", "bob");
  const auth::Principal root = *chain.Ask(Chain::Unix(0));
  auth::Principal by_munge = ada;
  by_munge.method = "munge";
  EXPECT_TRUE(chain.chain->StillGood(by_munge).ok());
  chain.source->Change([](auto* all) { (*all)[1000].groups = {"ada", "chemistry"}; });
  chain.clock.Advance(31'000);
  for (int i = 0; i < 500 && chain.chain->StillGood(ada).ok(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const Status ended = chain.chain->StillGood(ada);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().detail,
            "the account \"ada\" is no member of the group \"physics\" any more");
  EXPECT_FALSE(chain.chain->StillGood(bob).ok())
      << "who acts as another has its own groups' rights";
  EXPECT_FALSE(chain.chain->StillGood(by_munge).ok());
  EXPECT_TRUE(chain.chain->StillGood(root).ok());
  EXPECT_TRUE(chain.chain->StillGood(*chain.Ask(Chain::Unix(1000))).ok()) << "a group more or less";
}

}  // namespace
}  // namespace muster::test
