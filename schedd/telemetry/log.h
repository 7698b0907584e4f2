// Structured logs: one JSON object a line, on stderr or in a file.
//
// Thread-safe. Keys are fixed: ts level component event plus the given fields; `event` is a stable
// snake_case verb phrase. User text is always a JSON value. Callers must not pass secrets.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "schedd/base/result.h"

namespace muster {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogField {
  std::string_view key;
  std::variant<std::string_view, std::int64_t, double, bool> value;
};

/// Sets level and destination; called once at start. An empty `path` means stderr. Error
/// (kFailedPrecondition): the file cannot be written; then nothing is logged.
[[nodiscard]] Status InitLog(LogLevel level, const std::string& path);

/// Writes one line if `level` is enabled.
void Log(LogLevel level, std::string_view component, std::string_view event,
         std::initializer_list<LogField> fields = {});

/// Has the writer flush all lines that are queued.
void FlushLog();

}  // namespace muster
