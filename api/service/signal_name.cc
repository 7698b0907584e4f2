// Names are those of <signal.h>, of which some are two names of one number: the first one is shown.
#include "api/service/signal_name.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <optional>

namespace muster::api {
namespace {

struct NamedSignal {
  std::string_view name;
  int number;
};
constexpr NamedSignal kSignals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"ILL", SIGILL},
    {"TRAP", SIGTRAP}, {"ABRT", SIGABRT},   {"IOT", SIGABRT},  {"BUS", SIGBUS},
    {"FPE", SIGFPE},   {"KILL", SIGKILL},   {"USR1", SIGUSR1}, {"SEGV", SIGSEGV},
    {"USR2", SIGUSR2}, {"PIPE", SIGPIPE},   {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"CHLD", SIGCHLD}, {"CLD", SIGCHLD},    {"CONT", SIGCONT}, {"STOP", SIGSTOP},
    {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},   {"TTOU", SIGTTOU}, {"URG", SIGURG},
    {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ},   {"PROF", SIGPROF}, {"VTALRM", SIGVTALRM},
    {"IO", SIGIO},     {"WINCH", SIGWINCH}, {"POLL", SIGIO},   {"PWR", SIGPWR},
    {"SYS", SIGSYS},
};

std::optional<int> NumberOf(std::string_view text) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// "RTMIN", "RTMIN+3", "RTMAX", "RTMAX-2", where the host has real-time signals.
std::optional<int> RealTimeOf(std::string_view name) {
  const bool from_least = name.starts_with("RTMIN");
  if (!from_least && !name.starts_with("RTMAX")) return std::nullopt;
  const int base = from_least ? SIGRTMIN : SIGRTMAX;
  name.remove_prefix(5);
  if (name.empty()) return base;
  if (name.front() != (from_least ? '+' : '-') || name.size() < 2 || name[1] < '0' || name[1] > '9')
    return std::nullopt;
  const std::optional<int> more = NumberOf(name.substr(1));
  if (!more || *more > SIGRTMAX - SIGRTMIN) return std::nullopt;
  return from_least ? base + *more : base - *more;
}

}  // namespace

Result<int> SignalOf(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  if (const std::optional<int> number = NumberOf(name)) {
    if (*number >= 1 && *number <= SIGRTMAX) return *number;
    return InvalidField("signal", "\"" + std::string(text) +
                                      "\" is no signal: a number from 1 to " +
                                      std::to_string(SIGRTMAX));
  }
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (const NamedSignal& known : kSignals) {
    if (known.name == name) return known.number;
  }
  if (const std::optional<int> number = RealTimeOf(name)) return *number;
  return InvalidField("signal", "\"" + std::string(text) + "\" is no signal");
}

std::string SignalName(int number) {
  for (const NamedSignal& known : kSignals) {
    if (known.number == number) return std::string(known.name);
  }
  return std::to_string(number);
}

}  // namespace muster::api
