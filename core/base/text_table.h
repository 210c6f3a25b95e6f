#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace megascope {

using Lines = std::vector<std::string>;
/// Width of texts for users.
inline constexpr std::size_t kTextColumns = 100;

/// `text` as one line that is safe to print: invalid UTF-8, control characters (C0 and C1) and
/// bidirectional formatting characters become '?'. If longer than `columns`, it is truncated and
/// ends with "...".
std::string printable(std::string_view text, std::size_t columns);

/// Like printable(), but keeps the end of a long text, after "...". For paths.
std::string printable_end(std::string_view text, std::size_t columns);

/// Width of `text`, valid UTF-8, in columns: one for each code point.
std::size_t display_width(std::string_view text);

/// Breaks a text at blanks into lines of at most `columns`; longer words are truncated.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

/// A text table with columns two blanks apart. Align::kLeft columns are left-aligned, with their
/// titles; the others are right-aligned.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
    std::size_t max_columns = 60;  ///< longer cells are truncated
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row with one cell for each column. Missing cells are empty.
  void add(std::vector<std::string> cells);
  std::size_t row_count() const { return rows_.size(); }
  /// The header and the rows, indented, without trailing blanks.
  std::vector<std::string> lines(std::size_t indent) const;

 private:
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                   std::size_t indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace megascope
