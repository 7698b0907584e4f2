// logs: what the containers of a job print, one after the other, or all at once while they run.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <set>
#include <thread>

#include "clients/cli/commands.h"
#include "clients/cli/jobs.h"
#include "clients/lib/visible_text.h"
#include "schedd/base/limits.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

constexpr int kLookMs = 1000;  // between two looks for pods that have come

/// One log: "" means the first of its kind, as the server takes it.
struct LogName {
  std::string pod, container;
  auto operator<=>(const LogName&) const = default;
};

/// Whole lines of several logs on one output; the bytes of a line are not changed.
class LineWriter {
 public:
  LineWriter(std::mutex& output, std::string prefix)
      : output_(output), prefix_(std::move(prefix)) {}
  ~LineWriter() {
    if (!rest_.empty()) Write("\n");
  }
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// False if nobody reads any more. Without a prefix it writes what there is at once.
  bool Write(std::string_view part) {
    if (prefix_.empty()) return Put(part);
    rest_ += part;
    const std::size_t end = rest_.rfind('\n');
    if (end == std::string::npos) return true;
    std::string lines;
    for (std::size_t at = 0; at <= end;) {
      const std::size_t next = rest_.find('\n', at) + 1;
      lines += prefix_;
      lines.append(rest_, at, next - at);
      at = next;
    }
    rest_.erase(0, end + 1);
    return Put(lines);
  }

 private:
  bool Put(std::string_view text) {
    if (text.empty()) return true;
    const std::lock_guard lock(output_);
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    return std::fflush(stdout) == 0 && written;
  }

  std::mutex& output_;
  const std::string prefix_;
  std::string rest_;  // a line that is not whole yet
};

std::string PrefixOf(const LogName& name) {
  return "[" + client::VisibleText(name.pod + "/" + name.container) + "] ";
}

std::string TargetOf(std::int64_t job, const LogOptions& options, const LogName& name) {
  client::Query query;
  query.Add("container", name.container).Add("pod", name.pod);
  if (options.follow) query.Add("follow", "true");
  if (options.tail >= 0) query.Add("tail", std::to_string(options.tail));
  return client::JobPath(std::to_string(job)) + "/logs" + query.text();
}

/// The logs that the options ask for, of the job's pods that have begun.
client::Outcome<std::vector<LogName>> LogsOf(client::ApiClient& api, std::int64_t job,
                                             const LogOptions& options) {
  const client::Outcome<json::value> answer =
      api.Get(client::JobPath(std::to_string(job)) + "/pods");
  if (!answer.ok()) return answer.failure();
  std::vector<LogName> out;
  const json::array* pods = FindArray(*answer, "items");
  if (pods == nullptr) return client::BadAnswer("the list has no items");
  for (const json::value& pod : *pods) {
    const std::string name = client::PathText(pod, "name");
    if (!options.pod.empty() && options.pod != name) continue;
    if (client::PathText(pod, "phase") == "Pending") continue;
    const json::array& containers = ArrayOrEmpty(pod, "containers");
    if (!options.container.empty()) {
      out.push_back({name, options.container});
    } else if (containers.empty()) {
      out.push_back({name, ""});
    } else {
      for (const json::value& container : containers)
        if (container.is_string()) out.push_back({name, std::string(container.get_string())});
    }
  }
  return out;
}

/// Pods that the job is to have, by its pod sets.
std::int64_t PodsOf(const client::JobView& job) {
  std::int64_t pods = 0;
  for (const json::value& set : ArrayOrEmpty(job.all, "podSets"))
    if (set.is_object()) pods += client::MemberNumber(set.get_object(), "count");
  return pods;
}

int PrintLogFailure(const std::string& prefix, client::Failure failure) {
  failure.detail = prefix + failure.detail;
  return PrintFailure(failure);
}

/// Each log to its end, in the order of the pods.
int PrintAll(Session& session, std::int64_t job, const LogOptions& options,
             const std::vector<LogName>& names) {
  std::mutex output;
  int exit = 0;
  for (const LogName& name : names) {
    const std::string prefix = names.size() > 1 ? PrefixOf(name) : "";
    LineWriter writer(output, prefix);
    const client::Outcome<client::HttpResponse> answer =
        session.api.Stream(TargetOf(job, options, name), 0,
                           [&](std::string_view part) { return writer.Write(part); });
    if (!answer.ok()) exit = std::max(exit, PrintLogFailure(prefix, answer.failure()));
  }
  return exit;
}

/// Follows each log of a job from when its pod begins, until the job has ended and all of them
/// have.
class Follower {
 public:
  Follower(Session& session, const client::JobView& job, const LogOptions& options)
      : session_(session), job_(job.id), options_(options), many_(PodsOf(job) != 1) {}
  ~Follower() { Join(false); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  int Run() {
    for (;; ::poll(nullptr, 0, kLookMs)) {
      const client::Outcome<json::value> view =
          session_.api.Get(client::JobPath(std::to_string(job_)));
      if (!view.ok()) return PrintFailure(view.failure());
      const client::Outcome<client::JobView> job = client::ParseJobView(*view);
      if (!job.ok()) return PrintFailure(job.failure());
      Begin(false);
      if (job->ended()) break;
      Join(true);
      // Nobody reads any more, and a quiet log would be waited for: what is open ends with us.
      if (unread_) std::_Exit(0);
    }
    Join(false);
    Begin(true);  // what had no log when it was asked for last
    Join(false);
    return exit_;
  }

 private:
  struct One {
    std::thread thread;
    std::atomic<bool> over = false;
  };

  void Join(bool only_over) {
    for (auto one = logs_.begin(); one != logs_.end();) {
      if (only_over && !one->over) {
        ++one;
        continue;
      }
      one->thread.join();
      one = logs_.erase(one);
    }
  }

  /// A thread for each log that has none. `last`: nothing comes later.
  void Begin(bool last) {
    const client::Outcome<std::vector<LogName>> names =
        LogsOf(session_.api, job_, options_);
    if (!names.ok()) {  // of a job on its way there may be nothing to tell yet
      if (last && logs_.empty()) exit_ = PrintFailure(names.failure());
      return;
    }
    many_ = many_ || names->size() > 1;
    for (const LogName& name : *names) {
      {
        const std::lock_guard lock(mutex_);
        if (!begun_.insert(name).second) continue;
      }
      if (logs_.size() >= limits::kFollowedLogs) {
        PrintError(PrefixOf(name) + "is not followed: at most " +
                   std::to_string(limits::kFollowedLogs) +
                   " logs are at once; choose with --pod or -c");
        exit_ = kRefused;
        continue;
      }
      One& one = logs_.emplace_back();
      one.thread = std::thread([this, &one, name, prefix = many_ ? PrefixOf(name) : "", last] {
        Follow(name, prefix, last);
        one.over = true;
      });
    }
  }

  void Follow(const LogName& name, const std::string& prefix, bool last) {
    client::ApiClient api(session_.api.settings());
    bool any = false;
    LineWriter writer(output_, prefix);
    const client::Outcome<client::HttpResponse> answer =
        api.Stream(TargetOf(job_, options_, name), 0, [&](std::string_view part) {
          any = true;
          if (writer.Write(part)) return true;
          unread_ = true;
          return false;
        });
    if (answer.ok() || unread_) return;
    const std::lock_guard lock(mutex_);
    // A container that has not begun has no log yet: it is asked for again.
    if (!any && !last && answer.failure().kind == client::Failure::Kind::kRefused) {
      begun_.erase(name);
    } else {
      exit_ = std::max<int>(exit_, PrintLogFailure(prefix, answer.failure()));
    }
  }

  Session& session_;
  const std::int64_t job_;
  const LogOptions& options_;
  bool many_;
  std::mutex output_, mutex_;  // mutex_ guards begun_
  std::set<LogName> begun_;
  std::atomic<int> exit_ = 0;
  std::atomic<bool> unread_ = false;
  std::list<One> logs_;
};

}  // namespace

int Logs(Session& session, const LogOptions& options) {
  const client::Outcome<client::JobView> job = FindJob(session, options.job, JobUse::kRead);
  if (!job.ok()) return PrintFailure(job.failure());
  if (!options.follow || job->ended()) {
    // Pods that have not begun have nothing to say as long as others have.
    const client::Outcome<std::vector<LogName>> names = LogsOf(session.api, job->id, options);
    if (names.ok() && !names->empty()) return PrintAll(session, job->id, options, *names);
    // What keeps it from having logs is the server's to say.
    return PrintAll(session, job->id, options, {{options.pod, options.container}});
  }
  Follower follower(session, *job, options);
  return follower.Run();
}

}  // namespace muster::cli
