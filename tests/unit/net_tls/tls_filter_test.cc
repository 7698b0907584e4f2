#include "api/net/tls/tls_filter.h"

#include <gtest/gtest.h>

#include <random>

#include "schedd/base/limits.h"
#include "tests/unit/net_tls/tls_client_end.h"

namespace muster::net::test {
namespace {

using k8s::test::Authority;
using State = TlsFilter::State;

constexpr char kHosts[] = "DNS:Muster.example,DNS:*.fleet.example,IP:127.0.0.1,IP:::1";

// A server's certificate and one authority of clients, for all tests of this file.
class TlsFilterTest : public ::testing::Test {
 protected:
  TlsContextPtr Context(bool ask = false) {
    const k8s::test::Identity identity = site_.Issue("muster", kHosts);
    auto made = TlsContext::Make(
        {identity.certificate_pem, identity.key_pem, ask ? people_.certificate_pem() : "", "", {}});
    EXPECT_TRUE(made.ok()) << made.error().detail;
    return *made;
  }
  // True if a request gets through and its answer back.
  static bool Serves(TlsFilter& server, ClientEnd& client, std::size_t piece = 1 << 20) {
    std::string at_server;
    if (client.Talk(server, &at_server, piece) != State::kOpen || !client.open()) return false;
    client.Write("GET / HTTP/1.1\r\n\r\n");
    client.Talk(server, &at_server, piece);
    if (server.Encrypt("answer") != 6) return false;
    client.Talk(server, &at_server, piece);
    return at_server == "GET / HTTP/1.1\r\n\r\n" && client.read() == "answer";
  }
  const Authority site_{"site"}, people_{"people"}, strangers_{"strangers"};
};

TEST_F(TlsFilterTest, PassesBytesBothWaysHoweverTheyAreCut) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
      TlsFilter server(Context(), "http/1.1", false);
      ClientEnd client({site_.certificate_pem(), {}, "http/1.1", version, ""});
      EXPECT_TRUE(Serves(server, client, piece)) << version << " in pieces of " << piece;
      EXPECT_EQ(server.certificate(), nullptr);
    }
  }
}

TEST_F(TlsFilterTest, LongTextsPassInPieces) {
  TlsFilter server(Context(), "http/1.1", false);
  ClientEnd client({site_.certificate_pem(), {}, "", 0, ""});
  std::string at_server;
  client.Talk(server, &at_server);
  const std::string text(300'000, 'x');
  std::size_t taken = 0;
  while (taken < text.size()) {
    const std::size_t n = server.Encrypt(std::string_view(text).substr(taken));
    ASSERT_GT(n, 0u);
    ASSERT_LE(n, limits::kTlsPieceBytes);
    taken += n;
    client.Talk(server, &at_server);
  }
  EXPECT_EQ(client.read(), text);
  server.End();
  client.Talk(server, &at_server);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(server.Encrypt("more"), 0u);
}

// All of it is there after one call, however many records it has, and its end is not missed.
TEST_F(TlsFilterTest, ManyRecordsAndTheEndInOnePiece) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const std::size_t piece : {std::size_t{1000}, std::size_t{1} << 20}) {
      TlsFilter server(Context(), "http/1.1", false);
      ClientEnd client({site_.certificate_pem(), {}, "", version, ""});
      std::string at_server;
      ASSERT_EQ(client.Talk(server, &at_server), State::kOpen);
      std::string sent;
      for (const std::size_t size : {1u, 16384u, 40000u, 5u}) {
        const std::string text(size, static_cast<char>('a' + size % 7));
        client.Write(text);
        sent += text;
      }
      SSL_shutdown(client.ssl());
      EXPECT_EQ(client.Talk(server, &at_server, piece), State::kEnded);
      EXPECT_TRUE(at_server == sent) << at_server.size() << " of " << sent.size();
    }
  }
}

TEST_F(TlsFilterTest, OldVersionsAndWeakCiphersAreRefused) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    TlsFilter server(Context(), "http/1.1", false);
    ClientEnd client({"", {}, "", version, ""});
    EXPECT_FALSE(Serves(server, client)) << version;
  }
  for (const char* cipher : {"AES128-SHA", "AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA",
                             "ECDHE-ECDSA-AES256-SHA384", "aNULL", "eNULL"}) {
    TlsFilter server(Context(), "http/1.1", false);
    ClientEnd client({"", {}, "", TLS1_2_VERSION, std::string(cipher) + ":@SECLEVEL=0"});
    EXPECT_FALSE(Serves(server, client)) << cipher;
  }
}

TEST_F(TlsFilterTest, RenegotiationIsRefused) {
  TlsFilter server(Context(), "http/1.1", false);
  ClientEnd client({site_.certificate_pem(), {}, "", TLS1_2_VERSION, ""});
  std::string at_server;
  ASSERT_EQ(client.Talk(server, &at_server), State::kOpen);
  SSL_renegotiate(client.ssl());
  SSL_do_handshake(client.ssl());
  client.Talk(server, &at_server);
  // The server has answered that it does not, and a client of OpenSSL takes that as the end.
  EXPECT_FALSE(client.open());
  EXPECT_EQ(at_server, "");
}

TEST_F(TlsFilterTest, GarbageEndsTheHandshakeAndPlainHttpIsRecognised) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    TlsFilter server(Context(), "http/1.1", false);
    std::string bytes(random() % 400 + 6, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    bytes[0] = 0x16;
    std::string plain;
    const State state = server.Receive(bytes, &plain);
    EXPECT_TRUE(state == State::kFailed || state == State::kHandshake);
    EXPECT_EQ(plain, "");
    EXPECT_FALSE(server.open());
  }
  TlsFilter server(Context(), "http/1.1", false);
  std::string plain;
  EXPECT_EQ(server.Receive("GET / HTTP/1.1\r\n", &plain), State::kPlain);
  EXPECT_EQ(plain, "");
  EXPECT_EQ(server.wire(), "");
}

TEST_F(TlsFilterTest, DamageToOneByteEndsTheConnection) {
  TlsFilter server(Context(), "http/1.1", false);
  ClientEnd client({site_.certificate_pem(), {}, "", 0, ""});
  std::string at_server;
  client.Talk(server, &at_server);
  client.Write("secret");
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(SSL_get_wbio(client.ssl()), &bytes);
  ASSERT_GT(size, 10);
  bytes[size - 1] = static_cast<char>(bytes[size - 1] ^ 1);
  EXPECT_EQ(client.Talk(server, &at_server), State::kFailed);
  EXPECT_EQ(at_server, "");
}

TEST_F(TlsFilterTest, TheProtocolIsAgreedOn) {
  const auto serves = [this](const std::string& ours, bool required, const std::string& theirs) {
    TlsFilter server(Context(), ours, required);
    ClientEnd client({site_.certificate_pem(), {}, theirs, 0, ""});
    return Serves(server, client);
  };
  EXPECT_TRUE(serves("h2", true, "h2"));
  EXPECT_FALSE(serves("h2", true, ""));
  EXPECT_FALSE(serves("h2", true, "http/1.1"));
  EXPECT_TRUE(serves("http/1.1", false, ""));
  EXPECT_FALSE(serves("http/1.1", false, "h2"));
}

TEST_F(TlsFilterTest, ClientCertificatesAreAskedForAndVerified) {
  const TlsContextPtr context = Context(true);
  const auto certificate = [&](const k8s::test::Identity& identity, int version) {
    TlsFilter server(context, "http/1.1", false);
    ClientEnd client({site_.certificate_pem(), identity, "", version, ""});
    const bool served = Serves(server, client);
    EXPECT_EQ(server.open(), served);
    if (!served) {
      EXPECT_NE(server.problem().find("certificate"), std::string::npos);
    }
    return served ? server.certificate() : nullptr;
  };
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto good = certificate(people_.Issue("alice", ""), version);
    ASSERT_NE(good, nullptr);
    EXPECT_EQ(good->common_name, "alice");
    EXPECT_EQ(good->fingerprint_sha256.size(), 64u);
    EXPECT_FALSE(good->serial.empty());
    EXPECT_GT(good->not_after_s, 1'700'000'000);
    EXPECT_EQ(certificate(strangers_.Issue("alice", ""), version), nullptr);
    EXPECT_EQ(certificate(people_.Issue("alice", "", -7200, -3600), version), nullptr);
    EXPECT_EQ(certificate(people_.Issue("alice", "", 3600, 7200), version), nullptr);
    EXPECT_EQ(certificate(people_.Issue("alice\nroot", ""), version), nullptr);
  }
  // No certificate is no refusal: another credential may follow.
  TlsFilter server(context, "http/1.1", false);
  ClientEnd client({site_.certificate_pem(), {}, "", 0, ""});
  EXPECT_TRUE(Serves(server, client));
  EXPECT_EQ(server.certificate(), nullptr);
}

TEST_F(TlsFilterTest, NamesAreThoseOfTheCertificateOrOfTheConfiguration) {
  EXPECT_EQ(Context()->names(),
            (std::vector<std::string>{"muster.example", "*.fleet.example", "127.0.0.1", "::1"}));
  const k8s::test::Identity identity = site_.Issue("muster", kHosts);
  auto named =
      TlsContext::Make({identity.certificate_pem, identity.key_pem, "", "", {"Other.Example"}});
  ASSERT_TRUE(named.ok());
  EXPECT_EQ((*named)->names(), (std::vector<std::string>{"other.example"}));
}

TEST_F(TlsFilterTest, UnusableMaterialIsNamed) {
  const k8s::test::Identity good = site_.Issue("a", ""), other = site_.Issue("b", "");
  const k8s::test::Identity old = site_.Issue("c", "", -7200, -3600);
  const auto problem = [](const TlsMaterial& material) {
    const auto made = TlsContext::Make(material);
    return made.ok() ? std::string() : made.error().detail;
  };
  const std::string junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_EQ(problem({junk, good.key_pem, "", "", {}}).find("tls-cert"), 0u);
  EXPECT_EQ(problem({good.certificate_pem, other.key_pem, "", "", {}}).find("tls-key"), 0u);
  EXPECT_EQ(problem({old.certificate_pem, old.key_pem, "", "", {}}),
            "the certificate in tls-cert has expired");
  EXPECT_EQ(problem({good.certificate_pem, good.key_pem, junk, "", {}}).find("client-ca"), 0u);
  EXPECT_EQ(problem({good.certificate_pem, good.key_pem, site_.certificate_pem(), junk, {}})
                .find("client-crl"),
            0u);
}

}  // namespace
}  // namespace muster::net::test
