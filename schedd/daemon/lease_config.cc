// A private PostgreSQL has no other daemon: these keys would do nothing beside it and are refused.
//
// The id of a lease has three parts: a random one that is kept in the data directory, the host and
// the path. A copied directory or a cloned host differs in one of them, so that two daemons never
// take each other's lease for their own.
#include "schedd/daemon/lease_config.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "schedd/base/ids.h"
#include "schedd/text/duration.h"

namespace muster {
namespace {

// "http://HOST:PORT" or "https://HOST:PORT": what a client puts before a path.
bool IsAddress(std::string_view text) {
  if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else {
    return false;
  }
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == ':' ||
           c == '[' || c == ']';
  };
  return !text.empty() && text.size() < 256 && std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

Status TakeLeaseKey(const std::string& key, const std::string& value, LeaseConfig* out) {
  if (key == "standby") {
    out->standby = value == "true";
    if (!out->standby && value != "false") return InvalidArgument("must be true or false");
  }
  if (key == "lease-ttl") {
    const auto ms = ParseDurationMs(value);
    if (!ms || *ms < limits::kLeaseTtlMinMs || *ms > limits::kLeaseTtlMaxMs)
      return InvalidArgument("must be a duration from 1s to 1m");
    out->ttl_ms = *ms;
  }
  if (key == "advertise") {
    if (!IsAddress(value))
      return InvalidArgument("must be http://HOST:PORT or https://HOST:PORT, without a path");
    out->advertise = value;
  }
  return Done{};
}

std::vector<FieldError> CheckLease(const LeaseConfig& config, bool shared) {
  std::vector<FieldError> out;
  if (shared) return out;
  const std::string why = "needs postgres: a private PostgreSQL has no other daemon";
  if (config.standby) out.push_back({"standby", why});
  if (config.ttl_ms != limits::kLeaseTtlMs) out.push_back({"lease-ttl", why});
  if (!config.advertise.empty()) out.push_back({"advertise", why});
  return out;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "localhost";
}

std::string AdvertisedAddress(const LeaseConfig& config, const HostPort& rest, int port, bool tls) {
  if (!config.advertise.empty()) return config.advertise;
  const bool any = rest.host == "0.0.0.0" || rest.host == "::";
  const bool v6 = !any && rest.host.find(':') != std::string::npos;
  const std::string host = any ? HostName() : v6 ? "[" + rest.host + "]" : rest.host;
  return (tls ? "https://" : "http://") + host + ":" + std::to_string(port);
}

Result<std::string> LeaseId(const std::string& data_dir, Random& random) {
  const std::string path = data_dir + "/lease-id";
  std::string own;
  std::ifstream(path) >> own;
  if (own.empty()) {
    own = Uid::Make(random).ToString();
    // Renamed into place: a file that a crash has cut off would be another id at each start.
    const std::string fresh = path + ".new";
    std::ofstream file(fresh);
    file << own << '\n';
    file.close();
    std::error_code failed;
    if (file) std::filesystem::rename(fresh, path, failed);
    if (!file || failed) return Unavailable("cannot write " + path);
  }
  std::error_code failed;
  const auto where = std::filesystem::canonical(data_dir, failed);
  return own + "@" + HostName() + ":" + (failed ? data_dir : where.string());
}

}  // namespace muster
