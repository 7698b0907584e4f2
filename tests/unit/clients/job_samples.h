// Job views as the server writes them, for the tests of the clients.
#pragma once

#include <string>

namespace muster::testing {

struct SampleJob {
  long long id = 1;
  std::string name = "train", ns = "default", user = "alice", queue = "default", state = "Running",
              reason = "Running";
  std::string message = {}, cluster = "alpha";
  std::string start = "2026-11-21T10:00:00.000000Z", end = {};
  std::string exit_code = "null";
  int exit_signal = 0, priority = 0, nodes = 1;
  long long limit = 0;
  bool batch = true;
  long long array_id = 0;
  int array_task = -1;
  std::string array_spec = {};
  std::string requeue_at = {};
};

inline std::string TimeText(const std::string& stamp) {
  return stamp.empty() ? "null" : "\"" + stamp + "\"";
}

inline std::string ViewOf(const SampleJob& job) {
  std::string out =
      "{\"id\":" + std::to_string(job.id) +
      ",\"uid\":\"00000000-0000-4000-8000-000000000001\",\"name\":\"job-x\"" + ",\"namespace\":\"" +
      job.ns + "\",\"kind\":\"" + (job.batch ? "BatchScript" : "Job") + "\",\"apiVersion\":\"v\"" +
      ",\"displayName\":\"" + job.name + "\",\"user\":\"" + job.user + "\",\"queue\":\"" +
      job.queue + "\",\"clusterQueue\":\"team-a\",\"priority\":" + std::to_string(job.priority) +
      ",\"priorityClass\":\"\",\"state\":\"" + job.state + "\",\"reason\":\"" + job.reason +
      "\",\"message\":\"" + job.message + "\",\"cluster\":\"" + job.cluster +
      "\",\"attempt\":1,\"submitTime\":\"2026-11-21T09:59:00.000000Z\",\"admitTime\":null,"
      "\"startTime\":" +
      TimeText(job.start) + ",\"endTime\":" + TimeText(job.end) +
      ",\"requeueAt\":" + TimeText(job.requeue_at) + ",\"exitCode\":" + job.exit_code +
      ",\"exitSignal\":" + std::to_string(job.exit_signal) +
      ",\"timeLimitSeconds\":" + std::to_string(job.limit) +
      ",\"podSets\":[{\"name\":\"main\",\"count\":2,\"flavors\":{\"cpu\":\"f\"},\"requests\":{"
      "\"cpu\":\"1500m\",\"memory\":\"2Gi\"}}]" +
      ",\"conditions\":[{\"type\":\"Admitted\",\"status\":\"True\",\"reason\":\"r\",\"message\":"
      "\"id\"}]";
  if (!job.batch) return out + ",\"batch\":null}";
  return out + ",\"batch\":{\"arrayJobId\":" + std::to_string(job.array_id) +
         ",\"arrayTaskId\":" + std::to_string(job.array_task) + ",\"arraySpec\":\"" +
         job.array_spec +
         "\",\"workDir\":\"/home/alice\",\"command\":\"/home/alice/"
         "run.sh\",\"output\":\"slurm-%j.out\",\"error\":\"\",\"comment\":\"\"," +
         "\"nodes\":" + std::to_string(job.nodes) +
         ",\"tasks\":2,\"cpusPerTask\":1,\"memoryPerNodeMb\":4096,\"gres\":\"\"}}";
}

template <class... Jobs>
std::string ListOf(const Jobs&... jobs) {
  std::string out;
  ((out += (out.empty() ? "" : ",") + ViewOf(jobs)), ...);
  return "{\"items\":[" + out + "],\"next_page_token\":\"\"}";
}

}  // namespace muster::testing
