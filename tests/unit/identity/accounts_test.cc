// Accounts: what is remembered, and for how long.
#include "api/auth/accounts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "schedd/base/limits.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/identity/fixed_accounts.h"

namespace muster::test {
namespace {

// Until the thread of `accounts` has been told this name, or for five seconds.
bool ComesToBe(auth::Accounts& accounts, std::uint32_t uid, const std::string& name) {
  for (int i = 0; i < 500; ++i) {
    if ((*accounts.Find(uid))->name == name) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Accounts, AreAskedOnceInHalfAMinute_AndStandWhileTheNameServiceIsAway) {
  FakeClock clock;
  auto owned = std::make_unique<FixedAccounts>();
  FixedAccounts& source = *owned;
  auth::Accounts accounts(std::move(owned), clock);
  EXPECT_FALSE(accounts.Known(1000));
  EXPECT_EQ((*accounts.Find(1000))->name, "ada");
  EXPECT_TRUE(accounts.Known(1000));
  EXPECT_EQ((*accounts.Find(1000))->groups, (std::vector<std::string>{"ada", "physics"}));
  EXPECT_EQ(source.asked, 1);
  clock.Advance(limits::kAccountForMs);
  source.Change([](auto* all) { (*all)[1000].name = "lovelace"; });
  EXPECT_EQ((*accounts.Find(1000))->name, "ada") << "the caller waited for the name service";
  EXPECT_TRUE(ComesToBe(accounts, 1000, "lovelace"));
  EXPECT_EQ(source.asked, 2);
  clock.Advance(limits::kAccountForMs);
  source.away = true;
  EXPECT_EQ((*accounts.Find(1000))->name, "lovelace");
  EXPECT_EQ(accounts.Find(7).error().code, Code::kUnavailable);
  source.away = false;
  EXPECT_EQ((*accounts.Find(7))->name, "");
}

// One answer of the name service is one value, whoever asks; it stays as it is while a newer one
// takes its place.
TEST(Accounts, AreShared_WithoutNamesOfTheSystem_AndWithEachGroupOnce) {
  FakeClock clock;
  auto owned = std::make_unique<FixedAccounts>();
  FixedAccounts& source = *owned;
  source.Change([](auto* all) {
    (*all)[1001].groups = {"eve", "physics", "eve", "system:masters", "physics"};
    (*all)[1002] = {"system:admin", {}};
  });
  auth::Accounts accounts(std::move(owned), clock);
  const auth::AccountPtr eve = *accounts.Find(1001);
  EXPECT_EQ(eve->groups, (std::vector<std::string>{"eve", "physics"}));
  EXPECT_EQ(eve, *accounts.Find(1001));
  EXPECT_EQ(eve, accounts.Recall(1001));
  EXPECT_EQ(auth::PrincipalOfAccount(**accounts.Find(1002), 1002).user, "1002");
  clock.Advance(limits::kAccountForMs);
  source.Change([](auto* all) { (*all)[1001].name = "mallory"; });
  EXPECT_TRUE(ComesToBe(accounts, 1001, "mallory"));
  EXPECT_EQ(eve->name, "eve");
}

TEST(Accounts, ThatAreOld_AreAskedByTheCaller_ButNotByWhoOnlyRecallsThem) {
  FakeClock clock;
  auto owned = std::make_unique<FixedAccounts>();
  FixedAccounts& source = *owned;
  auth::Accounts accounts(std::move(owned), clock);
  EXPECT_EQ((*accounts.Find(1000))->name, "ada");
  clock.Advance(limits::kAccountStaleMs);
  source.Change([](auto* all) { (*all)[1000].name = "lovelace"; });
  EXPECT_FALSE(accounts.Known(1000));
  EXPECT_EQ((*accounts.Find(1000))->name, "lovelace");
  EXPECT_EQ(accounts.Recall(0), nullptr);
  EXPECT_TRUE(ComesToBe(accounts, 0, "root"));
}

TEST(Accounts, WhenKnownCallsOnce_AlsoIfTheNameServiceIsAway) {
  FakeClock clock;
  auto owned = std::make_unique<FixedAccounts>();
  FixedAccounts& source = *owned;
  auth::Accounts accounts(std::move(owned), clock);
  const auto wait_for = [&accounts](std::uint32_t uid) {
    std::promise<std::thread::id> called;
    accounts.WhenKnown(uid, [&called] { called.set_value(std::this_thread::get_id()); });
    return called.get_future().get();
  };
  EXPECT_NE(wait_for(1000), std::this_thread::get_id()) << "the caller did not ask itself";
  EXPECT_TRUE(accounts.Known(1000));
  EXPECT_EQ(wait_for(1000), std::this_thread::get_id()) << "it is known";
  EXPECT_EQ(source.asked, 1);
  source.away = true;
  EXPECT_NE(wait_for(0), std::this_thread::get_id());
  EXPECT_FALSE(accounts.Known(0));
}

TEST(Accounts, OfThisHostHaveRoot) {
  const auto root = auth::SystemAccounts()->ByUid(0);
  ASSERT_TRUE(root.ok() && root->has_value());
  EXPECT_EQ((*root)->name, "root");
  EXPECT_FALSE((*root)->groups.empty());
}

}  // namespace
}  // namespace muster::test
