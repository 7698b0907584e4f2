// The ids of tasks are not known before they start, so the server is asked whether any of the array
// has not ended: one job at most is in its answer, whatever the array's size. The questions become
// rarer while nothing changes.
#include "clients/slurm/array_wait.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "clients/lib/endpoint.h"
#include "schedd/text/lenient.h"

namespace muster::slurm {
namespace {

constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{2000};

client::Outcome<json::value> Page(client::ApiClient& api, std::int64_t array, const char* states,
                                  const char* limit, const std::string& token) {
  client::Query query;
  query.Add("array", std::to_string(array)).Add("state", states).Add("limit", limit);
  query.Add("page_token", token);
  return api.Get("/v1/jobs" + query.text());
}

}  // namespace

bool IsArrayAnswer(const json::value& answer) {
  const auto* batch = answer.is_object() ? answer.get_object().if_contains("batch") : nullptr;
  if (batch == nullptr || !batch->is_object()) return false;
  return !client::MemberText(batch->get_object(), "arraySpec").empty();
}

client::Outcome<std::vector<client::JobView>> WaitForArray(client::ApiClient& api,
                                                           std::int64_t array) {
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    client::Outcome<json::value> open = Page(api, array, "Held,Pending,Admitted,Running", "1", "");
    if (!open.ok()) return open.failure();
    if (!open->is_object()) return client::BadAnswer("the server's job list is not an object");
    if (ArrayOrEmpty(open->get_object(), "items").empty()) break;
    std::this_thread::sleep_for(pause);
  }
  std::vector<client::JobView> jobs;
  std::string token;
  do {
    client::Outcome<json::value> page =
        Page(api, array, "Succeeded,Failed,Cancelled", "10000", token);
    if (!page.ok()) return page.failure();
    if (!page->is_object()) return client::BadAnswer("the server's job list is not an object");
    for (const json::value& item : ArrayOrEmpty(page->get_object(), "items")) {
      client::Outcome<client::JobView> job = client::ParseJobView(item);
      if (!job.ok()) return job.failure();
      jobs.push_back(std::move(*job));
    }
    token = client::MemberText(page->get_object(), "next_page_token");
  } while (!token.empty());
  return jobs;
}

}  // namespace muster::slurm
