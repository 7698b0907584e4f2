// The dispatch state machine, as a table: each line is a sentence of rules D4 to D18.
#include "schedd/dispatch/step/step.h"

#include <gtest/gtest.h>

namespace muster::dispatch {
namespace {

using S = DispatchState;
using A = Action;
using E = Effect;

DispatchRow Row(S state, const std::string& uid = "U", const std::string& detail = "") {
  DispatchRow row;
  row.key = {Uid{1, 2}, 3, "east"};
  row.state = state;
  row.remote_uid = state == S::kIntent ? "" : uid;
  row.detail = detail;
  row.object_kind = "Job";
  row.ns = "default";
  row.name = "train";
  return row;
}

DispatchRow InIncarnation(DispatchRow row, const std::string& incarnation) {
  row.incarnation = incarnation;
  return row;
}

Observed Sees(RemotePhase phase, const std::string& uid = "U") {
  Observation seen;
  seen.phase = phase;
  seen.remote_uid = uid;
  return {seen};
}

struct Case {
  const char* name;
  DispatchRow row;
  StepInput input;
  S state;
  A action;
  E effect;
};

// An object as a member reports it that can address objects: held, with a uid, under its name.
Observed Marked(RemotePhase phase, const std::string& uid = "U") {
  Observed input = Sees(phase, uid);
  input.observation.object = {"batch/v1", "Job", "default", "train"};
  input.observation.held = true;
  input.observation.sequence = 7;
  return input;
}

void Check(const Case& one) {
  const StepResult result = Step(one.row, one.input);
  EXPECT_EQ(result.row.state, one.state) << one.name;
  EXPECT_EQ(result.action, one.action) << one.name;
  EXPECT_EQ(result.effect, one.effect) << one.name;
}

TEST(Step, AnIntentIsMadeAdoptedRefusedOrTriedAgain) {
  const Case cases[] = {
      {"made", Row(S::kIntent), EnsureSucceeded{"U", "i"}, S::kCreated, A::kNone, E::kNone},
      {"made suspended: released when that is durable", Row(S::kIntent),
       EnsureSucceeded{"U", "i", true}, S::kReleasing, A::kRelease, E::kNone},
      {"a later attempt has the name", Row(S::kIntent), EnsureFailed{Code::kAborted, "x"},
       S::kQuarantined, A::kNone, E::kWaiting},
      {"invalid there", Row(S::kIntent), EnsureFailed{Code::kInvalidArgument, "x"}, S::kGone,
       A::kNone, E::kRefused},
      {"forbidden there", Row(S::kIntent), EnsureFailed{Code::kPermissionDenied, "x"}, S::kGone,
       A::kNone, E::kRefused},
      {"no such kind there", Row(S::kIntent), EnsureFailed{Code::kNotFound, "x"}, S::kGone,
       A::kNone, E::kRefused},
      {"a foreign object has the name", Row(S::kIntent), EnsureFailed{Code::kAlreadyExists, "x"},
       S::kConflict, A::kNone, E::kRefused},
      {"away", Row(S::kIntent), EnsureFailed{Code::kUnavailable, "x"}, S::kIntent, A::kEnsureLater,
       E::kWaiting},
      {"too slow", Row(S::kIntent), EnsureFailed{Code::kDeadlineExceeded, "x"}, S::kIntent,
       A::kEnsureLater, E::kWaiting},
      {"unknown, and the member was asked", Row(S::kIntent), EnsureFailed{Code::kUnknown, "x"},
       S::kIntent, A::kEnsureLater, E::kWaiting},
      {"seen running before the answer", Row(S::kIntent), Sees(RemotePhase::kRunning), S::kRunning,
       A::kNone, E::kStarted},
      {"seen pending before the answer", Row(S::kIntent), Sees(RemotePhase::kPending), S::kCreated,
       A::kNone, E::kProgress},
      {"seen ended before the answer", Row(S::kIntent), Sees(RemotePhase::kSucceeded), S::kTerminal,
       A::kNone, E::kSucceeded},
      {"seen suspended", Row(S::kIntent), Sees(RemotePhase::kSuspended), S::kReleasing, A::kRelease,
       E::kNone},
      {"absent from a list: the order may not have left", Row(S::kIntent), MissingFromList{},
       S::kIntent, A::kNone, E::kNone},
      {"reported missing", Row(S::kIntent), Sees(RemotePhase::kMissing), S::kIntent, A::kNone,
       E::kNone},
      {"restart", Row(S::kIntent), Recovered{}, S::kIntent, A::kEnsure, E::kNone},
      {"cancelled", Row(S::kIntent), RevokeRequested{true}, S::kRevoking, A::kRemoveKeepLogs,
       E::kNone},
      {"deleted", Row(S::kIntent), CleanRequested{}, S::kRevoking, A::kRemove, E::kNone},
  };
  for (const Case& one : cases) Check(one);
}

TEST(Step, ARunningAttemptEndsByItselfByCommandOrByProof) {
  for (const S state : {S::kCreated, S::kReleasing, S::kRunning, S::kFinishing, S::kUnknown}) {
    const Case cases[] = {
        {"succeeded", Row(state), Sees(RemotePhase::kSucceeded), S::kTerminal, A::kNone,
         E::kSucceeded},
        {"failed", Row(state), Sees(RemotePhase::kFailed), S::kTerminal, A::kNone, E::kFailed},
        {"its member tells of it no more: asked for", Row(state), Sees(RemotePhase::kMissing),
         state, A::kConfirm, E::kNone},
        {"a complete list lacks it: asked for", Row(state), MissingFromList{}, state, A::kConfirm,
         E::kNone},
        {"whether it is there is not known: asked again", Row(state), ConfirmFailed{"x"}, state,
         A::kConfirm, E::kWaiting},
        {"proven gone", Row(state), ProvenGone{}, S::kLost, A::kNone, E::kLost},
        {"a report of another object", Row(state), Sees(RemotePhase::kSucceeded, "V"), state,
         A::kNone, E::kForeign},
        {"an end that the member holds", Row(state), Marked(RemotePhase::kFailed), S::kTerminal,
         A::kAcknowledge, E::kFailed},
        {"its member is another cluster now", InIncarnation(Row(state), "i"), ClusterRecreated{"j"},
         S::kLost, A::kNone, E::kRecreated},
        {"its member is what it was", InIncarnation(Row(state), "i"), ClusterRecreated{"i"}, state,
         A::kNone, E::kNone},
        {"cancelled", Row(state), RevokeRequested{true}, S::kRevoking, A::kRemoveKeepLogs,
         E::kNone},
        {"requeued", Row(state), RevokeRequested{false}, S::kRevoking, A::kRemove, E::kNone},
        {"deleted", Row(state), CleanRequested{}, S::kRevoking, A::kRemove, E::kNone},
        {"a removal nobody asked for", Row(state), RemoveSucceeded{}, state, A::kNone, E::kNone},
        {"an answer that comes again", Row(state), EnsureSucceeded{"W", ""}, state, A::kNone,
         E::kNone},
    };
    for (const Case& one : cases) Check(one);
  }
  Check({"starts", Row(S::kCreated), Sees(RemotePhase::kRunning), S::kRunning, A::kNone,
         E::kStarted});
  Check({"goes on", Row(S::kRunning), Sees(RemotePhase::kRunning), S::kRunning, A::kNone,
         E::kProgress});
  for (const S state : {S::kCreated, S::kRunning, S::kFinishing}) {
    Check({"suspended by somebody: shown and not fought", Row(state), Sees(RemotePhase::kSuspended),
           state, A::kNone, E::kProgress});
  }
  Check({"restart while created", Row(S::kCreated), Recovered{}, S::kCreated, A::kList, E::kNone});
  Check({"restart while releasing", Row(S::kReleasing), Recovered{}, S::kReleasing, A::kRelease,
         E::kNone});
  Check({"restart while running", Row(S::kRunning), Recovered{}, S::kRunning, A::kList, E::kNone});
}

TEST(Step, AReleaseIsRepeatedGivenUpOrRefused) {
  const Case cases[] = {
      {"away", Row(S::kReleasing), EnsureFailed{Code::kUnavailable, "x"}, S::kReleasing,
       A::kRelease, E::kWaiting},
      {"unknown", Row(S::kReleasing), EnsureFailed{Code::kUnknown, "x"}, S::kReleasing, A::kRelease,
       E::kWaiting},
      {"gone, or another object: an earlier try may have let it run", Row(S::kReleasing),
       EnsureFailed{Code::kNotFound, "x"}, S::kReleasing, A::kConfirm, E::kNone},
      {"refused: it never ran, so it goes", Row(S::kReleasing),
       EnsureFailed{Code::kPermissionDenied, "x"}, S::kCleaning, A::kRemove, E::kRefused},
      {"the first step's answer again", Row(S::kReleasing), EnsureSucceeded{"U", "i", true},
       S::kReleasing, A::kNone, E::kNone},
      {"released: it is seen when it is", Row(S::kReleasing), EnsureSucceeded{"U", "i"},
       S::kReleasing, A::kNone, E::kNone},
      {"seen suspended still", Row(S::kReleasing), Marked(RemotePhase::kSuspended), S::kReleasing,
       A::kNone, E::kNone},
      {"released, and its pods wait", Row(S::kReleasing), Marked(RemotePhase::kPending),
       S::kCreated, A::kNone, E::kProgress},
      {"its pods run", Row(S::kReleasing), Marked(RemotePhase::kRunning), S::kRunning, A::kNone,
       E::kStarted},
  };
  for (const Case& one : cases) Check(one);
}

TEST(Step, OnlyAnObjectWithOurMarksUnderTheRowsNameIsAdopted) {
  Observed other_name = Marked(RemotePhase::kRunning);
  other_name.observation.object.name = "else";
  Observed other_kind = Marked(RemotePhase::kRunning);
  other_kind.observation.object.kind = "JobSet";
  Observed not_held = Marked(RemotePhase::kRunning);
  not_held.observation.held = false;
  Observed no_number = Marked(RemotePhase::kRunning);
  no_number.observation.sequence = 0;
  for (const Observed& spoofed : {other_name, other_kind, not_held, no_number}) {
    Check({"labels alone", Row(S::kIntent), spoofed, S::kIntent, A::kNone, E::kForeign});
  }
  Check({"seen suspended before the answer", Row(S::kIntent), Marked(RemotePhase::kSuspended),
         S::kReleasing, A::kRelease, E::kNone});
  EXPECT_EQ(Step(Row(S::kIntent), Marked(RemotePhase::kSuspended, "V")).row.remote_uid, "V");
}

TEST(Step, WhatSomebodyDeletesOnTheMemberIsLetGoAndThenLost) {
  for (const S state : {S::kIntent, S::kCreated, S::kReleasing, S::kRunning, S::kUnknown}) {
    for (const RemotePhase phase : {RemotePhase::kSuspended, RemotePhase::kPending}) {
      Observed deleting = Marked(phase);
      deleting.observation.deleting = true;
      const StepResult let_go = Step(Row(state), deleting);
      EXPECT_EQ(let_go.action, A::kAcknowledge) << static_cast<int>(state);
      EXPECT_TRUE(IsLive(let_go.row.state)) << static_cast<int>(state);
      EXPECT_EQ(Step(let_go.row, MissingFromList{}).action, A::kConfirm);
      const StepResult gone = Step(let_go.row, ProvenGone{"2 pods went with it"});
      EXPECT_EQ(gone.row.state, S::kLost) << static_cast<int>(state);
      EXPECT_EQ(gone.message, "deleted on member cluster east; 2 pods went with it");
    }
  }
  Observed lost = Marked(RemotePhase::kFailed);
  lost.observation.deleting = true;
  Check(
      {"lost, ended and deleted there", Row(S::kLost), lost, S::kLost, A::kAcknowledge, E::kNone});
}

TEST(Step, AMemberThatIsAwayMakesItsAttemptsUnknownUntilItAnswers) {
  for (const S state : {S::kCreated, S::kRunning, S::kFinishing}) {
    Check({"away", Row(state), MemberAway{"T"}, S::kUnknown, A::kNone, E::kWaiting});
  }
  const DispatchRow unknown = Step(Row(S::kRunning), MemberAway{"T"}).row;
  EXPECT_EQ(unknown.detail, "T");
  const Case cases[] = {
      {"still away", unknown, MemberAway{"T"}, S::kUnknown, A::kNone, E::kNone},
      {"back and running", unknown, Marked(RemotePhase::kRunning), S::kRunning, A::kNone,
       E::kStarted},
      {"back and waiting", unknown, Marked(RemotePhase::kPending), S::kCreated, A::kNone,
       E::kProgress},
      {"back and suspended by somebody", unknown, Marked(RemotePhase::kSuspended), S::kCreated,
       A::kNone, E::kProgress},
      {"back and ended meanwhile", unknown, Marked(RemotePhase::kSucceeded), S::kTerminal,
       A::kAcknowledge, E::kSucceeded},
      {"back without it", unknown, MissingFromList{}, S::kUnknown, A::kConfirm, E::kNone},
      {"back, and it is gone", unknown, ProvenGone{}, S::kLost, A::kNone, E::kLost},
      {"cancelled meanwhile", unknown, RevokeRequested{true}, S::kRevoking, A::kRemoveKeepLogs,
       E::kNone},
      {"written off", unknown, GivenUp{"x"}, S::kLost, A::kNone, E::kGivenUp},
  };
  for (const Case& one : cases) Check(one);
  EXPECT_EQ(Step(unknown, Marked(RemotePhase::kRunning)).row.detail, "");
}

TEST(Step, WhatIsWrittenOffIsLostAndRemovedIfItComesBack) {
  Check({"never made for sure", Row(S::kIntent), GivenUp{"x"}, S::kLost, A::kRemove, E::kGivenUp});
  Check({"being released", Row(S::kReleasing), GivenUp{"x"}, S::kLost, A::kRemove, E::kGivenUp});
  Check({"running", Row(S::kRunning), GivenUp{"x"}, S::kLost, A::kNone, E::kGivenUp});
  Check({"being stopped", Row(S::kRevoking), GivenUp{"x"}, S::kLost, A::kNone, E::kGivenUp});
  for (const S state : {S::kTerminal, S::kCleaning, S::kGone, S::kConflict, S::kQuarantined}) {
    Check({"not waited for", Row(state), GivenUp{"x"}, state, A::kNone, E::kNone});
  }
  Check({"its removal succeeds after all", Row(S::kLost), RemoveSucceeded{}, S::kGone, A::kNone,
         E::kNone});
  Check({"its removal fails", Row(S::kLost), RemoveFailed{Code::kUnavailable, ""}, S::kLost,
         A::kNone, E::kNone});
  Check({"back and running", Row(S::kLost), Marked(RemotePhase::kRunning), S::kCleaning, A::kRemove,
         E::kNone});
  Check({"back, and not in the list: it may only have lost its labels", Row(S::kLost),
         MissingFromList{}, S::kLost, A::kConfirm, E::kNone});
  Check({"back, and nothing is left of it", Row(S::kLost), ProvenGone{}, S::kGone, A::kNone,
         E::kNone});
  Check({"a later attempt takes its name", Row(S::kLost), Superseded{}, S::kGone, A::kNone,
         E::kNone});
  Check({"no attempt gives its name up alive", Row(S::kRunning), Superseded{}, S::kRunning,
         A::kNone, E::kNone});
}

TEST(Step, AQuarantinedAttemptWaitsForAnAdministrator) {
  const DispatchRow row = Row(S::kQuarantined, "");
  const Case cases[] = {
      {"restart", row, Recovered{}, S::kQuarantined, A::kNone, E::kNone},
      {"absent", row, MissingFromList{}, S::kQuarantined, A::kNone, E::kNone},
      {"a late answer", row, EnsureSucceeded{"U", ""}, S::kQuarantined, A::kNone, E::kNone},
      {"released", row, QuarantineReleased{}, S::kIntent, A::kEnsure, E::kNone},
      {"cancelled", row, RevokeRequested{true}, S::kRevoking, A::kRemoveKeepLogs, E::kNone},
      {"nothing to release", Row(S::kRunning), QuarantineReleased{}, S::kRunning, A::kNone,
       E::kNone},
  };
  for (const Case& one : cases) Check(one);
}

TEST(Step, AnEndIsAcknowledgedAgainAsLongAsItsObjectIsHeld) {
  Check({"held", Row(S::kTerminal), Marked(RemotePhase::kSucceeded), S::kTerminal, A::kAcknowledge,
         E::kNone});
  Check({"not held", Row(S::kTerminal), Sees(RemotePhase::kSucceeded), S::kTerminal, A::kNone,
         E::kNone});
  Check({"made after it was stopped before it was made: removed, not let go", Row(S::kTerminal, ""),
         Marked(RemotePhase::kSucceeded), S::kTerminal, A::kNone, E::kNone});
  Check({"a copy of it", Row(S::kTerminal), Marked(RemotePhase::kSucceeded, "V"), S::kTerminal,
         A::kNone, E::kForeign});
  Check({"it runs again: its member was set back", Row(S::kTerminal), Resurrected{}, S::kCleaning,
         A::kRemove, E::kNone});
  Check({"only what has ended can", Row(S::kRunning), Resurrected{}, S::kRunning, A::kNone,
         E::kNone});
}

TEST(Step, ARevokedAttemptIsStoppedOnlyWhenItsRemovalIsProven) {
  const DispatchRow logs = Row(S::kRevoking, "U", "keep logs");
  const DispatchRow whole = Row(S::kRevoking, "U", "remove");
  const Case cases[] = {
      {"stopped, logs stay", logs, RemoveSucceeded{}, S::kTerminal, A::kNone, E::kStopped},
      {"removed", whole, RemoveSucceeded{}, S::kGone, A::kNone, E::kStopped},
      {"was not there", whole, RemoveFailed{Code::kNotFound, ""}, S::kGone, A::kNone, E::kStopped},
      {"member away", logs, RemoveFailed{Code::kUnavailable, ""}, S::kRevoking, A::kRemoveLater,
       E::kWaiting},
      {"an end seen meanwhile is not the proof", logs, Sees(RemotePhase::kFailed), S::kRevoking,
       A::kNone, E::kNone},
      {"still running", logs, Sees(RemotePhase::kRunning), S::kRevoking, A::kNone, E::kNone},
      {"a late answer of Ensure", logs, EnsureSucceeded{"U", ""}, S::kRevoking, A::kNone, E::kNone},
      {"absent from a list", logs, MissingFromList{}, S::kRevoking, A::kNone, E::kNone},
      {"a late proof is the removal's to give", logs, ProvenGone{}, S::kRevoking, A::kNone,
       E::kNone},
      {"a late question", logs, ConfirmFailed{"x"}, S::kRevoking, A::kNone, E::kNone},
      {"restart, logs stay", logs, Recovered{}, S::kRevoking, A::kRemoveKeepLogs, E::kNone},
      {"restart, all goes", whole, Recovered{}, S::kRevoking, A::kRemove, E::kNone},
      {"revoked again", logs, RevokeRequested{false}, S::kRevoking, A::kNone, E::kNone},
      {"deleted meanwhile", logs, CleanRequested{}, S::kRevoking, A::kNone, E::kNone},
  };
  for (const Case& one : cases) Check(one);
  EXPECT_TRUE(KeepsLogs(logs));
  EXPECT_FALSE(KeepsLogs(whole));
  EXPECT_FALSE(KeepsLogs(Row(S::kTerminal)));
}

TEST(Step, WhatHasEndedIsOnlyCleaned) {
  const Case cases[] = {
      {"kept for its logs", Row(S::kTerminal), Recovered{}, S::kTerminal, A::kNone, E::kNone},
      {"deleted", Row(S::kTerminal), CleanRequested{}, S::kCleaning, A::kRemove, E::kNone},
      {"cancelled too late", Row(S::kTerminal), RevokeRequested{true}, S::kTerminal, A::kNone,
       E::kNone},
      {"cleaned", Row(S::kCleaning), RemoveSucceeded{}, S::kGone, A::kNone, E::kNone},
      {"cleaned already", Row(S::kCleaning), RemoveFailed{Code::kNotFound, ""}, S::kGone, A::kNone,
       E::kNone},
      {"cleaning fails", Row(S::kCleaning), RemoveFailed{Code::kInternal, ""}, S::kCleaning,
       A::kRemoveLater, E::kWaiting},
      {"restart while cleaning", Row(S::kCleaning), Recovered{}, S::kCleaning, A::kRemove,
       E::kNone},
      {"lost and deleted", Row(S::kLost), CleanRequested{}, S::kCleaning, A::kRemove, E::kNone},
      {"lost and back: fenced", Row(S::kLost), Sees(RemotePhase::kRunning), S::kCleaning,
       A::kRemove, E::kNone},
      {"lost and back ended", Row(S::kLost), Sees(RemotePhase::kSucceeded), S::kLost, A::kNone,
       E::kNone},
      {"conflict: the foreign object stays", Row(S::kConflict), CleanRequested{}, S::kGone,
       A::kNone, E::kNone},
      {"conflict revoked", Row(S::kConflict), RevokeRequested{true}, S::kGone, A::kNone,
       E::kStopped},
  };
  for (const Case& one : cases) Check(one);
}

TEST(Step, TheUidIsRecordedOnce) {
  const StepResult made = Step(Row(S::kIntent), EnsureSucceeded{"U", "incarnation"});
  EXPECT_EQ(made.row.remote_uid, "U");
  EXPECT_EQ(made.row.incarnation, "incarnation");
  EXPECT_EQ(Step(Row(S::kIntent), Sees(RemotePhase::kRunning, "V")).row.remote_uid, "V");
  EXPECT_EQ(Step(Row(S::kRunning, "U"), Sees(RemotePhase::kRunning, "U")).row.remote_uid, "U");
}

}  // namespace
}  // namespace muster::dispatch
