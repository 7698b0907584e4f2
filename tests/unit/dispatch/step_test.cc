// The dispatch state machine, as a table: each line is a sentence of placement.md 4.3.
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

void Check(const Case& one) {
  const StepResult result = Step(one.row, one.input);
  EXPECT_EQ(result.row.state, one.state) << one.name;
  EXPECT_EQ(result.action, one.action) << one.name;
  EXPECT_EQ(result.effect, one.effect) << one.name;
}

TEST(Step, AnIntentIsMadeAdoptedRefusedOrTriedAgain) {
  const Case cases[] = {
      {"made", Row(S::kIntent), EnsureSucceeded{"U", "i"}, S::kCreated, A::kNone, E::kNone},
      {"invalid there", Row(S::kIntent), EnsureFailed{Code::kInvalidArgument, "x"}, S::kGone,
       A::kNone, E::kRefused},
      {"forbidden there", Row(S::kIntent), EnsureFailed{Code::kPermissionDenied, "x"}, S::kGone,
       A::kNone, E::kRefused},
      {"no such kind there", Row(S::kIntent), EnsureFailed{Code::kNotFound, "x"}, S::kGone,
       A::kNone, E::kRefused},
      {"a foreign object has the name", Row(S::kIntent), EnsureFailed{Code::kAlreadyExists, "x"},
       S::kConflict, A::kNone, E::kRefused},
      {"away", Row(S::kIntent), EnsureFailed{Code::kUnavailable, "x"}, S::kIntent, A::kEnsureLater,
       E::kNone},
      {"too slow", Row(S::kIntent), EnsureFailed{Code::kDeadlineExceeded, "x"}, S::kIntent,
       A::kEnsureLater, E::kNone},
      {"unknown, and the member was asked", Row(S::kIntent), EnsureFailed{Code::kUnknown, "x"},
       S::kIntent, A::kEnsureLater, E::kNone},
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
        {"its member says it is gone", Row(state), Sees(RemotePhase::kMissing), S::kLost, A::kNone,
         E::kLost},
        {"a complete list lacks it", Row(state), MissingFromList{}, S::kLost, A::kNone, E::kLost},
        {"a report of another object", Row(state), Sees(RemotePhase::kSucceeded, "V"), state,
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
  Check({"made suspended", Row(S::kCreated), Sees(RemotePhase::kSuspended), S::kReleasing,
         A::kRelease, E::kNone});
  Check({"suspended by somebody", Row(S::kRunning), Sees(RemotePhase::kSuspended), S::kRunning,
         A::kNone, E::kNone});
  Check({"release fails", Row(S::kReleasing), EnsureFailed{Code::kUnavailable, ""}, S::kReleasing,
         A::kRelease, E::kNone});
  Check({"restart while created", Row(S::kCreated), Recovered{}, S::kCreated, A::kList, E::kNone});
  Check({"restart while releasing", Row(S::kReleasing), Recovered{}, S::kReleasing, A::kRelease,
         E::kNone});
  Check({"restart while running", Row(S::kRunning), Recovered{}, S::kRunning, A::kList, E::kNone});
}

TEST(Step, ARevokedAttemptIsStoppedOnlyWhenItsRemovalIsProven) {
  const DispatchRow logs = Row(S::kRevoking, "U", "keep logs");
  const DispatchRow whole = Row(S::kRevoking, "U", "remove");
  const Case cases[] = {
      {"stopped, logs stay", logs, RemoveSucceeded{}, S::kTerminal, A::kNone, E::kStopped},
      {"removed", whole, RemoveSucceeded{}, S::kGone, A::kNone, E::kStopped},
      {"was not there", whole, RemoveFailed{Code::kNotFound, ""}, S::kGone, A::kNone, E::kStopped},
      {"member away", logs, RemoveFailed{Code::kUnavailable, ""}, S::kRevoking, A::kRemoveLater,
       E::kNone},
      {"an end seen meanwhile is not the proof", logs, Sees(RemotePhase::kFailed), S::kRevoking,
       A::kNone, E::kNone},
      {"still running", logs, Sees(RemotePhase::kRunning), S::kRevoking, A::kNone, E::kNone},
      {"a late answer of Ensure", logs, EnsureSucceeded{"U", ""}, S::kRevoking, A::kNone, E::kNone},
      {"absent from a list", logs, MissingFromList{}, S::kRevoking, A::kNone, E::kNone},
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
       A::kRemoveLater, E::kNone},
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
