// muster top: use of the member clusters and of the quotas. On a terminal the screen is refreshed
// every two seconds until the user presses q; otherwise it is printed once. A refresh is two
// requests, for MemberClusters and ClusterQueues.
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "clients/cli/commands.h"
#include "clients/cli/kinds.h"
#include "clients/cli/queue_quotas.h"
#include "clients/cli/text_table.h"
#include "clients/lib/job_view.h"
#include "schedd/base/quantity.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

// The time between two refreshes.
constexpr int kRefreshMs = 2000;

// Switches the terminal to single keys without echo for its lifetime, so that `q` works without
// Enter.
class RawTerminal {
 public:
  RawTerminal() {
    saved_ok_ = ::tcgetattr(STDIN_FILENO, &saved_) == 0;
    if (!saved_ok_) return;
    termios raw = saved_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~RawTerminal() {
    if (saved_ok_) ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios saved_{};
  bool saved_ok_ = false;
};

// "7/16 (43%)": the used part of a total, given the free part. The total alone if an amount cannot
// be read.
std::string Share(const std::string& resource, const std::string& total_text,
                  const std::string& free_text) {
  const Result<std::int64_t> total = ParseQuantity(resource, total_text);
  const Result<std::int64_t> free = ParseQuantity(resource, free_text.empty() ? "0" : free_text);
  if (!total.ok() || !free.ok()) return total_text;
  const std::int64_t used = *total - *free;
  std::string out = FormatQuantity(resource, used < 0 ? 0 : used) + "/" + total_text;
  if (*total > 0)
    out += " (" +
           std::to_string(
               static_cast<int>(100.0 * static_cast<double>(used) / static_cast<double>(*total))) +
           "%)";
  return out;
}

// A line for each resource of each member. A member that has reported no amounts is left out.
client::Outcome<std::string> Clusters(Session& session) {
  const client::Outcome<json::value> answer = session.api.Get(ObjectPath(*FindKind("mc"), "", ""));
  if (!answer.ok()) return answer.failure();
  TextTable table({"MEMBER CLUSTER", "RESOURCE", "USED"});
  const json::array* items = FindArray(*answer, "items");
  if (items == nullptr) return client::BadAnswer("the server's list has no items");
  for (const json::value& item : *items) {
    const json::object* total = FindObject(item, {"status", "resourceUsage", "allocatable"});
    const json::object* free = FindObject(item, {"status", "resourceUsage", "available"});
    if (total == nullptr || free == nullptr) continue;
    for (const json::key_value_pair& entry : *total) {
      const std::string resource(entry.key());
      table.Add({client::PathText(item, "metadata.name"), resource,
                 Share(resource, client::MemberText(*total, resource),
                       client::MemberText(*free, resource))});
    }
  }
  return table.Render();
}

// A line for each ClusterQueue, with the used and the nominal amount of each quota.
client::Outcome<std::string> Queues(Session& session) {
  const client::Outcome<json::value> answer = session.api.Get(ObjectPath(*FindKind("cq"), "", ""));
  if (!answer.ok()) return answer.failure();
  const json::array* items = FindArray(*answer, "items");
  if (items == nullptr) return client::BadAnswer("the server's list has no items");
  TextTable table({"CLUSTERQUEUE", "PENDING", "ADMITTED", "USED/QUOTA"});
  for (const json::value& item : *items) {
    std::string usage;
    for (const QueueQuota& quota : QuotasOf(item)) {
      usage += (usage.empty() ? "" : " ") + quota.flavor + ":" + quota.resource + "=" + quota.used +
               "/" + quota.nominal;
      if (quota.borrowed != "0") usage += " (" + quota.borrowed + " borrowed)";
    }
    table.Add({client::PathText(item, "metadata.name"),
               client::PathText(item, "status.pendingWorkloads"),
               client::PathText(item, "status.admittedWorkloads"), usage});
  }
  return table.Render();
}

client::Outcome<std::string> Screen(Session& session) {
  client::Outcome<std::string> clusters = Clusters(session);
  if (!clusters.ok()) return clusters;
  client::Outcome<std::string> queues = Queues(session);
  if (!queues.ok()) return queues;
  return *clusters + "\n" + *queues;
}

}  // namespace

// Waiting for a key is the pause between two refreshes: poll returns early when a key is pressed.
int Top(Session& session, bool once) {
  const bool live = !once && ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1;
  if (!live) {
    const client::Outcome<std::string> screen = Screen(session);
    if (!screen.ok()) return PrintFailure(screen.failure());
    std::fputs(screen->c_str(), stdout);
    return 0;
  }
  const RawTerminal raw;
  for (;;) {
    const client::Outcome<std::string> screen = Screen(session);
    if (!screen.ok()) return PrintFailure(screen.failure());
    std::printf("\033[H\033[2J%s\nq quits\n", screen->c_str());
    std::fflush(stdout);
    pollfd keyboard{STDIN_FILENO, POLLIN, 0};
    if (::poll(&keyboard, 1, kRefreshMs) <= 0) continue;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q') return 0;
  }
}

}  // namespace muster::cli
