// Parses the two format languages of Slurm and lays out cells.
//
// "%.18i %j": a percent sign, an optional dot (right-justified), an optional width and a letter;
// all other text is printed as it stands. "JobID:.18,Name": names separated by commas, each with an
// optional width; text behind the width stands between this column and the next. A cell longer than
// its column is cut, as Slurm does it.
#include "clients/slurm/columns.h"

#include "clients/lib/visible_text.h"
#include "clients/slurm/command.h"

namespace muster::slurm {
namespace {

constexpr std::size_t kDefaultNamedWidth = 20;
// A bound on widths, so that a line cannot exhaust the memory.
constexpr std::size_t kWidest = 100'000;

// Reads "[.][digits]" at `*at`. Without digits the column keeps its width.
void ReadWidth(std::string_view text, std::size_t* at, Column* column) {
  if (*at < text.size() && text[*at] == '.') {
    column->right = true;
    ++*at;
  }
  std::size_t width = 0;
  bool any = false;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9') {
    width = width * 10 + static_cast<std::size_t>(text[*at] - '0');
    if (width > kWidest) width = kWidest;
    any = true;
    ++*at;
  }
  if (any) column->width = width;
}

}  // namespace

void ParsePercentFormat(std::string_view text, FieldByLetter find, Format* out) {
  std::string literal;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      literal.push_back(text[at]);
      continue;
    }
    // Slurm splits at percent signs and skips what is empty between them: "%%i" is "%i", and one at
    // the end counts for nothing.
    while (at + 1 < text.size() && text[at + 1] == '%') ++at;
    if (++at == text.size()) break;
    Column column;
    const std::size_t begin = at - 1;
    // sinfo's default formats write %#P: as wide as the widest cell.
    if (text[at] == '#') ++at;
    ReadWidth(text, &at, &column);
    const bool has_letter = at < text.size() && text[at] != '%';
    const auto field = has_letter ? find(text[at]) : std::nullopt;
    if (!field) {
      if (!has_letter) --at;
      out->unknown.emplace_back(text.substr(at, has_letter ? 1 : 0));
      literal += text.substr(begin, at + 1 - begin);
      continue;
    }
    column.field = *field;
    column.before = std::move(literal);
    literal.clear();
    out->columns.push_back(std::move(column));
  }
  out->after = std::move(literal);
}

std::optional<std::string> ParseNamedFormat(std::string_view text, FieldByName find, Format* out) {
  std::string before;
  for (const std::string& part : SplitList(text)) {
    const std::size_t colon = part.find(':');
    const auto field = find(std::string_view(part).substr(0, colon));
    if (!field) {
      out->unknown.push_back(part.substr(0, colon));
      continue;
    }
    Column column;
    column.field = *field;
    column.width = kDefaultNamedWidth;
    column.before = std::move(before);
    before.clear();
    if (colon != std::string::npos) {
      std::size_t at = colon + 1;
      ReadWidth(part, &at, &column);
      // The suffix stands between this column and the next.
      before = part.substr(at);
    }
    out->columns.push_back(std::move(column));
  }
  out->after = std::move(before);
  if (out->columns.empty() && out->unknown.empty())
    return "Invalid job format specification: it names no field";
  return std::nullopt;
}

// Width 0 means the whole text.
void AppendCell(const Column& column, std::string_view text, std::string* out) {
  out->append(column.before);
  std::string shown;
  if (!client::IsPlain(text)) text = shown = client::VisibleText(text);
  if (column.width == 0) {
    out->append(text);
    return;
  }
  if (text.size() > column.width) text = text.substr(0, column.width);
  if (column.right) out->append(column.width - text.size(), ' ');
  out->append(text);
  if (!column.right) out->append(column.width - text.size(), ' ');
}

}  // namespace muster::slurm
