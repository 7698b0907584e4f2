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

ReleaseWatch::ReleaseWatch(const MemberTarget& target, const std::string& ns, std::string prefix)
    : prefix_("\"name\":\"" + std::move(prefix)), wire_(target) {
  const std::string path = "/apis/batch/v1/namespaces/" + ns + "/jobs";
  auto now = wire_.Call("GET", path + "?limit=1");
  std::string version = "0";
  if (auto page = now.ok() ? ParseJson(*now) : now.error(); page.ok())
    version = page->at("metadata").at("resourceVersion").as_string().c_str();
  thread_ = std::jthread([this, path, version] {
    const Status ended =
        wire_.Follow(path + "?watch=true&timeoutSeconds=3600&resourceVersion=" + version,
                     [this](std::string_view line) { Hear(line); });
    if (!ended.ok()) std::fprintf(stderr, "muster-bench: %s\n", ended.error().detail.c_str());
  });
}

ReleaseWatch::~ReleaseWatch() { wire_.Abort(); }

// Texts are searched and not parsed: the watch must cost little beside what is measured.
void ReleaseWatch::Hear(std::string_view line) {
  const auto at = line.find(prefix_);
  if (at == std::string_view::npos) return;
  const auto begin = at + std::string_view("\"name\":\"").size();
  const std::string name(line.substr(begin, line.find('"', begin) - begin));
  const bool runs = line.find("\"suspend\":false") != std::string_view::npos;
  const bool over = line.find("\"type\":\"Complete\"") != std::string_view::npos;
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
