#include <gtest/gtest.h>

#include "schedd/daemon/access_config.h"
#include "schedd/daemon/tls_config.h"
#include "schedd/model/access_table.h"
#include "schedd/shapes/config/default_access.h"

namespace muster {
namespace {

std::string Problems(const std::string& rest, const TlsConfig& tls, bool other_methods = false) {
  std::string out;
  for (const FieldError& one : CheckListening({rest, 1}, {"127.0.0.1", 2}, tls, other_methods))
    out += one.field + ": " + one.message + "\n";
  return out;
}

TEST(Listening, BeyondLoopbackItNeedsTlsAndAWayToKnowItsClients) {
  TlsConfig tls;
  EXPECT_EQ(Problems("127.0.0.1", tls), "");
  EXPECT_EQ(Problems("::1", tls), "");
  for (const char* host : {"0.0.0.0", "::", "192.0.2.1", "eth0", "head.example"})
    EXPECT_NE(Problems(host, tls).find("tls-cert"), std::string::npos) << host;
  tls.certificate = "/c";
  EXPECT_NE(Problems("127.0.0.1", tls).find("tls-key"), std::string::npos);
  tls.key = "/k";
  EXPECT_EQ(Problems("127.0.0.1", tls), "");
  EXPECT_NE(Problems("0.0.0.0", tls).find("client-ca, oidc, munge"), std::string::npos);
  EXPECT_EQ(Problems("0.0.0.0", tls, true), "");
  tls.tokens = true;
  EXPECT_EQ(Problems("0.0.0.0", tls), "");
  tls.tokens = false;
  tls.client_ca = "/ca";
  EXPECT_EQ(Problems("0.0.0.0", tls), "");
  tls.client_ca = "";
  tls.client_crl = "/crl";
  EXPECT_NE(Problems("127.0.0.1", tls).find("client-ca"), std::string::npos);
}

TEST(Listening, KeysAreReadOrRefused) {
  TlsConfig tls;
  EXPECT_TRUE(TakeTlsKey("tls-cert", {"/a/../b"}, &tls).ok());
  EXPECT_EQ(tls.certificate, "/b");
  EXPECT_FALSE(TakeTlsKey("tls-key", {""}, &tls).ok());
  EXPECT_TRUE(TakeTlsKey("tokens", {"true"}, &tls).ok());
  EXPECT_TRUE(tls.tokens);
  EXPECT_FALSE(TakeTlsKey("tokens", {"yes"}, &tls).ok());
  EXPECT_TRUE(TakeTlsKey("server-names", {"a.example", "*.b.example", "::1"}, &tls).ok());
  EXPECT_EQ(tls.server_names.size(), 3u);
  EXPECT_FALSE(TakeTlsKey("server-names", {"https://a"}, &tls).ok());
  EXPECT_TRUE(TakeTlsKey("data-dir", {"anything"}, &tls).ok());
}

TEST(Listening, TheBindingOfLocalUsersIsToldOnceOthersMayCome) {
  AccessTable roles;
  EXPECT_EQ(LocalUsersProblem(true, roles), "");
  RoleBinding binding;
  binding.name = shapes::kLocalUsers;
  roles.PutBinding(binding);
  EXPECT_EQ(LocalUsersProblem(false, roles), "");
  EXPECT_NE(LocalUsersProblem(true, roles).find(shapes::kLocalUsers), std::string::npos);
  roles.RemoveBinding("", shapes::kLocalUsers);
  EXPECT_EQ(LocalUsersProblem(true, roles), "");
}

}  // namespace
}  // namespace muster
