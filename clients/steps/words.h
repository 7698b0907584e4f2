// Texts of steps: lists of tasks and hosts as Slurm writes them, its sentences about ended tasks,
// and numbers and lists as users write them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::steps {

/// A whole number without sign, or nullopt; at most 18 digits.
std::optional<std::int64_t> WholeNumber(std::string_view text);
/// Splits at commas that are not in brackets; empty parts are left out.
std::vector<std::string> SplitCommas(std::string_view text);
/// Splits at white space; a text in single or double quotes is one word with what touches it.
std::vector<std::string> SplitWords(std::string_view text);

/// Every host that "n[1-3,07],gpu1" names; nullopt if malformed or more than 100,000.
std::optional<std::vector<std::string>> ExpandHosts(std::string_view text);
/// Folds names that differ only in a number at their end: "n[1-3],gpu1".
std::string FoldHosts(const std::vector<std::string>& hosts);

/// "0-3,7"; the numbers must ascend.
std::string FoldNumbers(const std::vector<std::int32_t>& numbers);
/// The numbers of "0-3,7" (also "0-8:2"), each at most `most`; nullopt if malformed.
std::optional<std::vector<std::int32_t>> ExpandNumbers(std::string_view text, std::int32_t most);
/// "4(x2),1": equal neighbours with their number.
std::string FoldCounts(const std::vector<std::int32_t>& counts);
/// The opposite of FoldCounts; nullopt if malformed or more than 100,000.
std::optional<std::vector<std::int32_t>> ExpandCounts(std::string_view text);

/// "task 0" or "tasks 0-3".
std::string TaskList(const std::vector<std::int32_t>& tasks);
/// "Exited with exit code 1", "Killed", "Segmentation fault (core dumped)"; "" for success.
std::string EndOf(std::int32_t wait_status);
/// What srun exits with for a task: its code, or 128 and the signal.
int ExitOf(std::int32_t wait_status);

/// Seconds of "M", "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S"; 0 for 0, INFINITE and UNLIMITED;
/// nullopt if malformed.
std::optional<std::int64_t> TimeLimitSeconds(std::string_view text);
/// Megabytes of "4096", "4G", "512MB" or "1024K", rounded up; nullopt if malformed.
std::optional<std::int64_t> MemoryMegabytes(std::string_view text);
/// The number of "TERM", "SIGTERM" or "15"; nullopt if there is no such signal.
std::optional<int> SignalNumber(std::string_view text);

/// A text between quotes, as JSON wants it. Bytes that are no UTF-8 become '?'.
std::string JsonText(std::string_view text);
/// Local time as "2026-11-21T09:49:47".
std::string LocalStamp(std::int64_t epoch_s);

}  // namespace muster::steps
