// Promises of the dispatch state machine over every state, every input and any order of inputs.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "schedd/dispatch/step/step.h"

namespace muster::dispatch {
namespace {

DispatchState AnyState() { return static_cast<DispatchState>(*rc::gen::inRange(1, 14)); }

Observation AnySeen() {
  Observation seen;
  seen.phase = static_cast<RemotePhase>(*rc::gen::inRange(0, 6));
  seen.remote_uid = *rc::gen::element<std::string>("", "U", "V");
  seen.incarnation = *rc::gen::element<std::string>("", "i", "j");
  seen.held = *rc::gen::arbitrary<bool>();
  seen.deleting = *rc::gen::arbitrary<bool>();
  seen.sequence = *rc::gen::inRange(0, 2);
  if (*rc::gen::arbitrary<bool>())
    seen.object = {"batch/v1", "Job", "default", *rc::gen::element<std::string>("a", "b")};
  return seen;
}

StepInput AnyInput() {
  const auto code = static_cast<Code>(*rc::gen::inRange(1, 17));
  switch (*rc::gen::inRange(0, 17)) {
    case 0:
      return EnsureSucceeded{*rc::gen::element<std::string>("U", "V"), "i",
                             *rc::gen::arbitrary<bool>()};
    case 1:
      return EnsureFailed{code, "x"};
    case 2:
      return Observed{AnySeen()};
    case 3:
      return RevokeRequested{*rc::gen::arbitrary<bool>()};
    case 4:
      return RemoveSucceeded{};
    case 5:
      return RemoveFailed{code, "x"};
    case 6:
      return MissingFromList{};
    case 7:
      return CleanRequested{};
    case 8:
      return ClusterRecreated{*rc::gen::element<std::string>("i", "j")};
    case 9:
      return MemberAway{"T"};
    case 10:
      return GivenUp{"x"};
    case 11:
      return Resurrected{};
    case 12:
      return QuarantineReleased{};
    case 13:
      return Superseded{};
    case 14:
      return ProvenGone{"x"};
    case 15:
      return ConfirmFailed{"x"};
    default:
      return Recovered{};
  }
}

DispatchRow AnyRow() {
  DispatchRow row;
  row.key = {Uid{1, 2}, 1, "east"};
  row.state = AnyState();
  row.remote_uid = *rc::gen::element<std::string>("", "U");
  row.incarnation = *rc::gen::element<std::string>("", "i");
  row.object_kind = "Job";
  row.ns = "default";
  row.name = "a";
  row.detail = *rc::gen::element<std::string>("", "remove", "keep logs", "deleted on the member");
  return row;
}

template <class Property>
void Holds(const char* name, Property property) {
  EXPECT_TRUE(rc::check(name, property));
}

TEST(StepProperty, EndedRowsAbsorbEverythingButCleaning) {
  Holds("terminal and gone absorb", [] {
    DispatchRow row = AnyRow();
    row.state = *rc::gen::element(DispatchState::kTerminal, DispatchState::kGone);
    const StepInput input = AnyInput();
    const StepResult result = Step(row, input);
    RC_ASSERT(result.effect == Effect::kNone || result.effect == Effect::kForeign);
    const bool terminal = row.state == DispatchState::kTerminal;
    const bool cleaned =
        std::holds_alternative<CleanRequested>(input) || std::holds_alternative<Resurrected>(input);
    if (terminal && cleaned) {
      RC_ASSERT(result.row.state == DispatchState::kCleaning);
    } else if (terminal && std::holds_alternative<Superseded>(input)) {
      RC_ASSERT(result.row.state == DispatchState::kGone);
    } else {
      RC_ASSERT(result.row.state == row.state);
      // I3: an end that the member still holds is acknowledged, and nothing else happens.
      const auto* seen = std::get_if<Observed>(&input);
      const bool held = terminal && seen != nullptr && seen->observation.held;
      RC_ASSERT(result.action == Action::kNone || (held && result.action == Action::kAcknowledge));
    }
  });
}

TEST(StepProperty, OnlyIntentCreatesAndAbsenceNever) {
  Holds("creates", [] {
    const DispatchRow row = AnyRow();
    const StepInput input = AnyInput();
    const StepResult result = Step(row, input);
    if (result.action == Action::kEnsure || result.action == Action::kEnsureLater) {
      RC_ASSERT(row.state == DispatchState::kIntent ||
                std::holds_alternative<QuarantineReleased>(input));
      RC_ASSERT(result.row.state == DispatchState::kIntent);
      RC_ASSERT(!std::holds_alternative<MissingFromList>(input));
      RC_ASSERT(!std::holds_alternative<Observed>(input));
    }
  });
}

TEST(StepProperty, OnlyAnObjectOnRecordIsReleased) {
  Holds("releases", [] {
    DispatchRow row = AnyRow();
    if (row.state == DispatchState::kReleasing) row.remote_uid = "U";  // as every way there has it
    if (row.state == DispatchState::kIntent) row.remote_uid.clear();
    const StepInput input = AnyInput();
    const auto* seen = std::get_if<Observed>(&input);
    if (seen != nullptr && seen->observation.remote_uid.empty()) return;
    const StepResult result = Step(row, input);
    if (result.action != Action::kRelease) return;
    RC_ASSERT(result.row.state == DispatchState::kReleasing);
    RC_ASSERT(!result.row.remote_uid.empty());
  });
}

TEST(StepProperty, NothingIsMadeOfAnObjectThatIsNotTheRows) {
  Holds("copies", [] {
    const DispatchRow row = AnyRow();
    Observation seen = AnySeen();
    seen.incarnation.clear();
    if (IsOurs(row, seen)) return;
    const StepResult result = Step(row, Observed{seen});
    RC_ASSERT(result.row.state == row.state);
    RC_ASSERT(result.row.remote_uid == row.remote_uid);
    RC_ASSERT(result.action == Action::kNone);
    RC_ASSERT(result.effect == Effect::kNone || result.effect == Effect::kForeign);
  });
}

TEST(StepProperty, ALiveRowIsGoneOnlyByProof) {
  Holds("proof", [] {
    const DispatchRow row = AnyRow();
    const StepInput input = AnyInput();
    const StepResult result = Step(row, input);
    if (!IsLive(row.state) || result.row.state != DispatchState::kGone) return;
    const bool removed = std::holds_alternative<RemoveSucceeded>(input) ||
                         (std::holds_alternative<RemoveFailed>(input) &&
                          std::get<RemoveFailed>(input).code == Code::kNotFound);
    const bool never_made =
        row.state == DispatchState::kIntent && std::holds_alternative<EnsureFailed>(input);
    const bool never_ours = row.state == DispatchState::kConflict;
    RC_ASSERT(removed || never_made || never_ours);
  });
}

TEST(StepProperty, ALiveRowIsLostOnlyByProofOrByDecision) {
  Holds("lost", [] {
    const DispatchRow row = AnyRow();
    const StepInput input = AnyInput();
    const StepResult result = Step(row, input);
    if (!IsLive(row.state) || result.row.state != DispatchState::kLost) return;
    const auto* seen = std::get_if<Observed>(&input);
    const bool recreated =
        std::holds_alternative<ClusterRecreated>(input) ||
        (seen != nullptr && !row.incarnation.empty() && !seen->observation.incarnation.empty() &&
         row.incarnation != seen->observation.incarnation);
    RC_ASSERT(recreated || std::holds_alternative<ProvenGone>(input) ||
              std::holds_alternative<GivenUp>(input));
  });
}

TEST(StepProperty, StoppedIsSaidOnceAndOnlyOfARevokedAttempt) {
  Holds("stopped", [] {
    const DispatchRow row = AnyRow();
    const StepResult result = Step(row, AnyInput());
    if (result.effect != Effect::kStopped) return;
    RC_ASSERT(row.state == DispatchState::kRevoking || row.state == DispatchState::kConflict);
    RC_ASSERT(!IsLive(result.row.state));
  });
}

TEST(StepProperty, AnyHistoryEndsTheAttemptAtMostOnce) {
  Holds("one end", [] {
    DispatchRow row = AnyRow();
    row.state = DispatchState::kIntent;
    row.remote_uid.clear();
    row.detail.clear();
    int ends = 0;
    const int length = *rc::gen::inRange(1, 40);
    for (int i = 0; i < length; ++i) {
      const StepResult result = Step(row, AnyInput());
      switch (result.effect) {
        case Effect::kSucceeded:
        case Effect::kFailed:
        case Effect::kStopped:
        case Effect::kRefused:
        case Effect::kLost:
        case Effect::kRecreated:
        case Effect::kGivenUp:
          ++ends;
          break;
        default:
          break;
      }
      RC_ASSERT(result.row.key == row.key);
      row = result.row;
    }
    // A refusal for a foreign name may still be revoked: both say that nothing of ours runs.
    RC_ASSERT(ends <= (row.state == DispatchState::kGone ? 2 : 1));
  });
}

TEST(StepProperty, TheUidOfARowNeverChanges) {
  Holds("uid", [] {
    const DispatchRow row = AnyRow();
    if (row.remote_uid.empty() || row.state == DispatchState::kIntent) return;
    RC_ASSERT(Step(row, AnyInput()).row.remote_uid == row.remote_uid);
  });
}

}  // namespace
}  // namespace muster::dispatch
