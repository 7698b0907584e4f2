// What records that change mean for the use of their LocalQueues.
#include "schedd/lifecycle/fair_use_ledger.h"

#include "tests/unit/lifecycle/records.h"

namespace muster::changes::testing {
namespace {

AdmissionSettingsPtr HalfInAnHour() {
  AdmissionSettings settings;
  settings.admission_fair_sharing = AdmissionFairSharing{3600, 300, {}};
  return std::make_shared<const AdmissionSettings>(settings);
}

ConfigView UsageBased() {
  ConfigView config;
  config.cluster_queues["cq"] = Queue();
  config.cluster_queues["cq"].usage_based = true;
  config.local_queues[{"default", "lq"}].ns = "default";
  config.local_queues[{"default", "lq"}].name = "lq";
  config.local_queues[{"default", "lq"}].cluster_queue = "cq";
  return config;
}

const core::LocalQueueKey kQueue{"default", "lq"};

TEST(FairUseLedger, AReservationWeighsUntilItIsGivenBack) {
  const ConfigView config = UsageBased();
  FairUseLedger ledger(HalfInAnHour());
  ledger.Configure(config, kNow);
  ledger.Move(config, Job(), ReservedJob(), kNow);
  EXPECT_GT(ledger.Usages(config)->at(kQueue), 0);
  EXPECT_EQ(AmountOf(ledger.HistoryOf(kQueue).thousandths, "cpu"), 0) << "not history yet";
  ledger.Move(config, ReservedJob(), Job(), kNow);
  EXPECT_EQ(ledger.Usages(config)->at(kQueue), 0);
}

TEST(FairUseLedger, WhatRunsBecomesHistory) {
  const ConfigView config = UsageBased();
  FairUseLedger ledger(HalfInAnHour());
  ledger.Configure(config, kNow);
  ledger.Move(config, Job(), AdmittedJob(), kNow);
  ledger.Sample(config, After(3600));
  EXPECT_EQ(ledger.HistoryOf(kQueue).updated, After(3600));
  EXPECT_GE(AmountOf(ledger.ConsumedBy(kQueue), "cpu"), 2000) << "half of four";
}

TEST(FairUseLedger, ChangesAreToldOnce) {
  ConfigView config = UsageBased();
  FairUseLedger ledger(HalfInAnHour());
  ledger.Configure(config, kNow);
  EXPECT_EQ(ledger.TakeChanges().changed.size(), 1u);
  EXPECT_TRUE(ledger.TakeChanges().changed.empty());
  const std::uint64_t version = ledger.version();
  config.local_queues.clear();
  ledger.Configure(config, kNow);
  EXPECT_EQ(ledger.TakeChanges().removed.size(), 1u);
  EXPECT_TRUE(ledger.known().empty());
  EXPECT_NE(ledger.version(), version);
}

TEST(FairUseLedger, WithoutTheSettingItDoesNothing) {
  const ConfigView config = UsageBased();
  FairUseLedger ledger(std::make_shared<const AdmissionSettings>());
  ledger.Configure(config, kNow);
  ledger.Move(config, Job(), AdmittedJob(), kNow);
  EXPECT_FALSE(ledger.on());
  EXPECT_EQ(ledger.Usages(config), nullptr);
}

}  // namespace
}  // namespace muster::changes::testing
