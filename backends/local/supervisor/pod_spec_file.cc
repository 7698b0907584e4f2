// Reads spec.json. The file is the backend's own, so a value of the wrong type is an internal error
// and needs no message about its place. pod_builder.cc is the writer; the two must agree.
#include "backends/local/supervisor/pod_spec_file.h"

#include <boost/json.hpp>

#include "backends/local/process/files.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

namespace json = boost::json;

std::int64_t Number(const json::object& from, const char* key, std::int64_t otherwise) {
  return IntegerAt(from, key).value_or(otherwise);
}

std::vector<std::string> Strings(const json::object& from, const char* key) {
  std::vector<std::string> all;
  for (const json::value& item : ArrayOrEmpty(from, key)) all.emplace_back(item.as_string());
  return all;
}

ContainerSpec ReadContainer(const json::object& from) {
  ContainerSpec container;
  container.name = TextAt(from, "name");
  const std::string role = TextAt(from, "role");
  container.role = role == "init"      ? ContainerRole::kInit
                   : role == "sidecar" ? ContainerRole::kSidecar
                                       : ContainerRole::kMain;
  container.argv = Strings(from, "argv");
  container.environment = Strings(from, "environment");
  container.stand_in_for = TextAt(from, "standInFor");
  container.working_dir = TextAt(from, "workingDir");
  for (const json::value& item : ArrayOrEmpty(from, "mounts")) {
    const json::object& mount = item.as_object();
    container.mounts.push_back({TextAt(mount, "source"), TextAt(mount, "target"),
                                FlagAt(mount, "readOnly"), TextAt(mount, "subPath"),
                                FlagAt(mount, "own"), FlagAt(mount, "create")});
  }
  container.memory_bytes = Number(from, "memoryBytes", 0);
  container.cpu_milli = Number(from, "cpuMilli", 0);
  container.uid = Number(from, "uid", -1);
  container.gid = Number(from, "gid", -1);
  for (const json::value& group : ArrayOrEmpty(from, "groups")) {
    if (group.is_int64()) container.groups.push_back(group.get_int64());
  }
  container.stdin_path = TextAt(from, "stdinPath");
  container.stdout_path = TextAt(from, "stdoutPath");
  container.stderr_path = TextAt(from, "stderrPath");
  container.append = FlagAt(from, "append");
  return container;
}

BatchPod ReadBatch(const json::object& from) {
  BatchPod batch;
  batch.job = Number(from, "job", 0);
  batch.script = FlagAt(from, "script");
  batch.host = TextAt(from, "host");
  batch.umask = static_cast<int>(Number(from, "umask", -1));
  for (const auto& limit : ObjectOrEmpty(from, "limits"))
    batch.soft_limits.emplace_back(limit.key(), limit.value().as_int64());
  for (const json::value& cpu : ArrayOrEmpty(from, "cpus"))
    batch.cpus.push_back(static_cast<int>(cpu.as_int64()));
  batch.steps_dir = TextAt(from, "stepsDir");
  batch.step_agent = TextAt(from, "stepAgent");
  batch.warning_signal = static_cast<int>(Number(from, "warningSignal", 0));
  batch.warning_batch_only = FlagAt(from, "warningBatchOnly");
  batch.warning_at_us = Number(from, "warningAtUs", 0);
  return batch;
}

SupervisedPod ReadPod(const json::object& from) {
  SupervisedPod pod;
  pod.name = TextAt(from, "pod");
  pod.host_name = TextAt(from, "hostName");
  pod.hosts_file = TextAt(from, "hostsFile");
  pod.grace_period_s = Number(from, "gracePeriodSeconds", 30);
  pod.active_deadline_s = Number(from, "activeDeadlineSeconds", 0);
  const std::string restart = TextAt(from, "restartPolicy");
  pod.restart_policy = restart == "Always"      ? RestartPolicy::kAlways
                       : restart == "OnFailure" ? RestartPolicy::kOnFailure
                                                : RestartPolicy::kNever;
  const std::string isolation = TextAt(from, "isolation");
  pod.isolation = isolation == "mount"  ? Isolation::kMountNamespace
                  : isolation == "user" ? Isolation::kUserNamespace
                                        : Isolation::kNone;
  for (const json::value& item : ArrayOrEmpty(from, "cgroups")) {
    const json::object& mount = item.as_object();
    pod.cgroups.push_back({static_cast<int>(Number(mount, "version", 2)), TextAt(mount, "base"),
                           FlagAt(mount, "memory"), FlagAt(mount, "cpu"), FlagAt(mount, "pids")});
  }
  pod.cgroup_key = TextAt(from, "cgroupKey");
  pod.max_processes = Number(from, "maxProcesses", 0);
  pod.log_bytes = Number(from, "logBytes", 0);
  if (const json::object* batch = FindObject(from, "batch")) pod.batch = ReadBatch(*batch);
  for (const json::value& item : ArrayOrEmpty(from, "containers")) {
    pod.containers.push_back(ReadContainer(item.as_object()));
  }
  return pod;
}

}  // namespace

// as_object and as_string throw on another type, which is caught here.
Result<SupervisedPod> ReadSpecFile(const std::string& path) {
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return text.error();
  try {
    return ReadPod(json::parse(*text).as_object());
  } catch (const std::exception& broken) {
    return Internal("the pod's spec file is broken: " + std::string(broken.what()));
  }
}

}  // namespace muster::local
