// Names of enumerators: what users read and what the database's tools print.
#include <gtest/gtest.h>

#include <set>

#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"
#include "schedd/model/reason.h"

namespace muster {
namespace {

TEST(ReasonName, EveryReason_HasItsOwnName_AndIsFoundByIt) {
  std::set<std::string_view> names;
  for (auto value = static_cast<int>(Reason::kPendingEvaluation);
       value <= static_cast<int>(Reason::kStarting); ++value) {
    const auto reason = static_cast<Reason>(value);
    const auto name = ReasonName(reason);
    EXPECT_FALSE(name.empty()) << value;
    EXPECT_TRUE(names.insert(name).second) << name << " names two reasons";
    EXPECT_EQ(ReasonOf(name), reason) << name;
  }
}

TEST(ReasonName, None_IsTheEmptyName_AndUnknownNamesAreNone) {
  EXPECT_EQ(ReasonName(Reason::kNone), "");
  EXPECT_EQ(ReasonOf(""), Reason::kNone);
  EXPECT_EQ(ReasonOf("waitingforquota"), Reason::kNone);
}

TEST(ReasonName, Numbers_ThatLocalMembersHaveStored_NeverChange) {
  EXPECT_EQ(static_cast<int>(Reason::kCancelled), 22);
  EXPECT_EQ(static_cast<int>(Reason::kBackoffLimitExceeded), 24);
  EXPECT_EQ(static_cast<int>(Reason::kMemberEvicted), 48);
  EXPECT_EQ(static_cast<int>(Reason::kOutOfMemory), 49);
  EXPECT_EQ(static_cast<int>(Reason::kStarting), 50);
}

TEST(ReasonName, KueueReasons_KeepKueuesSpelling) {
  EXPECT_EQ(ReasonName(Reason::kWaitingForQuota), "WaitingForQuota");
  EXPECT_EQ(ReasonName(Reason::kExceedsMaxQuota), "ExceedsMaxQuota");
  EXPECT_EQ(ReasonName(Reason::kNoMatchingFlavor), "NoMatchingFlavor");
  EXPECT_EQ(ReasonName(Reason::kMisconfigured), "Misconfigured");
  EXPECT_EQ(ReasonName(Reason::kSuspended), "Suspended");
}

TEST(JobStateName, EveryState_RoundTrips) {
  const std::pair<JobState, const char*> kStates[] = {
      {JobState::kHeld, "Held"},           {JobState::kPending, "Pending"},
      {JobState::kAdmitted, "Admitted"},   {JobState::kRunning, "Running"},
      {JobState::kSucceeded, "Succeeded"}, {JobState::kFailed, "Failed"},
      {JobState::kCancelled, "Cancelled"}};
  for (const auto& [state, name] : kStates) {
    EXPECT_EQ(JobStateName(state), name);
    EXPECT_EQ(JobStateOf(name), state);
  }
  EXPECT_EQ(JobStateOf("pending"), std::nullopt);
  EXPECT_EQ(JobStateOf(""), std::nullopt);
  EXPECT_EQ(JobStateName(static_cast<JobState>(99)), "");
}

TEST(JobState, OnlyAdmittedAndRunning_HoldQuota_AndOnlyEnds_AreTerminal) {
  for (auto value = 1; value <= 7; ++value) {
    const auto state = static_cast<JobState>(value);
    EXPECT_EQ(HoldsQuota(state), state == JobState::kAdmitted || state == JobState::kRunning);
    EXPECT_EQ(IsTerminal(state), value >= 5);
  }
}

TEST(ShapeKindName, EveryShape_HasTheNameOfItsManifestKind) {
  EXPECT_EQ(ShapeKindName(ShapeKind::kJob), "Job");
  EXPECT_EQ(ShapeKindName(ShapeKind::kJobSet), "JobSet");
  EXPECT_EQ(ShapeKindName(ShapeKind::kRayJob), "RayJob");
  EXPECT_EQ(ShapeKindName(ShapeKind::kRayCluster), "RayCluster");
  EXPECT_EQ(ShapeKindName(ShapeKind::kPyTorchJob), "PyTorchJob");
  EXPECT_EQ(ShapeKindName(ShapeKind::kLeaderWorkerSet), "LeaderWorkerSet");
  EXPECT_EQ(ShapeKindName(ShapeKind::kBatchScript), "BatchScript");
  EXPECT_EQ(ShapeKindName(ShapeKind::kWorkload), "Workload");
}

TEST(DispatchState, OnlyEndsAreNotLive) {
  for (auto value = 1; value <= 13; ++value) {
    const auto state = static_cast<DispatchState>(value);
    const bool ended = state == DispatchState::kTerminal || state == DispatchState::kCleaning ||
                       state == DispatchState::kGone || state == DispatchState::kLost;
    EXPECT_EQ(IsLive(state), !ended) << value;
  }
}

}  // namespace
}  // namespace muster
