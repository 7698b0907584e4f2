// muster cluster drain: cordons a member and sends its jobs elsewhere.
//
// POST /v1/memberclusters/NAME:drain can be repeated and answers how many jobs are being evicted,
// are kept by a disruption budget for now ("blocked"), and are waited for, for example because they
// may not be requeued. With --wait the command repeats it every second until all three are 0. A
// page that is the same as the last one is not printed again.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "clients/cli/commands.h"
#include "clients/lib/job_view.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

constexpr timespec kAskEvery{1, 0};

long CountIn(const json::value& answer, const char* field) {
  return std::strtol(client::PathText(answer, field).c_str(), nullptr, 10);
}

std::string Reasons(const json::value& answer) {
  std::string out;
  for (const json::value& reason : ArrayOrEmpty(answer, "reasons")) {
    if (const auto* text = reason.if_string()) out += "  " + client::VisibleText(*text) + "\n";
  }
  return out;
}

}  // namespace

int ClusterDrain(Session& session, const DrainOptions& options) {
  const std::string target = "/v1/memberclusters/" + client::PercentEncode(options.cluster) +
                             ":drain" + (options.force ? "?force=true" : "");
  std::string shown;
  for (;;) {
    const client::Outcome<json::value> answer = session.api.Send({"POST", target});
    if (!answer.ok()) return PrintFailure(answer.failure());
    const long evicting = CountIn(*answer, "evicting");
    const long blocked = CountIn(*answer, "blocked");
    const long waiting = CountIn(*answer, "waiting");
    std::string page = "membercluster/" + options.cluster + " ";
    if (evicting + blocked + waiting == 0) {
      std::printf("%sdrained\n", page.c_str());
      return 0;
    }
    page += "draining: " + std::to_string(evicting) + " evicting, " + std::to_string(blocked) +
            " blocked, " + std::to_string(waiting) + " waited for\n" + Reasons(*answer);
    if (page != shown) {
      std::fputs(page.c_str(), stdout);
      std::fflush(stdout);
    }
    shown = page;
    if (!options.wait) return 0;
    ::nanosleep(&kAskEvery, nullptr);
  }
}

}  // namespace muster::cli
