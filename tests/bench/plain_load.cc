// A plain client that creates copies of one Job of Muster's, for comparison. SampleJob reads a Job
// from a member, removes everything that the member has added, and puts a mark in place of its
// name; RunPlainLoad creates the copies over several connections.
#include "tests/bench/plain_load.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "schedd/model/member_labels.h"
#include "schedd/text/json.h"

namespace muster::bench {
namespace {

constexpr const char* kName = "@NAME@";

std::string Jobs(const std::string& ns) { return "/apis/batch/v1/namespaces/" + ns + "/jobs"; }

// Removes the labels that the job controller and the API server write on a Job and its pods. The
// copies belong to an instance "plain", so that no musterd adopts them.
void DropGenerated(json::object* metadata) {
  auto* labels = metadata->if_contains("labels");
  if (labels == nullptr) return;
  for (const char* key : {"controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
                          "batch.kubernetes.io/job-name"})
    labels->as_object().erase(key);
  if (labels->as_object().contains(kInstanceLabel)) labels->as_object()[kInstanceLabel] = "plain";
}

// The sample with the name of job number `i`, suspended if the options say so.
std::string Named(const PlainOptions& options, std::size_t i) {
  std::string text = options.sample;
  const std::string name = options.prefix + std::to_string(i);
  for (auto at = text.find(kName); at != std::string::npos; at = text.find(kName, at))
    text.replace(at, std::string_view(kName).size(), name);
  const std::string_view open = R"("suspend":false)";
  const auto at = text.find(open);
  if (options.suspended && at != std::string::npos)
    text.replace(at, open.size(), R"("suspend":true)");
  return text;
}

// Tests the uid only. The resource version changes with the job controller's first write to the
// object, so a test of the version would sometimes fail and need a second request.
Status Release(MemberWire* wire, const std::string& path, const std::string& made) {
  auto object = ParseJson(made);
  if (!object.ok()) return object.error();
  const json::array patch{
      json::object{
          {"op", "test"}, {"path", "/metadata/uid"}, {"value", object->at("metadata").at("uid")}},
      json::object{{"op", "replace"}, {"path", "/spec/suspend"}, {"value", false}}};
  auto released = wire->Call("PATCH", path, json::serialize(patch), "application/json-patch+json");
  if (!released.ok()) return released.error();
  return Done{};
}

}  // namespace

Result<std::string> SampleJob(const MemberTarget& target, const std::string& ns) {
  MemberWire wire(target);
  auto page = wire.Call("GET", Jobs(ns) + "?limit=1&labelSelector=" + std::string(kInstanceLabel));
  if (!page.ok()) return page.error();
  auto parsed = ParseJson(*page);
  if (!parsed.ok()) return parsed.error();
  if (parsed->at("items").as_array().empty()) return NotFound("no Job of Muster is there");
  json::object job = parsed->at("items").as_array().front().as_object();
  job["apiVersion"] = "batch/v1";
  job["kind"] = "Job";
  job.erase("status");
  auto& metadata = job["metadata"].as_object();
  for (const char* key :
       {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"})
    metadata.erase(key);
  metadata["name"] = kName;
  DropGenerated(&metadata);
  auto& spec = job["spec"].as_object();
  spec.erase("selector");
  spec["suspend"] = false;
  DropGenerated(&spec["template"].as_object()["metadata"].as_object());
  return json::serialize(job);
}

Status RunPlainLoad(const MemberTarget& target, const PlainOptions& options) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Status first = Done{};
  {
    std::vector<std::jthread> connections;
    for (int i = 0; i < options.connections; ++i) {
      connections.emplace_back([&] {
        MemberWire wire(target);
        for (std::size_t at = next++; at < options.jobs; at = next++) {
          auto made = wire.Call("POST", Jobs(options.ns), Named(options, at));
          Status status = made.ok() ? Status(Done{}) : Status(made.error());
          if (made.ok() && options.suspended)
            status =
                Release(&wire, Jobs(options.ns) + "/" + options.prefix + std::to_string(at), *made);
          const std::lock_guard lock(mutex);
          if (!status.ok() && first.ok()) first = status;
        }
      });
    }
  }
  return first;
}

}  // namespace muster::bench
