// --member-cluster: the values that are accepted, and those that are refused, with their sentences.
#include <gtest/gtest.h>

#include "schedd/daemon/config.h"

namespace muster {
namespace {

const char* NoEnvironment(const char*) { return nullptr; }

TEST(MemberFlag, TakesEveryPart) {
  const auto member = ParseMemberFlag(
      "east,kubeconfig=/etc/east/config,context=admin,credentials-dir=/etc/keys,dispatch=fast,"
      "connections=4,allow-exec=true,label:zone=a");
  ASSERT_TRUE(member.ok()) << member.error().detail;
  EXPECT_EQ(member->name, "east");
  EXPECT_EQ(member->kubeconfig, "/etc/east/config");
  EXPECT_EQ(member->context, "admin");
  EXPECT_EQ(member->credentials_dir, "/etc/keys");
  EXPECT_TRUE(member->fast);
  EXPECT_EQ(member->connections, 4);
  EXPECT_TRUE(member->allow_exec);
  EXPECT_EQ(member->labels.at("zone"), "a");
}

TEST(MemberFlag, LeavesWhatIsNotGivenToTheBackend) {
  const auto member = ParseMemberFlag("east,kubeconfig=/etc/east/../config");
  ASSERT_TRUE(member.ok());
  EXPECT_EQ(member->kubeconfig, "/etc/config");
  EXPECT_FALSE(member->fast);
  EXPECT_FALSE(member->allow_exec);
  EXPECT_EQ(member->connections, 0);
}

struct Refusal {
  const char* flag;
  const char* says;
};

TEST(MemberFlag, RefusesTheRestInOneSentence) {
  for (const Refusal& one : std::vector<Refusal>{
           {"East,kubeconfig=/k", "\"East\" is not a cluster name"},
           {"east", "east: kubeconfig=FILE is missing"},
           {"east,kubeconfig=", "east: kubeconfig: must not be empty"},
           {"east,kubeconfig=/k,dispatch=slow", "dispatch: \"slow\" is not fast or safe"},
           {"east,kubeconfig=/k,allow-exec=yes", "allow-exec: \"yes\" is not true or false"},
           {"east,kubeconfig=/k,connections=0", "connections: \"0\" is not a number from 1 to 256"},
           {"east,kubeconfig=/k,connections=1x", "connections: \"1x\" is not a number"},
           {"east,kubeconfig=/k,colour=red", "\"colour\" is not kubeconfig"},
           {"east,kubeconfig=/k,context", "\"context\" is not KEY=VALUE"}}) {
    const auto member = ParseMemberFlag(one.flag);
    ASSERT_FALSE(member.ok()) << one.flag;
    EXPECT_NE(member.error().detail.find(one.says), std::string::npos) << member.error().detail;
  }
}

// Rule U62.
TEST(LocalFlag, TakesTheAccountsOfItsJobs_AndRefusesTheRest) {
  const auto cluster = ParseClusterFlag("desk,cpu=4,job-account=batch,root-jobs=never", false);
  ASSERT_TRUE(cluster.ok()) << cluster.error().detail;
  EXPECT_EQ(cluster->job_account, "batch");
  EXPECT_EQ(cluster->root_jobs, false);
  EXPECT_EQ(ParseClusterFlag("desk,root-jobs=submitter", false)->root_jobs, true);
  EXPECT_EQ(ParseClusterFlag("desk", false)->root_jobs, std::nullopt);
  for (const char* wrong : {"desk,root-jobs=always", "desk,root-jobs=", "desk,job-account="})
    EXPECT_FALSE(ParseClusterFlag(wrong, false).ok()) << wrong;
  EXPECT_FALSE(ParseClusterFlag("desk,root-jobs=never", true).ok()) << "jobs there only sleep";
}

TEST(MemberFlag, EveryProblemIsToldAtOnce_AndNamesAreUniqueOverAllKinds) {
  const char* arguments[] = {"musterd", "--local-cluster=a", "--member-cluster=a,kubeconfig=/k",
                             "--member-cluster=b,kubeconfig=/k,dispatch=no", "--member-cluster=c"};
  const auto parsed = ParseCommandLine(5, arguments, &NoEnvironment);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().fields.size(), 3u) << parsed.error().detail;
}

TEST(MemberFlag, MembersStandBesideOtherClusters) {
  const char* arguments[] = {"musterd", "--member-cluster=a,kubeconfig=/k",
                             "--member-cluster=b,kubeconfig=/k", "--local-cluster=c",
                             "--default-image=busybox"};
  const auto parsed = ParseCommandLine(5, arguments, &NoEnvironment);
  ASSERT_TRUE(parsed.ok()) << parsed.error().detail;
  EXPECT_EQ(parsed->config.members.size(), 2u);
  EXPECT_EQ(parsed->config.local_clusters.size(), 1u);
  EXPECT_EQ(parsed->config.default_image, "busybox");
}

}  // namespace
}  // namespace muster
