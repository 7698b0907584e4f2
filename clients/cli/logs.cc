// muster logs: the output of the pods and containers of a job.
//
// Without --follow, and for ended jobs, each log is printed to its end, one after the other
// (PrintAll). With --follow a Follower looks every second for pods that have begun and follows each
// of their logs on a thread and a connection of its own, because a log may be silent for hours
// while others go on. LineWriter keeps the lines of several logs apart on the one output. The
// Follower ends when the job has ended and every log is complete, or at once when the reader of the
// output is gone.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <set>
#include <thread>

#include "clients/cli/commands.h"
#include "clients/cli/jobs.h"
#include "clients/lib/visible_text.h"
#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

// The time between two looks for pods that have begun.
constexpr int kLookMs = 1000;
// How often in a row a stream of a log is opened again without bringing anything new, and a look is
// repeated: a daemon that restarts, or another one that takes over, serves again within seconds.
constexpr int kReopens = 60;

// True if the same question may be answered soon, by this server or the next one.
bool IsAway(const client::Failure& failure) {
  return failure.kind == client::Failure::Kind::kUnreachable ||
         failure.kind == client::Failure::Kind::kTimedOut || failure.status == 503;
}

// One log. An empty pod or container means the first one; the server resolves it.
struct LogName {
  std::string pod, container;
  auto operator<=>(const LogName&) const = default;
};

// Writes whole lines of one of several logs to the common output, each behind a prefix. The bytes
// of a line are not changed. The lock is shared by all writers of the output.
class LineWriter {
 public:
  LineWriter(Mutex& output, std::string prefix) : output_(output), prefix_(std::move(prefix)) {}
  ~LineWriter() {
    if (!rest_.empty()) Write("\n");
  }
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // False if the output is closed. Without a prefix every part is written at once, also half lines;
  // with a prefix only whole lines are, so that lines of several logs never mix.
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
    const MutexLock lock(output_);
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    return std::fflush(stdout) == 0 && written;
  }

  Mutex& output_;
  const std::string prefix_;
  std::string rest_;  // the beginning of a line that is not complete yet
};

std::string PrefixOf(const LogName& name) {
  return "[" + client::VisibleText(name.pod + "/" + name.container) + "] ";
}

// How far a log has been printed: the server's Muster-Log-Offset and what came after it.
struct LogProgress {
  std::int64_t offset = 0;   // bytes of the log
  std::int64_t skipped = 0;  // bytes of the answer from there on that were printed, if it has times
  bool known = false;

  // Takes "OFFSET" or "OFFSET.SKIPPED"; what is neither changes nothing.
  void Take(std::string_view header) {
    std::int64_t at = 0, behind = 0;
    const char* end = header.data() + header.size();
    auto read = std::from_chars(header.data(), end, at);
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '.')
      read = std::from_chars(read.ptr + 1, end, behind);
    if (read.ec != std::errc() || read.ptr != end) return;
    *this = {at, behind, true};
  }
  std::string Text() const {
    return skipped == 0 ? std::to_string(offset)
                        : std::to_string(offset) + "." + std::to_string(skipped);
  }
};

// `from`: where a log that was followed goes on; null: it begins as the options say.
std::string TargetOf(std::int64_t job, const LogOptions& options, const LogName& name,
                     const LogProgress* from = nullptr) {
  client::Query query;
  query.Add("container", name.container).Add("pod", name.pod);
  if (options.follow) query.Add("follow", "true");
  if (options.timestamps) query.Add("timestamps", "true");
  if (from != nullptr)
    query.Add("offset", from->Text());
  else if (options.tail >= 0)
    query.Add("tail", std::to_string(options.tail));
  return client::JobPath(std::to_string(job)) + "/logs" + query.text();
}

// The logs that the options ask for among the job's pods. Pods in phase Pending have no output yet.
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

// The number of pods that the job's pod sets ask for.
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

// Prints each log to its end, in the order of the pods. The exit status is the highest of all logs.
int PrintAll(Session& session, std::int64_t job, const LogOptions& options,
             const std::vector<LogName>& names) {
  Mutex output;
  int exit = 0;
  for (const LogName& name : names) {
    const std::string prefix = names.size() > 1 ? PrefixOf(name) : "";
    LineWriter writer(output, prefix);
    const client::Outcome<client::HttpResponse> answer = session.api.Stream(
        TargetOf(job, options, name), 0, [&](std::string_view part) { return writer.Write(part); });
    if (!answer.ok()) exit = std::max(exit, PrintLogFailure(prefix, answer.failure()));
  }
  return exit;
}

// Follows all logs of one job, each from the beginning of its pod, until the job and all its logs
// have ended.
class Follower {
 public:
  Follower(Session& session, const client::JobView& job, const LogOptions& options)
      : session_(session), job_(job.id), options_(options), many_(PodsOf(job) != 1) {}
  ~Follower() { Join(false); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  int Run() {
    for (int away = 0;; ::poll(nullptr, 0, kLookMs)) {
      const client::Outcome<json::value> view =
          session_.api.Get(client::JobPath(std::to_string(job_)));
      if (!view.ok() && IsAway(view.failure()) && ++away < kReopens) continue;
      if (!view.ok()) return PrintFailure(view.failure());
      away = 0;
      const client::Outcome<client::JobView> job = client::ParseJobView(*view);
      if (!job.ok()) return PrintFailure(job.failure());
      Begin(false);
      if (job->ended()) break;
      Join(true);
      // The output is closed. A thread that waits for a silent log cannot be joined, so the process
      // ends without joining.
      if (output_closed_) std::_Exit(0);
    }
    Join(false);
    // The pods that had no log yet when they were asked for last have one now, or never will.
    Begin(true);
    Join(false);
    return exit_;
  }

 private:
  // A log that is being followed. `over` tells Join that the thread is about to end.
  struct FollowedLog {
    std::thread thread;
    std::atomic<bool> over = false;
  };

  // Joins all threads, or only those that are over.
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

  // Starts a thread for each log that has none. `last`: the job has ended, so no pod begins later
  // and a log that cannot be read is an error.
  void Begin(bool last) {
    const client::Outcome<std::vector<LogName>> names = LogsOf(session_.api, job_, options_);
    // The list of pods may be refused while the job is on its way to a member.
    if (!names.ok()) {
      if (last && logs_.empty()) exit_ = PrintFailure(names.failure());
      return;
    }
    many_ = many_ || names->size() > 1;
    for (const LogName& name : *names) {
      {
        const MutexLock lock(mutex_);
        if (!begun_.insert(name).second) continue;
      }
      if (logs_.size() >= limits::kFollowedLogs) {
        PrintError(PrefixOf(name) + "is not followed: at most " +
                   std::to_string(limits::kFollowedLogs) +
                   " logs are at once; choose with --pod or -c");
        exit_ = kRefused;
        continue;
      }
      FollowedLog& one = logs_.emplace_back();
      one.thread = std::thread([this, &one, name, prefix = many_ ? PrefixOf(name) : "", last] {
        Follow(name, prefix, last);
        one.over = true;
      });
    }
  }

  // Streams one log to its end; runs on the log's own thread. A stream that breaks is opened again
  // behind what was printed of it, at whichever server answers then.
  void Follow(const LogName& name, const std::string& prefix, bool last) {
    client::ApiClient api(session_.api.settings());
    bool any = false;
    LogProgress printed;
    LineWriter writer(output_, prefix);
    client::Outcome<client::HttpResponse> answer =
        client::LocalFailure("the log was not asked for");
    for (int fruitless = 0; fruitless < kReopens; ++fruitless) {
      const auto sink = [&](std::string_view part) {
        any = true;
        // Times before the lines are no part of the log.
        (options_.timestamps ? printed.skipped : printed.offset) +=
            static_cast<std::int64_t>(part.size());
        if (!part.empty()) fruitless = 0;
        if (writer.Write(part)) return true;
        output_closed_ = true;
        return false;
      };
      answer =
          api.Stream(TargetOf(job_, options_, name, printed.known ? &printed : nullptr), 0, sink,
                     [&](const client::HttpResponse& head) { printed.Take(head.log_offset); });
      if (answer.ok() || output_closed_) return;
      const client::Failure& failure = answer.failure();
      if (!IsAway(failure) || !printed.known) break;
      ::poll(nullptr, 0, kLookMs);
    }
    const MutexLock lock(mutex_);
    // A container that has not begun is refused; the next look asks for its log again, as it does
    // if the server was away.
    const client::Failure& failure = answer.failure();
    if (!any && !last && (failure.kind == client::Failure::Kind::kRefused || IsAway(failure))) {
      begun_.erase(name);
    } else {
      exit_ = std::max<int>(exit_, PrintLogFailure(prefix, failure));
    }
  }

  Session& session_;
  const std::int64_t job_;
  const LogOptions& options_;
  bool many_;     // the job has several logs, so lines get a prefix
  Mutex output_;  // held while lines are written
  Mutex mutex_;
  std::set<LogName> begun_ MUSTER_GUARDED_BY(mutex_);  // logs that have a thread, or are over
  std::atomic<int> exit_ = 0;
  std::atomic<bool> output_closed_ = false;
  std::list<FollowedLog> logs_;
};

}  // namespace

int Logs(Session& session, const LogOptions& options) {
  const client::Outcome<client::JobView> job = FindJob(session, options.job, JobUse::kRead);
  if (!job.ok()) return PrintFailure(job.failure());
  if (!options.follow || job->ended()) {
    const client::Outcome<std::vector<LogName>> names = LogsOf(session.api, job->id, options);
    if (names.ok() && !names->empty()) return PrintAll(session, job->id, options, *names);
    // The server says why the job has no log.
    return PrintAll(session, job->id, options, {{options.pod, options.container}});
  }
  Follower follower(session, *job, options);
  return follower.Run();
}

}  // namespace muster::cli
