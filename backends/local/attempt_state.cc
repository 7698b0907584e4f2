// attempt.json, manifest.json and dependents.json. Each file is replaced as a whole, so a reader
// never sees a torn one; phases and reasons are stored as their numbers, which never change their
// meaning.
#include "backends/local/attempt_state.h"

#include "backends/local/process/files.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

json::object OutcomeJson(const Outcome& outcome) {
  return {{"phase", static_cast<int>(outcome.phase)},
          {"reason", static_cast<int>(outcome.reason)},
          {"message", outcome.message},
          {"endedUs", outcome.ended.us}};
}

Outcome ReadOutcome(const json::object& from) {
  return {static_cast<RemotePhase>(Integer(from, "phase", static_cast<int>(RemotePhase::kPending))),
          static_cast<Reason>(Integer(from, "reason", 0)),
          Text(from, "message"),
          {Integer(from, "endedUs", 0)}};
}

}  // namespace

std::string AttemptDirectoryName(const DispatchKey& key) {
  return key.job_uid.ToString() + "-" + std::to_string(key.attempt);
}

Status WriteAttemptState(const std::string& dir, const AttemptState& state) {
  json::array ports;
  for (const int port : state.ports) ports.emplace_back(port);
  const json::object out{{"jobUid", state.key.job_uid.ToString()},
                         {"attempt", state.key.attempt},
                         {"cluster", state.key.cluster},
                         {"job", state.job.value},
                         {"pausedSinceUs", state.paused_since.us},
                         {"pausedUs", state.paused_us},
                         {"remoteUid", state.remote_uid},
                         {"apiVersion", state.api_version},
                         {"kind", state.kind},
                         {"namespace", state.ns},
                         {"name", state.name},
                         {"createdUs", state.created.us},
                         {"releasedUs", state.released.us},
                         {"suspended", state.suspended},
                         {"removing", state.removing},
                         {"keepLogs", state.keep_logs},
                         {"removed", state.removed},
                         {"graceMs", state.grace_ms},
                         {"scale", state.scale},
                         {"ports", std::move(ports)},
                         {"account", state.account ? json::value(*state.account) : json::value()},
                         {"memo", state.memo},
                         {"outcome", OutcomeJson(state.outcome)}};
  return WriteWholeFile(dir + "/attempt.json", json::serialize(out), 0600);
}

Result<AttemptState> ReadAttemptState(const std::string& dir) {
  const Result<std::string> text = ReadWholeFile(dir + "/attempt.json");
  if (!text.ok()) return text.error();
  const Result<json::object> from = ParseManifest(*text);
  if (!from.ok()) return from.error();
  AttemptState state;
  if (!Uid::Parse(Text(*from, "jobUid"), &state.key.job_uid))
    return Internal("an attempt's record is broken");
  state.key.attempt = static_cast<std::int32_t>(Integer(*from, "attempt", 0));
  state.key.cluster = Text(*from, "cluster");
  state.job = {Integer(*from, "job", 0)};
  state.paused_since = {Integer(*from, "pausedSinceUs", 0)};
  state.paused_us = Integer(*from, "pausedUs", 0);
  state.remote_uid = Text(*from, "remoteUid");
  state.api_version = Text(*from, "apiVersion");
  state.kind = Text(*from, "kind");
  state.ns = Text(*from, "namespace");
  state.name = Text(*from, "name");
  state.created = {Integer(*from, "createdUs", 0)};
  state.released = {Integer(*from, "releasedUs", 0)};
  state.suspended = FlagAt(*from, "suspended");
  state.removing = FlagAt(*from, "removing");
  state.keep_logs = FlagAt(*from, "keepLogs");
  state.removed = FlagAt(*from, "removed");
  state.grace_ms = Integer(*from, "graceMs", -1);
  state.scale = Integer(*from, "scale", 0);
  for (const json::value& port : ArrayOrEmpty(*from, "ports")) {
    if (port.is_int64()) state.ports.push_back(static_cast<int>(port.get_int64()));
  }
  state.account_unknown = !from->contains("account");
  if (const std::int64_t account = Integer(*from, "account", -1); account >= 0)
    state.account = static_cast<std::uint32_t>(account);
  state.memo = ObjectOrEmpty(*from, "memo");
  state.outcome = ReadOutcome(ObjectOrEmpty(*from, "outcome"));
  return state;
}

Result<json::object> ParseManifest(const std::string& text) {
  boost::system::error_code error;
  json::parse_options options;
  // The API accepts manifests of half this depth.
  options.max_depth = 128;
  json::value value = json::parse(text, error, {}, options);
  if (error || !value.is_object()) return InvalidArgument("a manifest is not a JSON object");
  return std::move(value.get_object());
}

Status WriteManifests(const std::string& dir, const DispatchOrder& order) {
  json::array dependents;
  for (const ManifestText& one : order.dependents) {
    const Result<json::object> manifest = ParseManifest(one.json);
    if (!manifest.ok()) return InvalidArgument(one.kind + " " + one.name + " is not a JSON object");
    dependents.push_back({{"kind", one.kind}, {"name", one.name}, {"manifest", *manifest}});
  }
  if (Status wrote = WriteWholeFile(dir + "/dependents.json", json::serialize(dependents), 0600);
      !wrote.ok()) {
    return wrote;
  }
  return WriteWholeFile(dir + "/manifest.json", order.object.json, 0600);
}

Result<Manifests> ReadManifests(const std::string& dir) {
  const Result<std::string> object = ReadWholeFile(dir + "/manifest.json");
  if (!object.ok()) return object.error();
  const Result<std::string> dependents = ReadWholeFile(dir + "/dependents.json");
  if (!dependents.ok()) return dependents.error();
  Result<json::object> parsed = ParseManifest(*object);
  if (!parsed.ok()) return parsed.error();
  Manifests manifests{std::move(*parsed), {}};
  boost::system::error_code error;
  const json::value list = json::parse(*dependents, error);
  if (error || !list.is_array()) return Internal("an attempt's dependents are unreadable");
  for (const json::value& entry : list.get_array()) {
    const json::object& one = ObjectOrEmpty(entry);
    manifests.dependents.push_back(
        {Text(one, "kind"), Text(one, "name"), ObjectOrEmpty(one, "manifest")});
  }
  return manifests;
}

}  // namespace muster::local
