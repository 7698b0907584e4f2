// The transition table of jobs, compared with a full matrix written from the contract.
#include <gtest/gtest.h>

#include <map>

#include "schedd/model/lifecycle.h"

namespace muster {
namespace {

constexpr JobState kStates[] = {JobState::kHeld,     JobState::kPending,   JobState::kAdmitted,
                                JobState::kRunning,  JobState::kSucceeded, JobState::kFailed,
                                JobState::kCancelled};
constexpr JobEvent kEvents[] = {JobEvent::kAccept, JobEvent::kHold,    JobEvent::kRelease,
                                JobEvent::kAdmit,  JobEvent::kStart,   JobEvent::kSucceed,
                                JobEvent::kFail,   JobEvent::kCancel,  JobEvent::kRequeue,
                                JobEvent::kEvict,  JobEvent::kRunAgain};

TEST(Lifecycle, WholeTable_IsExactlyTheAgreedOne) {
  using S = JobState;
  using E = JobEvent;
  const std::map<std::pair<S, E>, S> allowed = {
      {{S::kPending, E::kAccept}, S::kPending},     {{S::kHeld, E::kAccept}, S::kHeld},
      {{S::kPending, E::kHold}, S::kHeld},          {{S::kHeld, E::kHold}, S::kHeld},
      {{S::kHeld, E::kRelease}, S::kPending},       {{S::kPending, E::kRelease}, S::kPending},
      {{S::kPending, E::kAdmit}, S::kAdmitted},     {{S::kAdmitted, E::kStart}, S::kRunning},
      {{S::kAdmitted, E::kSucceed}, S::kSucceeded}, {{S::kRunning, E::kSucceed}, S::kSucceeded},
      {{S::kAdmitted, E::kFail}, S::kFailed},       {{S::kRunning, E::kFail}, S::kFailed},
      {{S::kHeld, E::kCancel}, S::kCancelled},      {{S::kPending, E::kCancel}, S::kCancelled},
      {{S::kAdmitted, E::kCancel}, S::kCancelled},  {{S::kRunning, E::kCancel}, S::kCancelled},
      {{S::kAdmitted, E::kRequeue}, S::kPending},   {{S::kRunning, E::kRequeue}, S::kPending},
      {{S::kAdmitted, E::kEvict}, S::kPending},     {{S::kRunning, E::kEvict}, S::kPending},
      {{S::kSucceeded, E::kRunAgain}, S::kPending}, {{S::kFailed, E::kRunAgain}, S::kPending},
      {{S::kCancelled, E::kRunAgain}, S::kPending}};
  for (const auto state : kStates) {
    for (const auto event : kEvents) {
      const auto expected = allowed.find({state, event});
      const auto next = Next(state, event);
      if (expected == allowed.end()) {
        EXPECT_EQ(next, std::nullopt) << JobStateName(state) << " + " << static_cast<int>(event);
      } else {
        EXPECT_EQ(next, expected->second)
            << JobStateName(state) << " + " << static_cast<int>(event);
      }
    }
  }
}

TEST(Lifecycle, TerminalState_AbsorbsEveryEventButARequeue) {
  for (const auto state : {JobState::kSucceeded, JobState::kFailed, JobState::kCancelled}) {
    for (const auto event : kEvents) {
      if (event == JobEvent::kRunAgain) continue;
      EXPECT_EQ(Next(state, event), std::nullopt);
    }
  }
}

TEST(Lifecycle, JobThatHoldsQuota_CannotBeHeld_WithoutGivingItBack) {
  EXPECT_EQ(Next(JobState::kRunning, JobEvent::kHold), std::nullopt);
  EXPECT_EQ(Next(JobState::kAdmitted, JobEvent::kHold), std::nullopt);
}

}  // namespace
}  // namespace muster
