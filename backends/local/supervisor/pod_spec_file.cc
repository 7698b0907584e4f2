#include "backends/local/supervisor/pod_spec_file.h"

#include <boost/json.hpp>

#include "backends/local/process/files.h"

namespace muster::local {
namespace {

namespace json = boost::json;

std::string Text(const json::object& from, const char* key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::int64_t Number(const json::object& from, const char* key, std::int64_t otherwise) {
  const json::value* found = from.if_contains(key);
  return found && found->is_int64() ? found->get_int64() : otherwise;
}

bool Flag(const json::object& from, const char* key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_bool() && found->get_bool();
}

const json::array& Items(const json::object& from, const char* key) {
  static const json::array kNone;
  const json::value* found = from.if_contains(key);
  return found && found->is_array() ? found->get_array() : kNone;
}

std::vector<std::string> Strings(const json::object& from, const char* key) {
  std::vector<std::string> all;
  for (const json::value& item : Items(from, key)) all.emplace_back(item.as_string());
  return all;
}

ContainerSpec ReadContainer(const json::object& from) {
  ContainerSpec container;
  container.name = Text(from, "name");
  const std::string role = Text(from, "role");
  container.role = role == "init"      ? ContainerRole::kInit
                   : role == "sidecar" ? ContainerRole::kSidecar
                                       : ContainerRole::kMain;
  container.argv = Strings(from, "argv");
  container.environment = Strings(from, "environment");
  container.stand_in_for = Text(from, "standInFor");
  container.working_dir = Text(from, "workingDir");
  for (const json::value& item : Items(from, "mounts")) {
    const json::object& mount = item.as_object();
    container.mounts.push_back({Text(mount, "source"), Text(mount, "target"),
                                Flag(mount, "readOnly"), Text(mount, "subPath"),
                                Flag(mount, "own"), Flag(mount, "create")});
  }
  container.memory_bytes = Number(from, "memoryBytes", 0);
  container.cpu_milli = Number(from, "cpuMilli", 0);
  container.uid = Number(from, "uid", -1);
  container.gid = Number(from, "gid", -1);
  for (const json::value& group : Items(from, "groups")) {
    if (group.is_int64()) container.groups.push_back(group.get_int64());
  }
  container.stdin_path = Text(from, "stdinPath");
  container.stdout_path = Text(from, "stdoutPath");
  container.stderr_path = Text(from, "stderrPath");
  container.append = Flag(from, "append");
  return container;
}

SupervisedPod ReadPod(const json::object& from) {
  SupervisedPod pod;
  pod.name = Text(from, "pod");
  pod.host_name = Text(from, "hostName");
  pod.hosts_file = Text(from, "hostsFile");
  pod.grace_period_s = Number(from, "gracePeriodSeconds", 30);
  pod.active_deadline_s = Number(from, "activeDeadlineSeconds", 0);
  const std::string restart = Text(from, "restartPolicy");
  pod.restart_policy = restart == "Always"      ? RestartPolicy::kAlways
                       : restart == "OnFailure" ? RestartPolicy::kOnFailure
                                                : RestartPolicy::kNever;
  const std::string isolation = Text(from, "isolation");
  pod.isolation = isolation == "mount"  ? Isolation::kMountNamespace
                  : isolation == "user" ? Isolation::kUserNamespace
                                        : Isolation::kNone;
  for (const json::value& item : Items(from, "cgroups")) {
    const json::object& mount = item.as_object();
    pod.cgroups.push_back({static_cast<int>(Number(mount, "version", 2)), Text(mount, "base"),
                           Flag(mount, "memory"), Flag(mount, "cpu"), Flag(mount, "pids")});
  }
  pod.cgroup_key = Text(from, "cgroupKey");
  pod.max_processes = Number(from, "maxProcesses", 0);
  pod.log_bytes = Number(from, "logBytes", 0);
  for (const json::value& item : Items(from, "containers")) {
    pod.containers.push_back(ReadContainer(item.as_object()));
  }
  return pod;
}

}  // namespace

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
