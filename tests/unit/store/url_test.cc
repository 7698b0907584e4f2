// What the daemon adds to the URL of its database, and what it leaves alone.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <cstdlib>
#include <map>
#include <string>

#include "schedd/store/pg/url.h"

namespace muster::pg {
namespace {

using Options = std::map<std::string, std::string>;

// What a connection string says, as libpq reads it.
Options OptionsOf(const std::string& conninfo) {
  Options out;
  PQconninfoOption* options = PQconninfoParse(conninfo.c_str(), nullptr);
  if (options == nullptr) return {{"(unreadable)", conninfo}};
  for (const PQconninfoOption* one = options; one->keyword != nullptr; ++one) {
    if (one->val != nullptr) out[one->keyword] = one->val;
  }
  PQconninfoFree(options);
  return out;
}

const Options kAdded = {{"target_session_attrs", "read-write"}, {"connect_timeout", "2"},
                        {"tcp_user_timeout", "3000"},           {"keepalives_idle", "5"},
                        {"keepalives_interval", "2"},           {"keepalives_count", "3"}};

// `said` with the additions that it does not say itself.
Options Completed(const Options& said) {
  Options out = said;
  out.insert(kAdded.begin(), kAdded.end());
  return out;
}

TEST(CompleteUrl, AddsWhatIsMissing_AndEverythingThatIsSaidStays) {
  const struct {
    const char* url;
    Options said;
  } cases[] = {
      {"postgresql:///muster", {{"dbname", "muster"}}},
      {"postgresql://ada:se%27cr%5Cet@h1,h2:5433,h3/muster",
       {{"user", "ada"},
        {"password", "se'cr\\et"},
        {"host", "h1,h2,h3"},
        {"port", ",5433,"},
        {"dbname", "muster"}}},
      {"host=h1,h2 port=5432,5433 dbname='the queue'",
       {{"host", "h1,h2"}, {"port", "5432,5433"}, {"dbname", "the queue"}}},
      {"postgresql://h/m?target_session_attrs=any",
       {{"host", "h"}, {"dbname", "m"}, {"target_session_attrs", "any"}}},
      {"postgresql://h/m?connect_timeout=9",
       {{"host", "h"}, {"dbname", "m"}, {"connect_timeout", "9"}}},
      {"postgresql://h/m?tcp_user_timeout=0",
       {{"host", "h"}, {"dbname", "m"}, {"tcp_user_timeout", "0"}}},
      {"postgresql://h/m?keepalives=0&keepalives_idle=60",
       {{"host", "h"}, {"dbname", "m"}, {"keepalives", "0"}, {"keepalives_idle", "60"}}},
      {"host=h keepalives_interval=7 keepalives_count=8",
       {{"host", "h"}, {"keepalives_interval", "7"}, {"keepalives_count", "8"}}},
      {"host=h options='-c tcp_user_timeout=1' application_name=a",
       {{"host", "h"}, {"options", "-c tcp_user_timeout=1"}, {"application_name", "a"}}},
  };
  for (const auto& one : cases) {
    const Result<std::string> complete = CompleteUrl(one.url);
    ASSERT_TRUE(complete.ok()) << one.url;
    EXPECT_EQ(OptionsOf(*complete), Completed(one.said)) << one.url;
    EXPECT_EQ(OptionsOf(CompleteUrl(*complete).value()), Completed(one.said)) << "twice";
  }
}

TEST(CompleteUrl, LeavesToTheEnvironmentWhatItSays) {
  const struct {
    const char* variable;
    const char* option;
  } cases[] = {{"PGTARGETSESSIONATTRS", "target_session_attrs"},
               {"PGCONNECT_TIMEOUT", "connect_timeout"}};
  for (const auto& one : cases) {
    ASSERT_EQ(setenv(one.variable, "5", 1), 0);
    EXPECT_EQ(OptionsOf(CompleteUrl("host=h").value()).count(one.option), 0u) << one.variable;
    ASSERT_EQ(unsetenv(one.variable), 0);
    EXPECT_EQ(OptionsOf(CompleteUrl("host=h").value()).count(one.option), 1u) << one.variable;
  }
}

TEST(CompleteUrl, RefusesWhatLibpqCannotRead_AndRepeatsNoPassword) {
  for (const char* wrong :
       {"postgresql://ada:hush@[", "postgres//ada:hush@host/muster", "password=hush nonsense=1"}) {
    const Result<std::string> refused = CompleteUrl(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_EQ(refused.error().detail.find("hush"), std::string::npos);
  }
}

TEST(MayHavePassword, OnlyOfWhatTheUrlItselfSays) {
  for (const char* with : {"postgresql://ada:pw@h/muster", "postgresql://h/muster?password=pw",
                           "host=h password='p w'", "host=h sslpassword=pw", "postgres//ada:pw@h"})
    EXPECT_TRUE(MayHavePassword(with)) << with;
  for (const char* without : {"postgresql:///muster", "postgresql://ada@h/password",
                              "host=h passfile=/etc/muster/pgpass", "host=password"})
    EXPECT_FALSE(MayHavePassword(without)) << without;
}

}  // namespace
}  // namespace muster::pg
