// Quantities in the form that an API server returns, in every kind that has quantities.
#include "schedd/shapes/parts/canonical.h"

#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

json::value Canonical(const std::string& yaml) {
  json::value value = Yaml(yaml);
  CanonicaliseQuantities(&value);
  return value;
}

TEST(CanonicalQuantities, AreTextsInEveryKind) {
  const std::pair<const char*, const char*> cases[] = {
      {"{kind: Job, spec: {parallelism: 2, template: {spec: {overhead: {cpu: 0.5}, containers: "
       "[{resources: {requests: {cpu: 1, memory: 1024Mi}, limits: {nvidia.com/gpu: 2}, claims: "
       "[{name: 1}]}, ports: [{containerPort: 80}], env: [{valueFrom: {resourceFieldRef: {divisor: "
       "1}}}]}], volumes: [{emptyDir: {sizeLimit: 1000}}, {ephemeral: {volumeClaimTemplate: {spec: "
       "{resources: {requests: {storage: 1}}}}}}]}}}}",
       "{kind: Job, spec: {parallelism: 2, template: {spec: {overhead: {cpu: 500m}, containers: "
       "[{resources: {requests: {cpu: \"1\", memory: 1Gi}, limits: {nvidia.com/gpu: \"2\"}, "
       "claims: "
       "[{name: 1}]}, ports: [{containerPort: 80}], env: [{valueFrom: {resourceFieldRef: {divisor: "
       "\"1\"}}}]}], volumes: [{emptyDir: {sizeLimit: 1k}}, {ephemeral: {volumeClaimTemplate: "
       "{spec: {resources: {requests: {storage: \"1\"}}}}}}]}}}}"},
      {"{kind: ClusterQueue, spec: {fairSharing: {weight: 0.5}, resourceGroups: [{flavors: [{name: "
       "a, resources: [{name: cpu, nominalQuota: 8, borrowingLimit: 1.5, lendingLimit: 0}]}]}]}}",
       "{kind: ClusterQueue, spec: {fairSharing: {weight: 500m}, resourceGroups: [{flavors: "
       "[{name: "
       "a, resources: [{name: cpu, nominalQuota: \"8\", borrowingLimit: 1500m, lendingLimit: "
       "\"0\"}]}]}]}}"},
      {"{kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: 2}, default: {memory: "
       "1024Ki}, maxLimitRequestRatio: {cpu: 2}}]}}",
       "{kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: \"2\"}, default: {memory: "
       "1Mi}, maxLimitRequestRatio: {cpu: \"2\"}}]}}"},
      {"{kind: RuntimeClass, overhead: {podFixed: {cpu: 0.25}}}",
       "{kind: RuntimeClass, overhead: {podFixed: {cpu: 250m}}}"},
      {"{kind: ConfigMap, data: {resources: {requests: {cpu: 1}}}}",
       "{kind: ConfigMap, data: {resources: {requests: {cpu: 1}}}}"},
      {"{kind: Job, metadata: {annotations: {resources: {requests: {a: 1}}}}, spec: {template: "
       "{spec: {nodeSelector: {resources: \"1.50\"}, containers: [{resources: {requests: {cpu: "
       "much, memory: null}}}]}}}}",
       "{kind: Job, metadata: {annotations: {resources: {requests: {a: 1}}}}, spec: {template: "
       "{spec: {nodeSelector: {resources: \"1.50\"}, containers: [{resources: {requests: {cpu: "
       "much, memory: null}}}]}}}}"},
  };
  for (const auto& [written, answered] : cases) EXPECT_EQ(Canonical(written), Yaml(answered));
}

TEST(CanonicalQuantities, TwiceIsAsOnce) {
  const std::string queue = "{kind: ClusterQueue, spec: {a: [{nominalQuota: 1500M}]}}";
  json::value once = Canonical(queue), twice = once;
  CanonicaliseQuantities(&twice);
  EXPECT_EQ(once, twice);
}

}  // namespace
}  // namespace muster::shapes
