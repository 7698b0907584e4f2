// Volumes of a pod: emptyDir, configMap, secret, downwardAPI, projected, hostPath; others are
// refused.
//
// Volumes of files are written by the daemon before the pod starts, as one copy per user that
// mounts them: Secrets are 0400 and belong to that user, so users of one pod cannot read each
// other's copies. An emptyDir is one directory with the rights of RightsOfShared. A hostPath is
// only a path here; the supervisor looks it up as the container's user.
#include "backends/local/pods/volumes.h"

#include <algorithm>

#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

using Data = std::map<std::string, std::string>;

// Standard alphabet; other characters (padding, line ends) are skipped.
std::string DecodeBase64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) continue;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> count) & 0xFFU);
    }
  }
  return out;
}

// Whether a path inside a volume cannot leave it.
bool StaysInside(const std::string& path) {
  return !path.empty() && path[0] != '/' && ("/" + path + "/").find("/../") == std::string::npos;
}

// The directory that files of a volume are added to.
struct Target {
  std::string dir;                    // below the pod's directory
  std::optional<std::uint32_t> mode;  // of its files, if the volume sets it
  std::uint32_t dir_mode = 0755;
  PodUser user;
  BuiltPod* built = nullptr;
};

constexpr std::uint32_t kFileMode = 0644, kSecretMode = 0400;

// The parents of a file inside the volume.
void AddDirectories(const Target& target, const std::string& below) {
  for (std::size_t slash = below.find('/'); slash != std::string::npos;
       slash = below.find('/', slash + 1)) {
    target.built->directories.push_back({target.dir + "/" + below.substr(0, slash), target.dir_mode,
                                         target.user.uid, target.user.gid});
  }
}

Status AddFile(const Target& target, const std::string& path, std::string data,
               std::uint32_t mode) {
  if (!StaysInside(path))
    return InvalidArgument("a volume's item cannot have the path \"" + path + "\"");
  AddDirectories(target, path);
  target.built->files.push_back(
      {target.dir + "/" + path, std::move(data), mode, target.user.uid, target.user.gid});
  return Done{};
}

// Only permission bits: a volume cannot make a file set-user-ID.
std::uint32_t ModeOf(const json::object& from, const char* key, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(Integer(from, key, otherwise)) & 0777U;
}

// Adds a ConfigMap or Secret: all keys, or the listed items.
Status AddData(const Target& target, const PodContext& context, const std::string& kind,
               const std::string& name, const json::object& source) {
  if (!HasDependent(context, kind, name)) {
    if (FlagAt(source, "optional")) return Done{};
    return InvalidArgument("a volume refers to " + kind + " " + name + ", which does not exist");
  }
  const Result<Data> data = DataOf(context, kind, name);
  if (!data.ok()) return data.error();
  const std::uint32_t usual = kind == "Secret" ? kSecretMode : kFileMode;
  const std::uint32_t mode = ModeOf(source, "defaultMode", target.mode.value_or(usual));
  if (!Has(source, "items")) {
    for (const auto& [key, value] : *data) {
      if (Status added = AddFile(target, key, value, mode); !added.ok()) return added;
    }
    return Done{};
  }
  for (const json::value& entry : ArrayOrEmpty(source, "items")) {
    const json::object& item = ObjectOrEmpty(entry);
    const auto found = data->find(Text(item, "key"));
    if (found == data->end()) {
      if (FlagAt(source, "optional")) continue;
      return InvalidArgument(kind + " " + name + " has no key " + Text(item, "key"));
    }
    if (Status added =
            AddFile(target, Text(item, "path"), found->second, ModeOf(item, "mode", mode));
        !added.ok()) {
      return added;
    }
  }
  return Done{};
}

// Adds the items of a downwardAPI volume.
Status AddDownward(const Target& target, const PodWish& wish, const PodFields& fields,
                   const json::object& source) {
  const std::uint32_t mode = ModeOf(source, "defaultMode", target.mode.value_or(kFileMode));
  for (const json::value& entry : ArrayOrEmpty(source, "items")) {
    const json::object& item = ObjectOrEmpty(entry);
    const json::object& resource = ObjectOrEmpty(item, "resourceFieldRef");
    Result<std::string> value = fields.Field(Text(ObjectOrEmpty(item, "fieldRef"), "fieldPath"));
    if (Has(item, "resourceFieldRef")) {
      for (const json::value& one : ArrayOrEmpty(wish.pod_template, {"spec", "containers"})) {
        if (Text(ObjectOrEmpty(one), "name") == Text(resource, "containerName")) {
          value = fields.Resource(resource, ObjectOrEmpty(one));
        }
      }
    }
    if (!value.ok()) return value.error();
    if (Status added = AddFile(target, Text(item, "path"), *value, ModeOf(item, "mode", mode));
        !added.ok()) {
      return added;
    }
  }
  return Done{};
}

// Adds one source, of a volume or of a projected volume.
Status AddSource(const Target& target, const PodWish& wish, const PodContext& context,
                 const PodFields& fields, const json::object& source) {
  if (Has(source, "configMap")) {
    const json::object& map = ObjectOrEmpty(source, "configMap");
    return AddData(target, context, "ConfigMap", Text(map, "name"), map);
  }
  if (Has(source, "secret")) {
    const json::object& secret = ObjectOrEmpty(source, "secret");
    const std::string name = Text(secret, Has(secret, "secretName") ? "secretName" : "name");
    return AddData(target, context, "Secret", name, secret);
  }
  if (Has(source, "downwardAPI"))
    return AddDownward(target, wish, fields, ObjectOrEmpty(source, "downwardAPI"));
  return InvalidArgument(
      "a local member knows the volumes emptyDir, configMap, secret, downwardAPI, projected "
      "and hostPath; this one is something else");
}

// The users that mount the volume. If no container mounts it: all users, because the volume's path
// is in their environment.
std::vector<PodUser> UsersOfVolume(const json::object& spec, const std::string& volume,
                                   const PodContext& context, const PodUsers& users) {
  std::vector<PodUser> found;
  for (const char* list : {"containers", "initContainers"}) {
    for (const json::value& entry : ArrayOrEmpty(spec, list)) {
      const json::array& mounts = ArrayOrEmpty(entry, "volumeMounts");
      const bool mounts_it = std::any_of(mounts.begin(), mounts.end(), [&](const json::value& one) {
        return Text(ObjectOrEmpty(one), "name") == volume;
      });
      const Result<PodUser> user = UserOf(spec, ObjectOrEmpty(entry), context.accounts);
      if (!mounts_it || !user.ok()) continue;
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](const PodUser& one) { return one.uid == user->uid; });
      if (!known) found.push_back(*user);
    }
  }
  return found.empty() ? users.all : found;
}

// Adds one user's copy of a volume of files.
Status AddCopy(const json::object& volume, const PodUser& user, const PodWish& wish,
               const PodContext& context, const PodFields& fields, VolumePlace* place,
               BuiltPod* built) {
  Target target;
  target.dir = "volumes/" + Text(volume, "name");
  if (!place->of_user.empty()) target.dir += "@" + std::to_string(user.uid);
  // If only the daemon's user can enter the pod's directory (0700), its volumes may be readable, so
  // that programs that change their user inside a container can read them.
  target.dir_mode = built->mode == 0700 ? 0755 : 0700;
  target.user = user;
  target.built = built;
  place->of_user.emplace(user.uid, context.pod_dir + "/" + target.dir);
  built->directories.push_back({target.dir, target.dir_mode, user.uid, user.gid});
  if (!Has(volume, "projected")) return AddSource(target, wish, context, fields, volume);
  const json::object& projected = ObjectOrEmpty(volume, "projected");
  if (Has(projected, "defaultMode")) target.mode = ModeOf(projected, "defaultMode", kFileMode);
  for (const json::value& source : ArrayOrEmpty(projected, "sources")) {
    if (Status added = AddSource(target, wish, context, fields, ObjectOrEmpty(source)); !added.ok())
      return added;
  }
  return Done{};
}

}  // namespace

bool HasDependent(const PodContext& context, const std::string& kind, const std::string& name) {
  for (const Dependent& one : *context.dependents) {
    if (one.kind == kind && one.name == name) return true;
  }
  return false;
}

Result<Data> DataOf(const PodContext& context, const std::string& kind, const std::string& name) {
  Data data;
  for (const Dependent& one : *context.dependents) {
    if (one.kind != kind || one.name != name) continue;
    const bool secret = kind == "Secret";
    for (const auto& member : ObjectOrEmpty(one.manifest, "data")) {
      const std::string text = Text(ObjectOrEmpty(one.manifest, "data"), member.key());
      data[std::string(member.key())] = secret ? DecodeBase64(text) : text;
    }
    for (const auto& member : ObjectOrEmpty(one.manifest, "binaryData")) {
      data[std::string(member.key())] =
          DecodeBase64(Text(ObjectOrEmpty(one.manifest, "binaryData"), member.key()));
    }
    for (const auto& member : ObjectOrEmpty(one.manifest, "stringData")) {
      data[std::string(member.key())] =
          Text(ObjectOrEmpty(one.manifest, "stringData"), member.key());
    }
    return data;
  }
  return InvalidArgument(kind + " " + name + " does not exist");
}

// A user without a copy (a container that does not mount the volume) gets the first one's path; its
// rights keep the user out.
const std::string& VolumePlace::For(std::int64_t uid) const {
  if (!shared.empty() || of_user.empty()) return shared;
  const auto own = of_user.find(uid);
  return own == of_user.end() ? of_user.begin()->second : own->second;
}

// Errors name the volume.
Result<VolumePlaces> BuildVolumes(const PodWish& wish, const PodContext& context,
                                  const PodFields& fields, const PodUsers& users, BuiltPod* built) {
  const json::object& spec = ObjectOrEmpty(wish.pod_template, "spec");
  VolumePlaces places;
  for (const json::value& entry : ArrayOrEmpty(spec, "volumes")) {
    const json::object& volume = ObjectOrEmpty(entry);
    const std::string name = Text(volume, "name");
    if (!StaysInside(name) || name.find('/') != std::string::npos) {
      return InvalidArgument("a volume cannot have the name \"" + name + "\"");
    }
    VolumePlace& place = places[name];
    if (Has(volume, "hostPath")) {
      const json::object& host = ObjectOrEmpty(volume, "hostPath");
      place.on_host = true;
      place.shared = Text(host, "path");
      if (place.shared.empty() || place.shared[0] != '/') {
        return InvalidArgument("volume " + name + ": hostPath.path must be an absolute path");
      }
      place.create = Text(host, "type") == "DirectoryOrCreate";
      continue;
    }
    if (Has(volume, "emptyDir")) {
      const DirectoryRights rights = RightsOfShared(users);
      const std::string dir = "volumes/" + name;
      place.shared = context.pod_dir + "/" + dir;
      built->directories.push_back({dir, rights.mode, rights.uid, rights.gid});
      continue;
    }
    for (const PodUser& user : UsersOfVolume(spec, name, context, users)) {
      Status added = AddCopy(volume, user, wish, context, fields, &place, built);
      if (!added.ok()) return InvalidArgument("volume " + name + ": " + added.error().detail);
    }
  }
  return places;
}

}  // namespace muster::local
