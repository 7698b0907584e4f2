// JSON lines through spdlog. Log builds a Boost.JSON object of component, event and fields; the
// logger's pattern puts time and level in front of it. An asynchronous logger with one thread
// writes the lines; if its queue is full the oldest lines are dropped, so a slow terminal or disk
// never delays the engine.
#include "schedd/telemetry/log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <boost/json.hpp>
#include <memory>

namespace muster {
namespace {

constexpr const char* kLoggerName = "muster";
// Lines that wait for the writer; beyond it the oldest are dropped.
constexpr std::size_t kQueuedLines = 8192;

spdlog::level::level_enum SpdLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Text as a JSON string; numbers and booleans as such.
boost::json::value ValueOf(const LogField& field) {
  return std::visit(
      [](const auto& value) -> boost::json::value {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>) {
          return boost::json::string(value);
        } else {
          return value;
        }
      },
      field.value);
}

}  // namespace

Status InitLog(LogLevel level, const std::string& path) {
  spdlog::drop(kLoggerName);
  spdlog::init_thread_pool(kQueuedLines, 1);
  spdlog::sink_ptr sink;
  try {
    if (path.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    }
  } catch (const spdlog::spdlog_ex& refused) {
    return Error{Code::kFailedPrecondition,
                 "--log-file " + path + " cannot be written: " + refused.what()};
  }
  auto logger = std::make_shared<spdlog::async_logger>(
      kLoggerName, sink, spdlog::thread_pool(), spdlog::async_overflow_policy::overrun_oldest);
  // The pattern writes the opening brace, time and level; the message is the rest of the JSON
  // object.
  logger->set_pattern(R"({"ts":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l",%v)",
                      spdlog::pattern_time_type::utc);
  logger->set_level(SpdLevel(level));
  logger->flush_on(spdlog::level::info);
  spdlog::register_logger(logger);
  return Done{};
}

// A level that is off costs no formatting. Before InitLog nothing is logged.
void Log(LogLevel level, std::string_view component, std::string_view event,
         std::initializer_list<LogField> fields) {
  const auto logger = spdlog::get(kLoggerName);
  if (logger == nullptr || !logger->should_log(SpdLevel(level))) return;
  boost::json::object line;
  line["component"] = component;
  line["event"] = event;
  for (const auto& field : fields) line[field.key] = ValueOf(field);
  const std::string text = boost::json::serialize(line);
  logger->log(SpdLevel(level), "{}", std::string_view(text).substr(1));
}

// Called before the process exits, when the queue may still have lines.
void FlushLog() {
  if (const auto logger = spdlog::get(kLoggerName)) logger->flush();
}

}  // namespace muster
