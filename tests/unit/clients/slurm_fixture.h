// A fixture for tests of the Slurm-named commands: a server that answers by the path asked for, and
// a way to run a command against it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "clients/slurm/command.h"
#include "tests/unit/clients/fake_server.h"
#include "tests/unit/clients/job_samples.h"

namespace muster::slurm {

class SlurmFixture : public ::testing::Test {
 protected:
  SlurmFixture()
      : server_([this](const testing::FakeRequest& request) { return Answer(request); }),
        url_("MUSTER_URL", server_.url()),
        config_("XDG_CONFIG_HOME", "/nonexistent"),
        zone_("TZ", "UTC") {
    answers_["/v1/whoami"] = R"({"user":"alice"})";
    answers_["/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters"] =
        R"({"items":[{"metadata":{"name":"alpha"},"status":{"resourceUsage":{"allocatable":
        {"cpu":"8","memory":"16Gi"},"available":{"cpu":"6","memory":"12Gi"}},
        "conditions":[{"type":"Healthy","status":"True"}]}},{"metadata":{"name":"beta"}}]})";
  }
  testing::CommandResult Run(std::vector<std::string> words) {
    using Command = int (*)(int, char**);
    static const std::map<std::string, Command> kCommands = {
        {"squeue", RunSqueue},     {"scancel", RunScancel},   {"sacct", RunSacct},
        {"sinfo", RunSinfo},       {"scontrol", RunScontrol}, {"sstat", RunSstat},
        {"sacctmgr", RunSacctmgr}, {"seff", RunSeff}};
    const Command command = kCommands.at(words.at(0));
    return testing::Capture([&] {
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      return command(static_cast<int>(words.size()), argv.data());
    });
  }
  std::string Out(std::vector<std::string> words) { return Run(std::move(words)).out; }
  /// "METHOD /path BODY" of each request that is no GET, a line each.
  std::string Sent() {
    std::string out;
    for (const testing::FakeRequest& request : server_.requests()) {
      if (request.method == "GET") continue;
      out += request.method + " " + request.target + (request.body.empty() ? "" : " ") +
             request.body + "\n";
    }
    return out;
  }
  /// The jobs: as the list, and each by its id.
  void Jobs(const std::vector<std::string>& views) {
    std::string items;
    for (const std::string& view : views) {
      items += (items.empty() ? "" : ",") + view;
      const std::size_t at = view.find("\"id\":") + 5;
      answers_["/v1/jobs/" + view.substr(at, view.find(',', at) - at)] = view;
    }
    answers_["/v1/jobs"] = "{\"items\":[" + items + "],\"next_page_token\":\"\"}";
  }

  std::map<std::string, std::string> answers_;  // by path, without the query
  int conflicts_ = 0;                           // so many requests that are no GET are refused
  std::function<void()> on_change_;             // before a request that is no GET is answered

 private:
  testing::FakeAnswer Answer(const testing::FakeRequest& request) {
    if (request.method != "GET") {
      if (on_change_) on_change_();
      if (conflicts_ > 0 && conflicts_-- > 0) return testing::Problem(409, "not in this state");
      return {200, "{}"};
    }
    const auto found = answers_.find(request.target.substr(0, request.target.find('?')));
    if (found == answers_.end()) return testing::Problem(404, "there is no such thing");
    return {200, found->second};
  }

 protected:
  testing::FakeServer server_;
  testing::ScopedEnv url_, config_, zone_;
};

/// The view with further members of `batch`, given as JSON text: "\"nice\":5".
inline std::string WithBatch(const testing::SampleJob& job, const std::string& members) {
  std::string view = testing::ViewOf(job);
  return view.insert(view.rfind("}}"), "," + members);
}
/// The view with further members of its own.
inline std::string WithMembers(std::string view, const std::string& members) {
  return view.insert(view.rfind(",\"podSets\""), "," + members);
}

}  // namespace muster::slurm
