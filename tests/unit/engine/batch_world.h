// Submissions of batch scripts with a state, on an EngineWorld.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/engine_world.h"

namespace muster::test {

struct ScriptSpec {
  JobSpec job = {};
  BatchState state = {};
  BatchDetails batch = {};
};

inline Submission ScriptSubmission(const ScriptSpec& spec) {
  Submission submission = MakeSubmission(spec.job);
  JobRecord& draft = *submission.draft;
  draft.shape = ShapeKind::kBatchScript;
  draft.batch = std::make_shared<BatchDetails>(spec.batch);
  if (!(spec.state == BatchState{}))
    draft.batch_state = std::make_shared<const BatchState>(spec.state);
  return submission;
}

/// Submits all in one command, and settles.
inline std::vector<JobId> SubmitScripts(EngineWorld* world, const std::vector<ScriptSpec>& specs) {
  std::vector<JobId> ids;
  SubmitCommand command;
  command.actor = {"alice", "test"};
  for (const ScriptSpec& spec : specs) command.jobs.push_back(ScriptSubmission(spec));
  command.done = [&ids](Result<std::vector<Result<SubmittedJob>>> result) {
    for (const auto& one : *result) ids.push_back(one->job->id);
  };
  MUSTER_CHECK(world->engine->Post(std::move(command)));
  world->Settle();
  return ids;
}

inline JobId SubmitScript(EngineWorld* world, const ScriptSpec& spec) {
  return SubmitScripts(world, {spec}).front();
}

template <class Change>
BatchState StateWith(const Change& change) {
  BatchState state;
  change(state);
  return state;
}
template <class Change>
BatchDetails DetailsWith(const Change& change) {
  BatchDetails details;
  change(details);
  return details;
}

inline BatchState DependsOn(std::vector<Dependency> dependencies) {
  BatchState state;
  state.dependencies = std::move(dependencies);
  return state;
}

inline Result<JobPtr> Command(EngineWorld* world, JobCommand command) {
  std::optional<Result<JobPtr>> answer;
  command.actor = {"alice", "test"};
  command.done = [&answer](Result<JobPtr> result) { answer = std::move(result); };
  world->engine->Post(std::move(command));
  world->Settle();
  return *answer;
}

inline Result<JobPtr> Update(EngineWorld* world, JobId id, JobUpdate update) {
  std::optional<Result<JobPtr>> answer;
  UpdateJobCommand command;
  command.actor = {"alice", "test"};
  command.job = id;
  update.base_version = world->Job(id)->resource_version;
  command.update = std::move(update);
  command.done = [&answer](Result<JobPtr> result) { answer = std::move(result); };
  world->engine->Post(std::move(command));
  world->Settle();
  return *answer;
}

}  // namespace muster::test
