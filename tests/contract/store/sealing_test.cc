// What the database holds of secrets, and which keys open it (S25).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "schedd/store/pg/pg_store.h"
#include "schedd/store/seal/key_file.h"
#include "schedd/store/seal/sealing_store.h"
#include "tests/contract/store/store_fixtures.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

constexpr const char* kCanary = "canary-5f1c";

const seal::Key kOld = seal::MakeKey({1}), kNew = seal::MakeKey({2}), kForeign = seal::MakeKey({3});

class Sealing : public ::testing::Test {
 protected:
  void SetUp() override { url_ = FreshDatabase(SharedServer()); }

  // A daemon that has these keys; with none, one of a version before sealing.
  std::unique_ptr<Store> Daemon(std::vector<seal::Key> keys) {
    PgStoreOptions options;
    options.url = AsRole(url_, "muster_daemon");
    options.owner_url = AsRole(url_, "muster_owner");
    auto opened = OpenPgStore(options);
    MUSTER_CHECK(opened.ok());
    auto store = std::move(opened).value();
    if (!keys.empty())
      store = seal::MakeSealingStore(std::move(store), seal::Sealer(std::move(keys)));
    const auto lease = LeadPatiently(*store);
    MUSTER_CHECK(lease.ok());
    epoch_ = lease->epoch;
    return store;
  }
  void PutSecret(Store& store, const std::string& name) {
    PlanCommit commit;
    commit.objects.push_back({SecretNamed(name), false});
    ASSERT_TRUE(CommitNow(store, epoch_, std::move(commit)).ok());
  }
  static ObjectPtr SecretNamed(const std::string& name) {
    auto object = std::make_shared<StoredObject>();
    object->kind = ObjectKind::kSecret;
    object->ns = "default";
    object->name = name;
    object->uid = Uid{7, name.size()};
    object->manifest = std::string(R"({"data":{"password":")") + kCanary + R"("}})";
    return object;
  }
  // The manifest of the only secret, or why nothing could be loaded.
  std::string Loaded(Store& store) {
    const auto world = store.Load(epoch_, {1});
    if (!world.ok()) return world.error().detail;
    return world->objects.size() == 1 ? world->objects.front()->manifest : "not one object";
  }
  std::string Stored() { return RunSql(url_, "select manifest from secrets"); }

  std::string url_;
  Epoch epoch_;
};

TEST_F(Sealing, TheDatabaseDoesNotHaveWhatASecretHolds) {
  auto store = Daemon({kNew});
  PutSecret(*store, "db");
  EXPECT_EQ(Stored().find(kCanary), std::string::npos) << Stored();
  EXPECT_TRUE(seal::Sealer::IsSealed(Stored()));
  EXPECT_NE(Loaded(*store).find(kCanary), std::string::npos);
}

TEST_F(Sealing, WhatAnEarlierVersionLeftInTheClear_IsSealedByTheNextLeader) {
  {
    auto before = Daemon({});
    PutSecret(*before, "db");
    EXPECT_NE(Stored().find(kCanary), std::string::npos);
  }
  auto store = Daemon({kNew});
  EXPECT_NE(Loaded(*store).find(kCanary), std::string::npos);
  EXPECT_EQ(Stored().find(kCanary), std::string::npos);
}

TEST_F(Sealing, ANewFirstKey_SealsEverythingAnew_AndTheOldOneMayGo) {
  {
    auto before = Daemon({kOld});
    PutSecret(*before, "db");
  }
  {
    auto rotating = Daemon({kNew, kOld});
    EXPECT_NE(Loaded(*rotating).find(kCanary), std::string::npos);
  }
  auto store = Daemon({kNew});
  EXPECT_NE(Loaded(*store).find(kCanary), std::string::npos);
}

// The secrets that are loaded, or why none are.
std::string AllLoaded(Store& store, Epoch epoch) {
  const auto world = store.Load(epoch, {1});
  if (!world.ok()) return world.error().detail;
  std::string names;
  for (const ObjectPtr& object : world->objects) {
    const bool opened = object->manifest.find(kCanary) != std::string::npos;
    names += (names.empty() ? "" : " ") + object->name + (opened ? "" : " (not opened)");
  }
  return names;
}

// How many secrets are sealed with this key.
std::string SealedWith(const std::string& url, const seal::Key& key) {
  return RunSql(url, "select count(*) from secrets where manifest->>'key' = '" + key.id + "'");
}

TEST_F(Sealing, ARotationThatStoppedHalfWay_NeedsBothKeys_AndTheNextLeaderEndsIt) {
  {
    auto before = Daemon({kOld});
    PutSecret(*before, "db");
    PutSecret(*before, "mail");
  }
  {
    // It has written one of them anew when it is killed.
    auto rotating = Daemon({kNew, kOld});
    PutSecret(*rotating, "db");
  }
  EXPECT_EQ(SealedWith(url_, kOld), "1");
  EXPECT_EQ(SealedWith(url_, kNew), "1");
  const std::string stuck = "a sealed object cannot be opened (object default/";
  EXPECT_EQ(AllLoaded(*Daemon({kNew}), epoch_),
            stuck + "mail): the key file has no key " + kOld.id);
  EXPECT_EQ(AllLoaded(*Daemon({kOld}), epoch_), stuck + "db): the key file has no key " + kNew.id);
  EXPECT_EQ(SealedWith(url_, kOld), "1") << "who cannot open all of them changes none";
  EXPECT_EQ(AllLoaded(*Daemon({kNew, kOld}), epoch_), "db mail");
  EXPECT_EQ(SealedWith(url_, kNew), "2");
  EXPECT_EQ(AllLoaded(*Daemon({kNew}), epoch_), "db mail");
}

TEST_F(Sealing, ARotationThatFailsBetweenTwoRows_LeavesAllOfThemAsTheyWere) {
  {
    auto before = Daemon({kOld});
    PutSecret(*before, "db");
    PutSecret(*before, "mail");
  }
  RunSql(url_,
         "create function refuse() returns trigger language plpgsql as $$ begin if new.name = "
         "'mail' then raise exception 'no room'; end if; return new; end $$");
  RunSql(url_,
         "create trigger refuse before insert or update on secrets for each row execute function "
         "refuse()");
  EXPECT_NE(AllLoaded(*Daemon({kNew, kOld}), epoch_), "db mail") << "it was not sealed";
  EXPECT_EQ(SealedWith(url_, kOld), "2");
  RunSql(url_, "drop trigger refuse on secrets");
  EXPECT_EQ(AllLoaded(*Daemon({kNew, kOld}), epoch_), "db mail");
  EXPECT_EQ(SealedWith(url_, kNew), "2");
  EXPECT_EQ(AllLoaded(*Daemon({kNew}), epoch_), "db mail");
}

// Back to the key from before, whose line is first again.
TEST_F(Sealing, ARotationIsTakenBack_ByTheSameMeans) {
  {
    auto before = Daemon({kOld});
    PutSecret(*before, "db");
  }
  EXPECT_EQ(AllLoaded(*Daemon({kNew, kOld}), epoch_), "db");
  EXPECT_EQ(AllLoaded(*Daemon({kOld, kNew}), epoch_), "db");
  EXPECT_EQ(SealedWith(url_, kOld), "1");
  EXPECT_EQ(AllLoaded(*Daemon({kOld}), epoch_), "db");
}

TEST_F(Sealing, WithoutTheKey_NothingIsLoaded_AndTheSentenceSaysWhy) {
  {
    auto before = Daemon({kOld});
    PutSecret(*before, "db");
  }
  auto store = Daemon({kForeign});
  EXPECT_EQ(Loaded(*store),
            "a sealed object cannot be opened (object default/db): the key file has "
            "no key " +
                kOld.id);
  const Status checked = seal::CheckKeys(*store);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(checked.error().detail, Loaded(*store));
  store.reset();  // it leads
  EXPECT_TRUE(seal::CheckKeys(*Daemon({kNew, kOld})).ok());
}

TEST_F(Sealing, ASealedText_OpensOnlyAsTheObjectItWasSealedFor) {
  auto store = Daemon({kNew});
  PutSecret(*store, "db");
  RunSql(url_, "update secrets set name = 'mine'");
  EXPECT_EQ(Loaded(*store),
            "a sealed object cannot be opened (object default/mine): it was changed, or sealed for "
            "another object");
}

TEST(KeyFile, IsMadeOnce_ForItsOwnerAlone) {
  const TempDir dir;
  const std::string path = dir.path() + "/keys/secrets";
  const auto made = seal::ReadOrMakeKeys(path);
  ASSERT_TRUE(made.ok()) << made.error().detail;
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const auto again = seal::ReadOrMakeKeys(path);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(made->front().id, again->front().id);
}

TEST(KeyFile, ThatIsNotPrivateOrNoKeyFile_IsRefused) {
  const TempDir dir;
  const std::string path = dir.path() + "/secrets";
  ASSERT_TRUE(seal::ReadOrMakeKeys(path).ok());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(seal::ReadOrMakeKeys(path).error().detail,
            "the key file " + path + " may be used by others; run chmod 600 on it");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  std::ofstream(path) << "# no key\n";
  EXPECT_EQ(seal::ReadOrMakeKeys(path).error().detail, "the key file " + path + " has no key");
  std::ofstream(path) << "c2hvcnQ=\n";
  EXPECT_EQ(seal::ReadOrMakeKeys(path).error().detail,
            "the key file " + path + " has no key in line 1: a key is 32 bytes in base64");
}

}  // namespace
}  // namespace muster::test
