// Which user a job runs as: who submitted it, what its manifest asks for, what the daemon is and
// what the member allows (rules U60 to U62).
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "backends/local/host_accounts.h"
#include "backends/local/pods/pod_users.h"
#include "backends/local/process/access_list.h"
#include "schedd/base/limits.h"

namespace muster::local {
namespace {

constexpr std::int64_t kJobAccount = 900, kDatabase = 105, kUser = 1000, kOther = 1001;
constexpr std::int64_t kNone = -1;     // asks for no user; has no account
constexpr std::int64_t kRefused = -2;  // the answer of a job that may not run

struct Case {
  std::int64_t daemon, submitter, wanted;
  bool root_jobs;
  std::int64_t user;
};

JobAccounts Accounts(const Case& one) {
  JobAccounts accounts;
  accounts.own_uid = accounts.own_gid = one.daemon;
  if (one.submitter != kNone) accounts.submitter = static_cast<std::uint32_t>(one.submitter);
  accounts.root_jobs = one.root_jobs;
  accounts.job_account = one.daemon == 0 ? kJobAccount : kNone;
  accounts.reserved = {kDatabase};
  return accounts;
}

TEST(JobAccounts, TheTableOfUsers) {
  const Case cases[] = {
      // A daemon that is root: the submitter's account, whatever the member says of root.
      {0, kUser, kNone, true, kUser},
      {0, kUser, kUser, true, kUser},
      {0, kUser, kOther, true, kRefused},
      {0, kUser, 0, true, kRefused},
      {0, kUser, kJobAccount, true, kRefused},
      {0, kUser, kNone, false, kUser},
      {0, kUser, 0, false, kRefused},
      // Without an account: the member's job account.
      {0, kNone, kNone, true, kJobAccount},
      {0, kNone, kJobAccount, true, kJobAccount},
      {0, kNone, kUser, true, kRefused},
      {0, kNone, 0, true, kRefused},
      {0, kNone, kNone, false, kJobAccount},
      // Root: itself where the member says so, and any other user.
      {0, 0, kNone, true, 0},
      {0, 0, 0, true, 0},
      {0, 0, kUser, true, kUser},
      {0, 0, kNone, false, kJobAccount},
      {0, 0, 0, false, kRefused},
      {0, 0, kUser, false, kUser},
      // Nobody runs as the user of the database, and numbers that are no users are none.
      {0, kDatabase, kNone, true, kRefused},
      {0, 0, kDatabase, true, kRefused},
      {0, 0, -7, true, kRefused},
      {0, 0, INT64_C(0xFFFFFFFF), true, kRefused},
      {0, 0, INT64_C(1) << 33, true, kRefused},
      {0, INT64_C(0xFFFFFFFF), kNone, true, kRefused},
      {0, INT64_C(0xFFFFFFFF), INT64_C(0xFFFFFFFF), true, kRefused},
      // A daemon without root: its own user's jobs.
      {kUser, kUser, kNone, false, kUser},
      {kUser, kUser, kUser, false, kUser},
      {kUser, kUser, kOther, false, kRefused},
      {kUser, kUser, 0, false, kRefused},
      {kUser, kOther, kNone, false, kRefused},
      {kUser, kOther, kUser, false, kRefused},
      {kUser, kNone, kNone, false, kRefused},
      {kUser, 0, kNone, false, kRefused},
      {kUser, 0, kUser, true, kRefused},
  };
  for (const Case& one : cases) {
    const std::optional<std::int64_t> wanted =
        one.wanted == kNone ? std::nullopt : std::optional(one.wanted);
    const Result<std::int64_t> user = JobUser(Accounts(one), wanted);
    EXPECT_EQ(user.ok() ? *user : kRefused, one.user)
        << "daemon " << one.daemon << ", submitter " << one.submitter << ", wanted " << one.wanted
        << ", root-jobs " << one.root_jobs;
  }
}

TEST(JobAccounts, AMemberWithoutAJobAccount_RefusesJobsThatNeedIt) {
  JobAccounts accounts = Accounts({0, kNone, kNone, true, 0});
  accounts.job_account = -1;
  const Result<std::int64_t> user = JobUser(accounts, std::nullopt);
  ASSERT_FALSE(user.ok());
  EXPECT_NE(user.error().detail.find("job-account=USER"), std::string::npos);
}

TEST(JobAccounts, ARefusalNamesTheField) {
  const Result<std::int64_t> user = JobUser(Accounts({0, kUser, 0, true, 0}), 0);
  ASSERT_FALSE(user.ok());
  EXPECT_EQ(user.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(user.error().detail.starts_with("securityContext.runAsUser 0: "))
      << user.error().detail;
}

class AccountGroups : public ::testing::Test {
 protected:
  AccountGroups() {
    accounts_ = Accounts({0, kUser, kNone, true, 0});
    accounts_.account_of = [](std::int64_t uid) {
      HostAccount account;
      account.uid = uid;
      account.gid = 100;
      account.groups = {200, 300};
      return account;
    };
  }
  Result<PodUser> User(const char* security) const {
    return UserOf(json::parse(std::string(R"({"securityContext":)") + security + "}").as_object(),
                  {}, accounts_);
  }
  JobAccounts accounts_;
};

TEST_F(AccountGroups, AreTheAccounts_AndAJobChoosesAmongThem) {
  EXPECT_EQ(*User("{}"), (PodUser{kUser, 100, {200, 300}}));
  EXPECT_EQ(*User(R"({"runAsGroup":300})"), (PodUser{kUser, 300, {200}}));
  EXPECT_EQ(*User(R"({"supplementalGroups":[200],"fsGroup":100})"),
            (PodUser{kUser, 100, {200, 300, 100}}));
  for (const char* asked : {R"({"runAsGroup":0})", R"({"runAsGroup":42})", R"({"fsGroup":0})",
                            R"({"supplementalGroups":[200,42]})", R"({"runAsGroup":-1})"}) {
    EXPECT_FALSE(User(asked).ok()) << asked;
  }
}

TEST_F(AccountGroups, AUserWithoutAnEntry_HasNoGroupOfItsNumber) {
  accounts_.account_of = nullptr;
  EXPECT_EQ(*User("{}"), (PodUser{kUser, kNoGroup, {}}));
  for (const char* asked :
       {R"({"runAsGroup":1000})", R"({"fsGroup":1000})", R"({"supplementalGroups":[1000]})"}) {
    EXPECT_FALSE(User(asked).ok()) << asked;
  }
}

TEST_F(AccountGroups, ALookUpThatFails_IsNoAccount) {
  accounts_.account_of = [](std::int64_t) -> Result<HostAccount> { return Unavailable("down"); };
  const Result<PodUser> user = User("{}");
  ASSERT_FALSE(user.ok());
  EXPECT_EQ(user.error().code, Code::kUnavailable);
}

TEST_F(AccountGroups, RootMayChooseAny) {
  accounts_.submitter = 0;
  EXPECT_EQ(*User(R"({"runAsUser":1000,"runAsGroup":42,"fsGroup":6})"),
            (PodUser{kUser, 42, {200, 300, 6}}));
}

TEST(HostAccounts, OfThisHost) {
  const Result<HostAccount> root = AccountOfUser(0);
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->name, "root");
  EXPECT_EQ(root->gid, 0);
  const Result<HostAccount> unknown = AccountOfUser(3'999'999'999);
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(unknown->gid, kNoGroup) << "the group with the user's number is somebody else's";
  EXPECT_TRUE(unknown->groups.empty());
  EXPECT_EQ(unknown->name, "");
  EXPECT_EQ(unknown->home, "/");
  EXPECT_EQ(*UserNamed("root"), 0);
  EXPECT_EQ(*UserNamed("0"), 0);
  EXPECT_EQ(*UserNamed("no-such-user-here"), std::nullopt);
}

TEST(HostAccounts, AreAskedForOnce_AndAgainLater_AndAfterAFailure) {
  int asked = 0;
  bool down = true;
  AccountCache cache([&](std::int64_t uid) -> Result<HostAccount> {
    ++asked;
    if (down) return Unavailable("down");
    return UnknownAccount(uid);
  });
  const Monotonic now{1};
  EXPECT_EQ(cache.Of(kUser, now).error().code, Code::kUnavailable);
  down = false;
  EXPECT_EQ(cache.Of(kUser, now)->uid, kUser);
  EXPECT_EQ(cache.Of(kUser, now)->uid, kUser);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(cache.Of(kOther, now)->uid, kOther);
  EXPECT_EQ(asked, 3);
  const Monotonic later = now + MillisToNanos(limits::kAccountForMs);
  EXPECT_EQ(cache.Of(kUser, later)->uid, kUser);
  EXPECT_EQ(asked, 4);
  down = true;
  EXPECT_EQ(cache.Of(kOther, later).error().code, Code::kUnavailable) << "no old answer is used";
}

TEST(HostAccounts, OfAMember_AreNeverTheDaemons) {
  EXPECT_TRUE(ResolveAccounts("", std::nullopt, 0, {})->root_jobs);
  EXPECT_FALSE(ResolveAccounts("", false, 0, {})->root_jobs);
  EXPECT_EQ(ResolveAccounts("nobody", std::nullopt, 0, {})->job_account, *UserNamed("nobody"));
  EXPECT_FALSE(ResolveAccounts("root", std::nullopt, 0, {}).ok());
  EXPECT_FALSE(ResolveAccounts("no-such-user-here", std::nullopt, 0, {}).ok());
  const std::vector<std::int64_t> reserved = {UserNamed("nobody")->value_or(65534)};
  EXPECT_FALSE(ResolveAccounts("nobody", std::nullopt, 0, reserved).ok());
  EXPECT_EQ(ResolveAccounts("", std::nullopt, 0, reserved)->job_account, -1);
  // A daemon that is not root cannot change its user.
  EXPECT_FALSE(ResolveAccounts("nobody", std::nullopt, kUser, {}).ok());
  EXPECT_FALSE(ResolveAccounts("", true, kUser, {}).ok());
  EXPECT_FALSE(ResolveAccounts("", false, kUser, {})->root_jobs);
}

// The host's file systems differ in whether they keep access lists; in either case a user passes.
TEST(AccessList, LetsTheUserPass_AndTheOwnersRightsStay) {
  std::string pattern = (std::filesystem::temp_directory_path() / "muster-acl-XXXXXX").string();
  const std::string directory = ::mkdtemp(pattern.data());
  ASSERT_TRUE(LetPass(directory, {}).ok());
  struct stat info {};
  ASSERT_EQ(::stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u) << "nobody was let in";
  for (const std::int64_t user : {kUser, kOther, kUser}) {
    const Status let = LetPass(directory, {user});
    ASSERT_TRUE(let.ok()) << let.error().detail;
  }
  ASSERT_EQ(::stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0700, 0700u);
  EXPECT_EQ(info.st_mode & 0066, 0u) << "nobody else lists or writes it";
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace muster::local
