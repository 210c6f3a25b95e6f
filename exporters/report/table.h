#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::report {

/// `text` as one line that is safe to print: what is not valid UTF-8, control characters (also of
/// Unicode's second set) and those that change the direction of writing become '?'. Longer than
/// `columns`: cut, ending in "...".
std::string printable(std::string_view text, std::size_t columns);

/// The same, but of what is longer the end is left, behind "...": of a path it tells most.
std::string printable_end(std::string_view text, std::size_t columns);

/// Columns that `text`, valid UTF-8, takes: one a code point.
std::size_t display_width(std::string_view text);

/// Broken at blanks into lines of at most `columns`; a longer word is cut.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

/// Cells in aligned columns, two blanks apart: the header and `left` columns to the left, the
/// others to the right.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
    std::size_t max_columns = 60;  ///< longer cells are cut
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell a column, fewer are filled up with empty ones.
  void add(std::vector<std::string> cells);
  std::size_t row_count() const { return rows_.size(); }
  /// The header, then the rows, each indented and without blanks at the end.
  std::vector<std::string> lines(std::size_t indent) const;

 private:
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                   std::size_t indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace megascope::report
