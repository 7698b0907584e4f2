// BuildPod: resolves a pod template into spec.json.
//
// For each container: its user; its environment (PATH, HOME, USER, LOGNAME, SHELL, HOSTNAME and
// volume variables, then envFrom, the controller's variables, and env, each of which replaces
// earlier ones); command and args with $(NAME) expanded; mounts; limits. The marker MUSTER_POD_KEY
// comes last, so that no container can override it: it is how leftover processes are found.
//
// Images are not pulled. A main container or sidecar without a command has a stand-in that holds
// its place until the pod is stopped; an init container without one is refused, because the pod
// would wait for its end for ever.
#include "backends/local/pods/pod_builder.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "backends/local/pods/batch_world.h"
#include "backends/local/pods/variables.h"
#include "backends/local/pods/volumes.h"
#include "schedd/base/quantity.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// Kubernetes' default.
constexpr std::int64_t kGracePeriodS = 30;

// The variable of a volume: MUSTER_VOLUME_MODEL_CACHE for model-cache.
std::string VolumeVariable(const std::string& volume) {
  std::string name = "MUSTER_VOLUME_";
  for (const char c : volume) {
    name += std::isalnum(static_cast<unsigned char>(c))
                ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                : '_';
  }
  return name;
}

// envFrom: all keys of ConfigMaps and Secrets.
Status AddEnvironmentFrom(const json::object& container, const PodContext& context,
                          Environment* environment) {
  for (const json::value& entry : ArrayOrEmpty(container, "envFrom")) {
    const json::object& source = ObjectOrEmpty(entry);
    const bool secret = Has(source, "secretRef");
    const json::object& reference = ObjectOrEmpty(source, secret ? "secretRef" : "configMapRef");
    const std::string kind = secret ? "Secret" : "ConfigMap", name = Text(reference, "name");
    if (!HasDependent(context, kind, name) && FlagAt(reference, "optional")) continue;
    const Result<std::map<std::string, std::string>> data = DataOf(context, kind, name);
    if (!data.ok()) return InvalidArgument("envFrom: " + data.error().detail);
    for (const auto& [key, value] : *data) environment->Set(Text(source, "prefix") + key, value);
  }
  return Done{};
}

// The value of an env entry with valueFrom. `present` is false if it is optional and absent.
Result<std::string> ValueFrom(const json::object& from, const json::object& container,
                              const PodContext& context, const PodFields& fields, bool* present) {
  *present = true;
  if (Has(from, "fieldRef"))
    return fields.Field(Text(ObjectOrEmpty(from, "fieldRef"), "fieldPath"));
  if (Has(from, "resourceFieldRef"))
    return fields.Resource(ObjectOrEmpty(from, "resourceFieldRef"), container);
  const bool secret = Has(from, "secretKeyRef");
  if (!secret && !Has(from, "configMapKeyRef"))
    return InvalidArgument("it has an unknown valueFrom");
  const json::object& reference = ObjectOrEmpty(from, secret ? "secretKeyRef" : "configMapKeyRef");
  const std::string kind = secret ? "Secret" : "ConfigMap";
  const Result<std::map<std::string, std::string>> data =
      DataOf(context, kind, Text(reference, "name"));
  if (data.ok()) {
    const auto found = data->find(Text(reference, "key"));
    if (found != data->end()) return found->second;
  }
  *present = !FlagAt(reference, "optional");
  if (!*present) return std::string();
  if (!data.ok()) return data.error();
  return InvalidArgument(kind + " " + Text(reference, "name") + " has no key " +
                         Text(reference, "key"));
}

std::string Joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

// By these a program finds the devices that it has been given.
void AddDevices(const PodContext& context, bool batch, Environment* environment) {
  if (context.devices.empty()) return;
  const std::string list = Joined(context.devices);
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES"})
    environment->Set(name, list);
  if (batch) environment->Set("SLURM_JOB_GPUS", list);
}

// Adds the directory of the Slurm commands behind the other ones, unless it is there.
void AddCommands(const std::string& directory, Environment* environment) {
  const std::string path = environment->Get("PATH").value_or("");
  if (directory.empty() || (":" + path + ":").find(":" + directory + ":") != std::string::npos)
    return;
  environment->Set("PATH", path.empty() ? directory : path + ":" + directory);
}

// What a batch script's environment has whatever its submitter's had: where the pod is, who it is,
// when the job began (the first pod's shell makes SLURM_JOB_START_TIME of it), and how its steps
// start.
void AddBatchVariables(const PodWish& wish, const PodContext& context, const PodUser& user,
                       Environment* environment) {
  const JobAccounts& accounts = context.accounts;
  environment->Set("SLURM_JOB_UID", std::to_string(user.foreign() ? user.uid : accounts.own_uid));
  environment->Set("SLURM_JOB_GID", std::to_string(user.foreign() ? user.gid : accounts.own_gid));
  environment->Set("MUSTER_JOB_START", std::to_string(context.time_began.us / 1'000'000));
  environment->Set("HOSTNAME", wish.host_name.empty() ? wish.identity.name : wish.host_name);
  AddDevices(context, true, environment);
  AddCommands(context.commands_dir, environment);
  environment->Set("MUSTER_STEPS_DIR", context.steps_dir);
  environment->Set("MUSTER_STEP_AGENT", context.step_agent);
}

Result<Environment> BuildEnvironment(const json::object& container, const PodWish& wish,
                                     const PodContext& context, const PodFields& fields,
                                     const PodUser& user, const VolumePlaces& volumes) {
  Environment environment;
  environment.Set("PATH", context.search_path);
  const Result<HostAccount> found =
      context.accounts.Account(user.foreign() ? user.uid : context.accounts.own_uid);
  if (!found.ok()) return found.error();
  const HostAccount& account = *found;
  const bool batch = IsBatchPod(wish.pod_template);
  const bool own_home = user.foreign() || (batch && !account.name.empty());
  environment.Set("HOME", own_home ? account.home : context.home);
  if (!account.name.empty()) {
    environment.Set("USER", account.name);
    environment.Set("LOGNAME", account.name);
    if (!account.shell.empty()) environment.Set("SHELL", account.shell);
  }
  environment.Set("HOSTNAME", wish.host_name.empty() ? wish.identity.name : wish.host_name);
  if (batch) environment.Set("TMPDIR", "/tmp");
  AddDevices(context, false, &environment);
  for (const auto& [volume, place] : volumes)
    environment.Set(VolumeVariable(volume), place.For(user.uid));
  if (Status added = AddEnvironmentFrom(container, context, &environment); !added.ok())
    return added.error();
  for (const auto& [name, value] : wish.environment) environment.Set(name, value);
  for (const json::value& entry : ArrayOrEmpty(container, "env")) {
    const json::object& variable = ObjectOrEmpty(entry);
    const std::string name = Text(variable, "name");
    if (!Has(variable, "valueFrom")) {
      environment.SetExpanded(name, Text(variable, "value"));
      continue;
    }
    bool present = true;
    const Result<std::string> value =
        ValueFrom(ObjectOrEmpty(variable, "valueFrom"), container, context, fields, &present);
    if (!value.ok()) return InvalidArgument("env " + name + ": " + value.error().detail);
    if (present) environment.Set(name, *value);
  }
  if (batch) AddBatchVariables(wish, context, user, &environment);
  // Set last, so that no container can override it.
  environment.Set("MUSTER_POD_KEY", context.marker_key);
  return environment;
}

// Has a subPath of a pod's own volume created if no file is there, as the kubelet does.
void MakePart(const std::string& part, const PodUsers& users, const PodContext& context,
              BuiltPod* built) {
  const std::string relative = part.substr(context.pod_dir.size() + 1);
  for (const VolumeFile& file : built->files) {
    if (file.path == relative) return;
  }
  const DirectoryRights rights = RightsOfShared(users);
  const std::size_t volume = relative.find('/', std::string_view("volumes/").size());
  for (std::size_t slash = relative.find('/', volume + 1);; slash = relative.find('/', slash + 1)) {
    built->directories.push_back({relative.substr(0, slash), rights.mode, rights.uid, rights.gid});
    if (slash == std::string::npos) return;
  }
}

Result<json::array> BuildMounts(const json::object& container, const PodUser& user,
                                const VolumePlaces& volumes, const Environment& environment,
                                const PodUsers& users, BuiltPod* built, const PodContext& context) {
  json::array mounts;
  for (const json::value& entry : ArrayOrEmpty(container, "volumeMounts")) {
    const json::object& mount = ObjectOrEmpty(entry);
    const std::string name = Text(mount, "name");
    std::string target = Text(mount, "mountPath");
    const auto found = volumes.find(name);
    if (found == volumes.end()) return InvalidArgument("volumeMounts: there is no volume " + name);
    if (target.empty() || target[0] != '/' || (target + "/").find("/../") != std::string::npos ||
        target == "/") {
      return InvalidArgument("volumeMounts: mountPath must be an absolute path, not \"" + target +
                             "\"");
    }
    while (target.size() > 1 && target.back() == '/') target.pop_back();
    const VolumePlace& place = found->second;
    std::string below = Has(mount, "subPathExpr") ? environment.Expand(Text(mount, "subPathExpr"))
                                                  : Text(mount, "subPath");
    while (!below.empty() && below.back() == '/') below.pop_back();
    if (below.starts_with('/') || ("/" + below + "/").find("/../") != std::string::npos) {
      return InvalidArgument("volumeMounts: the subPath \"" + below + "\" leaves its volume");
    }
    const std::string& source = place.For(user.uid);
    if (!below.empty() && !place.on_host) MakePart(source + "/" + below, users, context, built);
    mounts.push_back({{"source", source},
                      {"subPath", below},
                      {"own", !place.on_host},
                      {"create", place.create},
                      {"target", target},
                      {"readOnly", FlagAt(mount, "readOnly")}});
  }
  return mounts;
}

// 0 if the container has no such limit.
Result<std::int64_t> Limit(const json::object& container, const std::string& resource) {
  const std::string text = Text(ObjectOrEmpty(container, {"resources", "limits"}), resource);
  if (text.empty()) return std::int64_t{0};
  return ParseQuantity(resource, text);
}

void AddUser(const PodUser& user, json::object* out) {
  if (user.uid >= 0) (*out)["uid"] = user.uid;
  if (user.gid >= 0) (*out)["gid"] = user.gid;
  if (!user.groups.empty()) (*out)["groups"] = json::array(user.groups.begin(), user.groups.end());
}

// The files of the annotations muster.io/stdin-path, stdout-path and stderr-path. Relative paths
// belong to the working directory. All pods of a batch script have its template, but the script
// runs in the first one: another one would truncate what it has written.
void AddStreams(const PodWish& wish, json::object* out) {
  if (wish.identity.index > 0 && IsBatchPod(wish.pod_template)) return;
  const json::object& annotations = ObjectOrEmpty(wish.pod_template, {"metadata", "annotations"});
  for (const auto& [annotation, key] : {std::pair("muster.io/stdin-path", "stdinPath"),
                                        std::pair("muster.io/stdout-path", "stdoutPath"),
                                        std::pair("muster.io/stderr-path", "stderrPath")}) {
    const std::string path = Text(annotations, annotation);
    if (!path.empty()) (*out)[key] = path;
  }
  (*out)["append"] = Text(annotations, "muster.io/open-mode") == "append";
}

// One container for spec.json. `takes_default`: it gets the wish's default_command if it has no
// command.
Result<json::object> BuildContainer(const json::object& container, const std::string& role,
                                    const PodWish& wish, const PodContext& context,
                                    const PodFields& fields, const PodUsers& users,
                                    const VolumePlaces& volumes, bool takes_default,
                                    BuiltPod* built) {
  json::object out{{"name", Text(container, "name")}, {"role", role}};
  const Result<PodUser> user =
      UserOf(ObjectOrEmpty(wish.pod_template, "spec"), container, context.accounts);
  if (!user.ok()) return user.error();
  const Result<Environment> environment =
      BuildEnvironment(container, wish, context, fields, *user, volumes);
  if (!environment.ok()) return environment.error();
  json::array argv;
  for (const char* part : {"command", "args"}) {
    if (part == std::string_view("args") && argv.empty()) break;
    for (const json::value& word : ArrayOrEmpty(container, part)) {
      if (word.is_string()) argv.emplace_back(environment->Expand(word.get_string()));
    }
  }
  // Without a command the image's entry point would run, but images are not pulled.
  if (argv.empty()) {
    if (takes_default) {
      for (const std::string& word : wish.default_command) argv.emplace_back(word);
    }
    const std::string image = Text(container, "image");
    out["standInFor"] = image.empty() ? "(none)" : image;
  }
  out["argv"] = std::move(argv);
  json::array entries;
  for (std::string& entry : environment->Entries()) entries.emplace_back(std::move(entry));
  out["environment"] = std::move(entries);
  const std::string working_dir = environment->Expand(Text(container, "workingDir"));
  out["workingDir"] = working_dir;
  Result<json::array> mounts =
      BuildMounts(container, *user, volumes, *environment, users, built, context);
  if (!mounts.ok()) return mounts.error();
  out["mounts"] = std::move(*mounts);
  const Result<std::int64_t> memory = Limit(container, "memory"), cpu = Limit(container, "cpu");
  if (!memory.ok()) return memory.error();
  if (!cpu.ok()) return cpu.error();
  out["memoryBytes"] = *memory;
  out["cpuMilli"] = *cpu;
  AddUser(*user, &out);
  if (role == "main") AddStreams(wish, &out);
  return out;
}

// Builds all containers, init containers first.
Status AddContainers(const PodWish& wish, const PodContext& context, const PodFields& fields,
                     const PodUsers& users, const VolumePlaces& volumes, BuiltPod* built) {
  const json::object& spec = ObjectOrEmpty(wish.pod_template, "spec");
  json::array containers;
  for (const char* list : {"initContainers", "containers"}) {
    const bool init = list == std::string_view("initContainers");
    for (const json::value& entry : ArrayOrEmpty(spec, list)) {
      const json::object& container = ObjectOrEmpty(entry);
      const std::string role = !init                                          ? "main"
                               : Text(container, "restartPolicy") == "Always" ? "sidecar"
                                                                              : "init";
      const bool first_main =
          role == "main" &&
          (containers.empty() || ObjectOrEmpty(containers.back()).at("role") != "main");
      Result<json::object> made =
          BuildContainer(container, role, wish, context, fields, users, volumes, first_main, built);
      if (!made.ok()) {
        Error refused = made.error();
        refused.detail = "container " + Text(container, "name") + ": " + refused.detail;
        return refused;
      }
      // Only the first main container is connected to the files of the annotations.
      if (role == "main" && !first_main) {
        for (const char* key : {"stdinPath", "stdoutPath", "stderrPath"}) made->erase(key);
      }
      built->directories.push_back({"log/" + Text(container, "name"), 0700});
      containers.emplace_back(std::move(*made));
    }
  }
  built->spec["containers"] = std::move(containers);
  return Done{};
}

json::array CgroupsJson(const std::vector<CgroupMount>& mounts) {
  json::array all;
  for (const CgroupMount& mount : mounts) {
    all.push_back({{"version", mount.version},
                   {"base", mount.base},
                   {"memory", mount.memory},
                   {"cpu", mount.cpu},
                   {"pids", mount.pids}});
  }
  return all;
}

// The part of spec.json that only pods of batch scripts have.
Result<json::object> BatchJson(const PodWish& wish, const PodContext& context) {
  const Result<BatchWorld> world = ReadBatchWorld(wish.pod_template);
  if (!world.ok()) return world.error();
  json::object limits;
  for (const auto& [name, value] : world->limits) limits[name] = value;
  json::array cpus(context.cpus.begin(), context.cpus.end());
  const std::string host = wish.host_name.empty() ? wish.identity.name : wish.host_name;
  const bool script =
      wish.identity.index <= 0 && (context.script_host.empty() || host == context.script_host);
  json::object out{{"job", context.job},
                   {"script", script},
                   {"host", host},
                   {"umask", world->umask},
                   {"limits", std::move(limits)},
                   {"cpus", std::move(cpus)},
                   {"stepsDir", context.steps_dir},
                   {"stepAgent", context.step_agent}};
  if (world->warning_signal > 0 && world->time_limit_s > 0) {
    out["warningSignal"] = world->warning_signal;
    out["warningBatchOnly"] = world->warning_batch_only;
    out["warningAtUs"] =
        context.time_began
            .PlusSeconds(std::max<std::int64_t>(0, world->time_limit_s - world->warning_before_s))
            .us;
  }
  return out;
}

bool IsFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

}  // namespace

std::string MarkerOf(const std::string& marker_key) { return "MUSTER_POD_KEY=" + marker_key; }

Result<BuiltPod> BuildPod(const PodWish& wish, const PodContext& context) {
  if (Status sound = CheckTemplate(wish.pod_template); !sound.ok()) return sound.error();
  const json::object& spec = ObjectOrEmpty(wish.pod_template, "spec");
  BuiltPod built;
  const Result<PodUsers> users = UsersOf(spec, context.accounts);
  if (!users.ok()) return users.error();
  const DirectoryRights shared = RightsOfShared(*users);
  if (users->any_foreign()) built.mode = 0711;
  for (const PodUser& user : users->all) {
    if (user.foreign()) built.users.push_back(user.uid);
  }
  built.directories = {
      {"volumes", 0711}, {"log", 0700}, {"work", shared.mode, shared.uid, shared.gid}};
  const PodFields fields(wish, context);
  const Result<VolumePlaces> volumes = BuildVolumes(wish, context, fields, *users, &built);
  if (!volumes.ok()) return volumes.error();
  const std::string restart = Text(spec, "restartPolicy");
  built.spec = {
      {"pod", wish.identity.name},
      {"hostName", wish.host_name.empty() ? wish.identity.name : wish.host_name},
      {"hostsFile", context.hosts_file},
      {"gracePeriodSeconds", Integer(spec, "terminationGracePeriodSeconds", kGracePeriodS)},
      {"activeDeadlineSeconds", Integer(spec, "activeDeadlineSeconds", 0)},
      {"restartPolicy", restart.empty() ? "Always" : restart},
      {"isolation", context.isolation},
      {"cgroups", CgroupsJson(context.cgroups)},
      {"cgroupKey", context.marker_key},
      {"maxProcesses", context.max_processes},
      {"logBytes", context.log_bytes}};
  if (!context.devices.empty())
    built.spec["devices"] = json::array(context.devices.begin(), context.devices.end());
  if (Status added = AddContainers(wish, context, fields, *users, *volumes, &built); !added.ok())
    return added.error();
  if (!IsBatchPod(wish.pod_template)) return built;
  Result<json::object> batch = BatchJson(wish, context);
  if (!batch.ok()) return batch.error();
  built.spec["batch"] = std::move(*batch);
  // The users of a pod are in the order of its main containers.
  built.batch_user = users->all.front();
  return built;
}

Status CheckTemplate(const json::object& pod_template) {
  const json::object& spec = ObjectOrEmpty(pod_template, "spec");
  if (ArrayOrEmpty(spec, "containers").empty())
    return InvalidArgument("a pod template has no containers");
  for (const char* list : {"initContainers", "containers"}) {
    for (const json::value& entry : ArrayOrEmpty(spec, list)) {
      const json::object& container = ObjectOrEmpty(entry);
      const std::string name = Text(container, "name");
      if (!IsFileName(name))
        return InvalidArgument("a container cannot have the name \"" + name + "\"");
      // Stand-ins hold the places of other containers; an init container must end by itself.
      const bool must_end = list == std::string_view("initContainers") &&
                            Text(container, "restartPolicy") != "Always";
      if (must_end && ArrayOrEmpty(container, "command").empty()) {
        return InvalidArgument("init container " + name +
                               " has no command, and a local member does not pull images: "
                               "give it one");
      }
    }
  }
  return Done{};
}

}  // namespace muster::local
