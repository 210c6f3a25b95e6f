#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Pure text functions. Any thread. They throw std::bad_alloc only.
namespace megascope {

/// `text` without blanks and tabs at either end. The view lives as long as `text`.
std::string_view trimmed(std::string_view text) noexcept;

/// Splits a list and trims its elements; empty elements are omitted: "otf2, perfetto" gives
/// {"otf2", "perfetto"}. Separators are `,` `+` and `:`, because `srun --export` splits at commas.
std::vector<std::string> split_list(std::string_view text);

/// Returns `text` with ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// Parses a size: "4096", "64K", "64KiB", "1.5G", "2 TiB". Units are binary multiples in any letter
/// case, with an optional trailing B. Returns nullopt for other text, negative sizes and more than
/// 2^63 - 1 bytes.
std::optional<std::uint64_t> parse_size_bytes(std::string_view text);

/// Parses a whole decimal number without sign. Returns nullopt for other text or if it does not
/// fit.
std::optional<std::uint64_t> parse_count(std::string_view text) noexcept;

/// Parses 1, on, true, yes or 0, off, false, no in any letter case. Returns nullopt for other text.
std::optional<bool> parse_bool(std::string_view text);

/// Formats a size: "0 B", "1023 B", "1.2 MiB", "15 GiB"; at most three significant digits below
/// 1000.
std::string human_bytes(std::uint64_t size_bytes);

/// Formats a duration: "0 s", "850 ns", "3.4 ms", "12.5 s", "2 min 5 s", "3 h 20 min". Negative
/// durations have a leading minus.
std::string human_duration(std::int64_t duration_ns);

/// Formats a count: "999", "12.3 k", "4.56 M"; three significant digits from 1000 on.
std::string human_count(std::uint64_t count);

/// Levenshtein distance between `a` and `b`: insertions, deletions and substitutions cost 1 each.
/// O(|a|·|b|) time, O(|b|) memory: for names, not for documents.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate with the smallest edit distance to `name`, the first of equals; empty if
/// every distance exceeds a third of the length of `name` (at least 2), so that none is a plausible
/// typing error.
std::string_view nearest_name(std::string_view name,
                              const std::vector<std::string_view>& candidates);

/// Quotes `text` as one word of a POSIX shell: it's becomes 'it'\''s'.
std::string shell_quoted(std::string_view text);

/// Joins the parts with `separator` between them.
std::string joined(const std::vector<std::string>& parts, std::string_view separator);

/// A fraction as text, e.g. "12 %", "3.4 %".
std::string percent_text(double share);
/// A list of ranks, e.g. "1, 3, 5-9"; ends with "..." after 12 ranges.
std::string rank_list(const std::vector<std::int32_t>& ranks);

}  // namespace megascope
