// Builders for the tests of schedd/simulate: scenarios from short YAML, decisions as short lines.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/simulate/play.h"
#include "schedd/simulate/report.h"
#include "schedd/simulate/scenario.h"
#include "schedd/text/documents.h"

namespace muster::simulate::testing {

inline std::string Flavor(const std::string& name = "default") {
  return "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: " + name +
         "}\n---\n";
}

/// A ClusterQueue with a LocalQueue of its name; `more` are further lines of its spec.
inline std::string Queue(const std::string& name, int cpus, const std::string& more = "") {
  return "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: " + name +
         "}\nspec:\n" + more +
         "  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n    - name: default\n"
         "      resources: [{name: cpu, nominalQuota: " +
         std::to_string(cpus) +
         "}]\n---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: " + name +
         "}\nspec: {clusterQueue: " + name + "}\n---\n";
}

inline std::string Priority(const std::string& name, int value) {
  return "apiVersion: kueue.x-k8s.io/v1beta1\nkind: WorkloadPriorityClass\nmetadata: {name: " +
         name + "}\nvalue: " + std::to_string(value) + "\n---\n";
}

struct JobText {
  std::string name, queue;
  int cpus = 1;
  std::string arrival = "0", run = "10";
  std::string priority = "";
  std::string labels = "";  // further ones, "key: value" with a comma before each
  int deadline = 0;         // activeDeadlineSeconds; 0: none
};

inline std::string Job(const JobText& job) {
  return "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " + job.name +
         "\n  labels: {kueue.x-k8s.io/queue-name: " + job.queue +
         (job.priority.empty() ? "" : ", kueue.x-k8s.io/priority-class: " + job.priority) +
         job.labels + "}\n  annotations: {muster.io/arrival: \"" + job.arrival +
         "\", muster.io/run-time: \"" + job.run + "\"}\nspec:\n" +
         (job.deadline > 0 ? "  activeDeadlineSeconds: " + std::to_string(job.deadline) + "\n"
                           : std::string()) +
         "  template:\n    spec:\n      restartPolicy: Never\n      containers:\n"
         "      - {name: main, image: x, resources: {requests: {cpu: " +
         std::to_string(job.cpus) + "}}}\n---\n";
}

inline Scenario ScenarioOf(const std::string& yaml, const ReadOptions& options = {}) {
  const auto documents = ParseDocuments(yaml);
  EXPECT_TRUE(documents.ok()) << (documents.ok() ? "" : documents.error().detail);
  auto scenario = ReadScenario(documents.value(), options);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().detail);
  return scenario.ok() ? std::move(*scenario) : Scenario{std::make_shared<ConfigView>(), {}, {}};
}

inline RunOptions FromStart() {
  RunOptions options;
  options.start = kClockStart;
  return options;
}

/// "10s Admitted a", one for each decision.
inline std::vector<std::string> Story(const Scenario& scenario,
                                      const RunOptions& options = FromStart(),
                                      RunOutcome* outcome = nullptr) {
  std::vector<std::string> lines;
  RunOutcome ended = Run(scenario, options, [&](const Decision& one) {
    lines.push_back(SecondsText(one.at.us - options.start.us) + " " +
                    std::string(DecisionName(one.kind)) + " " + one.job->name +
                    (one.by == nullptr ? "" : " for " + one.by->name));
  });
  if (outcome != nullptr) *outcome = std::move(ended);
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace muster::simulate::testing
