// When Boost.Beast's parser may be given the beginning of a chunk. Every reader that feeds that
// parser asks here; Beast itself is seen only by those readers.
#pragma once

#include <cstddef>

namespace muster {

/// `unparsed`: how many bytes of a chunked body are there, the first of them being the first of a
/// chunk's line. False: more must be read before the parser is called.
///
/// What is left of a chunked body there has at least "0\r\n\r\n" (RFC 9112, 7.1), so no sender is
/// waited for in vain. Beast 1.81 asserts those five bytes at its second look at the end of an
/// empty body, and so ends the process when that end comes in smaller pieces.
constexpr bool MayParseChunk(std::size_t unparsed) { return unparsed >= 5; }

}  // namespace muster
