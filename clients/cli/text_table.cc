// Lays out tables: each cell is made printable when it is added, and each column becomes as wide as
// its widest cell. Widths count characters, so that names in other scripts stay aligned
// (double-width characters are counted as one).
#include "clients/cli/text_table.h"

#include <algorithm>

#include "clients/lib/visible_text.h"

namespace muster::cli {
namespace {

// The number of characters: the continuation bytes of UTF-8 do not count.
std::size_t ColumnsOf(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

TextTable::TextTable(std::vector<std::string> headers) : widths_(headers.size()) {
  Add(std::move(headers));
}

void TextTable::Add(std::vector<std::string> cells) {
  cells.resize(widths_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (char& c : cells[i]) c = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
    if (!client::IsPlain(cells[i])) cells[i] = client::VisibleText(cells[i]);
    if (cells[i].empty()) cells[i].assign(1, '-');
    widths_[i] = std::max(widths_[i], ColumnsOf(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

std::string TextTable::RenderRow(const std::vector<std::string>& cells) const {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += cells[i];
    if (i + 1 < cells.size()) out.append(widths_[i] + 3 - ColumnsOf(cells[i]), ' ');
  }
  return out + "\n";
}

std::string TextTable::Render() const {
  std::string out;
  for (const auto& row : rows_) out += RenderRow(row);
  return out;
}

std::string TextTable::RenderLast() const { return RenderRow(rows_.back()); }

}  // namespace muster::cli
