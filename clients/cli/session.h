// What every command has in common: the server it talks to, exit statuses, and messages on stderr.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "clients/lib/api_client.h"

namespace muster::cli {

/// Exit statuses beside 0 and those of client::ExitCodeOf (rule C2).
inline constexpr int kRefused = 1;
inline constexpr int kBadUsage = 2;
inline constexpr int kNotReached = 3;
inline constexpr int kTimedOut = 124;  // as timeout(1)

/// The connection to the server and the namespace of one invocation.
struct Session {
  explicit Session(client::Settings settings, bool every_namespace = false)
      : api(std::move(settings)), all_namespaces(every_namespace) {}
  client::ApiClient api;
  bool all_namespaces = false;  // -A
  const std::string& ns() const { return api.settings().ns; }
};

/// client::PathText of an answer, safe for a terminal: others may have written it.
std::string ShownText(const json::value& value, std::string_view path);
/// Prints "muster: SENTENCE" on stderr.
void PrintError(const std::string& sentence);
/// Prints a failure's sentence, with a line for each wrong field; gives the exit status.
int PrintFailure(const client::Failure& failure);
/// Prints the `warnings` of an answer on stderr as kubectl does: `Warning: unknown field "..."`.
void PrintWarnings(const json::value& answer);

}  // namespace muster::cli
