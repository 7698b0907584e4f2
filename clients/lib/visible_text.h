// Text that others wrote (a job's message, a member's event, a script's name), made safe to show on
// a terminal: nothing in it can move the cursor, change colours or reorder what is read. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::client {

/// What becomes of line ends and tabs.
enum class LineEnds : unsigned char {
  kEscaped,  // spelt out ("\n"), so that the result is one line
  kKept,     // line ends and tabs stay
};

/// Printable UTF-8 stays. Control characters become "\n", "\t", "\r" or "\033" (octal, as `ls -b`
/// writes them). C1 controls, line separators and characters that change the direction of reading
/// become "\u202e". Bytes that are not UTF-8 become "\377". A backslash stays, so the text of a
/// path is not changed.
std::string VisibleText(std::string_view text, LineEnds ends = LineEnds::kEscaped);

/// True if VisibleText would change nothing: ASCII without control characters. Fast.
bool IsPlain(std::string_view text);

}  // namespace muster::client
