#include "backends/local/pods/volumes.h"

namespace muster::local {
namespace {

using Data = std::map<std::string, std::string>;

/// Standard alphabet; padding and line ends are skipped, as is whatever the API would have refused.
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

/// A path inside a volume may not leave it.
bool StaysInside(const std::string& path) {
  return !path.empty() && path[0] != '/' && ("/" + path + "/").find("/../") == std::string::npos;
}

struct Target {
  std::string dir;  // below the pod's directory
  std::uint32_t mode = 0644;
  BuiltPod* built = nullptr;
};

Status AddFile(const Target& target, const std::string& path, std::string data,
               std::uint32_t mode) {
  if (!StaysInside(path))
    return InvalidArgument("a volume's item cannot have the path \"" + path + "\"");
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos)
    target.built->directories.push_back(target.dir + "/" + path.substr(0, slash));
  target.built->files.push_back({target.dir + "/" + path, std::move(data), mode});
  return Done{};
}

std::uint32_t ModeOf(const json::object& from, const char* key, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(Integer(from, key, otherwise)) & 0777U;
}

/// A ConfigMap or Secret source: all keys, or the items named.
Status AddData(const Target& target, const PodContext& context, const std::string& kind,
               const std::string& name, const json::object& source) {
  if (!HasDependent(context, kind, name)) {
    if (Flag(source, "optional")) return Done{};
    return InvalidArgument("a volume refers to " + kind + " " + name + ", which does not exist");
  }
  const Result<Data> data = DataOf(context, kind, name);
  if (!data.ok()) return data.error();
  const std::uint32_t mode = ModeOf(source, "defaultMode", target.mode);
  if (!Has(source, "items")) {
    for (const auto& [key, value] : *data) {
      if (Status added = AddFile(target, key, value, mode); !added.ok()) return added;
    }
    return Done{};
  }
  for (const json::value& entry : Array(source, "items")) {
    const json::object& item = AsObject(entry);
    const auto found = data->find(Text(item, "key"));
    if (found == data->end()) {
      if (Flag(source, "optional")) continue;
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

Status AddDownward(const Target& target, const PodWish& wish, const PodFields& fields,
                   const json::object& source) {
  const std::uint32_t mode = ModeOf(source, "defaultMode", target.mode);
  for (const json::value& entry : Array(source, "items")) {
    const json::object& item = AsObject(entry);
    const json::object& resource = Object(item, "resourceFieldRef");
    Result<std::string> value = fields.Field(Text(Object(item, "fieldRef"), "fieldPath"));
    if (Has(item, "resourceFieldRef")) {
      for (const json::value& one : Array(Object(wish.pod_template, "spec"), "containers")) {
        if (Text(AsObject(one), "name") == Text(resource, "containerName")) {
          value = fields.Resource(resource, AsObject(one));
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

Status AddSource(const Target& target, const PodWish& wish, const PodContext& context,
                 const PodFields& fields, const json::object& source) {
  if (Has(source, "configMap")) {
    const json::object& map = Object(source, "configMap");
    return AddData(target, context, "ConfigMap", Text(map, "name"), map);
  }
  if (Has(source, "secret")) {
    const json::object& secret = Object(source, "secret");
    const std::string name = Text(secret, Has(secret, "secretName") ? "secretName" : "name");
    return AddData(target, context, "Secret", name, secret);
  }
  if (Has(source, "downwardAPI"))
    return AddDownward(target, wish, fields, Object(source, "downwardAPI"));
  return InvalidArgument(
      "a local member knows the volumes emptyDir, configMap, secret, downwardAPI, projected "
      "and hostPath; this one is something else");
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
    for (const auto& member : Object(one.manifest, "data")) {
      const std::string text = Text(Object(one.manifest, "data"), member.key());
      data[std::string(member.key())] = secret ? DecodeBase64(text) : text;
    }
    for (const auto& member : Object(one.manifest, "binaryData")) {
      data[std::string(member.key())] =
          DecodeBase64(Text(Object(one.manifest, "binaryData"), member.key()));
    }
    for (const auto& member : Object(one.manifest, "stringData")) {
      data[std::string(member.key())] = Text(Object(one.manifest, "stringData"), member.key());
    }
    return data;
  }
  return InvalidArgument(kind + " " + name + " does not exist");
}

Result<std::map<std::string, std::string>> BuildVolumes(const PodWish& wish,
                                                        const PodContext& context,
                                                        const PodFields& fields, BuiltPod* built) {
  std::map<std::string, std::string> places;
  for (const json::value& entry : Array(Object(wish.pod_template, "spec"), "volumes")) {
    const json::object& volume = AsObject(entry);
    const std::string name = Text(volume, "name");
    if (!StaysInside(name) || name.find('/') != std::string::npos) {
      return InvalidArgument("a volume cannot have the name \"" + name + "\"");
    }
    if (Has(volume, "hostPath")) {
      const json::object& host = Object(volume, "hostPath");
      places[name] = Text(host, "path");
      if (places[name].empty() || places[name][0] != '/') {
        return InvalidArgument("volume " + name + ": hostPath.path must be an absolute path");
      }
      if (Text(host, "type") == "DirectoryOrCreate")
        built->host_directories.push_back(places[name]);
      continue;
    }
    const Target target{"volumes/" + name, 0644, built};
    places[name] = context.pod_dir + "/" + target.dir;
    if (Has(volume, "emptyDir")) {
      built->open_directories.push_back(target.dir);
      continue;
    }
    built->directories.push_back(target.dir);
    Status added = Done{};
    if (Has(volume, "projected")) {
      const json::object& projected = Object(volume, "projected");
      const Target inner{target.dir, ModeOf(projected, "defaultMode", 0644), built};
      for (const json::value& source : Array(projected, "sources")) {
        if (added.ok()) added = AddSource(inner, wish, context, fields, AsObject(source));
      }
    } else {
      added = AddSource(target, wish, context, fields, volume);
    }
    if (!added.ok()) return InvalidArgument("volume " + name + ": " + added.error().detail);
  }
  return places;
}

}  // namespace muster::local
