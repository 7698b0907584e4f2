#include "schedd/daemon/oidc_config.h"

#include <gtest/gtest.h>

#include "schedd/text/yaml.h"

namespace muster {
namespace {

struct Taken {
  std::vector<auth::IssuerConfig> issuers;
  std::vector<FieldError> problems;
};

Taken Take(const std::string& yaml) {
  Taken out;
  const auto documents = ParseYaml(yaml);
  TakeOidc("file", documents->front(), &out.issuers, &out.problems);
  return out;
}

TEST(OidcConfigRuleU50, ReadsAnIssuerWithItsDefaults) {
  const Taken taken = Take(
      "- {name: corp, issuer: 'https://id.corp.example', audience: muster}\n"
      "- name: lab\n"
      "  issuer: http://127.0.0.1:9/realms/lab\n"
      "  audience: [a, b]\n"
      "  user-claim: email\n"
      "  groups-claim: roles\n"
      "  user-prefix: '-'\n"
      "  groups-prefix: 'lab-'\n");
  ASSERT_TRUE(taken.problems.empty()) << taken.problems[0].field << taken.problems[0].message;
  ASSERT_EQ(taken.issuers.size(), 2u);
  EXPECT_EQ(taken.issuers[0].user_claim, "sub");
  EXPECT_EQ(taken.issuers[0].groups_claim, "groups");
  EXPECT_EQ(taken.issuers[0].user_prefix, "corp:");
  EXPECT_EQ(taken.issuers[0].groups_prefix, "corp:");
  EXPECT_EQ(taken.issuers[1].audiences, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(taken.issuers[1].user_claim, "email");
  EXPECT_EQ(taken.issuers[1].user_prefix, "");
  EXPECT_EQ(taken.issuers[1].groups_prefix, "lab-");
}

TEST(OidcConfigRuleU50, NamesWhatIsWrong) {
  const std::string good = "name: corp, issuer: 'https://id.corp.example', audience: muster";
  const struct {
    std::string yaml, field;
  } cases[] = {
      {"{}", "file: oidc"},
      {"[7]", "file: oidc[0]"},
      {"[{name: corp, audience: muster}]", "file: oidc[0].issuer"},
      {"[{issuer: 'https://a.example', audience: muster}]", "file: oidc[0].name"},
      {"[{name: corp, issuer: 'https://a.example'}]", "file: oidc[0].audience"},
      {"[{name: corp, issuer: 'https://a.example', audience: []}]", "file: oidc[0].audience"},
      {"[{name: corp, issuer: 'http://a.example', audience: m}]", "file: oidc[0].issuer"},
      {"[{name: 'a b', issuer: 'https://a.example', audience: m}]", "file: oidc[0].name"},
      {"[{" + good + ", client-id: x}]", "file: oidc[0].client-id"},
      {"[{" + good + ", user-prefix: 'system:'}]", "file: oidc[0].user-prefix"},
      {"[{" + good + ", groups-prefix: ''}]", "file: oidc[0].groups-prefix"},
      {"[{" + good + ", user-claim: 7}]", "file: oidc[0].user-claim"},
      {"[{" + good + ", ca: /nonexistent/ca.pem}]", "file: oidc[0].ca"},
      {"[{" + good + "}, {name: corp, issuer: 'https://b.example', audience: m}]",
       "file: oidc[1].name"},
      {"[{" + good + "}, {name: b, issuer: 'https://id.corp.example', audience: m}]",
       "file: oidc[1].issuer"},
  };
  for (const auto& one : cases) {
    const Taken taken = Take(one.yaml);
    ASSERT_EQ(taken.problems.size(), 1u) << one.yaml;
    EXPECT_EQ(taken.problems[0].field, one.field) << one.yaml;
  }
}

}  // namespace
}  // namespace muster
