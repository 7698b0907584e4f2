// Lists of revoked certificates: which lists a context takes, whose certificates get no handshake,
// and whose established connections count no more (rules U41, U42).
#include <gtest/gtest.h>

#include "tests/unit/net_tls/tls_client_end.h"

namespace muster::net::test {
namespace {

using k8s::test::Authority;
using k8s::test::Identity;
using State = TlsFilter::State;

class Revocations : public ::testing::Test {
 protected:
  Result<TlsContextPtr> Make(const std::string& authorities, const std::string& lists) const {
    const Identity server = site_.Issue("muster", "IP:127.0.0.1");
    return TlsContext::Make({server.certificate_pem, server.key_pem, authorities, lists, {}});
  }
  // What the server knows of a client that shows this certificate; null if it gets no handshake.
  static std::shared_ptr<const PeerCertificate> Shown(const TlsContextPtr& context,
                                                      const Identity& identity) {
    TlsFilter server(context, "http/1.1", false);
    ClientEnd client({"", identity, "http/1.1", 0, ""});
    std::string at_server;
    return client.Talk(server, &at_server) == State::kOpen ? server.certificate() : nullptr;
  }
  const Authority site_{"site"}, people_{"people"}, guests_{"guests"};
  const Identity ada_ = people_.Issue("ada", ""), bob_ = people_.Issue("bob", ""),
                 guest_ = guests_.Issue("guest", "");
  const std::string both_ = people_.certificate_pem() + guests_.certificate_pem();
};

TEST_F(Revocations, ACertificateOnTheList_GetsNoHandshake_AndCountsNoMoreWhereItHasOne) {
  const auto before = Make(both_, people_.Revoke({}) + guests_.Revoke({}));
  ASSERT_TRUE(before.ok()) << before.error().detail;
  const auto ada = Shown(*before, ada_), bob = Shown(*before, bob_), guest = Shown(*before, guest_);
  ASSERT_TRUE(ada && bob && guest);
  const auto after = Make(both_, people_.Revoke({ada_}) + guests_.Revoke({}));
  ASSERT_TRUE(after.ok()) << after.error().detail;
  const struct {
    const char* what;
    const TlsContextPtr& context;
    PeerCertificate certificate;
    bool revoked;
  } cases[] = {
      {"nobody is on an empty list", *before, *ada, false},
      {"who is on the list", *after, *ada, true},
      {"another of the same authority", *after, *bob, false},
      {"one of an authority whose list is empty", *after, *guest, false},
      {"the same number of another authority",
       *after,
       {"", {}, guest->issuer, ada->serial, 0, ""},
       false},
      {"an authority of which nothing is known", *after, {"", {}, "AB", ada->serial, 0, ""}, false},
  };
  for (const auto& one : cases)
    EXPECT_EQ(one.context->IsRevoked(one.certificate), one.revoked) << one.what;
  EXPECT_EQ(Shown(*after, ada_), nullptr);
  EXPECT_NE(Shown(*after, bob_), nullptr);
  EXPECT_NE(Shown(*after, guest_), nullptr);
}

TEST_F(Revocations, TwoListsOfOneAuthority_CountTogether) {
  const auto context =
      Make(both_, people_.Revoke({ada_}) + guests_.Revoke({}) + people_.Revoke({bob_}));
  ASSERT_TRUE(context.ok()) << context.error().detail;
  const auto all = Make(both_, people_.Revoke({}) + guests_.Revoke({}));
  EXPECT_TRUE((*context)->IsRevoked(*Shown(*all, ada_)));
  EXPECT_TRUE((*context)->IsRevoked(*Shown(*all, bob_)));
}

TEST_F(Revocations, AnAuthorityWithoutAList_AndOneWhoseListHasEnded_LetNobodyIn) {
  const auto missing = Make(both_, people_.Revoke({}));
  ASSERT_TRUE(missing.ok());
  EXPECT_NE(Shown(*missing, ada_), nullptr);
  EXPECT_EQ(Shown(*missing, guest_), nullptr);
  const auto ended = Make(people_.certificate_pem(), people_.Revoke({}, -30));
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(Shown(*ended, ada_), nullptr);
  // A list that a stranger has signed in the authority's name is none.
  const Authority forger("people");
  const auto forged = Make(people_.certificate_pem(), forger.Revoke({}));
  ASSERT_TRUE(forged.ok());
  EXPECT_EQ(Shown(*forged, ada_), nullptr);
}

TEST_F(Revocations, ATextThatIsNoList_IsRefused) {
  const std::string good = people_.Revoke({ada_});
  const std::string damaged = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";
  for (const std::string& text : {std::string("no list"), people_.certificate_pem(), damaged,
                                  good + damaged, good.substr(0, good.size() / 2)}) {
    const auto made = Make(both_, text);
    ASSERT_FALSE(made.ok()) << text;
    EXPECT_EQ(made.error().detail.find("client-crl "), 0u) << made.error().detail;
  }
}

}  // namespace
}  // namespace muster::net::test
