// The suite's fixture: each test runs against the memory store and against PostgreSQL.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedd/base/limits.h"
#include "schedd/store/memory/memory_store.h"
#include "schedd/store/pg/audit_policy.h"
#include "schedd/store/pg/pg_store.h"
#include "schedd/store/seal/sealing_store.h"
#include "tests/contract/store/store_fixtures.h"
#include "tests/contract/store/test_server.h"

namespace muster::test {

class StoreContract : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "memory") {
      auto memory = std::make_unique<MemoryStore>();
      memory_ = memory.get();
      store_ = std::move(memory);
    } else {
      PgStoreOptions options;
      url_ = FreshDatabase(SharedServer());
      options.url = AsRole(url_, "muster_daemon");
      options.owner_url = AsRole(url_, "muster_owner");
      auto opened = OpenPgStore(options);
      ASSERT_TRUE(opened.ok()) << opened.error().detail;
      // The memory store keeps a day too.
      const Status kept = pg::KeepAuditFor(options.owner_url, limits::kAuditRetentionMinMs);
      ASSERT_TRUE(kept.ok()) << kept.error().detail;
      store_ = std::move(opened).value();
    }
    if (std::string(GetParam()) == "sealed") {
      store_ = seal::MakeSealingStore(std::move(store_), seal::Sealer({seal::MakeKey({1, 2, 3})}));
    }
    NewLead();
  }
  /// Leads anew; writes under the epoch before are refused from here on.
  void NewLead() {
    const auto lease = LeadPatiently(*store_);
    ASSERT_TRUE(lease.ok()) << lease.error().detail;
    epoch_ = lease->epoch;
  }
  Store& store() { return *store_; }
  MemoryStore* memory() { return memory_; }        // null when the test runs against PostgreSQL
  const std::string& url() const { return url_; }  // of the test's database; "" for MemoryStore
  Epoch epoch() const { return epoch_; }
  StoredWorld LoadAll(WallTime finished_since = {1}) {
    auto loaded = store_->Load(epoch_, finished_since);
    if (!loaded.ok()) {
      ADD_FAILURE() << loaded.error().detail;
      return {};
    }
    return std::move(loaded).value();
  }
  /// Commits; after a refusal leads again, because later writes of the epoch would be refused.
  Result<CommitVersion> TryCommit(PlanCommit commit) {
    auto version = CommitNow(store(), epoch(), std::move(commit));
    if (!version.ok()) NewLead();
    return version;
  }
  /// Commits and expects success.
  void MustCommit(PlanCommit commit) {
    const auto version = CommitNow(store(), epoch(), std::move(commit));
    ASSERT_TRUE(version.ok()) << version.error().detail;
  }

 private:
  std::string url_;
  std::unique_ptr<Store> store_;
  MemoryStore* memory_ = nullptr;
  Epoch epoch_;
};

}  // namespace muster::test
