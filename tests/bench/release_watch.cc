// Follows the Jobs of a namespace by the member's own watch, on a thread of its own.
//
// A watch ends when its time is over, when the API server closes it, or with an error. It is
// continued at the last version seen; if that fails (410: the version is too old), a list gives the
// present state and a new version. Events that only the list has shown are counted in lists(),
// because their moments are late.
#include "tests/bench/release_watch.h"

#include <chrono>
#include <cstdio>

#include "schedd/text/json.h"

namespace muster::bench {
namespace {

std::int64_t WallMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ReleaseWatch::ReleaseWatch(const MemberTarget& target, const std::string& ns, std::string prefix,
                           int watch_s)
    : path_("/apis/batch/v1/namespaces/" + ns + "/jobs"),
      prefix_("\"name\":\"" + std::move(prefix)),
      watch_s_(watch_s),
      wire_(target) {
  // The Jobs that are there already are not of interest; only the version is. If the list fails,
  // the thread repeats it.
  List(false);
  thread_ = std::jthread([this] { Run(); });
}

ReleaseWatch::~ReleaseWatch() {
  stopping_ = true;
  wire_.Abort();
}

void ReleaseWatch::Run() {
  while (!stopping_) {
    if (version_.empty() && !List(true)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    too_old_ = false;
    const Status ended = wire_.Follow(
        path_ + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(watch_s_) +
            "&resourceVersion=" + version_,
        [this](std::string_view line) { Hear(line); });
    if (stopping_) return;
    if (!ended.ok()) std::fprintf(stderr, "muster-bench: %s\n", ended.error().detail.c_str());
    if (!ended.ok() || too_old_) version_.clear();
  }
}

// Reads the version and, if `hear`, the objects of a list. False if the server did not answer.
bool ReleaseWatch::List(bool hear) {
  const auto now = wire_.Call("GET", path_ + (hear ? "" : "?limit=1"));
  const auto page = now.ok() ? ParseJson(*now) : now.error();
  if (!page.ok()) return false;
  const auto* metadata = page->as_object().if_contains("metadata");
  if (metadata == nullptr) return false;
  version_ = metadata->at("resourceVersion").as_string().c_str();
  if (!hear) return true;
  ++lists_;
  const auto* items = page->as_object().if_contains("items");
  if (items == nullptr || !items->is_array()) return true;
  for (const json::value& item : items->get_array()) HearObject(WriteJson(item));
  return true;
}

// Searches the text instead of parsing it: the watch must cost little beside the measured program.
void ReleaseWatch::Hear(std::string_view line) {
  constexpr std::string_view kError = "\"type\":\"ERROR\"", kVersion = "\"resourceVersion\":\"";
  if (line.substr(0, 32).find(kError) != std::string_view::npos) {
    too_old_ = true;
    return;
  }
  if (const auto at = line.find(kVersion); at != std::string_view::npos) {
    const auto begin = at + kVersion.size();
    version_ = line.substr(begin, line.find('"', begin) - begin);
  }
  HearObject(line);
}

// Records the first time at which an object of the prefix is seen, seen unsuspended, seen complete.
void ReleaseWatch::HearObject(std::string_view object) {
  const auto at = object.find(prefix_);
  if (at == std::string_view::npos) return;
  const auto begin = at + std::string_view("\"name\":\"").size();
  const std::string name(object.substr(begin, object.find('"', begin) - begin));
  const bool runs = object.find("\"suspend\":false") != std::string_view::npos;
  const bool over = object.find("\"type\":\"Complete\"") != std::string_view::npos;
  const std::int64_t now = WallMicros();
  const std::lock_guard lock(mutex_);
  Moments& moments = jobs_[name];
  if (moments.created == 0) moments.created = now;
  if (runs && moments.released == 0) {
    moments.released = last_release_ = now;
    ++released_;
  }
  if (over && moments.ended == 0) {
    moments.ended = now;
    ++ended_;
  }
}

std::size_t ReleaseWatch::released() const {
  const std::lock_guard lock(mutex_);
  return released_;
}

std::size_t ReleaseWatch::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::int64_t ReleaseWatch::last_release() const {
  const std::lock_guard lock(mutex_);
  return last_release_;
}

std::unordered_map<std::string, ReleaseWatch::Moments> ReleaseWatch::jobs() const {
  const std::lock_guard lock(mutex_);
  return jobs_;
}

}  // namespace muster::bench
