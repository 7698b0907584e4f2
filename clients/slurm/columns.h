// Table formats in Slurm's two spellings: "%.18i %j" and "JobID:18,Name".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::slurm {

/// One column of a table.
struct Column {
  std::size_t field = 0;  // the index in the command's own table of fields
  std::size_t width = 0;  // 0: as wide as the text
  bool right = false;
  std::string before;  // literal text in front of it
};

struct Format {
  std::vector<Column> columns;
  std::vector<std::string> unknown;  // letters and names that no field has; they are left out
  std::string after;                 // literal text at the end of each line
};

/// Finds a field by its letter or its long name; nullopt if unknown.
using FieldByLetter = std::optional<std::size_t> (*)(char letter);
using FieldByName = std::optional<std::size_t> (*)(std::string_view name);

/// Parses "%[.][width]letter" with literal text between. A letter that no field has, or none at all
/// after a width, is kept as literal text; several percent signs are one, and one at the end is
/// dropped, as in Slurm (ReFrame asks for "%%i|%%T").
void ParsePercentFormat(std::string_view text, FieldByLetter find, Format* out);

/// Parses "Name[:[.][width][suffix]]", separated by commas. The width is 20 unless given; 0 means
/// as wide as the text. Names that no field has are left out. Returns a sentence if it is
/// malformed.
std::optional<std::string> ParseNamedFormat(std::string_view text, FieldByName find, Format* out);

/// Appends `text` padded or cut to the column's width; control characters are spelt out
/// (clients/lib/visible_text.h).
void AppendCell(const Column& column, std::string_view text, std::string* out);

}  // namespace muster::slurm
