// Paths and manifests of small objects for tests of the fake member.
#pragma once

#include <string>

namespace muster::fake {

inline const std::string kJobs = "/apis/batch/v1/namespaces/default/jobs";
inline const std::string kPods = "/api/v1/namespaces/default/pods";
inline const std::string kJobSets = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";
inline const std::string kTorch = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs";
inline const std::string kRayJobs = "/apis/ray.io/v1/namespaces/default/rayjobs";
inline const std::string kRayClusters = "/apis/ray.io/v1/namespaces/default/rayclusters";
inline const std::string kSets =
    "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets";
inline const std::string kMaps = "/api/v1/namespaces/default/configmaps";

/// `lives`: annotations of the pod, as JSON members.
inline std::string PodTemplate(const std::string& lives, const std::string& policy = "Never") {
  return R"({"metadata":{"labels":{"muster.io/job-uid":"u","muster.io/attempt":"1"},"annotations":{)" +
         lives + R"(}},"spec":{"restartPolicy":")" + policy +
         R"(","containers":[{"name":"main","image":"x"}]}})";
}

/// `more`: further members of the spec, each followed by a comma.
inline std::string Job(const std::string& name, const std::string& lives,
                       const std::string& more = "", const std::string& metadata = "") {
  return R"({"apiVersion":"batch/v1","kind":"Job","metadata":{)" + metadata + R"("name":")" + name +
         R"("},"spec":{)" + more + R"("template":)" + PodTemplate(lives) + "}}";
}

inline const std::string kRun = R"("bed.test/run":"5s")";
inline const std::string kFail = R"("bed.test/fail":"5s","bed.test/exit-code":"42")";
inline const std::string kRelease = R"([{"op":"replace","path":"/spec/suspend","value":false}])";
inline const std::string kHeld = R"("finalizers":["muster.io/record"],)";

inline std::string Map(const std::string& name, const std::string& metadata = "") {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{)" + metadata + R"("name":")" + name +
         R"("},"data":{"a":"b"}})";
}

}  // namespace muster::fake
