// Texts that users or members have written, made fit to be stored and shown. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace muster {

/// Replaces bytes that are no UTF-8, and control characters, by "?", and cuts the text between two
/// characters to `most` bytes.
void BoundText(std::string* text, std::size_t most);

}  // namespace muster
