// sacctmgr: accounts, users, associations, QOS and clusters as Muster has them (rule B52).
#include "tests/unit/clients/slurm_fixture.h"

namespace muster::slurm {
namespace {

class SlurmAccounts : public SlurmFixture {
 protected:
  SlurmAccounts() {
    const std::string base = "/apis/kueue.x-k8s.io/v1beta1/";
    answers_[base + "clusterqueues"] =
        R"({"items":[{"metadata":{"name":"team-a"},"spec":{"cohort":"org",
        "fairSharing":{"weight":"2"},
        "resourceGroups":[{"flavors":[{"name":"f","resources":[{"name":"cpu","nominalQuota":"8"},
        {"name":"memory","nominalQuota":"16Gi"}]}]}]}}]})";
    answers_[base + "cohorts"] = R"({"items":[]})";
    answers_[base + "workloadpriorityclasses"] =
        R"({"items":[{"metadata":{"name":"high"},"value":100}]})";
    Jobs({testing::ViewOf({.id = 1, .user = "bob"})});
  }
};

TEST_F(SlurmAccounts, AreShown) {
  const testing::ScopedEnv acting("MUSTER_AS", "alice");
  EXPECT_EQ(Out({"sacctmgr", "-nP", "show", "account"}),
            "org|cohort|root\nteam-a|clusterqueue|org\nroot|default root account|root\n");
  EXPECT_EQ(Out({"sacctmgr", "-nP", "list", "user"}),
            "alice||None\nbob|team-a|None\nroot|root|Administrator\n");
  EXPECT_EQ(Out({"sacctmgr", "-nP", "show", "qos", "format=name,priority"}),
            "normal|0\nhigh|100\n");
  EXPECT_EQ(Out({"sacctmgr", "-nP", "show", "cluster", "format=cluster"}), "alpha\nbeta\n");
  EXPECT_EQ(Out({"sacctmgr", "-n", "-P", "show", "assoc", "where", "user=bob", "cluster=alpha",
                 "format=account,user,share,qos"}),
            "team-a|bob|1|normal,high\n");
  EXPECT_EQ(Out({"sacctmgr", "-nP", "show", "assoc", "user=root", "format=account,user"}),
            "root|root\nteam-a|root\n")
      << "once, whatever the members";
  EXPECT_EQ(Out({"sacctmgr", "-nPs", "list", "user", "bob", "format=account%30,cluster"}),
            "team-a|alpha\nteam-a|beta\n");
  EXPECT_EQ(Out({"sacctmgr", "-P", "show", "assoc", "account=team-a", "cluster=alpha",
                 "user=", "format=account"}),
            "Account\n")
      << "no user is named, not every one";
  EXPECT_EQ(Out({"sacctmgr", "show", "account", "name=team-a", "format=account%8,org%-5"}),
            " Account Org   \n-------- ----- \n  team-a org   \n");
  EXPECT_NE(Out({"sacctmgr", "-nP", "show", "tres"}).find("cpu||1\n"), std::string::npos);
  const testing::CommandResult refused =
      Run({"sacctmgr", "-i", "modify", "user", "x", "set", "y=z"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_NE(refused.err.find("sacctmgr: error: modify is not supported"), std::string::npos);
}

}  // namespace
}  // namespace muster::slurm
