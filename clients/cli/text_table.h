// Aligned tables for people: columns three blanks apart, no colour, nothing cut.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headers);
  /// Missing and empty cells show as "-". Line ends in a cell become blanks, other control
  /// characters are spelt out (clients/lib/visible_text.h).
  void Add(std::vector<std::string> cells);
  /// Header and rows. The last column is not padded.
  std::string Render() const;
  /// The last row alone, at the widths known so far, for a watch that prints rows below the table.
  std::string RenderLast() const;

 private:
  std::string RenderRow(const std::vector<std::string>& cells) const;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

}  // namespace muster::cli
