// Text that others wrote (a job's message, a member's event, a script's name), made safe to show on
// a terminal: nothing in it can move the cursor, change colours or reorder what is read. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::client {

/// What is kept as it is beside printable characters.
enum class LineEnds : unsigned char {
  kEscaped,  // one line comes of it: "\n" is spelt out
  kKept,     // line ends and tabs stay
};

/// Printable UTF-8 stays. Control characters read "\n", "\t", "\r" or "\033" (octal, as `ls -b`
/// writes them), C1 controls, line separators and characters that turn the direction of reading
/// "\u202e", bytes that are no UTF-8 "\377". A backslash stays, so the text of a path is not
/// changed.
std::string VisibleText(std::string_view text, LineEnds ends = LineEnds::kEscaped);

/// True if VisibleText would change nothing: ASCII without control characters. Fast.
bool IsPlain(std::string_view text);

}  // namespace muster::client
