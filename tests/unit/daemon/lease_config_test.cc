// The flags of the lease, what they are refused for, and the id under which a directory leads.
#include "schedd/daemon/lease_config.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "schedd/daemon/config.h"

namespace muster {
namespace {

class LeaseRandom final : public Random {
 public:
  std::uint64_t Next() override { return ++last_; }

 private:
  std::uint64_t last_ = 0;
};

const char* NoLeaseEnvironment(const char*) { return nullptr; }

Result<ParsedCommandLine> ParsedLease(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "musterd");
  return ParseCommandLine(static_cast<int>(flags.size()), flags.data(), &NoLeaseEnvironment);
}

TEST(LeaseConfig, KeysAreReadOrRefused) {
  const struct {
    const char *key, *value;
    bool fine;
  } cases[] = {{"standby", "true", true},
               {"standby", "yes", false},
               {"lease-ttl", "1s", true},
               {"lease-ttl", "1m", true},
               {"lease-ttl", "999ms", false},
               {"lease-ttl", "61s", false},
               {"lease-ttl", "soon", false},
               {"advertise", "https://a.example:8686", true},
               {"advertise", "http://[::1]:8686", true},
               {"advertise", "a.example:8686", false},
               {"advertise", "https://a.example/path", false},
               {"advertise", "https://a\r\nX: y", false},
               {"rest", "anything", true}};
  for (const auto& one : cases) {
    LeaseConfig config;
    EXPECT_EQ(TakeLeaseKey(one.key, one.value, &config).ok(), one.fine)
        << one.key << " " << one.value;
  }
}

TEST(LeaseConfig, StandbyIsAFlagThatNeedsNoValue) {
  const auto alone =
      ParsedLease({"--postgres", "postgresql://db/m", "--standby", "--log-level", "debug"});
  ASSERT_TRUE(alone.ok()) << alone.error().detail;
  EXPECT_TRUE(alone->config.lease.standby);
  EXPECT_EQ(alone->config.log_level, "debug");
  const auto off = ParsedLease({"--postgres", "postgresql://db/m", "--standby", "false"});
  ASSERT_TRUE(off.ok()) << off.error().detail;
  EXPECT_FALSE(off->config.lease.standby);
  const auto not_given = ParsedLease({"--postgres", "postgresql://db/m"});
  ASSERT_TRUE(not_given.ok());
  EXPECT_FALSE(not_given->config.lease.standby);
  EXPECT_EQ(not_given->config.lease.ttl_ms, 5000);
}

TEST(LeaseConfig, BesideAPrivateDatabaseTheFlagsAreRefused) {
  for (const std::vector<const char*>& flags : std::vector<std::vector<const char*>>{
           {"--standby"}, {"--lease-ttl", "2s"}, {"--advertise", "http://a:1"}}) {
    const auto parsed = ParsedLease(flags);
    ASSERT_FALSE(parsed.ok()) << flags.front();
    EXPECT_NE(parsed.error().detail.find("needs postgres"), std::string::npos);
  }
}

TEST(LeaseConfig, TheAddressIsMadeOfWhatIsListenedAt) {
  LeaseConfig config;
  EXPECT_EQ(AdvertisedAddress(config, {"127.0.0.1", 0}, 41, false), "http://127.0.0.1:41");
  EXPECT_EQ(AdvertisedAddress(config, {"::1", 0}, 41, true), "https://[::1]:41");
  EXPECT_EQ(AdvertisedAddress(config, {"0.0.0.0", 8686}, 8686, true),
            "https://" + HostName() + ":8686");
  config.advertise = "https://front:443";
  EXPECT_EQ(AdvertisedAddress(config, {"0.0.0.0", 8686}, 8686, true), "https://front:443");
}

TEST(LeaseConfig, ADirectoryKeepsItsIdAndACopyOfItHasAnother) {
  char root[] = "/tmp/muster-lease-XXXXXX";
  ASSERT_NE(mkdtemp(root), nullptr);
  const std::string first = std::string(root) + "/a", copy = std::string(root) + "/b";
  std::filesystem::create_directory(first);
  LeaseRandom random;
  const auto id = LeaseId(first, random);
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(*LeaseId(first, random), *id);
  std::filesystem::copy(first, copy);
  EXPECT_NE(*LeaseId(copy, random), *id);
  EXPECT_FALSE(LeaseId(std::string(root) + "/none", random).ok());
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace muster
