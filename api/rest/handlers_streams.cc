// Handlers whose answers may stay open: logs and events. A stream takes a slot (stream_slots.h)
// before it starts and holds it until it ends; without a slot the answer is 429.
//
// A log has four forms: a tail (ReadTail) is one answer; a log from some place on (ReadFrom) is
// read from the member in pieces while it leaves (WholeLog); a followed log is given to a
// LogFollower after its first piece (FollowLog); and a followed log of a job that has not started
// begins empty and waits.
#include "api/rest/handlers_streams.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "api/rest/log_follower.h"
#include "api/rest/log_place.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

// One read of a log from the member.
constexpr std::size_t kLogPiece = 256 << 10;
constexpr std::int64_t kTailLines = 100'000;
constexpr char kLogType[] = "text/plain; charset=utf-8";

// A place for a stream of the caller, among its own on both servers and among all of this one.
Result<std::shared_ptr<StreamSlot>> TakeSlot(ApiContext& api, const Caller& who) {
  Result<std::shared_ptr<const void>> counted = api.streams.Take(who);
  if (!counted.ok()) return counted.error();
  return api.slots.Take(who.user, std::move(counted).value());
}

// The last `lines` lines of `text`. Sets *whole if `text` holds that many.
std::string LastLines(std::string text, std::int64_t lines, bool* whole) {
  // Counts line ends from the back; the one at the very end does not begin a line.
  std::size_t begin = text.size();
  if (begin > 0 && text[begin - 1] == '\n') --begin;
  std::int64_t found = 0;
  while (begin > 0) {
    if (text[begin - 1] == '\n' && ++found == lines) break;
    --begin;
  }
  *whole = found >= lines;
  return lines == 0 ? "" : text.substr(begin);
}

// The beginning of an answer.
struct LogStart {
  LogChunk chunk;
  LogPlace place;  // where `chunk` begins
};

// Reads the log from `query` on, piece after piece while `end` is not reached, and keeps the last
// lines in `*chunk`. Gives the number of bytes that were read.
Result<std::int64_t> ReadToEnd(ApiContext& api, const Caller& who, const std::string& job,
                               LogQuery query, std::int64_t end, std::int64_t lines, bool* whole,
                               LogChunk* chunk) {
  std::int64_t read = 0;
  for (bool more = true; more;) {
    Result<LogChunk> next = api.service.ReadLog(who, job, query, api::LogAsk::kMore);
    if (!next.ok()) return next.error();
    read += static_cast<std::int64_t>(next->data.size());
    more = !next->data.empty() && !next->ended && next->next_offset < end;
    query.offset = next->next_offset;
    next->data = LastLines(chunk->data + next->data, lines, whole);
    *chunk = std::move(*next);
  }
  return read;
}

// The last lines of a log: reads the last kLogPiece bytes, and if these hold fewer lines, the last
// limits::kLogReadBytes. With times before its lines, members count bytes in ways of their own, and
// the window does not always fit one answer: it is read from its beginning on.
Result<LogStart> ReadTail(ApiContext& api, const Caller& who, const std::string& job,
                          LogQuery query, std::int64_t lines) {
  for (const std::size_t window : {kLogPiece, limits::kLogReadBytes}) {
    LogStart out;
    std::int64_t end = 0;
    query.offset = -static_cast<std::int64_t>(window);
    query.max_bytes = window;
    if (query.timestamps) {
      LogQuery last = query;
      last.offset = -1;
      last.max_bytes = 1;
      const Result<LogChunk> byte = api.service.ReadLog(who, job, last, api::LogAsk::kMore);
      if (!byte.ok()) return byte.error();
      end = byte->next_offset;
      query.offset = std::max<std::int64_t>(0, end + query.offset);
    }
    bool whole = false;
    const Result<std::int64_t> read =
        ReadToEnd(api, who, job, query, end, lines, &whole, &out.chunk);
    if (!read.ok()) return read.error();
    const bool all =
        query.timestamps ? query.offset == 0 : *read < static_cast<std::int64_t>(window);
    if (!whole && !all && window != limits::kLogReadBytes) continue;
    const auto kept = static_cast<std::int64_t>(out.chunk.data.size());
    out.place = query.timestamps ? LogPlace{query.offset, *read - kept}
                                 : LogPlace{out.chunk.next_offset - kept, 0};
    return out;
  }
  return Internal("a log's window is missing");
}

// The first piece of a log from `from` on.
Result<LogStart> ReadFrom(ApiContext& api, const Caller& who, const std::string& job,
                          LogQuery query, LogPlace from) {
  LogStart out{{}, from};
  for (bool more = true; more;) {
    Result<LogChunk> chunk = api.service.ReadLog(who, job, query, api::LogAsk::kMore);
    if (!chunk.ok()) return chunk.error();
    const std::size_t size = chunk->data.size();
    const auto left_out = std::min<std::int64_t>(from.skipped, static_cast<std::int64_t>(size));
    from.skipped -= left_out;
    chunk->data.erase(0, static_cast<std::size_t>(left_out));
    more = chunk->data.empty() && size > 0 && !chunk->ended;
    query.offset = chunk->next_offset;
    out.chunk = std::move(*chunk);
  }
  // The first bytes may be gone; a line that says so is no part of the log.
  if (!query.timestamps) {
    const auto size = static_cast<std::int64_t>(out.chunk.data.size());
    out.place = {std::max<std::int64_t>(0, out.chunk.next_offset - size), 0};
  }
  return out;
}

// The rest of a log after `first`, up to limits::kLogBytesPerContainer. An error in the middle cuts
// the answer off behind what was read, so that the client sees that it is not whole.
Response WholeLog(ApiContext& api, const Caller& who, const std::string& job, LogQuery query,
                  LogChunk first) {
  Response response;
  response.content_type = kLogType;
  if (first.ended || first.data.empty()) {
    response.body = std::move(first.data);
    return response;
  }
  struct LogCursor {
    LogChunk chunk;
    LogQuery query;
    std::size_t total = 0;
    std::optional<Error> failed;
  };
  auto reading = std::make_shared<LogCursor>();
  reading->query = std::move(query);
  // The log may begin later than at its first byte, which is dropped in the end.
  reading->query.offset = first.next_offset - static_cast<std::int64_t>(first.data.size());
  reading->chunk = std::move(first);
  response.asks_member = true;
  response.producer = [&service = api.service, who, job, reading](std::string* out) {
    // An exception cuts the answer off.
    if (reading->failed) throw std::runtime_error(reading->failed->detail);
    const LogChunk& chunk = reading->chunk;
    *out += chunk.data;
    // What the log itself has: times before its lines do not count.
    reading->total += static_cast<std::size_t>(
        std::max<std::int64_t>(0, chunk.next_offset - reading->query.offset));
    if (chunk.ended || chunk.data.empty() || reading->total >= limits::kLogBytesPerContainer)
      return false;
    reading->query.offset = chunk.next_offset;
    Result<LogChunk> next = service.ReadLog(who, job, reading->query, api::LogAsk::kMore);
    if (next.ok()) {
      reading->chunk = std::move(*next);
    } else {
      reading->failed = next.error();
    }
    return true;
  };
  return response;
}

// The answer with the header that says where it begins. A refusal begins nowhere.
Response Placed(const LogPlace& place, bool times, Response response) {
  if (response.status == 200)
    response.headers.emplace_back("Muster-Log-Offset", LogPlaceText(place, times));
  return response;
}

// A log that stays open; `first` is what has been read of it already.
Response FollowLog(ApiContext& api, const Caller& who, const std::string& job, LogQuery query,
                   std::string first) {
  const Result<std::shared_ptr<StreamSlot>> taken = TakeSlot(api, who);
  if (!taken.ok()) return ErrorResponse(false, taken.error());
  const std::shared_ptr<StreamSlot> slot = *taken;
  auto follower = std::make_shared<LogFollower>(api.service, api.authenticator, *api.workers, who,
                                                job, std::move(query));
  Response response;
  response.content_type = kLogType;
  response.end_tells = true;
  response.stream = [follower, slot, first = std::move(first)](std::shared_ptr<StreamSink> sink) {
    slot->Attach(sink);
    if (!first.empty()) sink->Write(first);
    follower->Start(std::move(sink), slot);
  };
  return response;
}

}  // namespace

Response JobLogs(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  const Status known = query.Only({"container", "pod", "follow", "tail", "timestamps", "offset"});
  if (!known.ok()) return ErrorResponse(request, known.error());
  const Result<bool> follow = query.Flag("follow");
  if (!follow.ok()) return ErrorResponse(request, follow.error());
  const auto tail = query.Number("tail", -1, 0, kTailLines);
  if (!tail.ok()) return ErrorResponse(request, tail.error());
  const Result<bool> timestamps = query.Flag("timestamps");
  if (!timestamps.ok()) return ErrorResponse(request, timestamps.error());
  const Result<LogPlace> from = ParseLogPlace(query.Text("offset"));
  if (!from.ok()) return ErrorResponse(request, from.error());
  if (*tail >= 0 && request.Query("offset") != nullptr)
    return ErrorResponse(request, InvalidField("offset", "does not go with tail"));
  const std::string& id = request.params[0];
  // The one note of the audit trail about this request, also if the log is followed for days.
  const Result<JobPtr> job = api.service.JobToLog(who, id);
  if (!job.ok()) return ErrorResponse(request, job.error());
  const std::string number = std::to_string((*job)->id.value);
  LogQuery log{query.Text("pod"), query.Text("container"), from->offset, kLogPiece, *timestamps};
  Result<LogStart> start =
      *tail >= 0 ? ReadTail(api, who, number, log, *tail) : ReadFrom(api, who, number, log, *from);
  if (!start.ok()) {
    // A followed log may begin later, since a job that has not started has none. Once the job runs,
    // a pod or container that the request names must exist.
    const bool waits =
        *follow && !IsTerminal((*job)->state) &&
        (start.error().code == Code::kFailedPrecondition || (*job)->state != JobState::kRunning);
    if (!waits) return ErrorResponse(request, start.error());
    return Placed({from->offset, 0}, *timestamps, FollowLog(api, who, number, std::move(log), ""));
  }
  LogChunk& chunk = start->chunk;
  if (*follow && !chunk.ended) {
    log.offset = chunk.next_offset;
    return Placed(start->place, *timestamps,
                  FollowLog(api, who, number, std::move(log), std::move(chunk.data)));
  }
  if (*tail >= 0) {
    Response response;
    response.content_type = kLogType;
    response.body = std::move(chunk.data);
    return Placed(start->place, *timestamps, std::move(response));
  }
  return Placed(start->place, *timestamps,
                WholeLog(api, who, number, std::move(log), std::move(chunk)));
}

Response FollowEvents(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  const Status known = query.Only({"since"});
  if (!known.ok()) return ErrorResponse(request, known.error());
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  auto since = query.Number("since", api.service.View()->last_seq, 0, kMost);
  if (!since.ok()) return ErrorResponse(request, since.error());
  // A browser that reconnects sends the id of the last event it saw, which overrides `since`.
  if (const std::string& last = request.last_event_id; !last.empty()) {
    const char* end = last.data() + last.size();
    const auto parsed = std::from_chars(last.data(), end, *since);
    if (parsed.ec != std::errc() || parsed.ptr != end || *since < 0) {
      return ErrorResponse(request, InvalidField("Last-Event-ID", "is not an event's number"));
    }
  }
  if (const Status may = api.service.MayFollowEvents(who); !may.ok())
    return ErrorResponse(request, may.error());
  const Result<std::shared_ptr<StreamSlot>> taken = TakeSlot(api, who);
  if (!taken.ok()) return ErrorResponse(request, taken.error());
  const std::shared_ptr<StreamSlot> slot = *taken;
  Response response;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("Cache-Control", "no-store");
  response.stream = [&api, who, since = *since, slot](std::shared_ptr<StreamSink> sink) {
    slot->Attach(sink);
    api.events.Follow(who, since, std::move(sink), slot);
  };
  return response;
}

}  // namespace muster::rest
