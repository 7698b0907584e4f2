// Traces in the Standard Workload Format, and the jobs that are made of them.
#include <vector>

#include "schedd/simulate/scenario.h"
#include "schedd/simulate/swf.h"
#include "schedd/text/documents.h"
#include "tests/fuzz/fuzz.h"

namespace {

const std::vector<muster::json::value>& Queue() {
  static const auto documents = muster::ParseDocuments(R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: standard}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
spec: {resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: standard, resources: [
  {name: cpu, nominalQuota: 8}, {name: memory, nominalQuota: 8Gi}]}]}]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: main, namespace: default}
spec: {clusterQueue: team}
)");
  return documents.value();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const auto trace = simulate::ParseSwf(fuzz::Text(data, size));
  if (!trace.ok()) return 0;
  auto scenario = simulate::ReadScenario(Queue(), {});
  fuzz::Require(scenario.ok(), "the queue of the jobs is a good one");
  simulate::SwfRules rules;
  rules.queue = "default/main";
  rules.memory = true;
  const auto counts = simulate::AddSwfJobs(*trace, rules, &*scenario);
  if (counts.ok())
    fuzz::Require(counts->taken + counts->never_ran + counts->no_processors + counts->partial ==
                      trace->size(),
                  "every line is counted once");
  return 0;
}
